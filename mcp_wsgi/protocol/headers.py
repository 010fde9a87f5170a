"""The HTTP headers of a message: computed from it, and compared with what arrived.

:func:`expected_headers` is the only place that says which headers a message has. The client sends its
result; the server compares with it (:func:`check_headers`). So header and envelope cannot diverge.

2026-07-28, basic/transports/streamable-http, Request Metadata Headers, Server Validation, Value Encoding.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..exceptions import HeaderMismatchError
from .meta import PROTOCOL_VERSION
from .param_headers import ParamHeader, collect_param_headers

__all__ = [
    "METHOD_HEADER",
    "NAME_HEADER",
    "PARAM_PREFIX",
    "VERSION_HEADER",
    "HasParamHeaders",
    "check_headers",
    "check_name",
    "check_optional",
    "decode_value",
    "encode_value",
    "expected_headers",
]

VERSION_HEADER = "MCP-Protocol-Version"
METHOD_HEADER = "Mcp-Method"
NAME_HEADER = "Mcp-Name"
PARAM_PREFIX = "Mcp-Param-"

#: The member of ``params`` that ``Mcp-Name`` mirrors.
NAME_SOURCES: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_PREFIX, _SUFFIX = "=?base64?", "?="
_SENTINEL = re.compile(r"=\?base64\?(.*)\?=\Z")
_WHITESPACE = " \t"
# RFC 9110 field values: visible ASCII, space and tab.
_FIELD_VALUE = re.compile(r"[\x20-\x7e\t]*\Z")
_PLAIN = re.compile(r"[\x20-\x7e]*\Z")
# 42.0 and 42 are the same integer ("servers SHOULD compare the header value and the body value numerically").
_INTEGER = re.compile(r"(-?(?:0|[1-9][0-9]{0,999}))(?:\.0{1,20})?\Z")


class HasParamHeaders(Protocol):
    """Anything that knows its mirrored arguments; a registered tool does."""

    @property
    def param_headers(self) -> Sequence[ParamHeader]: ...  # noqa: D102


def encode_value(text: str) -> str:
    """Encode a string as a header value: plain where it can be, else in the Base64 sentinel."""
    if (
        _PLAIN.match(text)
        and text == text.strip(_WHITESPACE)
        and not (text.startswith(_PREFIX) and text.endswith(_SUFFIX))
    ):
        return text
    data = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"{_PREFIX}{data}{_SUFFIX}"


def decode_value(value: str) -> str:
    """Decode a header value; :func:`encode_value` reversed.

    Raises:
        ValueError: It has a character that no field value may have, or a sentinel whose content is not
            canonical Base64 of UTF-8.
    """
    value = value.strip(_WHITESPACE)
    if value.isascii() and value.isprintable() and not value.startswith(_PREFIX):
        return value
    if not _FIELD_VALUE.match(value):
        raise ValueError("it contains characters that a header value must not have")
    match = _SENTINEL.match(value)
    if match is None:
        return value
    data = match.group(1).encode("ascii")
    try:
        raw = base64.b64decode(data, validate=True)
        text = raw.decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        raise ValueError("its Base64 value cannot be decoded") from None
    if base64.b64encode(raw) != data:
        raise ValueError("its Base64 value cannot be decoded")
    return text


def _text(value: Any) -> str | None:
    """Render an argument as the specification's string form; ``None`` for what is never mirrored."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None


def _argument(arguments: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(name)
    return arguments


def _param_headers(tool: HasParamHeaders | Mapping[str, Any] | None) -> Sequence[ParamHeader]:
    if tool is None:
        return ()
    if isinstance(tool, Mapping):
        return collect_param_headers(tool.get("inputSchema") or {})
    return tool.param_headers


def expected_headers(
    message: Mapping[str, Any], tool: HasParamHeaders | Mapping[str, Any] | None = None
) -> list[tuple[str, str]]:
    """Compute the MCP headers of one modern message.

    Args:
        message: A request or notification in its wire form.
        tool: For ``tools/call``: the tool as listed, or a registered one. Without it no ``Mcp-Param-*``
            header is computed.

    Returns:
        Name and value pairs: ``MCP-Protocol-Version`` (where the envelope has one), ``Mcp-Method``,
        ``Mcp-Name`` where the method has a name, then ``Mcp-Param-*`` in schema order.

    Raises:
        ParamHeaderError: ``tool`` is a mapping whose annotations break the specification's constraints.
    """
    params = message.get("params")
    params = params if isinstance(params, Mapping) else {}
    method = message["method"]
    headers: list[tuple[str, str]] = []
    meta = params.get("_meta")
    version = meta.get(PROTOCOL_VERSION) if isinstance(meta, Mapping) else None
    if isinstance(version, str):
        headers.append((VERSION_HEADER, version))
    headers.append((METHOD_HEADER, method))
    source = NAME_SOURCES.get(method)
    if source is not None and isinstance(params.get(source), str):
        headers.append((NAME_HEADER, encode_value(params[source])))
    if method == "tools/call":
        arguments = params.get("arguments")
        for name, path in _param_headers(tool):
            text = _text(_argument(arguments, path))
            if text is not None:
                headers.append((PARAM_PREFIX + name, encode_value(text)))
    return headers


def _show(value: str) -> str:
    text = value if len(value) <= 100 else value[:100] + "..."
    return ascii(text)


def _mismatch(name: str, got: str, wanted: str) -> HeaderMismatchError:
    return HeaderMismatchError(
        f"Header mismatch: {name} header value {_show(got)} does not match body value {_show(wanted)}"
    )


def _missing(name: str, wanted: str) -> HeaderMismatchError:
    return HeaderMismatchError(f"Header mismatch: the {name} header is missing; the body says {_show(wanted)}")


def _decoded(name: str, value: str) -> str:
    try:
        return decode_value(value)
    except ValueError as error:
        raise HeaderMismatchError(f"Header mismatch: the {name} header is malformed: {error}") from None


def _refuse_repeated(name: str, repeated: Iterable[str]) -> None:
    if name.lower() in repeated:
        raise HeaderMismatchError(f"Header mismatch: the {name} header is repeated; send it once")


def check_optional(name: str, headers: Mapping[str, str], wanted: str) -> None:
    """Check a header that may be absent; present, it must be exactly ``wanted``.

    Raises:
        HeaderMismatchError: It differs or is repeated. A comma may join two lines that each say something
            else, so no value with one is taken.
    """
    got = headers.get(name.lower())
    if got is not None and (got.strip(_WHITESPACE) != wanted or "," in got):
        raise _mismatch(name, got, wanted)


def check_headers(
    method: str,
    version: str,
    params: Mapping[str, Any],
    headers: Mapping[str, str],
    *,
    repeated: Iterable[str] = (),
    tool: HasParamHeaders | None = None,
) -> None:
    """Compare the headers of one modern request with its body; accept only equivalent spellings.

    Args:
        method: The method in the body.
        version: The protocol version in the envelope.
        params: The params in the body.
        headers: What arrived, names in lower case; lines of one name joined with ``", "``.
        repeated: Names (lower case) that arrived in several lines, where the door sees lines.
        tool: The tool that ``tools/call`` names, where it exists.

    Raises:
        HeaderMismatchError: A header is missing, repeated, malformed or different; both values are named.
    """
    # A joined version or method has a comma and never equals: no method is registered with one.
    for name, key, wanted in (
        (VERSION_HEADER, "mcp-protocol-version", version),
        (METHOD_HEADER, "mcp-method", method),
    ):
        got = headers.get(key)
        if got != wanted:
            if got is None:
                raise _missing(name, wanted)
            if got.strip(_WHITESPACE) != wanted:
                raise _mismatch(name, got, wanted)
    if method not in NAME_SOURCES:
        return
    check_name(method, params, headers, repeated)
    if method == "tools/call" and tool is not None and tool.param_headers:
        _check_params(tool.param_headers, params.get("arguments"), headers, repeated)


def check_name(method: str, params: Mapping[str, Any], headers: Mapping[str, str], repeated: Iterable[str]) -> None:
    """Compare the name header with the name in the body, where the method has one.

    Raises:
        HeaderMismatchError: It is missing, repeated, malformed or different.
    """
    wanted = params.get(NAME_SOURCES.get(method, ""))
    if type(wanted) is not str:
        return
    got = headers.get("mcp-name")
    if got is None:
        raise _missing(NAME_HEADER, wanted)
    _refuse_repeated(NAME_HEADER, repeated)
    if _decoded(NAME_HEADER, got) != wanted:
        raise _mismatch(NAME_HEADER, got, wanted)


def _check_params(
    param_headers: Sequence[ParamHeader], arguments: Any, headers: Mapping[str, str], repeated: Iterable[str]
) -> None:
    for suffix, path in param_headers:
        name = PARAM_PREFIX + suffix
        got = headers.get(name.lower())
        value = _argument(arguments, path)
        wanted = _text(value)
        if got is None:
            if wanted is not None:
                raise _missing(name, wanted)
            continue
        _refuse_repeated(name, repeated)
        text = _decoded(name, got)
        if wanted is None:
            # "Parameter not in arguments: server MUST NOT expect the header": one that came says something
            # that the body does not.
            raise HeaderMismatchError(f"Header mismatch: {name} header value {_show(got)} has no value in the body")
        if text != wanted and not _same_integer(text, value):
            raise _mismatch(name, got, wanted)


def _same_integer(text: str, value: Any) -> bool:
    match = _INTEGER.match(text)
    return match is not None and type(value) in (int, float) and int(match.group(1)) == value
