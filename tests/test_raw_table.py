"""Every row of tests.raw_table on every kind of server: the documented answer, and a stream that stays in step."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.raw import Connection, Incomplete, Response, TooSlow
from tests.raw_table import ABSENT, ROWS, Answer, Refused, Row, tool_call
from tests.servers import KINDS, Running, available, serve

pytestmark = pytest.mark.servers

CASES = [pytest.param(row, framing, id=f"{row.name}-{framing}") for row in ROWS for framing in row.framings()]


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    if not available(request.param):
        pytest.skip(f"{request.param} is not installed")
    with serve(request.param, "tests.apps.admission:application") as running:
        yield running


def test_the_table_is_broad() -> None:
    assert len(ROWS) > 100
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("row", "framing"), CASES)
def test_the_answer_is_the_documented_one_and_the_next_request_is_read_as_such(
    server: Running, row: Row, framing: str
) -> None:
    expected = row.expected(server.kind, framing)
    with Connection(server, timeout=30) as connection:
        connection.send(row.bytes(framing))
        if row.cut:
            connection.finish()
        try:
            response = connection.receive(head=row.method == "HEAD")
        except Incomplete:
            # A server that refuses may close at once, and its answer may be lost with the connection.
            assert isinstance(expected, Refused), "the connection was closed without an answer"
            return
        if isinstance(expected, Refused):
            assert response.status in expected.statuses, expected.why
        else:
            check_answer(response, expected, head=row.method == "HEAD")
        if not row.cut:
            check_next(connection, row, response)


def check_answer(response: Response, expected: Answer, *, head: bool) -> None:
    assert response.status == expected.status, response.body
    assert (response.header("content-type") or "") == expected.media_type
    assert b"Traceback" not in response.body
    assert b"<html" not in response.body.lower()
    if head or response.status in (202, 204):
        assert response.body == b""
        return
    body = response.body
    if expected.media_type == "text/event-stream":
        assert body.startswith(b"event: message\ndata: ")
        body = body.removeprefix(b"event: message\ndata: ")
    message = json.loads(body)
    assert message["jsonrpc"] == "2.0"
    assert message.get("error", {}).get("code") == expected.code
    assert ("result" in message) == (expected.code is None)
    answered = message.get("id", ABSENT)
    assert (type(answered), answered) == (type(expected.id), expected.id)


def check_next(connection: Connection, row: Row, response: Response) -> None:
    """The bytes of one request are never taken for another: the next one is answered as itself, or not at all."""
    connection.send(tool_call("the next"))
    closes = (response.header("connection") or "").lower() == "close"
    try:
        if closes or not row.next:
            connection.finish()
        following = connection.receive()
    except (Incomplete, OSError):
        return  # closed
    except TooSlow:  # pragma: no cover - a server that hangs
        raise AssertionError("the connection is neither answered nor closed") from None
    assert not closes
    if row.next or following.status < 400:
        assert (following.status, following.json()["id"]) == (200, "the next")
        assert following.json()["result"]["content"][0]["text"] == "3"


def test_no_traceback_and_no_page_is_in_the_log(server: Running) -> None:
    # The last test of each server: what it printed for all rows.
    log = server.log()
    assert "Traceback" not in log, log
    assert "<html" not in log.lower(), log
