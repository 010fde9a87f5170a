"""What a server sends outside of requests is worked off in order, in another thread, and never blocks the transport."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from mcp_wsgi.client import inbox as module
from mcp_wsgi.client.inbox import Inbox
from tests.patience import wait_until


def notice(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": number}}


def question(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "elicitation/create"}


def refuse(message: dict[str, Any]) -> None:
    raise AssertionError(message)


def test_messages_are_worked_off_in_order_and_in_another_thread() -> None:
    got: list[tuple[int, str]] = []
    inbox = Inbox(lambda m: got.append((m["params"]["data"], threading.current_thread().name)), refuse)
    for number in range(50):
        inbox.put(notice(number))
    wait_until(lambda: len(got) == 50)
    inbox.close()
    assert got == [(number, "mcp-client-inbox") for number in range(50)]


def test_a_question_does_not_keep_what_comes_after_it() -> None:
    answered, told = threading.Event(), threading.Event()

    def receive(message: dict[str, Any]) -> None:
        if "id" in message:
            assert told.wait(10)
            answered.set()
        else:
            told.set()

    inbox = Inbox(receive, refuse)
    inbox.put(question(1))
    inbox.put(notice(1))
    assert answered.wait(10)
    inbox.close()


def test_more_questions_than_can_be_answered_are_refused() -> None:
    go, asked, refused = threading.Event(), [], []

    def receive(message: dict[str, Any]) -> None:
        asked.append(message["id"])
        go.wait(10)

    inbox = Inbox(receive, lambda message: refused.append(message["id"]))
    for number in range(module.MAX_QUESTIONS + 2):
        inbox.put(question(number))
    wait_until(lambda: len(refused) == 2 and len(asked) == module.MAX_QUESTIONS)
    go.set()
    wait_until(lambda: not [t for t in threading.enumerate() if t.name == "mcp-client-question"])
    inbox.put(question(100))
    wait_until(lambda: 100 in asked)
    inbox.close()
    assert refused == [module.MAX_QUESTIONS, module.MAX_QUESTIONS + 1]


def test_a_callback_that_fails_is_logged_and_the_next_message_comes(caplog: pytest.LogCaptureFixture) -> None:
    got: list[int] = []

    def receive(message: dict[str, Any]) -> None:
        got.append(message["params"]["data"])
        if len(got) == 1:
            raise ValueError("the callback's own fault")

    inbox = Inbox(receive, refuse)
    inbox.put(notice(1))
    inbox.put(notice(2))
    wait_until(lambda: got == [1, 2])
    inbox.close()
    assert "the callback's own fault" in caplog.text


def test_a_flood_loses_the_oldest_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    started, go, got = threading.Event(), threading.Event(), []

    def receive(message: dict[str, Any]) -> None:
        started.set()
        go.wait(10)
        got.append(message["params"]["data"])

    inbox = Inbox(receive, refuse)
    inbox.put(notice(0))
    assert started.wait(10)
    with caplog.at_level(logging.WARNING):
        for number in range(1, module.MAX_WAITING + 4):
            inbox.put(notice(number))
    go.set()
    wait_until(lambda: len(got) == module.MAX_WAITING + 1)
    inbox.close()
    assert got[:3] == [0, 4, 5]
    assert "the oldest are dropped" in caplog.text


def test_the_thread_ends_when_nothing_comes_and_another_one_begins_when_something_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.05)
    got: list[int] = []
    inbox = Inbox(lambda message: got.append(message["params"]["data"]), refuse)
    for number in (1, 2):
        inbox.put(notice(number))
        wait_until(lambda number=number: got[-1:] == [number])
        wait_until(lambda: not [t for t in threading.enumerate() if t.name == "mcp-client-inbox"])
    inbox.close()


def test_a_closed_inbox_takes_nothing_and_can_be_closed_by_its_own_callback() -> None:
    got: list[int] = []
    inbox: Inbox

    def receive(message: dict[str, Any]) -> None:
        got.append(message["params"]["data"])
        inbox.close()

    inbox = Inbox(receive, refuse)
    inbox.put(notice(1))
    inbox.put(notice(2))
    wait_until(lambda: not [t for t in threading.enumerate() if t.name == "mcp-client-inbox"])
    inbox.put(notice(3))
    inbox.close()
    assert got == [1]
