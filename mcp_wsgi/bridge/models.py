"""Tools in the shapes that the interfaces of language models take, and calls by the names that models then use.

Nothing here needs the library of either company: they take plain dicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..exceptions import ParseError, ToolError
from ..protocol.codec import decode
from .interfaces import is_for_models
from .naming import model_names

__all__ = ["call_by_model_name", "to_anthropic", "to_openai"]


def to_openai(tools: Iterable[Mapping[str, Any]], *, responses: bool = False) -> list[dict[str, Any]]:
    """Write tools as OpenAI's interfaces take them, and those that follow them.

    Args:
        tools: Tool mappings.
        responses: Whether it is for the Responses interface, where the members stand in the tool itself; else for Chat
            Completions, where they stand in its ``function``.
    """
    shapes = []
    for name, tool in _for_models(tools):
        function = {"name": name, "description": tool.get("description") or "", "parameters": _parameters(tool)}
        # "strict" is the default of the Responses interface, and only takes schemas without optional members.
        flat = {"type": "function", **function, "strict": False}
        shapes.append(flat if responses else {"type": "function", "function": function})
    return shapes


def to_anthropic(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write tools as Anthropic's Messages interface takes them."""
    return [
        {"name": name, "description": tool.get("description") or "", "input_schema": _parameters(tool)}
        for name, tool in _for_models(tools)
    ]


def call_by_model_name(
    tools: Iterable[Mapping[str, Any]], name: str, arguments: Mapping[str, Any] | str | None = None
) -> Any:
    """Call the tool that a model means.

    Args:
        tools: The tools that the model was given, by whichever function.
        name: The name as the model says it.
        arguments: The arguments, also as JSON text, as OpenAI's interfaces give them.

    Returns:
        What the tool's handler returns.

    Raises:
        ToolError: There is no such tool, the arguments cannot be read, or the tool failed. The text is for the model.
    """
    tool = dict(_for_models(tools)).get(name)
    if tool is None:
        raise ToolError(f"There is no tool {name[:80]!r}.")
    return tool["handler"](_arguments(arguments), None)


def _for_models(tools: Iterable[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    shown = [tool for tool in tools if is_for_models((tool.get("metadata") or {}).get("ui"))]
    return list(zip(model_names(tool["name"] for tool in shown), shown, strict=True))


def _parameters(tool: Mapping[str, Any]) -> dict[str, Any]:
    # An object without properties is refused by some of them.
    return {"type": "object", "properties": {}, **(tool.get("parameters") or {})}


def _arguments(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = decode(arguments.encode()) if arguments.strip() else {}
        except (ParseError, UnicodeEncodeError):
            raise ToolError("The arguments are not JSON.") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise ToolError("The arguments are not a JSON object.")
    return dict(arguments)
