"""Read content blocks, resource contents and prompt messages into the values of :mod:`mcp_wsgi.protocol.types`.

What a newer revision or a careless server sends is kept as :class:`UnknownContent`: nothing is lost, nothing raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ..protocol.types import (
    Annotations,
    Audio,
    Content,
    EmbeddedResource,
    Icon,
    Image,
    Message,
    ResourceContents,
    ResourceLink,
    Text,
)
from .wire import get_integer, get_list, get_mapping, get_number, get_text, need_mapping, need_text, read_base64

__all__ = [
    "AnyContent",
    "UnknownContent",
    "read_annotations",
    "read_content",
    "read_icons",
    "read_message",
    "read_resource_contents",
]


@dataclass(frozen=True, slots=True)
class UnknownContent:
    """Hold content that could not be read: of an unknown type, or malformed. ``raw`` is what came."""

    raw: Any

    def to_wire(self) -> Any:
        """Write it as it came."""
        return self.raw


#: What a client finds in a result.
AnyContent: TypeAlias = "Content | UnknownContent"


def read_annotations(raw: Mapping[str, Any]) -> Annotations | None:
    """Read the ``annotations`` of content or of a resource; roles and members that are none are left out."""
    notes = get_mapping(raw, "annotations")
    if notes is None:
        return None
    audience = get_list(notes, "audience")
    return Annotations(
        audience=None if audience is None else tuple(role for role in audience if role in ("user", "assistant")),
        priority=get_number(notes, "priority"),
        last_modified=get_text(notes, "lastModified"),
    )


def read_icons(raw: Mapping[str, Any]) -> tuple[Icon, ...]:
    """Read ``icons``; those without ``src`` are left out."""
    return tuple(
        _read_icon(icon)
        for icon in get_list(raw, "icons") or ()
        if isinstance(icon, dict) and isinstance(icon.get("src"), str)
    )


def _read_icon(raw: Mapping[str, Any]) -> Icon:
    sizes, theme = get_list(raw, "sizes"), raw.get("theme")
    return Icon(
        raw["src"],
        get_text(raw, "mimeType"),
        None if sizes is None else tuple(size for size in sizes if isinstance(size, str)),
        theme if theme in ("light", "dark") else None,
    )


def _common(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {"annotations": read_annotations(raw), "meta": get_mapping(raw, "_meta")}


def _text(raw: Mapping[str, Any]) -> Text | None:
    text = get_text(raw, "text")
    return None if text is None else Text(text, **_common(raw))


def _media(kind: type[Image] | type[Audio]) -> Callable[[Mapping[str, Any]], Image | Audio | None]:
    def read(raw: Mapping[str, Any]) -> Image | Audio | None:
        data, mime_type = read_base64(raw.get("data")), get_text(raw, "mimeType")
        return None if data is None or mime_type is None else kind(data, mime_type, **_common(raw))

    return read


def _link(raw: Mapping[str, Any]) -> ResourceLink | None:
    uri, name = get_text(raw, "uri"), get_text(raw, "name")
    if not uri or name is None:
        return None
    return ResourceLink(
        uri,
        name,
        get_text(raw, "title"),
        get_text(raw, "description"),
        get_text(raw, "mimeType"),
        get_integer(raw, "size"),
        read_icons(raw) or None,
        **_common(raw),
    )


def _embedded(raw: Mapping[str, Any]) -> EmbeddedResource | None:
    inside = read_resource_contents(raw.get("resource"))
    if isinstance(inside, UnknownContent) or not inside.uri:
        return None
    return EmbeddedResource(inside, **_common(raw))


_READERS: dict[str, Callable[[Mapping[str, Any]], Content | None]] = {
    "text": _text,
    "image": _media(Image),
    "audio": _media(Audio),
    "resource_link": _link,
    "resource": _embedded,
}


def read_content(raw: Any) -> AnyContent:
    """Read one content block, whatever it is."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    content = reader(raw) if reader is not None else None
    return UnknownContent(raw) if content is None else content


def read_resource_contents(raw: Any) -> ResourceContents | UnknownContent:
    """Read the contents of a resource; text counts where both text and a blob came."""
    if not isinstance(raw, dict):
        return UnknownContent(raw)
    data: str | bytes | None = get_text(raw, "text")
    if data is None:
        data = read_base64(raw.get("blob"))
    if data is None:
        return UnknownContent(raw)
    return ResourceContents(data, get_text(raw, "uri") or "", get_text(raw, "mimeType"), get_mapping(raw, "_meta"))


def read_message(raw: Any) -> Message:
    """Read one message of a prompt; its content may be :class:`UnknownContent`.

    Raises:
        ValueError: It is no object, or has no role. A role that the specification does not know is kept.
    """
    raw = need_mapping(raw, "It")
    role = need_text(raw, "role", "It")
    # The types of protocol.types say what may be written; what is read may be more.
    return Message(cast("Content", read_content(raw.get("content"))), cast("Any", role))
