"""What a handler may ask the client, and what an answer must look like.

2026-07-28, basic/patterns/mrtr, client/elicitation, client/sampling, client/roots; schema ``InputRequest``
and ``InputResponse``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ..exceptions import ArgumentError, InvalidParamsError, RegistrationError
from ..protocol.types import Content, Message

__all__ = [
    "Elicited",
    "InputRequired",
    "Root",
    "Sampled",
    "check_form",
    "check_shape",
    "elicit_request",
    "elicit_url_request",
    "form_of",
    "required_capabilities",
    "roots_request",
    "sample_request",
]

T = TypeVar("T")

_SAMPLE_MEMBERS = frozenset(
    {
        "includeContext",
        "metadata",
        "modelPreferences",
        "stopSequences",
        "systemPrompt",
        "temperature",
        "toolChoice",
        "tools",
    }
)
_ELICIT, _SAMPLE, _ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"


class InputRequired(BaseException):
    """End this round of a request: the client has to give input, then send the request again.

    A handler may return or raise it. It derives from :class:`BaseException`, so that a handler's own
    ``except Exception`` does not take a question for a failure.

    Args:
        requests: The questions by key, as the ``*_request`` functions build them.
        state: Text that comes back with the answers as ``ctx.request_state``; it is signed, not encrypted.
    """

    def __init__(self, requests: Mapping[str, Mapping[str, Any]], *, state: str | None = None) -> None:
        super().__init__("The client has to give input")
        self.requests = {key: dict(request) for key, request in requests.items()}
        self.state = state
        if not self.requests and state is None:
            raise ValueError("An InputRequired needs requests or a state")


@dataclass(frozen=True, slots=True)
class Elicited(Generic[T]):
    """Hold the user's answer to an elicitation; ``data`` is set when a form was accepted."""

    action: Literal["accept", "decline", "cancel"]
    data: T | None = None

    @property
    def accepted(self) -> bool:
        """Say whether the user agreed."""
        return self.action == "accept"


@dataclass(frozen=True, slots=True)
class Sampled:
    """Hold a model's answer; ``content`` is the wire form of its content, one block or a list."""

    content: Any
    model: str
    role: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """Join the text blocks of the answer."""
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return "".join(block.get("text", "") for block in blocks if block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class Root:
    """Hold one root of the client's file system."""

    uri: str
    name: str | None = None


def elicit_request(message: str, schema: type | Mapping[str, Any]) -> dict[str, Any]:
    """Build a form question.

    Args:
        message: What the user is asked.
        schema: A flat form: a dataclass, Struct or TypedDict, or a JSON Schema of type object whose properties
            are strings, numbers, booleans or choices.
    """
    return {
        "method": _ELICIT,
        "params": {"mode": "form", "message": message, "requestedSchema": dict(form_of(schema))},
    }


def elicit_url_request(message: str, url: str) -> dict[str, Any]:
    """Build a question that the user answers at a URL, out of the client's sight."""
    return {"method": _ELICIT, "params": {"mode": "url", "message": message, "url": url}}


def sample_request(
    messages: str | Sequence[Message | Content | str], *, max_tokens: int = 1000, **params: Any
) -> dict[str, Any]:
    """Build a question to the client's model.

    Args:
        messages: A text, or messages in order.
        max_tokens: The most tokens to generate.
        params: Other members of the schema's ``CreateMessageRequestParams``, in wire or in Python spelling.

    Raises:
        TypeError: A member is unknown.
    """
    members = {re.sub("_([a-z])", lambda match: match[1].upper(), name): value for name, value in params.items()}
    if unknown := sorted(set(members) - _SAMPLE_MEMBERS):
        raise TypeError(f"Unknown members of a sampling request: {', '.join(unknown)}")
    if isinstance(messages, str):
        messages = [messages]
    wire = [(item if isinstance(item, Message) else Message(item)).to_wire() for item in messages]
    return {"method": _SAMPLE, "params": {"messages": wire, "maxTokens": max_tokens, **members}}


def roots_request() -> dict[str, Any]:
    """Build the question for the client's roots."""
    return {"method": _ROOTS}


def form_of(schema: type | Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the ``requestedSchema`` of a form.

    Raises:
        RegistrationError: It is not a flat object of primitives.
    """
    from .forms import check_flat, form_schema

    if isinstance(schema, Mapping):
        check_flat(schema, "A form schema")
        return schema
    return form_schema(schema)


def required_capabilities(request: Mapping[str, Any]) -> dict[str, Any]:
    """Give the client capabilities that a question needs, as a ``ClientCapabilities`` object."""
    method, params = request.get("method"), request.get("params") or {}
    if method == _ELICIT:
        return {"elicitation": {params.get("mode", "form"): {}}}
    if method == _SAMPLE:
        needs: dict[str, Any] = {}
        if "tools" in params or "toolChoice" in params:
            needs["tools"] = {}
        if params.get("includeContext", "none") != "none":
            needs["context"] = {}
        return {"sampling": needs}
    if method == _ROOTS:
        return {"roots": {}}
    raise RegistrationError(f"A client cannot be asked {method!r}")


def _bad(key: str, reason: str) -> InvalidParamsError:
    return InvalidParamsError(f'"inputResponses" entry {key[:80]!r}: {reason}')


def check_shape(key: str, method: str, mode: str | None, answer: Any) -> None:
    """Check that an answer is a result of the method that asked for it.

    Args:
        key: The key of the question.
        method: The method of the question.
        mode: The mode of an elicitation.
        answer: What the client sent.

    Raises:
        InvalidParamsError: It is not; the message names the key and what was wanted.
    """
    if not isinstance(answer, Mapping):
        raise _bad(key, "must be an object")
    if method == _ELICIT:
        if answer.get("action") not in ("accept", "decline", "cancel"):
            raise _bad(key, '"action" must be accept, decline or cancel')
        if answer["action"] == "accept" and mode != "url" and not isinstance(answer.get("content"), Mapping):
            raise _bad(key, 'an accepted form needs "content", an object')
    elif method == _SAMPLE:
        if not isinstance(answer.get("model"), str) or answer.get("role") not in ("user", "assistant"):
            raise _bad(key, 'a sampling result needs "role" and "model"')
        content = answer.get("content")
        blocks = content if isinstance(content, list) else [content]
        if not all(isinstance(block, Mapping) and isinstance(block.get("type"), str) for block in blocks):
            raise _bad(key, 'a sampling result needs "content" blocks')
    else:
        roots = answer.get("roots")
        if not isinstance(roots, list) or not all(
            isinstance(root, Mapping) and isinstance(root.get("uri"), str) for root in roots
        ):
            raise _bad(key, 'a roots result needs "roots", each with a "uri"')


def check_form(key: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Check accepted content against the schema of its form.

    Raises:
        InvalidParamsError: It does not conform; the message names the key, the path and what was wanted.
    """
    schema = request.get("params", {}).get("requestedSchema")
    if schema is None or answer["action"] != "accept":
        return
    from .validation import compile_validator

    try:
        compile_validator(schema, what="form")(answer["content"])
    except ArgumentError as error:
        raise _bad(key, str(error)) from None
