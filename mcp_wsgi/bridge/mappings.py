"""From a tool that a server lists to the plain mapping that an agent framework, or our own server, takes."""

from __future__ import annotations

from typing import Any

from ..client import ToolInfo
from .interfaces import interface_of, without_interface
from .remote import RemoteTool

__all__ = ["tool_mapping"]


def tool_mapping(info: ToolInfo, handler: RemoteTool, *, apps: bool) -> dict[str, Any]:
    """Write a tool as a mapping.

    Args:
        info: The tool as its server lists it.
        handler: What calls it.
        apps: Whether ``_meta`` may name the tool's interface; else only ``metadata`` does.
    """
    interface = interface_of(info.meta)
    description = info.description or ""
    metadata: dict[str, Any] = {"server": handler.server, "tool": handler.name}
    if info.meta:
        metadata["_meta"] = dict(info.meta)
    if interface is not None:
        metadata["ui"] = interface
        if uri := interface.get("resourceUri"):
            note = f"(The server has a user interface for this tool: {uri})"
            description = f"{description}\n\n{note}".strip()
    # The other server checks its arguments, by rules that only it may know.
    tool: dict[str, Any] = {
        "name": info.name,
        "description": description,
        "parameters": dict(info.input_schema),
        "handler": handler,
        "metadata": metadata,
        "validate": False,
    }
    more = {
        "title": info.title,
        "annotations": dict(info.annotations),
        "icons": [icon.to_wire() for icon in info.icons],
        "_meta": dict(info.meta) if apps else without_interface(info.meta),
    }
    tool |= {name: value for name, value in more.items() if value}
    if info.output_schema is not None:
        tool["output_schema"] = dict(info.output_schema)
    return tool
