"""The Streamable HTTP transport of both eras: a POST for each message, the answer as JSON or as a stream of events.

2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports. A modern message carries all that there is
to say about it, and its headers are computed from it. What a legacy server has to be told besides, the adopted version
and its session, is kept here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from ..exceptions import (
    SessionExpiredError,
    TransportError,
    UnauthorizedError,
)
from ..protocol.codec import encode
from ..protocol.headers import VERSION_HEADER, HasParamHeaders, expected_headers
from ..protocol.meta import has_envelope
from ..server.reasons import shown
from .base import Deadline, Exchange, Message
from .http_answer import Answer
from .http_base import WireTransport
from .http_messages import LOGGER
from .http_reading import Reading
from .http_streams import ATTEMPTS, EVENT_STREAM, Inbox, Position
from .watch import Watch

__all__ = ["SESSION_HEADER", "HTTPTransport", "is_modern"]

SESSION_HEADER = "Mcp-Session-Id"

_POST_HEADERS = [("Content-Type", "application/json"), ("Accept", f"application/json, {EVENT_STREAM}")]
#: How long the stream for what belongs to no request is waited for, in seconds: some servers say nothing on it, not
#: even its head, before they have something to say.
_OPENING = 1.0
#: How long the end of a session may take, in seconds.
_FAREWELL = 2.0
#: Visible ASCII, and of a length that servers take in a header.
_SESSION = re.compile("[!-~]{1,4096}")


def is_modern(message: Mapping[str, Any]) -> bool:
    """Say whether a message carries its protocol version."""
    params = message.get("params")
    return isinstance(params, dict) and has_envelope(params)


class HTTPTransport(WireTransport):
    """Reach a server over Streamable HTTP.

    Loopback addresses are asked directly, whatever proxy the environment names; a proxy of the ``session`` is used.

    Args:
        url: The MCP endpoint. A user and password in it become the authentication.
        headers: To be sent with each request. Those of the protocol cannot be set.
        auth: As requests knows it: a pair of user and password, or a ``requests.auth`` object.
        verify: As requests knows it.
        cert: As requests knows it.
        connect_timeout: Seconds for making a connection, TLS included.
        max_message_size: The most bytes that a message of the server may have, after decompression.
        session: A ``requests.Session`` whose settings and cookies are used. With an adapter of its own mounted for the
            URL, a deadline bounds each silence of the server instead of the whole answer.

    Raises:
        ConfigurationError: The URL or a header cannot be used.
    """

    kind: ClassVar[str] = "http"
    cancels_by_message: ClassVar[bool] = False

    _version: str | None = None
    _session: str | None = None
    _session_pid = 0
    _inbox: Inbox | None

    @property
    def deaf(self) -> bool:
        """Whether the stream for what belongs to no request was there and does not come back."""
        inbox = self._inbox
        return inbox is not None and inbox.lost

    def request(self, message: Message, exchange: Exchange) -> Message:
        """Send a request and wait for its answer; see :meth:`Transport.request`."""
        with self._watching(exchange.deadline) as watch, exchange.aborting(watch.cancel):
            return self._request(message, exchange, watch)

    def post(self, message: Message, deadline: Deadline) -> None:
        """Send a notification, or the answer to a request of a legacy server; see :meth:`Transport.post`."""
        with self._watching(deadline) as watch:
            session = None if is_modern(message) else self._session
            answer = self._wire.send("POST", encode(message), self._headers(message, session, None), watch)
            try:
                self._check(answer, session)
                if not 200 <= answer.status < 300:
                    raise answer.error()
            finally:
                answer.finish()

    def adopt(self, version: str | None) -> None:
        """Take note of the version that a legacy handshake agreed on."""
        self._version = version

    def restart(self) -> None:
        """Forget the legacy session and its version."""
        self._session = self._version = None
        self._stop_inbox()

    def open_inbox(self) -> None:
        """Open the stream of a legacy server for what belongs to no request, where it has one."""
        self._refresh()
        if not self._closed and self._inbox is None:
            inbox = self._inbox = Inbox(self._listen, self._deliver, self._max_size, self._connect_timeout)
            # What a server sends while the stream is not open yet is lost, and it may be a question that it waits on.
            inbox.wait(_OPENING)
        if self._closed:
            self._stop_inbox()

    def close(self) -> None:
        """End the connections, and a legacy session with them; whoever waits gets ``ClientClosedError``."""
        self._refresh()
        if self._closed:
            return
        self._closed = True
        self._close_watches()
        self._stop_inbox()
        self._end_session()
        self._wire.close()

    def _begin_process(self) -> None:
        self._inbox = None

    def _headers(
        self, message: Message, session: str | None, tool: HasParamHeaders | Mapping[str, Any] | None
    ) -> list[tuple[str, str]]:
        if is_modern(message):
            return _POST_HEADERS + expected_headers(message, tool)
        if message.get("method") == "initialize":
            return _POST_HEADERS
        return _POST_HEADERS + self._legacy_headers(session)

    def _legacy_headers(self, session: str | None) -> list[tuple[str, str]]:
        found = [] if self._version is None else [(VERSION_HEADER, self._version)]
        return found if session is None else [*found, (SESSION_HEADER, session)]

    def _request(self, message: Message, exchange: Exchange, watch: Watch) -> Message:
        modern = is_modern(message)
        begins = not modern and message["method"] == "initialize"
        session = None if modern or begins else self._session
        answer = self._wire.send("POST", encode(message), self._headers(message, session, exchange.tool), watch)
        exchange.status = answer.status
        reading = Reading(message, exchange, self._max_size, resumable=not modern)
        try:
            self._check(answer, session)
            found = reading.read(answer)
            given = _session_of(answer) if begins else None
        finally:
            answer.finish()
        if found is None:
            found = self._resume(reading, watch, given or session)
        if begins and "result" in found:
            self._session, self._session_pid = given, os.getpid()
        return found

    def _resume(self, reading: Reading, watch: Watch, session: str | None) -> Message:
        """Ask for the rest of a stream that ended early, for as long as that brings anything new."""
        attempts = 0
        while True:
            watch.sleep(reading.position.wait)
            seen = reading.position.event_id
            found = None
            try:
                answer = self._wire.send("GET", None, self._stream_headers(reading.position, session), watch)
            except TransportError:
                if watch.stopped is not None:
                    raise
            else:
                try:
                    self._check(answer, session)
                    found = reading.read_again(answer)
                finally:
                    answer.finish()
            if found is not None:
                return found
            attempts = attempts + 1 if reading.position.event_id == seen else 0
            if attempts >= ATTEMPTS:
                raise TransportError(f"{self.address}: the stream ended without the answer, and so when it was resumed")

    def _check(self, answer: Answer, session: str | None) -> None:
        """Raise what a status means whatever the body says."""
        if answer.status in (401, 403):
            raise answer.error(UnauthorizedError)
        if answer.status == 404 and session is not None:
            if self._session == session:
                self._session = None
            raise answer.error(SessionExpiredError)

    def _stream_headers(self, position: Position, session: str | None) -> list[tuple[str, str]]:
        return position.headers() + self._legacy_headers(session)

    def _listen(self, position: Position, watch: Watch) -> Answer:
        return self._wire.send("GET", None, self._stream_headers(position, self._session), watch)

    def _stop_inbox(self) -> None:
        inbox, self._inbox = self._inbox, None
        if inbox is not None:
            inbox.stop()

    def _end_session(self) -> None:
        """Say that the session is over, in a bounded time, whatever comes of it."""
        session, self._session = self._session, None
        if session is None or self._session_pid != os.getpid():
            return  # a forked child leaves its parent's session alone
        watch = Watch(Deadline(_FAREWELL), min(_FAREWELL, self._connect_timeout))
        try:
            self._wire.send("DELETE", None, self._legacy_headers(session), watch).finish()
        except Exception as error:  # noqa: BLE001 - also what a caller's authentication raises
            LOGGER.debug("The session of %s could not be ended: %s", shown(self.address), type(error).__name__)


def _session_of(answer: Answer) -> str | None:
    """Read a new session's id: "it MUST only contain visible ASCII characters" (2025-11-25, Session Management)."""
    found = answer.headers.get(SESSION_HEADER)
    if found is None or _SESSION.fullmatch(found):
        return found
    LOGGER.warning("The server's session id cannot be sent back and is ignored: %s", shown(found))
    return None
