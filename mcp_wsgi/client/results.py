"""What a server answers and tells, as values.

Each has ``raw``, the mapping as it came, and ``from_wire``, which reads the objects of all revisions leniently:
members that are unknown stay in ``raw``, and optional ones of a wrong type count as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..protocol.meta import SERVER_INFO
from ..protocol.types import Message, ResourceContents, Text
from ..server.reasons import shown
from .content import AnyContent, UnknownContent, read_content, read_message, read_resource_contents
from .entries import Listing, PromptArgument, PromptInfo, ResourceInfo, TemplateInfo, ToolInfo, read_list
from .notices import Change, LogMessage, Progress
from .wire import (
    get_flag,
    get_integer,
    get_list,
    get_mapping,
    get_text,
    need_list,
    need_mapping,
    need_text,
    read_each,
)

__all__ = [
    "AnyContent",
    "CallResult",
    "Change",
    "CompletionResult",
    "Discovery",
    "InputRequiredResult",
    "Listing",
    "LogMessage",
    "Progress",
    "PromptArgument",
    "PromptInfo",
    "PromptResult",
    "ReadResult",
    "ResourceInfo",
    "TemplateInfo",
    "ToolInfo",
    "UnknownContent",
    "read_list",
    "result_type",
]


def result_type(raw: Mapping[str, Any]) -> str:
    """Give the ``resultType`` of a result.

    "For backward compatibility, when a client receives a result from a server implementing an earlier protocol version
    (which does not include `resultType`), the client MUST treat the absent field as `"complete"`." (schema, ``Result``)

    Returns:
        The type; an empty string, which is no type, where the member is no string.
    """
    value = raw.get("resultType", "complete")
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallResult:
    """Hold what a tool call gave (server/tools, Tool Result).

    Attributes:
        content: The content blocks, empty where the server left them out.
        structured: The structured value, ``None`` also where there is none.
        is_error: Whether the tool failed; the content then says why.
        meta: The result's ``_meta``.
    """

    content: tuple[AnyContent, ...] = ()
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> CallResult:
        """Read a ``CallToolResult``.

        Raises:
            ValueError: It is no object, or its content is no list.
        """
        raw = need_mapping(raw, "A tool's result")
        blocks = need_list(raw, "content", "A tool's result") if "content" in raw else []
        return cls(
            content=tuple(map(read_content, blocks)),
            structured=raw.get("structuredContent"),
            is_error=get_flag(raw, "isError"),
            meta=get_mapping(raw, "_meta") or {},
            raw=raw,
        )

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def has_structured(self) -> bool:
        """Whether there is a structured value: it may be ``None``."""
        return "structuredContent" in self.raw


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadResult:
    """Hold what reading a resource gave.

    Attributes:
        contents: The contents; one whose data cannot be read is an ``UnknownContent``.
        meta: The result's ``_meta``.
        ttl_ms: For how many milliseconds the server thinks the result fresh, ``None`` where it does not say.
        cache_scope: ``public`` or ``private``, ``None`` where the server does not say.
    """

    contents: tuple[ResourceContents | UnknownContent, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    ttl_ms: int | None = None
    cache_scope: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> ReadResult:
        """Read a ``ReadResourceResult``.

        Raises:
            ValueError: It is no object, or has no list of contents.
        """
        raw = need_mapping(raw, "A resource's result")
        contents, scope = need_list(raw, "contents", "A resource's result"), raw.get("cacheScope")
        ttl_ms = get_integer(raw, "ttlMs")
        return cls(
            contents=tuple(map(read_resource_contents, contents)),
            meta=get_mapping(raw, "_meta") or {},
            # "If a server returns a negative value, clients SHOULD ignore it and treat it as 0" (SEP-2549).
            ttl_ms=None if ttl_ms is None else max(0, ttl_ms),
            cache_scope=scope if scope in ("public", "private") else None,
            raw=raw,
        )

    @property
    def data(self) -> str | bytes:
        """The data of the only contents.

        Raises:
            ValueError: There are none, several, or such as could not be read.
        """
        if len(self.contents) != 1:
            raise ValueError(f"The resource has {len(self.contents)} contents, not one; look at .contents")
        only = self.contents[0]
        if isinstance(only, UnknownContent):
            raise ValueError("The contents of the resource could not be read; look at .raw")
        return only.data

    @property
    def text(self) -> str:
        """The text of the only contents.

        Raises:
            ValueError: There are none, several, or such as are no text.
        """
        data = self.data
        if isinstance(data, bytes):
            raise ValueError("The contents of the resource are binary; look at .data")
        return data


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptResult:
    """Hold the messages of a prompt. Their content may be an ``UnknownContent``."""

    description: str | None = None
    messages: tuple[Message, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> PromptResult:
        """Read a ``GetPromptResult``; messages without a role are skipped with a warning.

        Raises:
            ValueError: It is no object, or has no list of messages.
        """
        raw = need_mapping(raw, "A prompt's result")
        return cls(
            description=get_text(raw, "description"),
            messages=tuple(read_each(need_list(raw, "messages", "A prompt's result"), read_message, "message")),
            meta=get_mapping(raw, "_meta") or {},
            raw=raw,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletionResult:
    """Hold proposed values, how many there are in all where that is known, and whether there are more."""

    values: tuple[str, ...]
    total: int | None = None
    has_more: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> CompletionResult:
        """Read a ``CompleteResult``; values that are no strings are left out.

        Raises:
            ValueError: It is no object, or has no list of values.
        """
        raw = need_mapping(raw, "A completion")
        inside = get_mapping(raw, "completion") or {}
        values = need_list(inside, "values", "A completion")
        return cls(
            values=tuple(value for value in values if isinstance(value, str)),
            total=get_integer(inside, "total"),
            has_more=get_flag(inside, "hasMore"),
            raw=raw,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class InputRequiredResult:
    """Hold what the server asks before it answers (basic/patterns/mrtr).

    Attributes:
        requests: The questions by key, each with ``method`` and perhaps ``params``.
        state: What has to be sent back untouched, ``None`` where there is nothing.
    """

    requests: dict[str, dict[str, Any]]
    state: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> InputRequiredResult:
        """Read an ``InputRequiredResult``. It is strict: a question or a state that is lost could not be answered.

        Raises:
            ValueError: It has neither questions nor a state, or such as cannot be read.
        """
        raw = need_mapping(raw, "A request for input")
        requests, state = raw.get("inputRequests"), raw.get("requestState")
        if requests is None and state is None:
            raise ValueError('A request for input needs "inputRequests" or "requestState"')
        if state is not None and not isinstance(state, str):
            raise ValueError('A request for input has a "requestState" that is no string')
        questions = need_mapping({} if requests is None else requests, '"inputRequests"')
        for key, question in questions.items():
            what = f"The question {shown(key)}"
            need_text(need_mapping(question, what), "method", what)
        return cls(requests=dict(questions), state=state, raw=raw)


@dataclass(frozen=True, kw_only=True, slots=True)
class Discovery:
    """Hold what a server says of itself, in ``server/discover`` or in the answer to ``initialize``.

    Attributes:
        supported_versions: The versions it names, as it orders them.
        capabilities: Its ``ServerCapabilities``.
        server_info: Its ``Implementation`` object, empty where it does not say who it is.
        instructions: How to use it, for a model.
    """

    supported_versions: tuple[str, ...]
    capabilities: dict[str, Any] = field(default_factory=dict)
    server_info: dict[str, Any] = field(default_factory=dict)
    instructions: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> Discovery:
        """Read a ``DiscoverResult``, or an ``InitializeResult`` of a legacy server.

        Raises:
            ValueError: It is no object, or names no protocol version.
        """
        raw = need_mapping(raw, "What the server says of itself")
        if "supportedVersions" in raw:
            versions = get_list(raw, "supportedVersions") or []
        else:
            versions = [raw.get("protocolVersion")]
        found = tuple(version for version in versions if isinstance(version, str) and version)
        if not found:
            raise ValueError("What the server says of itself names no protocol version")
        info = get_mapping(get_mapping(raw, "_meta") or {}, SERVER_INFO) or get_mapping(raw, "serverInfo")
        return cls(
            supported_versions=found,
            capabilities=get_mapping(raw, "capabilities") or {},
            server_info=info or {},
            instructions=get_text(raw, "instructions"),
            raw=raw,
        )
