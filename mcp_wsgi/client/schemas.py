"""Schemas of tools at the client: which tools can be called, and what their results must look like."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..exceptions import ArgumentError, EncodeError, ParseError, RegistrationError, RemoteProtocolError
from ..protocol.codec import decode, encode
from ..protocol.param_headers import ParamHeaderError, collect_param_headers
from ..server.reasons import shown
from .entries import ToolInfo
from .forms import check_form, fill_defaults
from .results import CallResult
from .wire import LOGGER, plain, read_each

__all__ = ["check_form", "fill_defaults", "output_checker", "usable_tools"]

#: The largest output schema that is checked against, in bytes; 64 MiB for all that are kept.
_MAX_SCHEMA = 256 * 1024


def usable_tools(entries: Any, *, mirrored: bool) -> list[ToolInfo]:
    """Read the tools of a list; those that cannot be used are left out with a warning.

    Args:
        entries: The list as it came.
        mirrored: Whether arguments are mirrored into headers, as modern requests over HTTP do. Then tools whose
            ``x-mcp-header`` annotations are invalid are left out too: "the client MUST exclude the invalid tool from
            the result of `tools/list`" (SEP-2243).

    Raises:
        ValueError: It is no list.
    """

    def read(entry: Any) -> ToolInfo:
        tool = ToolInfo.from_wire(entry)
        if mirrored:
            try:
                collect_param_headers(tool.input_schema)
            except (ParamHeaderError, RecursionError) as error:
                raise ValueError(f"{shown(tool.name)} cannot be called over HTTP: {plain(str(error))}") from None
        return tool

    return read_each(entries, read, "tool")


def output_checker(tool: ToolInfo) -> Callable[[CallResult], None] | None:
    """Give what checks a tool's results against its output schema.

    References are never fetched. A schema that cannot be checked against, since it leads elsewhere or is of an
    unknown dialect, is warned about once and not checked. What a schema asks for is done, its patterns included: a
    server that means harm can make a check take long.

    Args:
        tool: The tool as it was listed.

    Returns:
        A function that raises ``RemoteProtocolError`` where a result does not conform, naming the tool, the place and
        what was wanted; ``None`` where there is nothing to check. Results with ``is_error`` pass.
    """
    schema = tool.output_schema
    if schema is None:
        return None
    name = shown(tool.name)
    try:
        text = encode(schema)
    except EncodeError:
        text = b""
    if not 0 < len(text) <= _MAX_SCHEMA:
        LOGGER.warning("The results of the tool %s are not checked: its output schema is too large", name)
        return None
    validate = _compile(name, text)
    if validate is None:
        return None

    def check(result: CallResult) -> None:
        if result.is_error:
            return
        if not result.has_structured:
            raise RemoteProtocolError(f"The tool {name} has an output schema, and its result no structured content")
        try:
            validate(result.structured)
        except ArgumentError as error:
            reason = error.reason.replace("missing required argument", "missing required property")
            place = f" at {plain(error.path)}" if error.path else ""
            raise RemoteProtocolError(
                f"The result of the tool {name} does not conform to its output schema{place}: {plain(reason)}"
            ) from None

    return check


@lru_cache(maxsize=256)
def _compile(name: str, text: bytes) -> Callable[[Any], None] | None:
    """Compile a schema, given as its text so that equal ones are compiled and warned about once."""
    from ..server.validation import compile_validator

    try:
        return compile_validator(decode(text), what="output schema")
    except (ParseError, RegistrationError, RecursionError) as error:
        LOGGER.warning("The results of the tool %s are not checked: %s", name, plain(str(error)))
        return None
