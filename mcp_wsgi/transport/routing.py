"""Which message belongs to which request, where all share one channel (2026-07-28, basic/transports/stdio).

Nothing here reads or writes a stream: lines go in, and each becomes somebody's message, or is skipped and counted.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..exceptions import ClientError, MCPError, ParseError, RemoteProtocolError, TransportError
from ..protocol.codec import decode
from ..protocol.jsonrpc import Notification, Request, RequestId, Response, parse_message
from ..protocol.meta import SUBSCRIPTION_ID
from .base import Exchange, Message
from .pipes import printable

__all__ = ["CAPACITY", "MAX_STRAY_BYTES", "MAX_STRAY_LINES", "Failure", "Mailbox", "Router"]

logger = logging.getLogger("mcp_wsgi.client")

#: Makes the error of a connection that failed: each thread that waits raises one of its own.
Failure = Callable[[], ClientError]

#: How many messages of a request may wait for the thread that takes them. More are dropped, progress and the oldest
#: first: to hold them back would hold back every other request too.
CAPACITY = 1_000
#: How much that is no message is skipped in a row before the server is given up.
MAX_STRAY_LINES = 10_000
MAX_STRAY_BYTES = 1024 * 1024
#: How many lines that are no message are shown in the log; the others are counted.
_SHOWN = 5

_PROGRESS = "notifications/progress"


class Mailbox:
    """Hold what has come for one request until the thread that waits for its answer takes it.

    Args:
        request_id: The id of the request.
        max_bytes: The most that may wait, in bytes as they came.
    """

    def __init__(self, request_id: RequestId, max_bytes: int) -> None:
        self.request_id = request_id
        self._max_bytes = max_bytes
        self._ready = threading.Condition()
        self._messages: deque[tuple[Message, int]] = deque()
        self._size = 0
        self._answer: Message | None = None
        self._failure: Failure | None = None
        #: How many messages were dropped.
        self.dropped = 0

    def put(self, message: Message, size: int) -> None:
        """Add what comes before the answer."""
        with self._ready:
            self._messages.append((message, size))
            self._size += size
            while len(self._messages) > CAPACITY or (self._size > self._max_bytes and len(self._messages) > 1):
                self._drop()
            self._ready.notify()

    def _drop(self) -> None:
        kinds = (message.get("method") == _PROGRESS for message, _ in self._messages)
        place = next((index for index, is_progress in enumerate(kinds) if is_progress), 0)
        self._size -= self._messages[place][1]
        del self._messages[place]
        self.dropped += 1
        if self.dropped == 1:
            logger.warning("More messages of a request wait than fit; the oldest are dropped")

    def answer(self, message: Message) -> None:
        """Add the answer; the first one counts."""
        with self._ready:
            self._answer = self._answer or message
            self._ready.notify()

    def fail(self, failure: Failure) -> None:
        """Say that there will be no answer."""
        with self._ready:
            self._failure = self._failure or failure
            self._ready.notify()

    def wake(self) -> None:
        """Let the thread that waits look whether its request was given up."""
        with self._ready:
            self._ready.notify()

    def wait(self, exchange: Exchange) -> Message:
        """Hand on what comes, in order, until the answer.

        Raises:
            ClientError: There is none; the kind says why.
        """
        while True:
            with self._ready:
                if not self._messages:
                    if self._answer is not None:
                        return self._answer
                    if self._failure is not None:
                        raise self._failure()
                    self._ready.wait(exchange.check())
                    continue
                message, size = self._messages.popleft()
                self._size -= size
                answered = self._answer is not None
            exchange.on_message(message)
            # What is here is not late, however long the caller took with what came before it.
            if not answered or exchange.cancelled:
                exchange.check()


class Router:
    """Give each message to the request that it belongs to, and the others to the inbox.

    Args:
        inbox: Called with what belongs to no request, in the thread that reads.
        name: What names the server in messages.
        max_bytes: The most that may wait for one request, in bytes.
    """

    def __init__(self, inbox: Callable[[Message], None], name: str, max_bytes: int) -> None:
        self._inbox = inbox
        self._name = name
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._failed = threading.Event()
        self._pending: dict[RequestId, Mailbox] = {}
        #: Why the connection is of no use any more, ``None`` while it is.
        self.failure: Failure | None = None
        #: How many lines were no message.
        self.strays = 0
        self._lines = self._bytes = 0
        self._told_of_text_ids = False

    # For the threads that ask

    @contextmanager
    def expect(self, request_id: RequestId) -> Iterator[Mailbox]:
        """Take what comes for a request while the block runs.

        Raises:
            ValueError: A request with this id is under way.
            ClientError: The connection has failed.
        """
        mailbox = Mailbox(request_id, self._max_bytes)
        with self._lock:
            self.check()
            if request_id in self._pending:
                raise ValueError(f"A request with the id {request_id!r} is under way")
            self._pending[request_id] = mailbox
        try:
            yield mailbox
        finally:
            with self._lock:
                del self._pending[request_id]

    def check(self) -> None:
        """Raise why the connection is of no use, where it is not."""
        if self.failure is not None:
            raise self.failure()

    def wait_for_failure(self, seconds: float) -> None:
        """Wait until the connection has failed, and raise why."""
        self._failed.wait(seconds)
        self.check()

    def fail(self, failure: Failure) -> None:
        """Say that nothing more comes: all that wait are told. The first reason counts."""
        with self._lock:
            self.failure = self.failure or failure
            waiting = list(self._pending.values())
        for mailbox in waiting:
            mailbox.fail(self.failure)
        self._failed.set()

    # For the thread that reads

    def receive(self, line: bytes) -> None:
        """Take one line of the server's output."""
        try:
            value = decode(line)
        except ParseError as error:
            if not self._refuse(_read_loosely(line), error):
                self._skip(line)
            return
        try:
            message = parse_message(value)
        except MCPError as error:
            if not self._refuse(value, error):
                self._skip(line)
            return
        self._lines = self._bytes = 0
        if isinstance(message, Response):
            self._answer(value, message)
        else:
            self._tell(value, message, len(line))

    def skip_blank(self, count: int) -> None:
        """Take note of empty lines. A few are no fault, and an endless flood of them would be one."""
        self._bytes += count
        self._check_strays()

    def _skip(self, line: bytes) -> None:
        self.strays += 1
        self._lines += 1
        self._bytes += len(line)
        if self.strays <= _SHOWN:
            more = "" if self.strays < _SHOWN else " (further ones are not shown)"
            logger.warning("%s wrote what is no message, skipped%s: %s", self._name, more, printable(line))
        self._check_strays()

    def _check_strays(self) -> None:
        if self._lines > MAX_STRAY_LINES or self._bytes > MAX_STRAY_BYTES:
            self.fail(lambda: TransportError("The server's output holds no messages of this protocol"))

    def _find(self, request_id: object) -> Mailbox | None:
        if type(request_id) is int:
            return self._pending.get(request_id)
        if type(request_id) is not str:
            return None
        mailbox = self._pending.get(request_id)
        if mailbox is None and len(request_id) <= 20 and request_id.removeprefix("-").isdecimal():
            number = int(request_id)
            mailbox = self._pending.get(number) if str(number) == request_id else None
            if mailbox is not None and not self._told_of_text_ids:
                self._told_of_text_ids = True
                logger.warning("%s gives numbers back as strings; they are read as the numbers", self._name)
        return mailbox

    def _answer(self, value: Message, response: Response) -> None:
        with self._lock:
            mailbox = self._find(response.id)
            if response.id is None and len(self._pending) == 1:
                # It can be no other's.
                mailbox = next(iter(self._pending.values()))
        if mailbox is None:
            logger.debug("%s answered a request that is not under way: skipped", self._name)
            return
        mailbox.answer({**value, "id": mailbox.request_id})

    def _tell(self, value: Message, message: Request | Notification, size: int) -> None:
        meta = message.params.get("_meta")
        with self._lock:
            mailbox = self._find(meta.get(SUBSCRIPTION_ID)) if type(meta) is dict else None
            if mailbox is None and message.method == _PROGRESS:
                mailbox = self._find(message.params.get("progressToken"))
        if mailbox is not None:
            mailbox.put(value, size)
            return
        try:
            self._inbox(value)
        except Exception:
            logger.exception("The inbox failed on a message of %s", self._name)

    def _refuse(self, value: Any, error: MCPError) -> bool:
        """Fail the request whose answer cannot be read; say whether there is one."""
        if type(value) is not dict or "method" in value or value.get("id") is None:
            return False
        with self._lock:
            mailbox = self._find(value["id"])
        if mailbox is None:
            return False
        reason = error.message
        mailbox.fail(lambda: RemoteProtocolError(f"The server's answer cannot be read: {reason}"))
        return True


def _read_loosely(line: bytes) -> Any:
    """Read JSON that is not strict, to see whose answer it was meant to be."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
