"""Read a callable's signature with its annotations evaluated, and look inside type hints."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Union

from ..exceptions import RegistrationError

__all__ = [
    "class_fields",
    "evaluate",
    "is_coroutine_callable",
    "read_signature",
    "strip_annotated",
    "union_members",
    "walk_hints",
]

_LAYERS = 50


def _layers(function: Any) -> Iterator[Any]:
    """Yield a callable and what it wraps, from the outside in."""
    current = function
    for _ in range(_LAYERS):
        yield current
        if isinstance(current, functools.partial):
            current = current.func
        elif isinstance(current, (staticmethod, types.MethodType)):
            current = current.__func__
        elif hasattr(current, "__wrapped__"):
            current = current.__wrapped__
        elif isinstance(current, type):
            current = current.__init__  # type: ignore[misc]
        elif not hasattr(current, "__code__") and isinstance(
            call := getattr(type(current), "__call__", None),  # noqa: B004  the function is wanted
            types.FunctionType,
        ):
            current = call
        else:
            return


def is_coroutine_callable(function: Callable[..., Any]) -> bool:
    """Say whether calling ``function`` may give something to await.

    True where any layer is a coroutine function: the callable itself, what a partial or
    ``functools.wraps`` decorator holds, or an object's ``__call__``.
    """
    return any(
        # asgiref and older asyncio mark callables that are not coroutine functions themselves.
        inspect.iscoroutinefunction(layer) or getattr(layer, "_is_coroutine", None) is not None
        for layer in _layers(function)
        if not isinstance(layer, type)
    )


def read_signature(function: Any) -> inspect.Signature:
    """Read a signature without the arguments that partials have bound already.

    Raises:
        RegistrationError: It has no signature, or is a method that is not bound to an object.
    """
    try:
        if sys.version_info >= (3, 14):  # pragma: no cover  annotations are evaluated late there
            from annotationlib import Format

            signature = inspect.signature(function, annotation_format=Format.FORWARDREF)
        else:
            signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{_name(function)} has no signature that can be read: {error}") from None
    bound: set[str] = set()
    for layer in _layers(function):
        if isinstance(layer, functools.partial):
            bound.update(layer.keywords)
    parameters = [each for each in signature.parameters.values() if each.name not in bound]
    first = parameters[0] if parameters else None
    if first and first.name in ("self", "cls") and first.annotation is inspect.Parameter.empty:
        raise RegistrationError(
            f"{_name(function)} is a method without its object; register the bound method, "
            "for example tool(instance.method)"
        )
    return signature.replace(parameters=parameters)


def evaluate(annotation: Any, function: Any, what: str, fallback: Mapping[str, Any] = {}) -> Any:
    """Evaluate one annotation in the scope of the function that it was written for.

    Args:
        annotation: A type, or its source under ``from __future__ import annotations``.
        function: Whose closure and globals give names their meaning.
        what: What is annotated, for the message.
        fallback: Names that count where the scope does not have them.

    Raises:
        RegistrationError: A name cannot be resolved, or the annotation is not one.
    """
    *_, innermost = _layers(function)
    code, cells = getattr(innermost, "__code__", None), getattr(innermost, "__closure__", None) or ()
    names: dict[str, Any] = {each.__name__: each for each in getattr(innermost, "__type_params__", ())}
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # noqa: PERF203  a name that is bound later
            continue
    scope = getattr(innermost, "__globals__", {})
    try:
        return _evaluate(annotation, scope, {**fallback, **scope, **names})
    except NameError as error:
        raise RegistrationError(
            f"{what} of {_name(function)}: the name {getattr(error, 'name', None)!r} in its annotation "
            "cannot be resolved; import or define it at module level, not only under TYPE_CHECKING"
        ) from None
    except (AttributeError, SyntaxError, TypeError) as error:
        raise RegistrationError(f"{what} of {_name(function)}: its annotation cannot be used: {error}") from None


def _evaluate(annotation: Any, scope: dict[str, Any], names: dict[str, Any]) -> Any:
    def holder() -> None: ...

    holder.__annotations__ = {"value": annotation}
    return typing.get_type_hints(holder, scope, names, include_extras=True)["value"]


def _name(function: Any) -> str:
    *_, innermost = _layers(function)
    return str(getattr(innermost, "__qualname__", type(innermost).__qualname__))


def strip_annotated(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split ``Annotated[T, ...]`` into ``T`` and its metadata."""
    if typing.get_origin(hint) is Annotated:
        return hint.__origin__, hint.__metadata__
    return hint, ()


def union_members(hint: Any) -> tuple[Any, ...]:
    """List the members of a union; any other hint is its own only member."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def walk_hints(hint: Any) -> Iterator[Any]:
    """Yield a hint and every hint inside it, also those of its classes' fields."""
    waiting, seen = [hint], set[int]()
    kept: list[Any] = []  # an id is only good while its object lives
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        kept.append(current)
        yield current
        origin = typing.get_origin(current)
        if origin is typing.Literal:
            continue
        if origin is Annotated:
            waiting.append(current.__origin__)
        elif isinstance(current, list):
            waiting.extend(current)
        else:
            waiting.extend(typing.get_args(current))
        if not isinstance(current, type):
            for attribute in ("__supertype__", "__value__"):  # NewType; type X = ...
                waiting += [getattr(current, attribute)] if hasattr(current, attribute) else []
        waiting.extend(class_fields(origin if isinstance(origin, type) else current).values())


def class_fields(kind: Any) -> dict[str, Any]:
    """Give the hints of a class that describes an object, or nothing for any other hint."""
    if not isinstance(kind, type) or not (
        dataclasses.is_dataclass(kind)
        or hasattr(kind, "__struct_fields__")
        or hasattr(kind, "__attrs_attrs__")
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        or (issubclass(kind, dict) and hasattr(kind, "__total__"))
    ):
        return {}
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception:  # noqa: BLE001  any code may run in an annotation; msgspec reports what is wrong
        return {}
    return {name: _unqualified(hint) for name, hint in hints.items()}


def _unqualified(hint: Any) -> Any:
    """Take Required, NotRequired, ReadOnly, ClassVar or Final off a field's hint."""
    origin = typing.get_origin(hint)
    if origin is not None and origin is not Annotated and not isinstance(origin, type):
        name = getattr(origin, "_name", None)
        if name in ("Required", "NotRequired", "ReadOnly", "ClassVar", "Final"):
            return _unqualified(typing.get_args(hint)[0])
    return hint
