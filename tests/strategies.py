"""Hypothesis strategies that the tests share: valid messages, their headers, and mutations of both.

A test that wants hostile input starts from something valid (:data:`messages`, :data:`calls`) and mutates it
(:func:`mutated_messages`, :func:`mutated_headers`): random text alone never gets past the first check.
"""

from __future__ import annotations

import base64
import copy
import re
from collections import Counter
from typing import Any, NamedTuple

from hypothesis import strategies as st

from mcp_wsgi.protocol.headers import expected_headers
from mcp_wsgi.protocol.jsonrpc import notification, request
from mcp_wsgi.protocol.meta import LOG_LEVELS, build_meta
from mcp_wsgi.protocol.param_headers import ParamHeader, collect_param_headers
from mcp_wsgi.protocol.versions import LEGACY_VERSIONS, MODERN_VERSIONS

__all__ = [
    "HeaderPairs",
    "Mirrored",
    "calls",
    "capabilities",
    "client_infos",
    "envelopes",
    "fold",
    "json_texts",
    "json_values",
    "legacy_messages",
    "legacy_requests",
    "messages",
    "modern_messages",
    "modern_requests",
    "mutated_headers",
    "mutated_messages",
    "notifications",
    "progress_tokens",
    "request_ids",
    "same_json",
    "texts",
    "tools",
]

HeaderPairs = list[tuple[str, str]]

# Text and JSON


def _join_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


_NASTY = (*" \t\r\n\0\x7f\x85\xa0,=?", "\u2028", "é", "日", "\ud800", "\udfff", "😀")
_characters = st.characters(exclude_categories=()) | st.sampled_from(_NASTY)
_ascii = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=12)

#: Any ``str`` at all, lone and adjacent surrogates included.
texts = (
    _ascii
    | st.text(_characters, max_size=12)
    | _ascii.map(lambda text: f"=?base64?{text}?=")
    | _ascii.map(lambda text: f" {text}\t")
    | _ascii.map(lambda text: f"{text}, {text}")
    | st.sampled_from(["=?base64?=", "=?base64??=", "a, b", "a,a", "0", "true", "42"])
)
#: The same as JSON carries it: two adjacent halves of a surrogate pair are one character there.
json_texts = texts.map(_join_surrogates)

_numbers = st.integers() | st.integers(-(10**900), 10**900) | st.floats(allow_nan=False, allow_infinity=False)
_leaves = st.none() | st.booleans() | _numbers | json_texts


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(json_texts, inner, max_size=4)


def _nest(value: Any, depth: int, as_list: bool) -> Any:
    for _ in range(depth):
        value = [value] if as_list else {"a": value}
    return value


_shallow: st.SearchStrategy[Any] = st.recursive(_leaves, _containers, max_leaves=8)
#: Anything that JSON can say, below the depth and the number length that are read.
json_values: st.SearchStrategy[Any] = _shallow | st.builds(_nest, _leaves, st.integers(1, 110), st.booleans())
json_objects = st.dictionaries(json_texts, _shallow, max_size=4)


def same_json(left: Any, right: Any) -> bool:
    """Compare JSON values without Python's ``1 == 1.0 == True``, and with the order of members."""
    return repr(left) == repr(right)


# Messages

request_ids: st.SearchStrategy[Any] = (
    st.integers(-(2**63), 2**63) | json_texts | st.sampled_from([0, -1, "", "0", "001"])
)
progress_tokens: st.SearchStrategy[Any] = request_ids
_object_flag = st.sampled_from([{}, {"listChanged": True}])
capabilities = st.fixed_dictionaries(
    {},
    optional={
        "elicitation": st.sampled_from([{}, {"form": {}}, {"url": {}}, {"form": {}, "url": {}}]),
        "sampling": st.sampled_from([{}, {"tools": {}}, {"context": {}}]),
        "roots": _object_flag,
        "extensions": st.just({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}),
        "experimental": st.just({"x": {}}),
    },
)
client_infos = st.fixed_dictionaries(
    {"name": json_texts, "version": json_texts}, optional={"title": json_texts, "x": json_values}
)
_log_levels = st.sampled_from(LOG_LEVELS)


def envelopes(version: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the ``_meta`` object of a modern request."""
    return st.builds(
        build_meta,
        version=st.sampled_from(MODERN_VERSIONS) if version is None else version,
        capabilities=capabilities,
        client_info=st.none() | client_infos,
        log_level=st.none() | _log_levels,
        progress_token=st.none() | progress_tokens,
        extra=st.none() | st.fixed_dictionaries({"com.example/trace": json_values}),
    )


_page = st.fixed_dictionaries({}, optional={"cursor": json_texts})
_ref = st.fixed_dictionaries({"type": st.just("ref/prompt"), "name": json_texts}) | st.fixed_dictionaries(
    {"type": st.just("ref/resource"), "uri": json_texts}
)
_shared_params: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "tools/list": _page,
    "resources/list": _page,
    "resources/templates/list": _page,
    "prompts/list": _page,
    "tools/call": st.fixed_dictionaries({"name": json_texts}, optional={"arguments": json_objects}),
    "resources/read": st.fixed_dictionaries({"uri": json_texts | st.just("file:///a%20b,c?d=1")}),
    "prompts/get": st.fixed_dictionaries(
        {"name": json_texts}, optional={"arguments": st.dictionaries(json_texts, json_texts, max_size=3)}
    ),
    "completion/complete": st.fixed_dictionaries(
        {"ref": _ref, "argument": st.fixed_dictionaries({"name": json_texts, "value": json_texts})}
    ),
}
_answers = st.fixed_dictionaries({}, optional={"requestState": json_texts, "inputResponses": json_objects})
_modern_params: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    **_shared_params,
    "server/discover": st.just({}),
    "subscriptions/listen": st.just({"notifications": {"toolsListChanged": True}}),
    "tools/call": st.tuples(_shared_params["tools/call"], _answers).map(lambda parts: parts[0] | parts[1]),
}
_legacy_params: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    **_shared_params,
    "initialize": st.fixed_dictionaries(
        {
            "protocolVersion": st.sampled_from([*LEGACY_VERSIONS, "2030-01-01"]),
            "capabilities": capabilities,
            "clientInfo": client_infos,
        }
    ),
    "ping": st.just({}),
    "logging/setLevel": st.fixed_dictionaries({"level": _log_levels}),
    "resources/subscribe": st.fixed_dictionaries({"uri": json_texts}),
    "resources/unsubscribe": st.fixed_dictionaries({"uri": json_texts}),
}


@st.composite
def modern_requests(draw: st.DrawFn, version: st.SearchStrategy[str] | None = None) -> dict[str, Any]:
    """Draw a request of the modern era, of any of its methods, in wire form."""
    method = draw(st.sampled_from(sorted(_modern_params)))
    params = {"_meta": draw(envelopes(version)), **draw(_modern_params[method])}
    return request(draw(request_ids), method, params)


@st.composite
def legacy_requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a request of a revision with a handshake, in wire form."""
    method = draw(st.sampled_from(sorted(_legacy_params)))
    params = dict(draw(_legacy_params[method]))
    if draw(st.booleans()):
        params["_meta"] = {"progressToken": draw(progress_tokens)}
    omit = not params and draw(st.integers(0, 1)) == 1
    return request(draw(request_ids), method, None if omit else params)


_notification_params: dict[str, st.SearchStrategy[dict[str, Any] | None]] = {
    "notifications/initialized": st.none() | st.just({}),
    "notifications/cancelled": st.fixed_dictionaries({"requestId": request_ids}, optional={"reason": json_texts}),
    "notifications/progress": st.fixed_dictionaries({"progressToken": progress_tokens, "progress": st.integers()}),
    "notifications/roots/list_changed": st.none(),
    "x/unknown": st.none() | json_objects,
}


@st.composite
def notifications(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a notification of a client, in wire form."""
    method = draw(st.sampled_from(sorted(_notification_params)))
    return notification(method, draw(_notification_params[method]))


modern_messages: st.SearchStrategy[dict[str, Any]] = modern_requests() | notifications()
legacy_messages: st.SearchStrategy[dict[str, Any]] = legacy_requests() | notifications()
messages: st.SearchStrategy[dict[str, Any]] = modern_messages | legacy_messages

# Tools whose arguments are mirrored into headers


class Mirrored(NamedTuple):
    """Know the mirrored arguments of a tool, as a registered tool does."""

    param_headers: tuple[ParamHeader, ...]

    @classmethod
    def of(cls, tool: dict[str, Any]) -> Mirrored:
        """Read them from a tool in wire form."""
        return cls(collect_param_headers(tool["inputSchema"]))


_tokens = st.text(st.sampled_from("abcXYZ019-_.!#$%&'*+^`|~"), min_size=1, max_size=6)
_primitives: dict[str, st.SearchStrategy[Any]] = {
    "string": json_texts,
    "integer": st.integers() | st.integers(-1000, 1000).map(float) | st.just(-0.0),
    "boolean": st.booleans(),
}


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a tool in wire form with up to four mirrored arguments, some of them in nested objects."""
    suffixes = draw(st.lists(_tokens, max_size=4, unique_by=str.lower))
    schema: dict[str, Any] = {"type": "object", "properties": {"plain": {"type": "string"}}}
    for index, suffix in enumerate(suffixes):
        target = schema
        for name in draw(st.lists(st.sampled_from(["in", "é", "a.b"]), max_size=2)):
            target = target["properties"].setdefault(name, {"type": "object", "properties": {}})
        kind = draw(st.sampled_from(sorted(_primitives)))
        target["properties"][f"p{index}"] = {"type": kind, "x-mcp-header": suffix}
    return {"name": draw(json_texts.filter(bool)), "inputSchema": schema}


def _draw_arguments(draw: st.DrawFn, schema: dict[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, child in schema["properties"].items():
        how = draw(st.sampled_from(["value", "value", "value", "absent", "null", "other"]))
        if how == "value":
            nested = "properties" in child
            arguments[name] = _draw_arguments(draw, child) if nested else draw(_primitives[child["type"]])
        elif how != "absent":
            arguments[name] = None if how == "null" else draw(json_values)
    return arguments


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a ``tools/call`` request and the tool it calls; arguments may be absent, null or of another type."""
    tool = draw(tools())
    meta = build_meta(version=draw(st.sampled_from(MODERN_VERSIONS)), capabilities={})
    params: dict[str, Any] = {"_meta": meta, "name": tool["name"]}
    if draw(st.integers(0, 9)):
        params["arguments"] = _draw_arguments(draw, tool["inputSchema"])
    return request(1, "tools/call", params), tool


# Mutations of header lists


def _sentinel(value: str) -> str:
    data = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"=?base64?{data}?="


_PADDING = (" ", "\t", "\xa0", "\xa0 ", "\r\n ", "\0", "0", ".0", "=")
_VERSIONS = ("2026-07-28", "2025-11-25", "1999-01-01")
_OTHER_VALUES = (*_VERSIONS, "tools/list", "tools/call", "prompts/get", "", "42.0", "True", "1", "0")
_HEADER_CHANGES = (
    "drop",
    "double",
    "swap",
    "split",
    "name",
    "case",
    "pad",
    "other",
    "wrap",
    "bits",
    "unwrap",
    "orphan",
)


def _change_headers(draw: st.DrawFn, pairs: HeaderPairs, known: list[str]) -> None:
    how = draw(st.sampled_from(_HEADER_CHANGES))
    if how == "orphan" or not pairs:
        pairs.append((draw(st.sampled_from(known)), draw(_ascii)))
        return
    index = draw(st.integers(0, len(pairs) - 1))
    name, value = pairs[index]
    if how == "drop":
        del pairs[index]
    elif how == "double":
        pairs.insert(draw(st.integers(0, len(pairs))), (name, value))
    elif how == "swap":
        other = draw(st.integers(0, len(pairs) - 1))
        pairs[index], pairs[other] = (name, pairs[other][1]), (pairs[other][0], value)
    elif how == "split" and ", " in value:
        left, right = value.split(", ", 1)
        pairs[index : index + 1] = [(name, left), (name, right)]
    elif how == "split":
        pairs[index] = (name, f"{value}, {value}")
    elif how == "name":
        pairs[index] = (draw(st.sampled_from([name.lower(), name.upper(), name.replace("-", "_")])), value)
    else:
        pairs[index] = (name, _change_value(draw, how, value))


def _change_value(draw: st.DrawFn, how: str, value: str) -> str:
    if how == "case":
        return draw(st.sampled_from([value.upper(), value.lower(), value.swapcase()]))
    if how == "pad":
        padding = draw(st.sampled_from(_PADDING))
        return padding + value if draw(st.booleans()) else value + padding
    if how == "wrap":
        return _sentinel(value)
    if how == "bits":
        # The last character before padding has bits that decode to nothing.
        return re.sub("[AEIMQUYcgkosw048](?==)", lambda match: chr(ord(match[0]) + 1), _sentinel(value))
    if how == "unwrap" and value.startswith("=?base64?"):
        return value[9:-2]
    return draw(st.sampled_from(_OTHER_VALUES) | _ascii)


@st.composite
def mutated_headers(
    draw: st.DrawFn, message: dict[str, Any], tool: dict[str, Any] | None = None, *, at_least: int = 0
) -> HeaderPairs:
    """Draw the header lines of a message with up to three changes."""
    pairs = expected_headers(message, tool)
    known = ["Mcp-Name", "Mcp-Method", "Mcp-Param-X", "X-Other"]
    if tool is not None:
        known += [f"Mcp-Param-{header.name}" for header in Mirrored.of(tool).param_headers]
    for _ in range(draw(st.sampled_from([at_least, 1, 1, 1, 2, 3]))):
        _change_headers(draw, pairs, known)
    return pairs


def fold(pairs: HeaderPairs) -> tuple[dict[str, str], frozenset[str]]:
    """Join header lines as an endpoint that sees lines does; give also the names that were repeated."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    counts = Counter(name.lower() for name, _ in pairs)
    return joined, frozenset(name for name, count in counts.items() if count > 1)


# Mutations of messages

_IDS: tuple[Any, ...] = (None, True, 1.5, [], {}, "x", 0)
_MEMBERS = ("jsonrpc", "id", "method", "params", "result", "error", "extra")


@st.composite
def mutated_messages(draw: st.DrawFn, source: st.SearchStrategy[dict[str, Any]] = messages) -> Any:
    """Draw a valid message with one to three members lost, ill-typed, renamed or added, at any depth."""
    message = copy.deepcopy(draw(source))
    for _ in range(draw(st.integers(1, 3))):
        holder = message
        while draw(st.booleans()):
            inner = [value for value in holder.values() if isinstance(value, dict) and value]
            if not inner:
                break
            holder = draw(st.sampled_from(inner))
        name = draw(st.sampled_from([*holder, *(_MEMBERS if holder is message else ("_meta",))]))
        how = draw(st.sampled_from(["drop", "set", "set", "id", "rename"]))
        if how == "id":
            message["id"] = draw(st.sampled_from(_IDS))
        elif how == "set" or name not in holder:
            holder[name] = draw(json_values)
        elif how == "rename":
            holder[name.swapcase()] = holder.pop(name)
        else:
            del holder[name]
    return draw(st.sampled_from([message, message, message, [message], [message, message]]))
