"""Show what servers answer: content, schemas, resources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..protocol.types import Audio, EmbeddedResource, Image, ResourceContents, ResourceLink, Text
from ..server.reasons import shorten
from .arguments import types_of
from .output import Output
from .text import json_text

if TYPE_CHECKING:
    from ..client import CallResult, UnknownContent

__all__ = ["block_text", "contents_text", "show_result", "signature"]

_MOST_CHOICES = 5


def show_result(output: Output, result: CallResult) -> None:
    """Print the content of a tool's result; its structured value where nothing else says it, or says it less well."""
    if result.has_structured and (not result.content or _is_copy(result.text, result.structured)):
        output.text(json_text(result.structured))
        return
    for block in result.content:
        output.text(block_text(block))


def _is_copy(text: str, value: Any) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def block_text(block: Any) -> str:
    """Give what a content block says, or what it is."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, (Image, Audio)):
        return f"[{type(block).__name__.lower()}: {block.mime_type}, {len(block.data)} bytes]"
    if isinstance(block, ResourceLink):
        return f"[link: {block.uri} {block.title or block.name}]"
    if isinstance(block, EmbeddedResource):
        return contents_text(block.resource)
    raw = getattr(block, "raw", block)
    return shorten(json_text(raw, indent=None), 2000)


def contents_text(contents: ResourceContents | UnknownContent) -> str:
    """Give the text of a resource's contents, or what they are."""
    if not isinstance(contents, ResourceContents):
        return block_text(contents)
    if isinstance(contents.data, str):
        return contents.data
    return f"[{contents.mime_type or 'binary'}: {contents.uri}, {len(contents.data)} bytes]"


def signature(schema: Mapping[str, Any]) -> str:
    """Write the arguments of a schema in short: ``a: integer, [b: string]``."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return ""
    parts = []
    for name, wanted in properties.items():
        kind = _kind(wanted, schema)
        part = f"{name}: {kind}" if kind else str(name)
        parts.append(part if isinstance(required, list) and name in required else f"[{part}]")
    return ", ".join(parts)


def _kind(wanted: Any, schema: Mapping[str, Any]) -> str:
    choices = wanted.get("enum") if isinstance(wanted, Mapping) else None
    if isinstance(choices, list) and len(choices) <= _MOST_CHOICES:
        return "|".join(each if isinstance(each, str) else json.dumps(each) for each in choices)
    return "|".join(sorted(types_of(wanted, schema)))
