"""The demo's server, called as clients of both eras call it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import Server
from mcp_wsgi.demo import Library, create_server
from mcp_wsgi.protocol.meta import build_meta

TODAY = date(2026, 8, 1)
EMMA = "9780141439587"

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return create_server(Library(tmp_path / "library.sqlite", today=lambda: TODAY))


@pytest.fixture
def ask(server: Server) -> Call:
    """Send a request; with `capabilities` it is a modern one."""

    def send(
        method: str, capabilities: dict[str, Any] | None = None, notify: Any = None, **params: Any
    ) -> dict[str, Any]:
        if capabilities is not None:
            params["_meta"] = build_meta(version="2026-07-28", capabilities=capabilities, progress_token="p")
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = server.handle_message(message, notify=notify)
        assert answer is not None
        return answer

    return send


@pytest.fixture
def call(ask: Call) -> Call:
    """Call a tool as a legacy client, and return its result."""

    def tool(name: str, /, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = ask("tools/call", name=name, arguments=arguments)["result"]
        return result

    return tool


def test_every_tool_and_parameter_is_described(ask: Call) -> None:
    tools = ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == [
        "search_books",
        "find_members",
        "list_loans",
        "statistics",
        "take_stock",
        "lend_book",
        "return_book",
        "add_book",
    ]
    for tool in tools:
        assert tool["title"]
        assert tool["description"]
        assert "ctx" not in tool["inputSchema"]["properties"]


def test_the_tools_read_the_library(call: Call) -> None:
    found = call("search_books", text="emma")["structuredContent"]["result"]
    assert [(book["title"], book["available"]) for book in found] == [("Emma", 1)]
    assert call("find_members", name="zoë")["structuredContent"] == {"result": [{"id": 4, "name": "Zoë Martin"}]}
    assert [loan["id"] for loan in call("list_loans", overdue=True)["structuredContent"]["result"]] == [1, 2]
    assert call("statistics")["structuredContent"] == {"titles": 12, "copies": 18, "on_loan": 4, "overdue": 2}


def test_a_book_is_added_lent_and_returned(call: Call) -> None:
    new = {"isbn": "978-0-14-044924-2", "title": "The Brothers Karamazov", "author": "F. D.", "year": 1880}
    assert call("add_book", **new, genre="society")["structuredContent"]["available"] == 1
    loan = call("lend_book", isbn=new["isbn"], member=1, days=7)["structuredContent"]
    assert loan["due"] == "2026-08-08"
    assert call("return_book", loan=loan["id"])["structuredContent"]["returned"] == "2026-08-01"


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("lend_book", {"isbn": "9780141439846", "member": 1, "days": 7}, "All copies of 'Dracula' are lent"),
        ("lend_book", {"isbn": EMMA, "member": 1, "days": 61}, "days"),
        ("lend_book", {"isbn": EMMA, "member": 9, "days": 7}, "There is no member 9; find_members finds their numbers"),
        ("lend_book", {"isbn": EMMA, "member": 10**40, "days": 7}, "member"),
        ("return_book", {"loan": 99}, "There is no loan 99"),
        ("add_book", {"isbn": EMMA, "title": "E", "author": "A", "year": 1, "genre": "g"}, "already"),
        ("add_book", {"isbn": EMMA, "title": "", "author": "A", "year": 1, "genre": "g"}, "title"),
    ],
)
def test_the_model_reads_why_something_is_refused(call: Call, tool: str, arguments: Any, text: str) -> None:
    result = call(tool, **arguments)
    assert result["isError"] is True
    assert text in result["content"][0]["text"]


def test_taking_stock_reports_every_book(ask: Call) -> None:
    sent: list[dict[str, Any]] = []
    answer = ask("tools/call", {}, sent.append, name="take_stock", arguments={})
    assert answer["result"]["content"][0]["text"] == "14 of 18 copies are on the shelves."
    assert [each["params"]["progress"] for each in sent] == list(range(1, 13))
    assert sent[0]["params"]["message"] == "Crime and Punishment"


CAN_ASK: dict[str, Any] = {"elicitation": {"form": {}}}
LEND = {"name": "lend_book", "arguments": {"isbn": EMMA, "member": 1}}


def test_without_days_the_user_is_asked(ask: Call, call: Call) -> None:
    first = ask("tools/call", CAN_ASK, **LEND)["result"]
    assert first["resultType"] == "input_required"
    [(key, question)] = first["inputRequests"].items()
    assert question["params"]["message"] == "Lend 'Emma' to Amina Diallo?"
    assert question["params"]["requestedSchema"]["properties"]["days"]["default"] == 21
    assert call("statistics")["structuredContent"]["on_loan"] == 4

    answers = {key: {"action": "accept", "content": {"days": 30}}}
    second = ask("tools/call", CAN_ASK, **LEND, requestState=first["requestState"], inputResponses=answers)["result"]
    assert second["structuredContent"]["due"] == "2026-08-31"
    assert call("statistics")["structuredContent"]["on_loan"] == 5


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_user_who_does_not_agree_is_heard(ask: Call, call: Call, action: str) -> None:
    first = ask("tools/call", CAN_ASK, **LEND)["result"]
    answers = {key: {"action": action} for key in first["inputRequests"]}
    second = ask("tools/call", CAN_ASK, **LEND, requestState=first["requestState"], inputResponses=answers)["result"]
    assert second["isError"] is True
    assert second["content"][0]["text"] == "The user did not agree to lend the book"
    assert call("statistics")["structuredContent"]["on_loan"] == 4


def test_a_client_that_cannot_ask_is_told_so(ask: Call, call: Call) -> None:
    assert ask("tools/call", {}, **LEND)["error"]["code"] == -32021
    assert call("lend_book", isbn=EMMA, member=1)["isError"] is True


def test_resources_are_the_catalogue_and_each_book(ask: Call) -> None:
    [catalogue] = ask("resources/read", uri="books://catalogue")["result"]["contents"]
    assert catalogue["mimeType"] == "application/json"
    assert catalogue["text"].count('"isbn"') == 12
    [book] = ask("resources/read", uri=f"book://{EMMA}")["result"]["contents"]
    assert '"title": "Emma"' in book["text"]
    assert ask("resources/read", {}, uri="book://1")["error"]["code"] == -32602


def test_the_prompts_hold_what_the_library_knows(ask: Call) -> None:
    def text(name: str, **arguments: str) -> str:
        [message] = ask("prompts/get", name=name, arguments=arguments)["result"]["messages"]
        return str(message["content"]["text"])

    assert "Moby-Dick by Herman Melville; The Odyssey by Homer" in text("recommend", genre="adventure")
    assert "I liked Emma. The library has: nothing" in text("recommend", genre="poetry", liked="Emma")
    assert "Jan de Vries, who should return: Dracula (due 2026-07-20)" in text("overdue_letter", member="2")
    refused = ask("prompts/get", name="overdue_letter", arguments={"member": "1"})["error"]
    assert refused == {"code": -32602, "message": "Amina Diallo has no late books"}


@pytest.mark.parametrize(
    ("reference", "argument", "text", "values"),
    [
        ({"type": "ref/prompt", "name": "recommend"}, "genre", "S", ["science fiction", "society"]),
        ({"type": "ref/prompt", "name": "overdue_letter"}, "member", "", ["2"]),
        ({"type": "ref/prompt", "name": "overdue_letter"}, "member", "3", []),
        ({"type": "ref/resource", "uri": "book://{isbn}"}, "isbn", "978014026", ["9780140268867"]),
        ({"type": "ref/resource", "uri": "book://{isbn}"}, "isbn", "homer", ["9780140268867"]),
    ],
)
def test_arguments_are_completed(ask: Call, reference: Any, argument: str, text: str, values: list[str]) -> None:
    answer = ask("completion/complete", ref=reference, argument={"name": argument, "value": text})
    assert answer["result"]["completion"]["values"] == values
