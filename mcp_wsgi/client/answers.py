"""Answer what a server asks: its elicitations, sampling requests and questions for roots, by the caller's handlers."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ..exceptions import ConfigurationError, InternalError, InvalidParamsError, MCPError, MethodNotFoundError
from ..protocol.codec import encode
from ..server.reasons import shown
from .asked import ElicitAnswer, ElicitQuestion, SampleMessage, SampleQuestion
from .forms import check_form, fill_defaults
from .wire import LOGGER, json_type

__all__ = [
    "Answers",
    "ElicitAnswer",
    "ElicitHandler",
    "ElicitQuestion",
    "Roots",
    "SampleHandler",
    "SampleMessage",
    "SampleQuestion",
]

#: What answers an elicitation: content accepts, ``None`` declines, an ``ElicitAnswer`` says which.
ElicitHandler: TypeAlias = "Callable[[ElicitQuestion], Mapping[str, Any] | ElicitAnswer | None]"
#: What answers a sampling request: the model's text, or the schema's ``CreateMessageResult``; ``None`` refuses.
SampleHandler: TypeAlias = "Callable[[SampleQuestion], Mapping[str, Any] | str | None]"
Root: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
#: Folders as paths, ``file:`` URIs or objects with ``uri`` and ``name``; or a function that gives them.
Roots: TypeAlias = "Iterable[Root] | Callable[[], Iterable[Root]]"

Handler = TypeVar("Handler")

_ELICIT, _SAMPLE, _ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
_ACTIONS = ("accept", "decline", "cancel")
#: Two letters at least: one is a drive of Windows.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
#: "User rejected sampling request" (2025-11-25, client/sampling, Error Handling).
_REJECTED = -1


class Answers:
    """Hold a client's handlers: what it declares it can answer is what it was given.

    A handler runs in the thread that waits for the server's answer or, for questions of a legacy server outside of
    requests, in a thread of the client. What it raises reaches the log; the server learns only that there is no
    answer, unless it is an :class:`~mcp_wsgi.MCPError`.

    Args:
        elicit: Answers elicitations. A mapping accepts with this content, in which fields with a default may be left
            out; ``None`` declines; :class:`ElicitAnswer` says which. A mapping with an ``action`` is read as the
            schema's ``ElicitResult``, unless the form has a field of this name.
        sample: Answers sampling requests: a mapping is the schema's ``CreateMessageResult``, whose ``role`` and
            ``model`` may be left out and whose ``content`` may be text; a ``str`` is that text; ``None`` refuses.
        roots: Folders as paths, ``file:`` URIs or mappings with ``uri`` and perhaps ``name``; or a function that gives
            them, called each time.
        sample_tools: Whether ``sample`` heeds the tools of a request.

    Raises:
        ConfigurationError: A handler cannot be called, or is a coroutine function; a root is no folder.
    """

    def __init__(
        self,
        elicit: ElicitHandler | None = None,
        sample: SampleHandler | None = None,
        roots: Roots | None = None,
        *,
        sample_tools: bool = False,
    ) -> None:
        answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        if elicit is not None:
            answers[_ELICIT] = partial(_answer_elicit, _check_handler("elicit", elicit))
        if sample is not None:
            answers[_SAMPLE] = partial(_answer_sample, _check_handler("sample", sample), sample_tools)
        if roots is not None:
            answers[_ROOTS] = partial(_answer_roots, roots if callable(roots) else _fix_roots(roots))
        self._answers = answers
        self._sample_tools = sample_tools

    def capabilities(self, version: str) -> dict[str, Any]:
        """Give the members of ``ClientCapabilities`` that the handlers stand for.

        Args:
            version: The protocol version that they are declared in. Before 2025-11-25 elicitation has no modes and
                sampling no tools.
        """
        modes = version >= "2025-11-25"
        declared: dict[str, Any] = {}
        if _ELICIT in self._answers:
            declared["elicitation"] = {"form": {}, "url": {}} if modes else {}
        if _SAMPLE in self._answers:
            declared["sampling"] = {"tools": {}} if modes and self._sample_tools else {}
        if _ROOTS in self._answers:
            declared["roots"] = {}
        return declared

    def can_answer(self, method: str) -> bool:
        """Say whether there is a handler for a question."""
        return method in self._answers

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one question.

        Args:
            request: The question: an object with ``method`` and ``params``, other members do not matter.

        Returns:
            The result in its wire form.

        Raises:
            MCPError: There is no answer. It is what the server may be told; where a handler failed, what it raised is
                its ``__cause__`` and in the log.
        """
        method, params = request.get("method"), request.get("params")
        answer = self._answers.get(method) if isinstance(method, str) else None
        if answer is None:
            raise MethodNotFoundError(f"This client does not answer {shown(str(method), 40)}")
        if params is not None and not isinstance(params, dict):
            raise InvalidParamsError('"params" must be an object')
        try:
            result = answer(params or {})
            encode(result)
        except MCPError:
            raise
        except Exception as error:
            LOGGER.exception("The handler for %s failed; the server is told that there is no answer", method)
            raise InternalError("The client could not answer") from error
        return result


def _check_handler(name: str, handler: Handler) -> Handler:
    # Objects, since the caller may have given anything.
    given: object = handler
    if not callable(given) or inspect.iscoroutinefunction(given):
        raise ConfigurationError(f"{name} must be a plain function of one question")
    return handler


def _fix_roots(roots: Iterable[Root]) -> Callable[[], Iterable[Root]]:
    try:
        fixed = _write_roots(roots)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"roots: {error}") from None
    return lambda: fixed


def _answer_elicit(handler: ElicitHandler, params: dict[str, Any]) -> dict[str, Any]:
    question = ElicitQuestion.from_wire(params)
    answer = _read_answer(handler(question), question)
    if answer.action not in _ACTIONS:
        raise ValueError(f"The action of an elicitation's answer is one of: {', '.join(_ACTIONS)}")
    # Content is "only present when action is "accept" and mode was "form"" (schema, ElicitResult).
    if answer.action != "accept" or question.mode == "url":
        return {"action": answer.action}
    given = {} if answer.content is None else answer.content
    if not isinstance(given, Mapping):
        raise TypeError(f"The content of a form is a mapping, not {type(given).__name__}")
    content = fill_defaults(question.schema, given)
    try:
        check_form(question.schema, content)
    except ValueError as error:
        raise ValueError(f"The content does not conform to the form: {error}") from None
    return {"action": "accept", "content": content}


def _answer_sample(handler: SampleHandler, with_tools: bool, params: dict[str, Any]) -> dict[str, Any]:
    if not with_tools and ("tools" in params or "toolChoice" in params):
        raise InvalidParamsError("This client does not declare sampling with tools")
    answer = handler(SampleQuestion.from_wire(params))
    if answer is None:
        raise MCPError(_REJECTED, "The user rejected the sampling request")
    return _write_sampled({"content": answer} if isinstance(answer, str) else answer)


def _answer_roots(roots: Callable[[], Iterable[Root]], params: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    return {"roots": _write_roots(roots())}


def _read_answer(answer: Any, question: ElicitQuestion) -> ElicitAnswer:
    if answer is None:
        return ElicitAnswer("decline")
    if isinstance(answer, ElicitAnswer):
        return answer
    if not isinstance(answer, Mapping):
        raise TypeError(
            f"An elicitation is answered by a mapping, an ElicitAnswer or None, not {type(answer).__name__}"
        )
    fields = question.schema.get("properties")
    if "action" in answer and not (isinstance(fields, dict) and "action" in fields):
        return ElicitAnswer(answer["action"], answer.get("content"))
    return ElicitAnswer("accept", answer)


def _write_sampled(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, Mapping):
        raise TypeError(f"A sampling request is answered by a mapping, a str or None, not {type(answer).__name__}")
    content = answer.get("content")
    blocks = [_write_block(block) for block in (content if isinstance(content, (list, tuple)) else [content])]
    result = {"role": "assistant", "model": "unspecified", **answer}
    result["content"] = blocks if isinstance(content, (list, tuple)) else blocks[0]
    if result["role"] not in ("user", "assistant") or not isinstance(result["model"], str):
        raise ValueError('A sampling result has the "role" user or assistant, and a "model" that is text')
    return result


def _write_block(block: Any) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    wire = block.to_wire() if hasattr(block, "to_wire") else block
    if not isinstance(wire, Mapping) or not isinstance(wire.get("type"), str):
        raise ValueError('The "content" of a sampling result is text, a content block or a list of them')
    return dict(wire)


def _write_roots(roots: Iterable[Root]) -> list[dict[str, Any]]:
    if isinstance(roots, (str, bytes, Mapping)) or not isinstance(roots, Iterable):
        raise TypeError("roots are a list, each a path, a file: URI or a mapping with uri")
    return [_write_root(root) for root in roots]


def _write_root(root: Any) -> dict[str, Any]:
    if isinstance(root, Mapping):
        written = {name: root[name] for name in ("uri", "name", "_meta") if root.get(name) is not None}
    elif isinstance(root, str) and _SCHEME.match(root):
        written = {"uri": root}
    elif isinstance(root, (str, os.PathLike)):
        written = {"uri": Path(os.path.abspath(root)).as_uri()}
    else:
        raise TypeError(f"a root is a path, a file: URI or a mapping with uri, not {json_type(root)}")
    # "This *must* start with `file://` for now." (schema, Root)
    if not isinstance(written.get("uri"), str) or not written["uri"].startswith("file://"):
        raise ValueError("the URI of a root must start with file://")
    return written
