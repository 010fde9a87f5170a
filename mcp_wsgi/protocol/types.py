"""Content, results and the small objects around them, as values that write themselves.

Each class has ``to_wire()``, which gives the JSON object that the specification's schema describes under
the same name. Bytes are written in the standard Base64 alphabet with padding.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = [
    "Annotations",
    "Audio",
    "Completion",
    "Content",
    "EmbeddedResource",
    "Icon",
    "Image",
    "Message",
    "ResourceContents",
    "ResourceLink",
    "Text",
    "ToolResult",
]

Role: TypeAlias = 'Literal["user", "assistant"]'


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _put(target: dict[str, Any], **members: Any) -> dict[str, Any]:
    target.update({name: value for name, value in members.items() if value is not None})
    return target


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotations:
    """Say for whom content is, how much it matters (0 to 1) and when it changed (ISO 8601)."""

    audience: Sequence[Role] | None = None
    priority: float | None = None
    last_modified: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``Annotations`` object."""
        audience = list(self.audience) if self.audience is not None else None
        return _put({}, audience=audience, priority=self.priority, lastModified=self.last_modified)


@dataclass(frozen=True, slots=True)
class Icon:
    """Point to an icon by an ``https:`` or ``data:`` URI."""

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] | None = None
    theme: Literal["light", "dark"] | None = None

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``Icon`` object."""
        sizes = list(self.sizes) if self.sizes is not None else None
        return _put({"src": self.src}, mimeType=self.mime_type, sizes=sizes, theme=self.theme)


@dataclass(frozen=True, slots=True)
class _Content:
    annotations: Annotations | None = field(default=None, kw_only=True)
    meta: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def _finish(self, wire: dict[str, Any]) -> dict[str, Any]:
        annotations = self.annotations.to_wire() if self.annotations is not None else None
        return _put(wire, annotations=annotations, _meta=dict(self.meta) if self.meta is not None else None)


@dataclass(frozen=True, slots=True)
class Text(_Content):
    """Hold text, where a plain ``str`` cannot carry its annotations."""

    text: str

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``TextContent`` object."""
        return self._finish({"type": "text", "text": self.text})


@dataclass(frozen=True, slots=True)
class Image(_Content):
    """Hold an image as raw bytes."""

    data: bytes
    mime_type: str = "image/png"

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``ImageContent`` object."""
        return self._finish({"type": "image", "data": _b64(self.data), "mimeType": self.mime_type})


@dataclass(frozen=True, slots=True)
class Audio(_Content):
    """Hold a sound as raw bytes."""

    data: bytes
    mime_type: str = "audio/wav"

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``AudioContent`` object."""
        return self._finish({"type": "audio", "data": _b64(self.data), "mimeType": self.mime_type})


@dataclass(frozen=True, slots=True)
class ResourceLink(_Content):
    """Point to a resource that the client can read by itself. ``size`` is in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[Icon] | None = None

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``ResourceLink`` object."""
        wire = {"type": "resource_link", "uri": self.uri, "name": self.name}
        icons = [icon.to_wire() for icon in self.icons] if self.icons is not None else None
        _put(wire, title=self.title, description=self.description, mimeType=self.mime_type)
        return self._finish(_put(wire, size=self.size, icons=icons))


@dataclass(frozen=True, slots=True)
class ResourceContents:
    """Hold what reading a resource gives: ``str`` is text, ``bytes`` a blob.

    ``uri`` may stay empty in a resource handler: it is then the one that was asked for.
    """

    data: str | bytes
    uri: str = ""
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = None

    def to_wire(self, uri: str = "", mime_type: str | None = None) -> dict[str, Any]:
        """Write the schema's ``TextResourceContents`` or ``BlobResourceContents`` object.

        Args:
            uri: What to say where this value has no URI of its own.
            mime_type: The same for the media type.
        """
        wire: dict[str, Any] = {"uri": self.uri or uri}
        _put(wire, mimeType=self.mime_type or mime_type)
        if isinstance(self.data, str):
            wire["text"] = self.data
        else:
            wire["blob"] = _b64(self.data)
        return _put(wire, _meta=dict(self.meta) if self.meta is not None else None)


@dataclass(frozen=True, slots=True)
class EmbeddedResource(_Content):
    """Put the contents of a resource into a result; the contents need a ``uri``."""

    resource: ResourceContents

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``EmbeddedResource`` object."""
        return self._finish({"type": "resource", "resource": self.resource.to_wire()})


Content: TypeAlias = "Text | Image | Audio | ResourceLink | EmbeddedResource"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """Give a tool's result in full: content, structured content, error flag and ``_meta``.

    A ``str`` in ``content`` is text. ``structured`` is any JSON-like value; ``None`` means there is none.
    Without ``content`` the text copy of ``structured`` is made.
    """

    content: Sequence[Content | str] | None = None
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """Hold one message of a prompt; a ``str`` is text."""

    content: Content | str
    role: Role = "user"

    def to_wire(self) -> dict[str, Any]:
        """Write the schema's ``PromptMessage`` object."""
        content = Text(self.content) if isinstance(self.content, str) else self.content
        return {"role": self.role, "content": content.to_wire()}


@dataclass(frozen=True, slots=True)
class Completion:
    """Give completion values with their total where there are more than the 100 that fit."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None
