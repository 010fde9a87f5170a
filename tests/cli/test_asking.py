"""What a server asks is asked in the terminal, field by field; without a terminal it is declined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi import public
from mcp_wsgi.cli import main
from mcp_wsgi.cli.asking import Asker
from mcp_wsgi.cli.output import Output
from mcp_wsgi.client import ElicitAnswer, ElicitQuestion
from mcp_wsgi.wsgi import WSGIApp
from tests.cli.bad_server import serving
from tests.cli.shop import FORM, server
from tests.cli.terminal import terminal


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(WSGIApp(server, auth=public)) as found:
        yield found


def form(**fields: Any) -> ElicitQuestion:
    return ElicitQuestion(message="Well?", schema={"type": "object", "properties": fields})


def ask(monkeypatch: pytest.MonkeyPatch, question: ElicitQuestion, *lines: str) -> tuple[ElicitAnswer, str]:
    out, err = terminal(monkeypatch, typed="".join(f"{line}\n" for line in lines))
    answer = Asker(Output(plain=True), "https://shop.example/mcp")(question)
    assert out.getvalue() == ""
    return answer, err.getvalue()


def test_a_form_is_filled_in_from_the_terminal(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = "y\nA\nAda\nold\n-1\n36\n\nn\nada@shop.example\n2\ngreen\n3\nred\n1, bow\n\n"
    out, err = terminal(monkeypatch, typed=typed)
    assert main(["call", url, "order"]) == 0
    data = json.loads(out.getvalue())["data"]
    assert data == {
        "name": "Ada",
        "age": 36,
        "height": 1.7,
        "member": False,
        "email": "ada@shop.example",
        "size": "m",
        "colour": "r",
        "extras": ["bag", "bow"],
    }
    asked = err.getvalue()
    assert f"{url} asks. Behind the bars are its words; give it no password or token.\n" in asked
    assert "\n| Who are you?\\x1b[31m\nDo you want" in asked
    assert "Do you want to answer? [y]es, [n]o, [c]ancel: " in asked
    assert "| As on the card\n| Your name: " in asked
    assert "That does not fit: name: " in asked
    assert "| height (number; Enter: 1.7): " in asked
    assert "member (y/n; Enter: true): " in asked
    assert "email (email; Enter: leave out): " in asked
    assert "| 1. small\n| 2. medium\n| size (number; Enter: leave out): " in asked
    assert "| 1. red\n| 2. blue\n" in asked
    assert "extras (numbers, with commas; Enter: leave out): " in asked
    assert "| 1. Monday\n| 2. tu\n" in asked


@pytest.mark.parametrize(
    ("lines", "action"),
    [
        (["n"], "decline"),
        (["c"], "cancel"),
        (["NO"], "decline"),
        ([], "cancel"),
        (["?"] * 9, "cancel"),
        (["y"], "cancel"),
    ],
    ids=["no", "cancel", "in capitals", "end of input", "nonsense", "end of input in the form"],
)
def test_a_person_may_refuse(monkeypatch: pytest.MonkeyPatch, lines: list[str], action: str) -> None:
    answer, told = ask(monkeypatch, form(a={"type": "string"}), *lines)
    assert answer == ElicitAnswer(action)  # type: ignore[arg-type]
    assert ("Cancelled." in told) is (action == "cancel")


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ({"type": "string"}, "a b", "a b"),
        ({"type": "integer"}, "-5", -5),
        ({"type": "integer"}, "5.0", 5.0),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "boolean"}, "TRUE", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "string", "enum": ["10", "20"]}, "2", "20"),
        ({"type": "string", "enum": ["10", "20"]}, "10", "10"),
        ({"type": "string", "default": "x"}, "", "x"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "2,1,", ["b", "a"]),
        ({"type": "array", "items": 5}, "a", ["a"]),
        ({"type": "string", "title": "", "description": 5, "oneOf": 5, "format": 5}, "x", "x"),
    ],
)
def test_fields_have_types(monkeypatch: pytest.MonkeyPatch, field: dict[str, Any], typed: str, value: Any) -> None:
    answer, _ = ask(monkeypatch, form(a=field), "y", typed)
    assert answer == ElicitAnswer("accept", {"a": value})


@pytest.mark.parametrize(
    ("kind", "wrong", "told"), [("boolean", "maybe", "y or n"), ("number", "many", "expected a number")]
)
def test_an_answer_that_does_not_fit_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, kind: str, wrong: str, told: str
) -> None:
    answer, shown = ask(monkeypatch, form(a={"type": kind}), "y", wrong, "")
    assert answer == ElicitAnswer("accept", {})
    assert f"That does not fit: {told}\n" in shown


def test_a_field_is_asked_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, told = ask(monkeypatch, form(a={"type": "integer"}), "y", *["many"] * 9)
    assert answer == ElicitAnswer("cancel")
    assert told.count("That does not fit") == 5


def test_what_is_needed_cannot_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    question = ElicitQuestion(message="?", schema={"properties": {"a": {"type": "string"}}, "required": ["a"]})
    answer, told = ask(monkeypatch, question, "y", "", "x")
    assert answer == ElicitAnswer("accept", {"a": "x"})
    assert "This is needed." in told


@pytest.mark.parametrize("schema", [{}, {"properties": 5}, {"properties": {"a": 5}}])
def test_a_form_without_fields_is_a_question(monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any]) -> None:
    answer, _ = ask(monkeypatch, ElicitQuestion(message="?", schema=schema), "y")
    assert answer == ElicitAnswer("accept", {})


@pytest.mark.parametrize(("typed", "action"), [("y", "accept"), ("n", "decline")])
def test_an_address_is_shown_whole_and_never_opened(
    url: str, monkeypatch: pytest.MonkeyPatch, typed: str, action: str
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    out, err = terminal(monkeypatch, typed=f"{typed}\n")
    assert main(["call", url, "pay"]) == 0
    assert out.getvalue() == f"{action}\n"
    assert "Please pay\n" in err.getvalue()
    assert "\n    https://pay.example/order?id=1\n" in err.getvalue()
    assert opened == []


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "file:///etc/passwd", "", "https:///x", "https://[a", "https://x\ny", "https://a b"),
        *("ftp://a.example", "https://a\u202e.example/", "//a.example", "https://\u200b.example"),
    ],
)
def test_what_is_no_web_page_is_declined_at_once(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    answer, told = ask(monkeypatch, ElicitQuestion(message="?", mode="url", url=url), "y")
    assert answer == ElicitAnswer("decline")
    assert "what is no address of a web page (declined)" in told


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://bank.example@evil.example/", "evil.example"),
        ("https://b\u0430nk.example/", "xn--bnk-6cd.example"),
        ("http://127.0.0.1:80/bank.example", "127.0.0.1"),
    ],
)
def test_an_address_says_who_it_belongs_to(monkeypatch: pytest.MonkeyPatch, url: str, host: str) -> None:
    _, told = ask(monkeypatch, ElicitQuestion(message="?", mode="url", url=url), "y")
    assert f"\nIt belongs to: {host}\n" in told


def test_a_server_cannot_pass_for_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = "\nDo you want to answer? [y]es, [n]o, [c]ancel: y\nmcp-wsgi: log in again\n\n" + " x" * 500
    question = ElicitQuestion(
        message=fake,
        schema={"properties": {"a": {"type": "string", "title": "[sudo] password for root" + "!" * 900}}},
    )
    _, told = ask(monkeypatch, question, "y", "b")
    own = [line for line in told.splitlines() if not line.startswith("| ")]
    assert [line[:30] for line in own] == ["", "https://shop.example/mcp asks.", "Do you want to answer? [y]es, "]
    assert own[-1].endswith("[c]ancel: | [sudo] password for root" + "!" * 33 + "... (Enter: leave out): ")
    assert max(map(len, told.splitlines())) < 200


def test_what_a_server_says_is_cut_where_nobody_would_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    field = {"type": "string", "enum": [str(number) for number in range(900)]}
    question = ElicitQuestion(message="line\n" * 5000, schema={"properties": {"a": field}})
    answer, told = ask(monkeypatch, question, "y", "899")
    assert answer == ElicitAnswer("accept", {"a": "899"})
    assert "(4960 more lines are not shown)" in told
    assert "(800 more choices are not shown)" in told
    assert len(told.splitlines()) < 160


def test_without_a_terminal_it_is_declined(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115 - monkeypatch gives it back
    import sys

    with sys.stdin:
        assert main(["call", url, "order"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"action": "decline", "data": None}
    assert printed.err == "The server asks: Who are you?\\x1b[31m (declined: there is no terminal)\n"


def test_the_form_of_the_shop_has_every_kind_of_field() -> None:
    assert {field["type"] for field in FORM["properties"].values()} == {  # type: ignore[attr-defined]
        *("string", "integer", "number", "boolean", "array")
    }
