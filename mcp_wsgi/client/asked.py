"""What a server asks its client, as values for the handlers, and the answers they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..exceptions import InvalidParamsError
from ..protocol.types import Text
from .content import AnyContent, read_content
from .wire import get_integer, get_list, get_mapping, get_number, get_text

__all__ = ["ElicitAnswer", "ElicitQuestion", "SampleMessage", "SampleQuestion"]


@dataclass(frozen=True, slots=True)
class ElicitAnswer:
    """Answer an elicitation: agreed, refused, or dismissed without a choice.

    Args:
        action: What the user did.
        content: What was filled in, for a form that was accepted. Fields with a default may be left out.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ElicitQuestion:
    """Hold what the user is asked (client/elicitation).

    Attributes:
        message: What to show.
        mode: ``form``, or ``url`` where the user answers at an address, out of the client's sight. Show the whole
            address and ask before it is opened.
        schema: The form's ``requestedSchema``; its ``properties`` are the fields.
        url: The address.
        elicitation_id: What a legacy server calls the elicitation when it says that it is complete.
        raw: The params of the question.
    """

    message: str
    mode: Literal["form", "url"] = "form"
    schema: Mapping[str, Any] = field(default_factory=dict)
    url: str | None = None
    elicitation_id: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, params: Mapping[str, Any]) -> ElicitQuestion:
        """Read the params of ``elicitation/create``.

        Raises:
            InvalidParamsError: There is no message, no form or no URL, or the mode is unknown.
        """
        message = get_text(params, "message")
        if message is None:
            raise InvalidParamsError('An elicitation needs a "message"')
        mode = params.get("mode", "form")
        if mode == "url":
            url = get_text(params, "url")
            if not url:
                raise InvalidParamsError('An elicitation of mode "url" needs a "url"')
            return cls(
                message=message, mode="url", url=url, elicitation_id=get_text(params, "elicitationId"), raw=params
            )
        if mode != "form":
            raise InvalidParamsError('This client knows elicitations of mode "form" and "url"')
        schema = get_mapping(params, "requestedSchema")
        if schema is None:
            raise InvalidParamsError('An elicitation of mode "form" needs a "requestedSchema"')
        return cls(message=message, schema=schema, raw=params)


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleMessage:
    """Hold one message of a conversation; content of tools is ``UnknownContent`` and reads as it came."""

    role: str
    content: tuple[AnyContent, ...]
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleQuestion:
    """Hold what the client's model is asked (client/sampling); ``raw`` has the params as they came."""

    messages: tuple[SampleMessage, ...]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    include_context: str = "none"
    model_preferences: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Mapping[str, Any] | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_wire(cls, params: Mapping[str, Any]) -> SampleQuestion:
        """Read the params of ``sampling/createMessage``.

        Raises:
            InvalidParamsError: There are no messages, one of them has no role, or the limit of tokens is missing.
        """
        messages, max_tokens = get_list(params, "messages"), get_integer(params, "maxTokens")
        if messages is None or max_tokens is None:
            raise InvalidParamsError('A sampling request needs "messages" and "maxTokens"')
        return cls(
            messages=tuple(map(_read_message, messages)),
            max_tokens=max_tokens,
            system_prompt=get_text(params, "systemPrompt"),
            temperature=get_number(params, "temperature"),
            stop_sequences=tuple(text for text in get_list(params, "stopSequences") or () if isinstance(text, str)),
            include_context=get_text(params, "includeContext") or "none",
            model_preferences=get_mapping(params, "modelPreferences") or {},
            metadata=get_mapping(params, "metadata") or {},
            tools=tuple(tool for tool in get_list(params, "tools") or () if isinstance(tool, dict)),
            tool_choice=get_mapping(params, "toolChoice"),
            raw=params,
        )


def _read_message(raw: Any) -> SampleMessage:
    role = get_text(raw, "role") if isinstance(raw, dict) else None
    if role is None:
        raise InvalidParamsError('Each message of a sampling request needs a "role"')
    content = raw.get("content")
    blocks = content if isinstance(content, list) else [content]
    return SampleMessage(role=role, content=tuple(map(read_content, blocks)), raw=raw)
