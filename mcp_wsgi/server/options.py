"""The options of ``@server.tool``, ``@server.resource`` and ``@server.prompt``, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ..protocol.types import Annotations, Icon
from .describe import Visible

__all__ = ["PromptOptions", "ResourceOptions", "ToolOptions"]


class PromptOptions(TypedDict, total=False):
    """Name the options of a prompt; tools and resources share most of them."""

    name: str
    title: str
    description: str
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    visible: Visible


class ToolOptions(PromptOptions, total=False):
    """Name the options of a tool."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    output_schema: Mapping[str, Any]
    structured: bool
    coerce_json_strings: bool


class ResourceOptions(PromptOptions, total=False):
    """Name the options of a resource."""

    mime_type: str
    size: int
    ttl_ms: int
    annotations: Annotations
