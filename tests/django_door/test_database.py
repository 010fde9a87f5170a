"""Connections and transactions of handlers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, connections, transaction
from django.test import AsyncClient, Client

from mcp_wsgi.django import non_atomic
from mcp_wsgi.django.database import handler_call, worker_connections
from mcp_wsgi.server.drive import Call
from tests.apps.django_library.books.models import Book
from tests.apps.django_probe.tools import QUESTION
from tests.django_door.wire import apost, events_of, post, result_of
from tests.modern import message

pytestmark = pytest.mark.usefixtures("database")
FORMS = {"elicitation": {"form": {}}}


@pytest.fixture(autouse=True)
def _probe(site: Any) -> None:
    site()


@pytest.fixture
def test_case() -> Iterator[None]:
    """Be inside the transaction that a TestCase keeps around a test."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def titles() -> list[str]:
    return sorted(Book.objects.values_list("title", flat=True))


def write(tool: str, then: str, *, stream: bool = False, kind: Any = Client) -> Any:
    sent = message(
        "tools/call",
        name=tool,
        arguments={"title": then, "then": then},
        capabilities=FORMS,
        progress_token=1 if stream else None,
    )
    if kind is Client:
        response = post(Client(), sent)
        return events_of(b"".join(response.streaming_content))[-1] if stream else response

    async def go() -> Any:
        response = await apost(AsyncClient(), sent)
        if not stream:
            return response
        last = events_of(b"".join([part async for part in response.streaming_content]))[-1]
        response.close()
        return last

    # As Django's own test cases run async tests: sync code in the main thread.
    return async_to_sync(go)()


both = pytest.mark.parametrize("kind", [Client, AsyncClient])
either = pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])


@both
@either
@pytest.mark.parametrize("then", ["fail", "tell", "ask", "return a question", "forbid"])
def test_where_atomic_requests_is_on_a_handler_that_fails_or_asks_leaves_nothing(
    kind: Any, stream: bool, then: str
) -> None:
    write("write", then, stream=stream, kind=kind)
    assert titles() == []


@both
@either
def test_what_a_handler_has_written_stays(kind: Any, stream: bool) -> None:
    write("write", "end", stream=stream, kind=kind)
    assert titles() == ["end"]


@both
def test_a_question_is_asked_though_the_transaction_is_rolled_back(kind: Any) -> None:
    for then in ("ask", "return a question"):
        result = result_of(write("write", then, kind=kind))
        assert result["resultType"] == "input_required"
        assert set(result["inputRequests"]) == set(QUESTION)


@both
def test_a_handler_can_be_exempt(kind: Any) -> None:
    write("write_at_once", "fail", kind=kind)
    assert titles() == ["fail"]


@both
def test_djangos_own_decorator_puts_one_handler_in_a_transaction(kind: Any) -> None:
    write("write_in_own", "fail", kind=kind)
    assert titles() == []
    write("write_in_own", "end", kind=kind)
    assert titles() == ["end"]


def test_without_atomic_requests_nothing_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", False)
    write("write", "fail")
    assert titles() == ["fail"]


@both
@either
def test_a_handler_sees_what_a_test_case_has_written_and_the_other_way_round(
    test_case: None, kind: Any, stream: bool
) -> None:
    Book.objects.create(title="before")
    answer = write("write", "end", stream=stream, kind=kind)
    result = answer["result"] if stream else result_of(answer)
    assert result["content"][0]["text"] == "2"
    assert titles() == ["before", "end"]
    connection.validate_thread_sharing()


def test_a_test_case_leaves_nothing_shared(test_case: None) -> None:
    write("write", "end", stream=True)
    assert connection.allow_thread_sharing is False


def test_a_worker_gets_connections_of_its_own_and_closes_them(tmp_path: Path) -> None:
    connections.settings["other"] = {**connections.settings["default"], "NAME": str(tmp_path / "other.sqlite3")}
    mine = connections["other"]
    mine.ensure_connection()
    theirs: list[Any] = []
    manager = worker_connections()

    def work() -> None:
        with manager:
            connections["other"].ensure_connection()
            theirs.append(connections["other"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert theirs[0] is not mine
    assert theirs[0].connection is None
    assert mine.connection is not None
    mine.close()
    del connections["other"], connections.settings["other"]


def test_a_tool_may_be_exempt_on_one_database_only() -> None:
    def tool() -> None: ...

    atomic = handler_call(Call(tool, (), {}))
    assert atomic.function.__name__ == "_call_atomic"
    for exempted in (transaction.non_atomic_requests(tool), non_atomic(tool)):
        assert handler_call(Call(exempted, (), {})).function.__name__ == "_call"


def test_arguments_of_handlers_may_have_any_name() -> None:
    def tool(function: str, aliases: str, args: str) -> str:
        return function + aliases + args

    call = handler_call(Call(tool, (), {"function": "a", "aliases": "b", "args": "c"}))
    assert call.function(*call.args, **call.kwargs) == "abc"
