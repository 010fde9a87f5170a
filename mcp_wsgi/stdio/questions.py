"""Questions to a legacy client: requests of the server's own, in the middle of the client's.

2025-11-25, client/elicitation, client/sampling, client/roots. A handler asks as it does a modern client: its round ends
with the questions. Here they are put to the client at once, and the handler runs again with the answers.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..exceptions import ToolError
from ..protocol.jsonrpc import Response, notification, request
from .calls import Call

__all__ = ["Questions", "UnansweredError"]

#: How long an answer is waited for, in seconds: people may be asked. It occupies a thread.
ANSWER_SECONDS = 3600.0

Send = Callable[["list[dict[str, Any]]", "Call | None"], None]


class UnansweredError(ToolError):
    """Say why there is no answer; the text is for the model."""


class _Question:
    __slots__ = ("answer", "answered", "call")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.answered = threading.Event()
        self.answer: Response | None = None


class Questions:
    """Put questions to the client, and bring the answers to the threads that wait for them.

    Args:
        send: Writes messages; those of a call only if it was not cancelled.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._open: dict[str, _Question] = {}
        self._closed = False

    def ask(self, call: Call, asked: Mapping[str, Any], version: str | None) -> dict[str, Any]:
        """Ask the client and wait for the answer.

        Args:
            call: The call whose handler asks.
            asked: The question, as the modern protocol has it.
            version: The version that the client speaks.

        Raises:
            UnansweredError: The client refused, the call was cancelled, or there is nobody who could answer.
        """
        request_id, question = f"question-{next(self._numbers)}", _Question(call)
        with self._lock:
            if self._closed or call.silenced:
                raise UnansweredError("The client has gone")
            self._open[request_id] = question
        try:
            self._send([request(request_id, asked["method"], _params(asked, version))], call)
            question.answered.wait(ANSWER_SECONDS)
        finally:
            with self._lock:
                del self._open[request_id]
        answer = question.answer
        if answer is None:
            # "Either side MAY send a cancellation notification" for requests of its own (2025-11-25).
            self._send([notification("notifications/cancelled", {"requestId": request_id})], None)
            raise UnansweredError("The client did not answer a question")
        if answer.result is None:
            told = str((answer.error or {}).get("message", "no reason given"))[:200]
            raise UnansweredError(f"The client refused a question ({asked['method']}): {told}")
        return answer.result

    def answer(self, response: Response) -> None:
        """Take an answer of the client; one that nobody waits for is dropped."""
        with self._lock:
            question = self._open.get(response.id) if isinstance(response.id, str) else None
        if question is not None and not question.answered.is_set():
            question.answer = response
            question.answered.set()

    def drop(self, call: Call) -> None:
        """Wait no longer for the answers to a call's questions."""
        with self._lock:
            questions = [question for question in self._open.values() if question.call is call]
        for question in questions:
            question.answered.set()

    def close(self) -> None:
        """Wait for no answer any more: the client sends none."""
        with self._lock:
            self._closed = True
            questions = list(self._open.values())
        for question in questions:
            question.answered.set()


def _params(asked: Mapping[str, Any], version: str | None) -> dict[str, Any] | None:
    """Give a question the form that it has in a legacy version."""
    params: dict[str, Any] | None = asked.get("params")
    if params is None or asked["method"] != "elicitation/create":
        return params
    if params.get("mode", "form") == "url":
        return {**params, "elicitationId": os.urandom(16).hex()}
    if version != "2025-11-25":  # the modes came with it
        return {name: value for name, value in params.items() if name != "mode"}
    return params
