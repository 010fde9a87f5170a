"""What the result of a remote tool becomes: text, a structured value, content, or a result of our own server."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from ..client.content import AnyContent, UnknownContent
from ..client.results import CallResult
from ..exceptions import ToolError
from ..protocol.meta import SERVER_INFO, SUBSCRIPTION_ID
from ..protocol.types import Audio, EmbeddedResource, Image, ResourceLink, Text, ToolResult
from ..server.results import json_text

__all__ = ["FORMS", "Form", "shaped", "text_of", "tool_result"]

Form: TypeAlias = Literal["text", "structured", "content", "result"]
FORMS: tuple[str, ...] = get_args(Form)

#: What a result's ``_meta`` says of the connection that it came over, and not of the result.
_OF_THE_CONNECTION = (SERVER_INFO, SUBSCRIPTION_ID)


def text_of(result: CallResult) -> str:
    """Write a result as text for a model: its text, and of everything else what it is.

    A structured value is written as JSON where there is no content at all.
    """
    if not result.content and result.has_structured:
        return json_text(result.structured)
    return "\n".join(map(_block_text, result.content))


def _block_text(block: AnyContent) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, EmbeddedResource):
        inside = block.resource
        return inside.data if isinstance(inside.data, str) else _note(inside.uri, inside.mime_type, inside.data)
    if isinstance(block, (Image, Audio)):
        return _note(type(block).__name__.lower(), block.mime_type, block.data)
    if isinstance(block, ResourceLink):
        return f"[resource {block.title or block.name}: {block.uri}]"
    return _unknown(block)


def _note(what: str, mime_type: str | None, data: bytes) -> str:
    kind = f", {mime_type}" if mime_type else ""
    return f"[{what}{kind}, {len(data)} bytes]"


def _unknown(block: UnknownContent) -> str:
    kind = block.raw.get("type") if isinstance(block.raw, dict) else None
    return f"[content of type {str(kind)[:40]!r} that cannot be read]"


def shaped(result: CallResult, form: Form) -> Any:
    """Give a result in a form.

    Args:
        result: The result.
        form: ``text``; ``structured``, which is the text where there is no structured value; ``content``, the list of
            content blocks; ``result``, the :class:`CallResult` itself, also of a tool that failed.

    Raises:
        ToolError: The tool failed; the text is what it said.
    """
    if form == "result":
        return result
    text = text_of(result)
    if result.is_error:
        raise ToolError(text or "The tool failed.")
    if form == "content":
        return list(result.content)
    return result.structured if form == "structured" and result.has_structured else text


def tool_result(result: CallResult, *, has_schema: bool) -> ToolResult | None:
    """Give a result as a handler of our own server returns it.

    Args:
        result: The result.
        has_schema: Whether the tool has an output schema.

    Returns:
        The same result; ``None`` for a structured value that is ``None``, which a full result cannot hold.
    """
    if has_schema and result.has_structured and result.structured is None and not result.is_error:
        return None
    meta = {key: value for key, value in result.meta.items() if key not in _OF_THE_CONNECTION}
    return ToolResult(
        content=[_unknown(block) if isinstance(block, UnknownContent) else block for block in result.content],
        structured=result.structured,
        is_error=result.is_error,
        meta=meta or None,
    )
