"""The listeners of a client, in both eras."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..exceptions import ClientClosedError, ClientError, ConfigurationError, HTTPStatusError, MCPError, TransportError
from ..transport.base import Message
from .calls import Call, Calls
from .cancel import Cancel
from .forks import begin_anew_after_fork
from .incoming import Incoming
from .listen import Listener, ListenFilter
from .options import Options
from .session import POST_SECONDS, Connection, Session

__all__ = ["Changes"]

logger = logging.getLogger("mcp_wsgi.client")


class Changes:
    """Open listeners and keep them supplied.

    Args:
        session: The session of the client.
        calls: What performs its requests.
        incoming: What takes the server's notifications.
        options: Its options.
        capabilities: Gives what the server says it can do.
    """

    def __init__(
        self,
        session: Session,
        calls: Calls,
        incoming: Incoming,
        options: Options,
        capabilities: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._session = session
        self._calls = calls
        self._incoming = incoming
        self._options = options
        self._capabilities = capabilities
        self._lock = threading.Lock()
        self._listeners: dict[Listener, None] = {}
        self._closed = False
        session.renewed = self._resubscribe
        session.ended = self._lose
        begin_anew_after_fork(self)

    def listen(self, wanted: Mapping[str, Any], timeout: float | None) -> Listener:
        """Open a listener for what is wanted, in the words of ``subscriptions/listen``.

        Raises:
            ConfigurationError: Nothing is wanted.
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        wanted = {member: value for member, value in wanted.items() if value}
        if not wanted:
            raise ConfigurationError("Say what to listen for: tools_list_changed=True, for example")
        chosen = ListenFilter(wanted)
        if self._session.connection().modern:
            try:
                return self._open_modern(chosen, self._options.timeout if timeout is None else timeout)
            except (MCPError, HTTPStatusError):
                if self._session.connection().modern:
                    raise  # else another server has taken its place, which was found out by this refusal
        return self._open_legacy(chosen, timeout)

    def notified(self, message: Message) -> None:
        """Give a notification of a legacy server to those who wait for it."""
        with self._lock:
            listeners = [listener for listener in self._listeners if listener.is_fed]
        for listener in listeners:
            listener.post(message)

    def close(self) -> None:
        """End all listeners; whoever iterates gets ``ClientClosedError``."""
        with self._lock:
            self._closed = True
            listeners = list(self._listeners)
        for listener in listeners:
            listener.fail(ClientClosedError("The client was closed"))

    def _open_modern(self, wanted: ListenFilter, timeout: float | None) -> Listener:
        def run(cancel: Cancel, post: Callable[[Message], None]) -> None:
            def take(message: Message) -> None:
                post(message)
                self._incoming.notice_aside(message)

            params = {"notifications": wanted.wanted}
            self._calls.perform(
                Call(method="subscriptions/listen", params=params, endless=True, cancel=cancel, on_message=take)
            )

        listener = Listener(wanted, run, self._drop)
        self._keep(listener)
        listener.open(timeout)
        return listener

    def _open_legacy(self, wanted: ListenFilter, timeout: float | None) -> Listener:
        honoured = wanted.honoured_by(self._capabilities())
        listener = Listener(wanted, None, self._leave, self._look)
        # At once: a session that is renewed meanwhile is asked for all that somebody wants.
        listener.open(None, honoured)
        self._keep(listener)
        try:
            self._session.listen()
            for uri in honoured.get("resourceSubscriptions", ()):
                self._calls.perform(Call(method="resources/subscribe", params={"uri": uri}, timeout=timeout))
        except BaseException:
            listener.close()
            raise
        return listener

    def _keep(self, listener: Listener) -> None:
        with self._lock:
            if self._closed:
                raise ClientClosedError("The client is closed")
            self._listeners[listener] = None

    def _drop(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.pop(listener, None)

    def _look(self) -> None:
        """See whether a legacy server has ended, or lost the session, while nobody asked it anything."""
        connection = self._session.current
        if connection is not None and (connection.transport.failed or connection.transport.deaf):
            self._session.drop(connection)

    def _lose(self, connection: Connection) -> None:
        """End the listeners of a legacy server that has ended; those of a modern one are requests, which fail."""
        with self._lock:
            listeners = [] if connection.modern else [listener for listener in self._listeners if listener.is_fed]
        for listener in listeners:
            self._drop(listener)
            listener.fail(TransportError("The connection to the server has ended, and its subscriptions with it"))

    def _subscribed(self) -> set[str]:
        with self._lock:
            fed = [listener for listener in self._listeners if listener.is_fed]
            return {uri for listener in fed for uri in listener.honoured.get("resourceSubscriptions", ())}

    def _leave(self, listener: Listener) -> None:
        """End the subscriptions of a legacy listener that no other one has."""
        self._drop(listener)
        mine = set(listener.honoured.get("resourceSubscriptions", ())) - self._subscribed()
        connection = self._session.current
        if self._closed or connection is None or connection.modern or connection.transport.failed:
            return
        try:
            for uri in sorted(mine):
                # In this session or not at all: another one knows nothing of it.
                self._calls.send(
                    connection, Call(method="resources/unsubscribe", params={"uri": uri}, timeout=POST_SECONDS)
                )
        except (ClientError, MCPError) as error:
            logger.info("%s could not be told that nobody listens any more: %s", self._session.address, error)

    def begin_anew(self) -> None:
        """End the listeners of the other process in a forked one: what reads for them is there."""
        self._lock = threading.Lock()
        listeners, self._listeners = list(self._listeners), {}
        for listener in listeners:
            listener.begin_anew()

    def _resubscribe(self, connection: Connection) -> None:
        for uri in sorted(self._subscribed()):
            self._subscribe_again(connection, uri)

    def _subscribe_again(self, connection: Connection, uri: str) -> None:
        try:
            self._calls.send(connection, Call(method="resources/subscribe", params={"uri": uri}))
        except Exception as error:  # noqa: BLE001 - also what a callback raises: the others are asked for all the same
            logger.warning("%s could not be asked again to tell of %s: %s", self._session.address, uri[:200], error)
