"""Requests of both eras: many at a time, in any order, with what their handlers report."""

from __future__ import annotations

import contextvars
import json
import threading
from contextlib import contextmanager
from io import BytesIO

import pytest

from mcp_wsgi import ConfigurationError, Context, MCPError, Server
from mcp_wsgi.stdio import serve_stdio
from tests.modern import message
from tests.patience import wait_until
from tests.stdio_door.client import PATIENCE, initialize, legacy, notice, serving

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


def a_server(**options):
    server = Server("test", version="1", **options)

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    async def echo_async(text: str) -> str:
        return text

    @server.tool
    def count(to: int, ctx: Context) -> int:
        for number in range(1, to + 1):
            ctx.report_progress(number, to)
            ctx.info(f"at {number}")
        return to

    @server.tool
    def who(ctx: Context) -> dict[str, str | None]:
        return {
            "principal": ctx.principal,
            "client": ctx.client_info.get("name"),
            "version": ctx.protocol_version,
            "variable": VARIABLE.get(),
        }

    return server


def call(request_id, tool, **arguments):
    return message("tools/call", request_id=request_id, name=tool, arguments=arguments)


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def test_discover_then_initialize_then_modern_again():
    """B69: a client may probe, begin a handshake all the same, and go on as it likes."""
    with serving(a_server()) as client:
        discovered = client.ask(message("server/discover", request_id="probe"))["result"]
        assert discovered["supportedVersions"][0] == "2026-07-28"
        assert discovered["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
        opened = client.handshake()
        assert opened["protocolVersion"] == "2025-11-25"
        assert opened["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
        listed = client.ask(legacy(1, "tools/list"))["result"]
        assert [tool["name"] for tool in listed["tools"]] == ["echo", "echo_async", "count", "who"]
        assert "resultType" not in listed
        again = client.ask(call(2, "echo", text="modern"))["result"]
        assert (again["resultType"], again["content"][0]["text"]) == ("complete", "modern")
        assert text_of(client.ask(legacy(3, "tools/call", name="echo", arguments={"text": "legacy"}))) == "legacy"
        assert client.ask(message("server/discover", request_id=4))["result"]["resultType"] == "complete"


def test_a_legacy_request_needs_no_handshake():
    with serving(a_server()) as client:
        assert text_of(client.ask(legacy(1, "tools/call", name="echo", arguments={"text": "é"}))) == "é"


def test_a_server_without_legacy_says_what_it_serves():
    with serving(a_server(legacy=False)) as client:
        error = client.ask(initialize())["error"]
        assert (error["code"], error["data"]["supported"]) == (-32022, ["2026-07-28"])
        assert text_of(client.ask(call(1, "echo", text="x"))) == "x"


def test_a_version_that_is_not_served_is_refused():
    with serving(a_server()) as client:
        request = call(1, "echo", text="x")
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
        assert client.ask(request)["error"]["code"] == -32022


@pytest.mark.parametrize("request_id", [0, "", -1, "0", 2**70, "\ud800", "x" * 1000])
def test_any_id_is_an_id(request_id):
    with serving(a_server()) as client:
        assert text_of(client.ask(call(request_id, "echo_async", text="x"))) == "x"


def test_a_hundred_calls_at_once_are_all_answered_each_with_its_own():
    with serving(a_server()) as client:
        client.send(*[call(number, "echo", text=f"text {number}") for number in range(100)])
        answers = client.answers(100)
        assert {number: text_of(answer) for number, answer in answers.items()} == {
            number: f"text {number}" for number in range(100)
        }


def test_an_id_may_be_used_again_once_it_is_answered():
    with serving(a_server()) as client:
        for number in range(50):
            assert text_of(client.ask(call(1, "echo", text=str(number)))) == str(number)


def test_results_of_megabytes_do_not_mix():
    with serving(a_server()) as client:
        texts = {"a": "a" * (5 << 20), "b": "b" * (5 << 20)}
        client.send(*[call(name, "echo", text=text) for name, text in texts.items()])
        assert {name: text_of(answer) == texts[name] for name, answer in client.answers(2).items()} == {
            "a": True,
            "b": True,
        }


def test_lines_are_ascii_whatever_they_say():
    """B55: readers that split at U+2028 or U+0085 must not cut a message."""
    with serving(a_server()) as client:
        client.send(call(1, "echo", text="a\u2028b\u2029c\u0085d\n😀"))
        line = client.line()
        assert line.isascii()
        assert text_of(json.loads(line)) == "a\u2028b\u2029c\u0085d\n😀"


def test_progress_and_logs_come_as_they_are_made_before_the_answer():
    with serving(a_server()) as client:
        request = message("tools/call", progress_token=0, log_level="info", name="count", arguments={"to": 3})
        client.send(request)
        messages = [client.read() for _ in range(7)]
        assert [each["params"]["progress"] for each in messages[0:6:2]] == [1, 2, 3]
        assert [each["params"]["progressToken"] for each in messages[0:6:2]] == [0, 0, 0]
        assert [each["params"]["data"] for each in messages[1:6:2]] == ["at 1", "at 2", "at 3"]
        assert text_of(messages[6]) == "3"


def test_who_asks_is_who_the_caller_says_in_the_callers_context():
    token = VARIABLE.set("of the caller")
    try:
        context = contextvars.copy_context()
    finally:
        VARIABLE.reset(token)
    with serving(a_server(), principal="ada") as client:
        seen = client.ask(call(1, "who"))["result"]["structuredContent"]
        assert seen == {"principal": "ada", "client": "test", "version": "2026-07-28", "variable": "unset"}
        client.handshake(version="2025-06-18")
        seen = client.ask(legacy(1, "tools/call", name="who"))["result"]["structuredContent"]
        assert seen == {"principal": "ada", "client": "legacy test", "version": "2025-06-18", "variable": "unset"}
    seen = context.run(_serve_lines, a_server(), call(1, "who"))
    assert seen["result"]["structuredContent"]["variable"] == "of the caller"


def _serve_lines(server, request):
    """Serve one request on streams that are no files."""
    stdout = BytesIO()
    serve_stdio(server, stdin=BytesIO(json.dumps(request).encode()), stdout=stdout)
    return json.loads(stdout.getvalue())


def test_one_by_default_is_the_user_of_the_process():
    seen = _serve_lines(a_server(), call(1, "who"))["result"]["structuredContent"]
    assert seen["principal"]


def test_quick_answers_come_while_all_threads_are_busy():
    server, gate = a_server(), threading.Event()

    @server.tool
    def wait() -> str:
        gate.wait(PATIENCE)
        return "done"

    with serving(server, max_threads=2) as client:
        client.send(*[call(number, "wait") for number in range(5)])
        assert client.ask(legacy("p", "ping"))["result"] == {}
        assert client.ask(message("server/discover", request_id="d"))["result"]["capabilities"]
        assert client.ask(message("tools/list", request_id="l"))["result"]["tools"]
        assert client.ask(legacy("x", "no/such"))["error"]["code"] == -32601
        assert client.ask(initialize())["result"]["serverInfo"]["name"] == "test"
        gate.set()
        assert set(client.answers(5)) == {0, 1, 2, 3, 4}


def test_no_more_handlers_run_at_a_time_than_may():
    server, gate, running = a_server(), threading.Event(), []

    @server.tool
    def wait() -> int:
        running.append(1)
        gate.wait(PATIENCE)
        return len(running)

    with serving(server, max_threads=3) as client:
        client.send(*[call(number, "wait") for number in range(10)])
        wait_until(lambda: len(running) == 3)
        assert client.is_quiet()
        assert len(running) == 3
        gate.set()
        assert len(client.answers(10)) == 10


def test_what_cannot_even_wait_is_refused():
    server, gate = a_server(), threading.Event()

    @server.tool
    def wait(text: str = "") -> str:
        gate.wait(PATIENCE)
        return "done"

    with serving(server, max_threads=1, max_message_size=1000) as client:
        client.send(*[call(number, "wait", text="x" * 600) for number in range(12)], legacy("p", "ping"))
        refused = []
        while (answer := client.read())["id"] != "p":
            assert answer["error"]["code"] == -32603
            assert "Too many requests" in answer["error"]["message"]
            refused.append(answer["id"])
        assert 5 <= len(refused) <= 10
        gate.set()
        assert set(client.answers(12 - len(refused))) == set(range(12)) - set(refused)


def test_two_requests_in_progress_with_one_id():
    """B50: the second is refused, the first is answered."""
    server, gate = a_server(), threading.Event()

    @server.tool
    def wait() -> str:
        gate.wait(PATIENCE)
        return "first"

    with serving(server) as client:
        client.send(call(7, "wait"), call(7, "echo", text="second"))
        refused = client.read()
        assert (refused["id"], refused["error"]["code"]) == (7, -32600)
        assert "in progress" in refused["error"]["message"]
        gate.set()
        assert text_of(client.read()) == "first"
        assert text_of(client.ask(call(7, "echo", text="third"))) == "third"


def test_what_ends_a_handler_from_outside_is_answered_and_ends_nothing_else(caplog):
    server = a_server()

    @server.tool
    def leave() -> str:
        raise SystemExit(1)

    with serving(server) as client:
        error = client.ask(call(1, "leave"))["error"]
        assert error["code"] == -32603
        assert "SystemExit" not in error["message"]
        assert client.is_quiet()


def test_an_error_of_the_application_is_its_own():
    server = a_server()

    @server.tool
    def refuse() -> str:
        raise MCPError(-31999, "No", {"why": "because"})

    with serving(server) as client:
        assert client.ask(call(1, "refuse"))["error"] == {"code": -31999, "message": "No", "data": {"why": "because"}}


def test_a_request_is_answered_inside_what_the_application_needs():
    entered = []

    @contextmanager
    def around():
        entered.append("in")
        yield
        entered.append("out")

    with serving(a_server(), around=around) as client:
        assert text_of(client.ask(call(1, "echo", text="x"))) == "x"
        assert entered == ["in", "out"]


def test_an_application_that_fails_around_a_request_is_an_internal_error(caplog):
    def around():
        raise RuntimeError("secret")

    with serving(a_server(), around=around) as client:
        answer = client.ask(call(1, "echo", text="x"))
        assert answer["error"]["code"] == -32603
        assert "secret" not in answer["error"]["message"]


def test_notifications_are_never_answered():
    with serving(a_server()) as client:
        client.send(
            notice("notifications/initialized"),
            notice("notifications/roots/list_changed"),
            notice("x/unknown"),
            {"jsonrpc": "2.0", "method": "notifications/cancelled"},
            {"jsonrpc": "2.0", "method": "notifications/x", "params": [1]},
        )
        assert client.is_quiet()


@pytest.mark.parametrize(
    "response",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "question-1", "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": "x", "result": 5},
        {"jsonrpc": "2.0", "result": 5},
        {"id": 1, "error": 5},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
    ],
)
def test_responses_that_nobody_waits_for_are_never_answered(response):
    with serving(a_server()) as client:
        client.send(response)
        assert client.is_quiet()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_threads": 0}, "max_threads"),
        ({"max_message_size": 0}, "max_message_size"),
        ({"stop_seconds": -1}, "stop_seconds"),
        ({"stop_seconds": float("nan")}, "stop_seconds"),
        ({"stdin": open}, "both streams"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        serve_stdio(a_server(), **options)
