"""What both HTTP transports are built on: requests to one origin, each under a watch."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import requests

from ..exceptions import ClientClosedError
from ..protocol.framing import DEFAULT_MAX_SIZE, check_cap
from .base import Deadline, Message, Transport
from .http_wire import Wire
from .watch import Watch

__all__ = ["WireTransport"]


class WireTransport(Transport):
    """Reach a server by requests over HTTP; the arguments are those of the transports that are built on it."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        verify: bool | str = True,
        cert: str | tuple[str, str] | None = None,
        connect_timeout: float = 10.0,
        max_message_size: int = DEFAULT_MAX_SIZE,
        session: requests.Session | None = None,
    ) -> None:
        super().__init__()
        self._max_size = check_cap("max_message_size", max_message_size)
        self._wire = Wire(
            url,
            headers=headers,
            auth=auth,
            verify=verify,
            cert=cert,
            connect_timeout=connect_timeout,
            session=session,
        )
        self._connect_timeout = connect_timeout
        self._closed = False
        self._pid = os.getpid()
        # No lock guards it, which a fork could leave locked: each use is one operation.
        self._watches: set[Watch] = set()
        self._begin_process()

    @property
    def address(self) -> str:
        """The URL without user, password, query and fragment."""
        return self._wire.address

    @contextmanager
    def _watching(self, deadline: Deadline) -> Iterator[Watch]:
        self._refresh()
        watch = Watch(deadline, self._connect_timeout)
        self._watches.add(watch)
        try:
            if self._closed:
                raise ClientClosedError("The client is closed")
            yield watch
        finally:
            self._watches.discard(watch)

    def _close_watches(self) -> None:
        for watch in list(self._watches):
            watch.close()

    def _refresh(self) -> None:
        """In a forked child, forget what goes on in the parent."""
        if self._pid != os.getpid():
            self._pid, self._watches = os.getpid(), set()
            self._begin_process()

    @abstractmethod
    def _begin_process(self) -> None:
        """Set what belongs to one process alone, when the transport is made and in a forked child."""

    def _deliver(self, message: Message) -> None:
        self.inbox(message)
