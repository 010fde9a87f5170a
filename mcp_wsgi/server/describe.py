"""The parts that tools, resources and prompts have in common when they are listed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..exceptions import EncodeError, RegistrationError
from ..protocol.codec import encode_text
from ..protocol.types import Annotations, Icon
from .hints import is_coroutine_callable

__all__ = [
    "Visible",
    "check_function",
    "check_name",
    "check_visible",
    "check_wire",
    "describe",
    "docstring_of",
    "name_of",
]

#: Decides for each request whether a definition exists for its caller; it gets the request's context.
Visible = Callable[[Any], bool]

MAX_NAME_LENGTH = 128


def check_name(kind: str, name: object) -> str:
    """Check the name of a tool or prompt.

    Raises:
        RegistrationError: It is no string of 1 to 128 printable characters.
    """
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        raise RegistrationError(
            f"The name of a {kind} must be 1 to {MAX_NAME_LENGTH} printable characters, not {name!r}"
        )
    return name


def check_function(kind: str, function: object) -> None:
    """Check what a decorator was put on.

    Raises:
        RegistrationError: It cannot be called; often the decorator got a name as its only argument.
    """
    if not callable(function):
        raise RegistrationError(f"A {kind} is made of a function, not of {function!r}; options go by name: name=...")


def check_visible(visible: object) -> Visible | None:
    """Check a filter, and give one that never shows what an awaitable would decide: that is always true.

    Raises:
        RegistrationError: It is no function, or async.
    """
    if visible is None:
        return None
    if not callable(visible) or is_coroutine_callable(visible):
        raise RegistrationError("visible= takes a sync function of the context that returns a bool")

    def decide(context: Any) -> bool:
        answer = visible(context)
        if answer is True or answer is False:
            return answer
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()  # else the interpreter warns that nobody awaited it
            raise TypeError("visible= returned something to await; it takes a sync function that returns a bool")
        return bool(answer)

    return decide


def _unwrap(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def name_of(function: Callable[..., Any]) -> str:
    """Give the name a function is registered under when none is given.

    Raises:
        RegistrationError: It has none of its own (a lambda, a partial of one, a callable object).
    """
    target = _unwrap(function)
    name = getattr(target, "__name__", None)
    if not name or name == "<lambda>":
        raise RegistrationError("This callable has no name of its own; pass name=...")
    return str(name)


def docstring_of(function: Callable[..., Any]) -> str | None:
    """Give the docstring of what a callable calls."""
    target = _unwrap(function)
    if not (inspect.isroutine(target) or isinstance(target, type)):
        return inspect.getdoc(target.__call__) or inspect.getdoc(target)
    return inspect.getdoc(target)


def _to_wire(option: str, value: Any, kind: type[Annotations | Icon]) -> dict[str, Any]:
    if not isinstance(value, kind):
        raise RegistrationError(f"{option}= takes {kind.__name__} values, not {type(value).__name__}")
    return value.to_wire()


def describe(
    *,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Icon] | None = None,
    annotations: Annotations | None = None,
    meta: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the members that most definitions share, without those that are not set."""
    wire: dict[str, Any] = {}
    if title is not None:
        wire["title"] = title
    if description:
        wire["description"] = description
    if annotations is not None:
        wire["annotations"] = _to_wire("annotations", annotations, Annotations)
    if icons is not None:
        wire["icons"] = [_to_wire("icons", icon, Icon) for icon in icons]
    if meta is not None:
        wire["_meta"] = dict(meta)
    return wire


def check_wire(kind: str, name: str, wire: Mapping[str, Any]) -> None:
    """Check at registration that a definition can be listed.

    Raises:
        RegistrationError: It holds something that is not JSON, or a text that is none.
    """
    for member in ("name", "title", "description", "mimeType", "websiteUrl"):
        if not isinstance(wire.get(member, ""), str):
            raise RegistrationError(f"The {kind} {name!r} needs text as its {member}, not {wire[member]!r}")
    try:
        encode_text(wire)
    except EncodeError as error:
        raise RegistrationError(f"The {kind} {name!r} cannot be listed: {error}") from None
