"""What a server sends outside of requests, worked off in a thread of the client's own."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial

from ..transport.base import Message
from .forks import begin_anew_after_fork

__all__ = ["Inbox"]

logger = logging.getLogger("mcp_wsgi.client")

#: A server that sends more than this while a callback runs loses the oldest notifications.
MAX_WAITING = 1_000
#: How many questions of a server are answered at once; a person is asked one thing after the other anyway.
MAX_QUESTIONS = 8
#: How long the thread waits for the next message before it ends, in seconds. The next one starts another.
IDLE_SECONDS = 5.0


class Inbox:
    """Take messages from a transport's thread and give them to the client in another one, in order.

    A question (a request of a legacy server) is answered in a thread of its own: it may take as long as a person takes,
    and what comes after it must not wait.

    Args:
        receive: Called with each notification, and with each question.
        refuse: Called with a question beyond those that are answered at once.
    """

    def __init__(self, receive: Callable[[Message], None], refuse: Callable[[Message], None]) -> None:
        self._receive = receive
        self._refuse = refuse
        self._waiting: deque[Message] = deque(maxlen=MAX_WAITING)
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._questions = 0
        self._closed = False
        begin_anew_after_fork(self)

    def put(self, message: Message) -> None:
        """Take a message; this never blocks."""
        is_question = "method" in message and "id" in message
        with self._wake:
            # At once: what is being worked off may itself wait for what the server does when it is answered.
            if self._closed or (is_question and self._ask_aside(message)):
                return
            if len(self._waiting) == MAX_WAITING:
                logger.warning("Notifications come faster than they are worked off; the oldest are dropped")
            self._waiting.append(message)
            self._wake.notify()
            if self._thread is None:
                self._thread = _start(self._work, "mcp-client-inbox")

    def begin_anew(self) -> None:
        """Forget the threads, and what they had locked, in a forked process."""
        self._wake = threading.Condition()
        self._thread, self._questions = None, 0

    def close(self) -> None:
        """Take nothing more, and wait a moment for what runs."""
        with self._wake:
            self._closed = True
            self._waiting.clear()
            self._wake.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(IDLE_SECONDS)

    def _work(self) -> None:
        while (message := self._next()) is not None:
            # A question is here because it could not be answered at once.
            is_question = "method" in message and "id" in message
            self._give(self._refuse if is_question else self._receive, message)

    def _next(self) -> Message | None:
        with self._wake:
            if not self._waiting and not self._closed:
                self._wake.wait(IDLE_SECONDS)
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None

    def _ask_aside(self, question: Message) -> bool:
        """Answer a question in a thread of its own; say whether there was one to be had."""
        if self._questions >= MAX_QUESTIONS or _start(partial(self._answer, question), "mcp-client-question") is None:
            return False
        self._questions += 1
        return True

    def _answer(self, question: Message) -> None:
        try:
            self._give(self._receive, question)
        finally:
            with self._wake:
                self._questions -= 1

    @staticmethod
    def _give(take: Callable[[Message], None], message: Message) -> None:
        try:
            take(message)
        except BaseException:  # nobody is there to get it
            logger.exception("Working off a message of the server failed")


def _start(work: Callable[[], None], name: str) -> threading.Thread | None:
    """Start a thread, ``None`` where the system has none left."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        logger.warning("A message of the server waits: no thread can be started")
        return None
    return thread
