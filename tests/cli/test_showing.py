"""What is shown of results, schemas and lists."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mcp_wsgi import Server, public
from mcp_wsgi.cli import main
from mcp_wsgi.cli.output import Output, _widths
from mcp_wsgi.cli.showing import show_result, signature
from mcp_wsgi.client import CallResult
from mcp_wsgi.protocol.types import Audio
from mcp_wsgi.wsgi import WSGIApp
from tests.cli.bad_server import serving
from tests.cli.terminal import terminal


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({}, ""),
        ({"properties": 5}, ""),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, "a: string"),
        ({"properties": {"a": {"type": ["string", "null"]}, "b": True}}, "[a: null|string], [b]"),
        ({"properties": {"a": {"enum": ["x", 1, None]}}}, "[a: x|1|null]"),
        ({"properties": {"a": {"enum": list("abcdef")}}}, "[a: string]"),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "object"}}}, "[a: object]"),
        ({"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "required": 5}, "[a: integer|null]"),
    ],
)
def test_the_arguments_of_a_tool_are_shown_in_short(schema: dict[str, Any], shown: str) -> None:
    assert signature(schema) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ({"content": []}, ""),
        ({"content": [{"type": "text", "text": "a"}], "structuredContent": {"b": 1}}, "a\n"),
        ({"content": [{"type": "text", "text": '{"b":1}'}], "structuredContent": {"b": 1}}, '{\n  "b": 1\n}\n'),
        ({"content": [{"type": "text", "text": "5"}], "structuredContent": 5}, "5\n"),
        ({"content": [], "structuredContent": {"b": 1}}, '{\n  "b": 1\n}\n'),
        ({"content": [{"type": "hologram", "x": "\x9b"}]}, '{"type": "hologram", "x": "\\u009b"}\n'),
    ],
)
def test_a_result_is_shown_once(raw: dict[str, Any], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_result(Output(), CallResult.from_wire(raw))
    assert capsys.readouterr().out == shown


def test_sounds_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    show_result(Output(), CallResult(content=(Audio(b"12", "audio/wav"),)))
    assert capsys.readouterr().out == "[audio: audio/wav, 2 bytes]\n"


def test_nothing_to_show_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    Output().fields([])
    Output().fields([("Empty", "")])
    assert capsys.readouterr().out == "Empty: \n"


@pytest.mark.parametrize("width", [10, 20, 40, 80, 200])
@pytest.mark.parametrize("needed", [[5], [100], [50, 50], [100, 3, 100], [8, 90, 8, 90]])
def test_columns_share_the_terminal(needed: list[int], width: int) -> None:
    widths = _widths(needed, width)
    assert all(got <= max(4, wanted) for got, wanted in zip(widths, needed, strict=True))
    assert width < 40 or sum(widths) + 2 * len(widths) <= width


def test_columns_with_nothing_in_them_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = terminal(monkeypatch)
    Output().table("Things", ("thing", "arguments", "what"), [("a", "", "b"), ("c", "", "")])
    assert "arguments" not in out.getvalue()
    assert "what" in out.getvalue()


def test_json_suits_the_encoding_of_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Output(json=True).document({"a": "é"})
    assert capsys.readouterr().out == '{\n  "a": "é"\n}\n'
    monkeypatch.setattr("mcp_wsgi.cli.output._is_unicode", lambda: False)
    Output(json=True).json_line({"a": "é"})
    assert capsys.readouterr().out == '{"a": "\\u00e9"}\n'


def test_a_server_may_declare_more_than_it_lists(capsys: pytest.CaptureFixture[str]) -> None:
    """Resources are declared; templates of them are no method of the server's."""
    server = Server("half")

    @server.resource("a:b")
    def read() -> str:
        return ""

    def without_templates(environ: Any, start_response: Any) -> Any:
        if environ.get("HTTP_MCP_METHOD") == "resources/templates/list":
            body = b'{"jsonrpc": "2.0", "id": %b, "error": {"code": -32601, "message": "No"}}'
            start_response("404 No", [("Content-Type", "application/json")])
            import json

            message = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            return [body % json.dumps(message["id"]).encode()]
        return application(environ, start_response)

    application = WSGIApp(server, auth=public)
    with serving(without_templates) as url:
        assert main(["list", url]) == 0
        assert capsys.readouterr().out == "resources\ta:b\tread\t\t\n"


def test_the_logger_is_left_as_it_was() -> None:
    logger = logging.getLogger("mcp_wsgi")
    before = list(logger.handlers)
    assert main(["list", "http://127.0.0.1:1/mcp"]) == 3
    assert logger.handlers == before


def test_errors_are_broken_between_words_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    _, err = terminal(monkeypatch, columns=40)
    assert main(["list", "tools"]) == 2
    lines = err.getvalue().splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) < 40
    assert " ".join(lines).startswith("mcp-wsgi: 'tools' is no URL. Name the server")
