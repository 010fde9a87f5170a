"""Turn what a handler returns into strict JSON, and its return annotation into an output schema."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import typing
from collections import deque
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from decimal import Decimal
from enum import Enum
from typing import Any, Union

import msgspec

from ..exceptions import EncodeError
from .adapters import MsgspecAdapter, PydanticAdapter, adapt
from .hints import evaluate, read_signature, strip_annotated, union_members

__all__ = ["Returns", "compile_returns", "to_builtins"]

_DEEPEST = 200
#: Python writes and reads integers of up to 4,300 digits.
_LARGEST = 10**4000
_encode = json.JSONEncoder(allow_nan=False).encode


class _NotJSONError(TypeError):
    """Say that a type has no JSON form, in words that a client may read."""


class Returns:
    """Hold how a handler's results become JSON, prepared at registration.

    Attributes:
        schema: The JSON Schema of the results; ``None`` where the annotation promises nothing
            structured.
        to_json: Turn a result into JSON builtins that conform to the schema. Raises
            ``EncodeError`` with the path and the reason.
    """

    __slots__ = ("schema", "to_json")

    def __init__(self, *, schema: dict[str, Any] | None, to_json: Callable[[Any], Any]) -> None:
        self.schema = schema
        self.to_json = to_json


def compile_returns(
    function_or_hint: Any, *, content_types: tuple[type, ...] = (), ignored: tuple[type, ...] = ()
) -> Returns:
    """Compile the return annotation of a function, or a type hint.

    Args:
        function_or_hint: A function, method, partial or callable object; or a type hint.
        content_types: Classes that are content and not structured data, alone or in lists and
            unions.
        ignored: Classes that are no part of a result, though a handler returns them.

    Raises:
        RegistrationError: The annotation cannot be resolved, or has no JSON form.
    """
    hint = _without(_return_hint(function_or_hint), ignored)
    if _is_unstructured(hint, content_types):
        return Returns(schema=None, to_json=to_builtins)
    adapter = adapt(hint, what="The return annotation", for_input=False)
    if isinstance(adapter, PydanticAdapter):
        return Returns(schema=adapter.schema, to_json=_by_pydantic(adapter))
    compiled = _EXACT.get(hint, _by_msgspec) if isinstance(hint, type) else _by_msgspec
    return Returns(schema=adapter.schema, to_json=compiled(adapter))


def _return_hint(given: Any) -> Any:
    is_function = callable(given) and not (
        isinstance(given, type) or typing.get_origin(given) is not None or hasattr(given, "__supertype__")
    )
    if not is_function or type(given).__module__ == "typing":
        return given
    annotation = read_signature(given).return_annotation
    if annotation is inspect.Signature.empty:
        return Any
    hint = evaluate(annotation, given, "The return value")
    while typing.get_origin(hint) in (Awaitable, Coroutine):
        hint = typing.get_args(hint)[-1]
    return hint


def _without(hint: Any, ignored: tuple[type, ...]) -> Any:
    members = [each for each in union_members(strip_annotated(hint)[0]) if each not in ignored]
    if not ignored or len(members) == len(union_members(strip_annotated(hint)[0])):
        return hint
    return Union[tuple(members)] if members else None  # noqa: UP007  of members that are only known here


def _is_unstructured(hint: Any, content_types: tuple[type, ...]) -> bool:
    plain = strip_annotated(hint)[0]
    if plain in (None, type(None), str, Any, object, typing.NoReturn, getattr(typing, "Never", None)):
        return True
    members = union_members(plain)
    if len(members) > 1:
        return any(_has_content(each, content_types) for each in members) or all(
            _is_unstructured(each, content_types) for each in members
        )
    return _has_content(plain, content_types)


def _has_content(hint: Any, content_types: tuple[type, ...]) -> bool:
    """Say whether content may be in a hint: named, or as an item of anything."""
    plain = strip_annotated(hint)[0]
    if plain in (Any, object, list, tuple) or (isinstance(plain, type) and issubclass(plain, content_types)):
        return True
    members = union_members(plain)
    if len(members) > 1:
        return any(_has_content(each, content_types) for each in members)
    if typing.get_origin(plain) in (list, tuple, Sequence, Iterable):
        return any(_has_content(each, content_types) for each in typing.get_args(plain) if each is not ...)
    return False


def _exact_int(adapter: MsgspecAdapter) -> Callable[[Any], Any]:
    convert = _by_msgspec(adapter)

    def to_json(value: Any) -> Any:
        if type(value) is int and -_LARGEST < value < _LARGEST:
            return value
        return convert(value)

    return to_json


def _exact_float(adapter: MsgspecAdapter) -> Callable[[Any], Any]:
    convert, isfinite = _by_msgspec(adapter), math.isfinite

    def to_json(value: Any) -> Any:
        if type(value) is float and isfinite(value):
            return value
        return convert(value)

    return to_json


def _exact_bool(adapter: MsgspecAdapter) -> Callable[[Any], Any]:
    convert = _by_msgspec(adapter)

    def to_json(value: Any) -> Any:
        if value is True or value is False:
            return value
        return convert(value)

    return to_json


def _by_msgspec(adapter: MsgspecAdapter) -> Callable[[Any], Any]:
    sets = "'uniqueItems': True" in repr(adapter.schema)

    def to_json(value: Any) -> Any:
        result = to_builtins(value)
        checked = adapter.check(result)
        # A list that was returned for a set may repeat items, which the schema forbids.
        return to_builtins(checked) if sets else result

    return to_json


def _by_pydantic(adapter: PydanticAdapter) -> Callable[[Any], Any]:
    def to_json(value: Any) -> Any:
        return to_builtins(adapter.dump(value))

    return to_json


_EXACT: dict[Any, Callable[[MsgspecAdapter], Callable[[Any], Any]]] = {
    int: _exact_int,
    float: _exact_float,
    bool: _exact_bool,
}


def to_builtins(value: Any) -> Any:
    """Turn a value into what strict JSON can carry: dicts, lists, str, int, float, bool, None.

    Dataclasses, structs, typed dictionaries, named tuples, enumerations, dates, UUIDs, decimals,
    bytes (Base64), sets, pydantic models and numpy's scalars and arrays are understood. Keys may
    be strings, numbers, and what msgspec writes as a string.

    Raises:
        EncodeError: NaN or infinity, an unknown type, a key of another type, a cycle, too much
            nesting or too large an integer; ``path`` says where.
    """
    if value is None or type(value) is str:
        return value
    try:
        text = _encode(msgspec.to_builtins(value, str_keys=True, enc_hook=_unknown))
        # msgspec writes Decimal("NaN") as a string; whatever looks like one is looked at.
        if "NaN" in text or "Infinity" in text:
            _locate(value, "", 0)
        # Read back, so that tuples are lists and nothing is shared with the handler.
        return json.loads(text)
    except EncodeError:
        raise
    except Exception as error:  # noqa: BLE001  hooks run code of the value's own class
        _locate(value, "", 0)
        raise EncodeError("", f"cannot be written as JSON: {type(error).__name__}") from None


def _unknown(value: Any) -> Any:
    """Help msgspec with a type that it does not know."""
    kind = type(value)
    if hasattr(kind, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, str):
        return str.__str__(value)  # plain, whatever the class's own __str__ says
    if isinstance(value, (int, float)):
        return int.__int__(value) if isinstance(value, int) else float.__float__(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (deque, range, Set, ValuesView)):
        return list(value)
    if hasattr(value, "dtype"):
        return value.tolist() if hasattr(value, "tolist") else value.item()
    raise _NotJSONError(f"cannot write {kind.__name__} as JSON")


def _locate(value: Any, path: str, depth: int) -> None:
    """Raise for the first place in a value that strict JSON cannot carry."""
    if depth > _DEEPEST:
        raise EncodeError("", f"nested deeper than {_DEEPEST} levels, or contains itself")
    if value is None or isinstance(value, (str, bool)):
        return
    if isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise EncodeError(path, "integer is too large")
    elif isinstance(value, (float, Decimal)):
        if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
            raise EncodeError(path, f"{value} is not a JSON number")
    elif isinstance(value, Enum):
        _locate(value.value, path, depth + 1)
    elif isinstance(value, (list, tuple, Set, deque)):
        for index, inside in enumerate(value):
            _locate(inside, f"{path}[{index}]", depth + 1)
    elif isinstance(value, Mapping):
        for key, inside in value.items():
            _locate(inside, f"{path}.{_key(key, path)}".removeprefix("."), depth + 1)
    else:
        _locate_object(value, path, depth)


def _locate_object(value: Any, path: str, depth: int) -> None:
    names = _fields(value)
    for name in names:
        _locate(getattr(value, name, None), f"{path}.{name}".removeprefix("."), depth + 1)
    unknown: list[Any] = []

    def keep(other: Any) -> None:
        unknown.append(_unknown(other))

    try:
        msgspec.to_builtins(value, str_keys=True, enc_hook=keep)
    except Exception as error:  # noqa: BLE001  hooks run code of the value's own class
        # Only the text of our own is safe to tell: the others' may hold anything.
        reason = str(error) if isinstance(error, _NotJSONError) else type(error).__name__
        raise EncodeError(path, f"cannot be written as JSON: {reason[:150]}") from None
    if not names:
        for each in unknown:
            _locate(each, path, depth + 1)


def _fields(value: Any) -> Sequence[str]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    return [each.name for each in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else ()


def _key(key: Any, path: str) -> str:
    try:
        return next(iter(msgspec.to_builtins({key: None}, str_keys=True)))  # type: ignore[no-any-return]
    except Exception:  # noqa: BLE001  hashing and comparing run code of the key's own class
        raise EncodeError(path, f"has a key of type {type(key).__name__}; keys are strings") from None
