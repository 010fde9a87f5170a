"""The parts that tools, resources and prompts have in common when they are listed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..exceptions import EncodeError, RegistrationError
from ..protocol.codec import encode_text
from ..protocol.types import Annotations, Icon

__all__ = ["Visible", "check_name", "check_wire", "describe", "name_of"]

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


def name_of(function: Callable[..., Any]) -> str:
    """Give the name a function is registered under when none is given.

    Raises:
        RegistrationError: It has none of its own (a lambda, a partial of one, a callable object).
    """
    target: Any = function
    while hasattr(target, "func"):
        target = target.func
    name = getattr(target, "__name__", None)
    if not name or name == "<lambda>":
        raise RegistrationError("This callable has no name of its own; pass name=...")
    return str(name)


def docstring_of(function: Callable[..., Any]) -> str | None:
    """Give the docstring of what a callable calls."""
    target: Any = function
    while hasattr(target, "func"):
        target = target.func
    if not (inspect.isroutine(target) or isinstance(target, type)):
        return inspect.getdoc(target.__call__) or inspect.getdoc(target)
    return inspect.getdoc(target)


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
        wire["annotations"] = annotations.to_wire()
    if icons is not None:
        wire["icons"] = [icon.to_wire() for icon in icons]
    if meta is not None:
        wire["_meta"] = dict(meta)
    return wire


def check_wire(kind: str, name: str, wire: Mapping[str, Any]) -> None:
    """Check at registration that a definition can be listed.

    Raises:
        RegistrationError: It holds something that is not JSON.
    """
    try:
        encode_text(wire)
    except EncodeError as error:
        raise RegistrationError(f"The {kind} {name!r} cannot be listed: {error}") from None
