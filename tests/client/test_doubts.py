"""Which refusals raise the question whether a server speaks another version by now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_wsgi import MCPError
from mcp_wsgi.client.connecting import Connection
from mcp_wsgi.client.doubts import SETTLED_SECONDS, UNANSWERED, Doubts, has_lost_session
from mcp_wsgi.exceptions import HTTPStatusError, UnauthorizedError
from mcp_wsgi.transport.http import HTTPTransport
from mcp_wsgi.transport.memory import MemoryTransport
from tests.clock import Clock

MODERN = Connection(
    transport=HTTPTransport("http://127.0.0.1:1/mcp"),
    version="2026-07-28",
    modern=True,
    verified=True,
    info={},
    meta={},
)
LEGACY = replace(MODERN, version="2025-11-25", modern=False)
REMEMBERED = replace(MODERN, verified=False)
INSIDE = replace(MODERN, transport=MemoryTransport(print))


def refusal(code: int) -> MCPError:
    return MCPError(code, "No")


@pytest.mark.parametrize(
    ("connection", "error", "doubtful"),
    [
        (MODERN, HTTPStatusError(400), True),
        (LEGACY, HTTPStatusError(404), True),
        (LEGACY, HTTPStatusError(405), True),
        (MODERN, HTTPStatusError(503), False),
        (MODERN, UnauthorizedError(401), False),
        (MODERN, UnauthorizedError(403), False),
        (MODERN, HTTPStatusError(413), False),
        (LEGACY, HTTPStatusError(429), False),
        (LEGACY, refusal(-32601), False),
        (LEGACY, refusal(-32022), True),
        (LEGACY, refusal(-32020), True),
        (MODERN, refusal(-32020), False),
        (MODERN, refusal(-32021), False),
        (MODERN, refusal(-32022), True),
        (MODERN, refusal(-32601), True),
        (MODERN, refusal(-32602), True),
        (MODERN, refusal(5), False),
        (REMEMBERED, refusal(-32603), True),
        (REMEMBERED, refusal(5), True),
        (INSIDE, refusal(-32601), False),
        (INSIDE, refusal(-32022), True),
        (replace(INSIDE, verified=False), refusal(-32601), True),
    ],
)
def test_a_refusal_is_doubtful(connection: Connection, error: Any, doubtful: bool) -> None:
    assert Doubts().arise(connection, "tools/call", error) is doubtful


def test_what_was_looked_into_is_settled_for_a_while() -> None:
    clock = Clock()
    doubts = Doubts(clock)
    doubts.settle("a/b", refusal(-32602))
    doubts.settle("a/b", HTTPStatusError(400))
    assert not doubts.arise(MODERN, "a/b", refusal(-32602))
    assert doubts.arise(MODERN, "a/c", refusal(-32602))
    assert doubts.arise(MODERN, "a/b", refusal(-32603))
    assert doubts.arise(REMEMBERED, "a/b", refusal(-32602))
    clock.now += SETTLED_SECONDS
    assert doubts.arise(MODERN, "a/b", refusal(-32602))


def test_a_method_that_was_answered_exists() -> None:
    doubts = Doubts(Clock())
    for code in (-32601, -32602):
        doubts.settle("a/b", refusal(code))
    doubts.answered("a/b")
    assert doubts.arise(MODERN, "a/b", refusal(-32601))
    assert not doubts.arise(MODERN, "a/b", refusal(-32602))


def test_what_is_remembered_is_bounded() -> None:
    doubts = Doubts(Clock())
    for number in range(1_000):
        doubts.settle(f"a/{number}", refusal(-32602))
    assert len(doubts._settled) == 100
    assert not doubts.arise(MODERN, "a/999", refusal(-32602))


def test_silence_counts_in_a_row_and_only_where_another_server_may_be_by_now() -> None:
    doubts = Doubts()
    for _ in range(UNANSWERED - 1):
        doubts.unanswered()
    assert not doubts.is_silent(MODERN)
    doubts.unanswered()
    assert doubts.is_silent(MODERN)
    assert not doubts.is_silent(LEGACY)
    assert not doubts.is_silent(INSIDE)
    doubts.answered("a/b")
    assert not doubts.is_silent(MODERN)


def test_a_lock_that_another_process_held_is_of_no_matter() -> None:
    doubts = Doubts()
    doubts._lock.acquire()
    doubts.begin_anew()
    doubts.settle("a/b", refusal(-32602))


@pytest.mark.parametrize(
    ("connection", "error", "status", "lost"),
    [
        (LEGACY, refusal(-32000), 400, True),
        (LEGACY, refusal(-32600), 400, True),
        (LEGACY, refusal(-32602), 400, False),
        (LEGACY, refusal(-32000), 200, False),
        (LEGACY, refusal(-32000), None, False),
        (LEGACY, HTTPStatusError(400), 400, False),
        (MODERN, refusal(-32000), 400, False),
    ],
)
def test_a_session_is_lost(connection: Connection, error: Any, status: int | None, lost: bool) -> None:
    assert has_lost_session(connection, error, status) is lost
