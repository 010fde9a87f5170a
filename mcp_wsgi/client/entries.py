"""The entries of a server's lists, as values: tools, resources, templates and prompts.

They are read as :mod:`mcp_wsgi.client.results` says; entries without what names them cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ..protocol.types import Annotations, Icon
from .content import read_annotations, read_icons
from .wire import get_flag, get_integer, get_list, get_mapping, get_text, need_mapping, need_text, read_each

__all__ = ["Listing", "PromptArgument", "PromptInfo", "ResourceInfo", "TemplateInfo", "ToolInfo", "read_list"]

T_co = TypeVar("T_co", covariant=True)
T_self = TypeVar("T_self")


def _common(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": get_text(raw, "title"),
        "description": get_text(raw, "description"),
        "icons": read_icons(raw),
        "meta": get_mapping(raw, "_meta") or {},
        "raw": raw,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    name: str
    title: str | None = None
    description: str | None = None
    icons: tuple[Icon, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def label(self) -> str:
        """What to show people: the title, else the name."""
        return self.title or self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolInfo(_Entry):
    """Describe a tool (server/tools, Data Types).

    Attributes:
        input_schema: The schema of its arguments; that of any object where the server left it out.
        output_schema: The schema of its structured value, ``None`` where there is none.
        annotations: Its hints in their wire form, ``readOnlyHint`` for example. They are the server's word only.
    """

    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_wire(cls, raw: Any) -> ToolInfo:
        """Read a ``Tool``.

        Raises:
            ValueError: It has no name, or an input schema that is no object.
        """
        raw = need_mapping(raw, "It")
        schema = raw.get("inputSchema", {"type": "object"})
        return cls(
            name=need_text(raw, "name", "It"),
            input_schema=need_mapping(schema, "Its input schema"),
            output_schema=get_mapping(raw, "outputSchema"),
            annotations=get_mapping(raw, "annotations") or {},
            **_common(raw),
        )

    @property
    def label(self) -> str:
        """What to show people: the title, that of the annotations where only they have one, else the name."""
        return self.title or get_text(self.annotations, "title") or self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceInfo(_Entry):
    """Describe a resource; ``size`` is in bytes. Without a name of its own it is called like its URI."""

    uri: str
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None

    @classmethod
    def from_wire(cls, raw: Any) -> ResourceInfo:
        """Read a ``Resource``.

        Raises:
            ValueError: It has no URI.
        """
        raw = need_mapping(raw, "It")
        uri, size = need_text(raw, "uri", "It"), get_integer(raw, "size")
        return cls(
            uri=uri,
            name=get_text(raw, "name") or uri,
            mime_type=get_text(raw, "mimeType"),
            size=None if size is None or size < 0 else size,
            annotations=read_annotations(raw),
            **_common(raw),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateInfo(_Entry):
    """Describe a family of resources by an RFC 6570 template. Without a name of its own it is called like that."""

    uri_template: str
    mime_type: str | None = None
    annotations: Annotations | None = None

    @classmethod
    def from_wire(cls, raw: Any) -> TemplateInfo:
        """Read a ``ResourceTemplate``.

        Raises:
            ValueError: It has no template.
        """
        raw = need_mapping(raw, "It")
        template = need_text(raw, "uriTemplate", "It")
        return cls(
            uri_template=template,
            name=get_text(raw, "name") or template,
            mime_type=get_text(raw, "mimeType"),
            annotations=read_annotations(raw),
            **_common(raw),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptArgument:
    """Describe an argument of a prompt."""

    name: str
    description: str | None = None
    required: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, raw: Any) -> PromptArgument:
        """Read a ``PromptArgument``.

        Raises:
            ValueError: It has no name.
        """
        raw = need_mapping(raw, "An argument")
        name = need_text(raw, "name", "An argument")
        return cls(name=name, description=get_text(raw, "description"), required=get_flag(raw, "required"), raw=raw)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptInfo(_Entry):
    """Describe a prompt and its arguments."""

    arguments: tuple[PromptArgument, ...] = ()

    @classmethod
    def from_wire(cls, raw: Any) -> PromptInfo:
        """Read a ``Prompt``.

        Raises:
            ValueError: It has no name, or an argument without one: a call could not name all of them.
        """
        raw = need_mapping(raw, "It")
        arguments = get_list(raw, "arguments") or ()
        return cls(
            name=need_text(raw, "name", "It"),
            arguments=tuple(map(PromptArgument.from_wire, arguments)),
            **_common(raw),
        )


class _Readable(Protocol):
    """A value with a wire form."""

    @classmethod
    def from_wire(cls: type[T_self], raw: Any) -> T_self:
        """Read one."""
        ...


T_readable = TypeVar("T_readable", bound=_Readable)


def read_list(entries: Any, kind: type[T_readable]) -> list[T_readable]:
    """Read the entries of a list result; those that cannot be used are skipped with a warning.

    Args:
        entries: The list as it came.
        kind: The class of the entries, for example ``ToolInfo``.

    Raises:
        ValueError: It is no list.
    """
    return read_each(entries, kind.from_wire, kind.__name__.removesuffix("Info").lower())


class Listing(tuple[T_co, ...]):
    """Hold what a list method gave, in order.

    Args:
        items: The entries.
        next_cursor: What continues the list where not all of it was fetched, else ``None``.
        raw: The result mappings of the pages.
    """

    next_cursor: str | None
    raw: list[dict[str, Any]]

    def __new__(
        cls, items: Iterable[T_co] = (), next_cursor: str | None = None, raw: Sequence[dict[str, Any]] = ()
    ) -> Listing[T_co]:
        """Make a listing."""
        self = super().__new__(cls, tuple(items))
        self.next_cursor = next_cursor
        self.raw = list(raw)
        return self
