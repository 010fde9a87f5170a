"""When a refusal, or silence, raises the question whether the server speaks another version by now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus

from ..errors import ErrorCode
from ..exceptions import HTTPStatusError, MCPError
from .forks import begin_anew_after_fork
from .session import Connection

__all__ = ["Doubts", "has_lost_session"]

#: What only a modern server says, and of these what leaves no doubt about the version either.
_PROOF = (ErrorCode.HEADER_MISMATCH, ErrorCode.MISSING_CLIENT_CAPABILITY)
_VERSION_CODES = (*_PROOF, ErrorCode.UNSUPPORTED_PROTOCOL_VERSION)
#: What a legacy server says, with HTTP 400, to a request whose session it does not know.
_NO_SESSION = (ErrorCode.INVALID_REQUEST, -32000)
#: What says who may call, how often and how much, and nothing of how.
_NO_QUESTION = frozenset({401, 403, 408, 413, 429, 431})
#: What servers of both eras say is looked into once, and again after this many seconds.
SETTLED_SECONDS = 60.0
#: The codes of JSON-RPC itself and of its servers; any other is the application's, and no question of the era.
_RESERVED = range(-32768, -31999)
#: Requests without an answer, one after the other, after which the server is asked anew.
UNANSWERED = 2
_MOST = 100


class Doubts:
    """Decide which refusals are looked into, and remember which ones were.

    Args:
        clock: The time in seconds, from any beginning.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._settled: dict[tuple[str, int], float] = {}
        self._unanswered = 0
        begin_anew_after_fork(self)

    def arise(self, connection: Connection, method: str, error: MCPError | HTTPStatusError) -> bool:
        """Say whether a refusal may come from a server of the other era, so that it is asked which one it is."""
        if isinstance(error, HTTPStatusError):
            return 400 <= error.status < 500 and error.status not in _NO_QUESTION
        if not connection.modern:
            return error.code in _VERSION_CODES
        if error.code in _PROOF:
            return False
        # "Any other JSON-RPC error", whatever its code, may be how a legacy server meets what it does not know.
        if not connection.verified or error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
            return True
        # A process does not change its mind; what is behind a URL may be another server by now.
        by_now = connection.transport.kind == "http" and error.code in _RESERVED
        return by_now and not self._is_settled(method, error.code)

    def settle(self, method: str, error: MCPError | HTTPStatusError) -> None:
        """Take note that a server of this era gives this refusal."""
        code = error.code if isinstance(error, MCPError) else error.status
        with self._lock:
            while len(self._settled) >= _MOST:
                self._settled.pop(next(iter(self._settled)))
            self._settled[method, code] = self._clock() + SETTLED_SECONDS

    def _is_settled(self, method: str, code: int) -> bool:
        with self._lock:
            return self._settled.get((method, code), 0.0) > self._clock()

    def unanswered(self) -> None:
        """Take note that a request had no answer."""
        self._unanswered += 1

    def answered(self, method: str = "") -> None:
        """Take note that the server answers, and so knows the method."""
        self._unanswered = 0
        if self._settled:
            with self._lock:
                self._settled.pop((method, ErrorCode.METHOD_NOT_FOUND), None)

    def begin_anew(self) -> None:
        """Take another lock in a forked process."""
        self._lock = threading.Lock()

    def is_silent(self, connection: Connection) -> bool:
        """Say whether the server has been silent for so long that it is asked anew. A busy one has its chance first."""
        return self._unanswered >= UNANSWERED and connection.modern and connection.transport.kind == "http"


def has_lost_session(connection: Connection, error: MCPError | HTTPStatusError, status: int | None) -> bool:
    """Say whether a legacy server refuses a request because it does not know its session (any more).

    "The server MUST respond to requests containing that session ID with HTTP 404" (2025-11-25, Session Management), yet
    servers in the field answer 400 with one of two codes. What the status refuses has not been carried out.
    """
    if connection.modern or status != HTTPStatus.BAD_REQUEST or not isinstance(error, MCPError):
        return False
    return error.code in _NO_SESSION
