"""The ASGI door: what it reads, what it sends, where handlers run, and how a request ends."""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_wsgi import ConfigurationError, Context, HTTPPolicy, Server, asgi, public
from mcp_wsgi.aio import drive, streams
from mcp_wsgi.aio.drive import ThreadPool, run_async
from mcp_wsgi.aio.streams import AsyncStreams
from mcp_wsgi.asgi import ASGIApp, ASGIMiddleware
from mcp_wsgi.http.auth import AuthenticationError
from mcp_wsgi.protocol.codec import encode
from mcp_wsgi.protocol.sse import EventDecoder
from mcp_wsgi.server.drive import Call, Steps
from tests.modern import BOTH, message, post_headers
from tests.patience import wait_until

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")
#: A silent handler opens its stream after a fifth of it: never in the time of a test, or after a moment.
PATIENT, QUICK = HTTPPolicy(keep_alive=600), HTTPPolicy(keep_alive=0.2)
App = Callable[[Any, Any, Any], Awaitable[None]]


class Client:
    """One request as an ASGI server carries it: messages in order, then silence until ``leave()``."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.coming = list(messages)
        self.gone = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self.received = 0

    async def receive(self) -> dict[str, Any]:
        self.received += 1
        if self.coming:
            return self.coming.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, sent: dict[str, Any]) -> None:
        self.sent.append(sent)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that was sent, or that happened, makes a condition true."""
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.005)

    @property
    def status(self) -> int:
        starts = [each for each in self.sent if each["type"] == "http.response.start"]
        assert len(starts) == 1, "an answer starts once"
        assert self.sent[0] is starts[0]
        return int(starts[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        pairs = [(name.decode(), value.decode()) for name, value in self.sent[0]["headers"]]
        assert all(name == name.lower() for name, _ in pairs)
        return dict(pairs)

    @property
    def body(self) -> bytes:
        return b"".join(each["body"] for each in self.sent[1:])

    @property
    def answer(self) -> dict[str, Any]:
        assert not self.sent[-1].get("more_body", False)
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(event.data) for event in EventDecoder().feed(self.body)]


@pytest.fixture(autouse=True)
def _long_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let handlers see that their clients have gone, however long this process stands still before they look."""
    monkeypatch.setattr(streams, "GRACE", 60)


def a_scope(request: dict[str, Any] | None = None, *, accept: str | None = BOTH, **more: Any) -> dict[str, Any]:
    pairs = post_headers(request, accept=accept) if request is not None else []
    headers = [(name.lower().encode(), value.encode()) for name, value in pairs]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "query_string": b""}
    return {**scope, **more}


def a_body(data: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


async def exchange(app: App, request: dict[str, Any], **options: Any) -> Client:
    """Send one request and give the whole answer."""
    client = Client(a_body(encode(request)))
    await asyncio.wait_for(app(a_scope(request, **options), client.receive, client.send), 30)
    return client


def ask(app: App, request: dict[str, Any], **options: Any) -> Client:
    return asyncio.run(exchange(app, request, **options))


def call(name: str, token: str | None = None, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", progress_token=token, name=name, arguments=arguments)


def text_of(client: Client) -> str:
    answer = client.answer if client.headers["content-type"] == "application/json" else client.events()[-1]
    return str(answer["result"]["content"][0]["text"])


def a_server() -> Server:
    server = Server("asgi")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def where(ctx: Context) -> str:
        return f"{threading.current_thread().name} {VARIABLE.get()}"

    @server.tool
    async def where_async(ctx: Context) -> str:
        await asyncio.sleep(0)
        return f"{threading.current_thread().name} {VARIABLE.get()}"

    @server.tool
    def count(to: int, ctx: Context) -> int:
        for step in range(to):
            ctx.report_progress(step + 1, to)
        return to

    @server.tool
    async def count_async(to: int, ctx: Context) -> int:
        for step in range(to):
            ctx.report_progress(step + 1, to)
            await asyncio.sleep(0)
        return to

    @server.tool
    def nap(seconds: float, ctx: Context) -> str:
        time.sleep(seconds)
        return "rested"

    return server


def an_app(server: Server | None = None, **options: Any) -> ASGIApp:
    return ASGIApp(server or a_server(), **{"auth": public, "policy": PATIENT, **options})


ADD = call("add", a=1, b=2)


# What is read


def test_a_call_is_answered_with_json_in_one_start_and_one_body():
    client = ask(an_app(), ADD)
    assert [each["type"] for each in client.sent] == ["http.response.start", "http.response.body"]
    assert (client.status, client.answer["result"]["structuredContent"]) == (200, 3)
    assert client.headers["content-length"] == str(len(client.body))


def test_a_body_in_pieces_is_put_together():
    async def scenario() -> Client:
        data = encode(ADD)
        client = Client(*(a_body(data[at : at + 7], more=True) for at in range(0, len(data), 7)), a_body(b""))
        await an_app()(a_scope(ADD), client.receive, client.send)
        return client

    assert asyncio.run(scenario()).answer["result"]["structuredContent"] == 3


def test_a_message_without_members_is_an_empty_end_of_the_body():
    async def scenario() -> Client:
        client = Client(a_body(encode(ADD), more=True), {"type": "http.request"})
        await an_app()(a_scope(ADD), client.receive, client.send)
        return client

    assert asyncio.run(scenario()).status == 200


def test_a_body_over_the_limit_is_not_read_to_its_end():
    async def scenario() -> tuple[Client, int]:
        client = Client(*(a_body(b" " * 50, more=True) for _ in range(100)))
        scope = a_scope(headers=[(b"content-type", b"application/json")])
        await an_app(policy=HTTPPolicy(body_limit=100))(scope, client.receive, client.send)
        return client, client.received

    client, received = asyncio.run(scenario())
    assert (client.status, received) == (413, 3 + 8)  # what decides, and then four times the limit


def test_a_body_over_the_limit_is_taken_to_its_end_and_a_client_that_waits_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(asgi, "DISCARD_PAUSE", 0.1)

    async def scenario(last: bool) -> Client:
        client = Client(a_body(b" " * 101, more=True), a_body(b" ", more=not last))
        scope = a_scope(headers=[(b"content-type", b"application/json")])
        await asyncio.wait_for(an_app(policy=HTTPPolicy(body_limit=100))(scope, client.receive, client.send), 30)
        assert client.coming == []
        return client

    assert [asyncio.run(scenario(last)).status for last in (True, False)] == [413, 413]


@pytest.mark.parametrize("lines", [[b"abc"], [b"-1"], [b"1_0"], ["\u0661".encode()], [b"9" * 30], [b"5", b"6"]])
def test_a_false_length_is_refused_before_anything_is_read(lines):
    async def scenario() -> Client:
        client = Client(a_body(encode(ADD)))
        headers = [(b"content-type", b"application/json"), *((b"content-length", line) for line in lines)]
        await an_app()(a_scope(headers=headers), client.receive, client.send)
        assert client.received == 0
        return client

    client = asyncio.run(scenario())
    assert client.status == 400
    assert "Content-Length" in client.answer["error"]["message"]


def test_the_same_length_twice_and_none_at_all_are_lengths():
    async def scenario(*lines: bytes) -> int:
        client = Client(a_body(encode(ADD)))
        headers = [line for line in a_scope(ADD)["headers"] if line[0] != b"content-length"]
        headers += [(b"content-length", line) for line in lines]
        await an_app()(a_scope(headers=headers), client.receive, client.send)
        return client.status

    length = str(len(encode(ADD))).encode()
    assert asyncio.run(scenario(length, b" " + length)) == 200
    assert asyncio.run(scenario()) == 200
    assert asyncio.run(scenario(b"1")) == 400


@pytest.mark.parametrize("pieces", [0, 1])
def test_a_client_that_leaves_before_its_body_is_complete_is_not_answered(pieces, caplog):
    async def scenario() -> Client:
        client = Client(*[a_body(b"{", more=True)] * pieces, {"type": "http.disconnect"})
        await an_app()(a_scope(ADD), client.receive, client.send)
        return client

    assert asyncio.run(scenario()).sent == []
    assert caplog.records == []


def test_a_repeated_header_line_is_seen_as_such():
    """2026-07-28, basic/transports/streamable-http, Server Validation: two equal lines are still not one."""
    repeated = [*a_scope(ADD)["headers"], (b"mcp-name", b"add")]
    client = ask(an_app(), ADD, headers=repeated)
    assert (client.status, client.answer["error"]["code"]) == (400, -32020)
    assert "repeated" in client.answer["error"]["message"]


def test_header_names_in_any_case_and_values_in_any_bytes_are_read():
    headers = [(name.upper(), value) for name, value in a_scope(ADD)["headers"]]
    assert ask(an_app(), ADD, headers=[*headers, (b"X-Odd", b"\xff\xfe")]).status == 200


def test_nobody_waits_for_a_disconnect_where_the_answer_is_whole():
    async def scenario() -> int:
        client = Client(a_body(encode(ADD)))
        await an_app()(a_scope(ADD), client.receive, client.send)
        return client.received

    assert asyncio.run(scenario()) == 1


def test_a_disconnect_is_watched_only_after_the_body_is_read():
    """A second reader of ``receive`` would take pieces of the body away."""

    async def scenario() -> Client:
        data = encode(call("count", "t", to=2))
        scope = a_scope(call("count", "t", to=2))
        client = Client(a_body(data[:10], more=True), a_body(data[10:]))
        await an_app()(scope, client.receive, client.send)
        return client

    assert asyncio.run(scenario()).events()[-1]["result"]["structuredContent"] == 2


# Paths


@pytest.mark.parametrize(
    ("root", "path", "status"),
    [
        ("", "/mcp", 200),
        ("", "/mcp/", 200),
        ("", "/", 404),
        ("", "/mcp/x", 404),
        # ASGI 2.4 and later: the path holds the mount point.
        ("/api", "/api/mcp", 200),
        ("/api", "/api", 200),
        ("/api", "/api/", 200),
        ("/api/", "/api/mcp", 200),
        ("/api", "/api/other", 404),
        # Before, it leaves it out.
        ("/api", "/mcp", 200),
        ("/api", "/", 200),
        ("/api", "", 200),
        ("/m", "/mcp", 200),
        ("/mcp", "/mcp", 200),
        ("/mcp", "/mcp/mcp", 200),
        ("/api", "/apimcp", 404),
    ],
)
def test_the_endpoint_is_found_in_both_spellings_of_a_mounted_path(root, path, status):
    assert ask(an_app(), ADD, root_path=root, path=path).status == status


def test_a_path_without_an_endpoint_is_answered_at_once_and_a_head_without_a_body():
    async def scenario(method: str) -> Client:
        client = Client()
        await an_app()(a_scope(path="/other", method=method), client.receive, client.send)
        assert client.received == 0
        return client

    assert asyncio.run(scenario("POST")).answer["error"]["code"] == -32600
    assert asyncio.run(scenario("HEAD")).body == b""


def test_threads_must_be_at_least_one():
    with pytest.raises(ConfigurationError, match="threads"):
        an_app(threads=0)


# Lifespan and websockets


def lifespan(app: App, *kinds: str) -> list[str]:
    async def scenario() -> list[str]:
        client = Client(*({"type": f"lifespan.{kind}"} for kind in kinds))
        await app({"type": "lifespan"}, client.receive, client.send)
        return [each["type"] for each in client.sent]

    return asyncio.run(scenario())


def test_a_lifespan_that_is_delivered_is_answered_and_ends_the_subscriptions():
    async def scenario() -> Client:
        server = a_server()
        app = an_app(server)
        request = message("subscriptions/listen", notifications={"toolsListChanged": True})
        client = Client(a_body(encode(request)))
        listening = asyncio.ensure_future(app(a_scope(request), client.receive, client.send))
        await client.until(lambda: len(client.sent) >= 2)
        control = Client({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
        await app({"type": "lifespan"}, control.receive, control.send)
        assert [each["type"] for each in control.sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        await asyncio.wait_for(listening, 30)
        return client

    assert asyncio.run(scenario()).events()[-1]["result"]["resultType"] == "complete"


def test_without_a_lifespan_everything_works_and_a_second_loop_too():
    app = an_app()
    assert ask(app, ADD).status == 200
    assert text_of(ask(app, call("where"))).startswith("mcp_wsgi")


def test_a_lifespan_may_begin_without_its_startup():
    assert lifespan(an_app(), "shutdown") == ["lifespan.shutdown.complete"]


def test_a_websocket_is_closed_before_it_opens():
    async def scenario() -> list[dict[str, Any]]:
        client = Client({"type": "websocket.connect"})
        await an_app()({"type": "websocket", "path": "/mcp", "headers": []}, client.receive, client.send)
        return client.sent

    assert asyncio.run(scenario()) == [{"type": "websocket.close", "code": 1000}]


def test_another_kind_of_scope_is_left_alone():
    async def scenario() -> list[dict[str, Any]]:
        client = Client()
        await an_app()({"type": "something new"}, client.receive, client.send)
        return client.sent

    assert asyncio.run(scenario()) == []


# Where handlers run


@pytest.mark.parametrize("token", [None, "t"])
def test_sync_handlers_run_in_a_thread_and_async_ones_on_the_loop_with_the_context_variables(token):
    async def scenario() -> tuple[str, str]:
        VARIABLE.set("mine")
        app = an_app()
        return text_of(await exchange(app, call("where", token))), text_of(
            await exchange(app, call("where_async", token))
        )

    in_thread, on_loop = asyncio.run(scenario())
    assert in_thread.startswith("mcp_wsgi")
    assert in_thread.endswith(" mine")
    assert on_loop == f"{threading.current_thread().name} mine"


class Gate:
    """A sync tool that notes that it has begun, and then holds its thread until it may go on."""

    def __init__(self, server: Server) -> None:
        self.begun: list[str] = []
        self.opened = threading.Event()
        server.tool(self.hold)

    def hold(self, ctx: Context) -> bool:
        self.begun.append(threading.current_thread().name)
        return self.opened.wait(30)


def test_the_pool_is_bounded_and_a_call_waits_for_a_thread():
    async def scenario() -> None:
        gate = Gate(server := a_server())
        app = an_app(server, threads=2)
        calls = [asyncio.ensure_future(exchange(app, call("hold"))) for _ in range(4)]
        await Client().until(lambda: len(gate.begun) >= 2)
        await asyncio.sleep(0.05)
        assert len(gate.begun) == 2
        gate.opened.set()
        assert [text_of(await each) for each in calls] == ["true"] * 4
        assert len(gate.begun) == 4
        assert len(set(gate.begun)) <= 2

    asyncio.run(scenario())


def test_a_sync_handler_that_holds_its_thread_does_not_hold_up_others():
    async def scenario() -> None:
        gate = Gate(server := a_server())
        app = an_app(server)
        holding = asyncio.ensure_future(exchange(app, call("hold")))
        await Client().until(lambda: gate.begun)
        assert (await exchange(app, message("server/discover"))).status == 200
        assert not holding.done()
        gate.opened.set()
        assert text_of(await holding) == "true"

    asyncio.run(scenario())


def test_each_process_makes_a_pool_of_its_own(monkeypatch):
    async def scenario() -> None:
        pool = ThreadPool(1)
        await pool(threading.get_ident, (), {})
        first = pool._made
        await pool(threading.get_ident, (), {})
        assert pool._made is first
        monkeypatch.setattr(drive.os, "getpid", lambda: -1)
        await pool(threading.get_ident, (), {})
        assert pool._made is not first

    asyncio.run(scenario())


def test_an_authentication_function_may_be_sync_or_async():
    def sync_auth(request: Any) -> str:
        assert request.raw["type"] == "http"
        return "ada"

    async def async_auth(request: Any) -> str:
        raise AuthenticationError(challenge="Bearer")

    assert ask(an_app(auth=sync_auth), ADD).status == 200
    refused = ask(an_app(auth=async_auth), ADD)
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")


# Failures


def raise_stop_iteration(ctx: Context) -> str:
    raise StopIteration("secret")


async def raise_stop_iteration_async(ctx: Context) -> str:
    raise StopIteration("secret")


def exit_at_once(ctx: Context) -> str:
    raise SystemExit("secret")


async def exit_at_once_async(ctx: Context) -> str:
    raise SystemExit("secret")


async def await_something_cancelled(ctx: Context) -> str:
    future = asyncio.get_running_loop().create_future()
    future.cancel("secret")
    await future
    return "never"


def fail(ctx: Context) -> str:
    raise ZeroDivisionError("secret")


FAILING = [
    raise_stop_iteration,
    raise_stop_iteration_async,
    exit_at_once,
    exit_at_once_async,
    # Python 3.10 cannot tell this from the cancellation of the request.
    *([await_something_cancelled] if sys.version_info >= (3, 11) else []),
    fail,
]


@pytest.mark.parametrize("token", [None, "t"])
@pytest.mark.parametrize("tool", FAILING)
def test_nothing_that_a_tool_raises_comes_out_of_the_door(tool, token, caplog):
    server = a_server()
    server.tool(tool)
    client = ask(an_app(server), call(tool.__name__, token))
    assert client.status == 200
    assert client.answer["result"]["isError"] is True
    assert "secret" not in client.body.decode()
    assert "secret" in caplog.text


@pytest.mark.parametrize("failure", [StopIteration, SystemExit, ZeroDivisionError])
def test_nothing_that_a_resource_raises_comes_out_of_the_door(failure):
    server = a_server()

    @server.resource("x://y")
    def broken() -> str:
        raise failure("secret")

    client = ask(an_app(server), message("resources/read", uri="x://y"))
    assert (client.status, client.answer["error"]["code"]) == (500, -32603)
    assert b"secret" not in client.body


def test_a_request_that_is_cancelled_stays_cancelled():
    async def scenario() -> None:
        client = Client(a_body(b"{", more=True))
        serving = asyncio.ensure_future(an_app()(a_scope(ADD), client.receive, client.send))
        await client.until(lambda: client.received == 2)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        assert client.sent == []

    asyncio.run(scenario())


def test_the_driver_gives_what_the_steps_return_without_any_call():
    def steps() -> Steps[int]:
        yield from ()
        return 5

    assert asyncio.run(run_async(steps(), ThreadPool(1))) == 5


def test_a_function_that_says_it_is_async_may_give_a_plain_value():
    def steps() -> Steps[int]:
        value: int = yield Call(lambda: 7, (), {}, is_async=True)
        return value

    assert asyncio.run(run_async(steps(), ThreadPool(1))) == 7


@pytest.mark.parametrize("token", [None, "t"])
def test_a_connection_that_is_closed_while_it_is_sent_to_is_no_failure(token):
    """ASGI, HTTP, Disconnected client: send raises an OSError."""
    ended: list[bool] = []
    server = a_server()

    @server.tool
    async def report(ctx: Context) -> str:
        ctx.report_progress(1)
        for _ in range(200):
            await asyncio.sleep(0.01)
            if ctx.cancelled:
                ended.append(True)
                break
        return "x"

    async def send(sent: dict[str, Any]) -> None:
        raise BrokenPipeError

    async def scenario() -> None:
        request = call("report", token) if token else ADD
        client = Client(a_body(encode(request)))
        await an_app(server)(a_scope(request), client.receive, send)
        if token:
            await client.until(lambda: ended == [True])

    asyncio.run(scenario())


def test_what_else_a_server_raises_from_send_is_told_to_it():
    async def send(sent: dict[str, Any]) -> None:
        raise RuntimeError("out of order")

    async def scenario() -> None:
        request = call("count", "t", to=1)
        client = Client(a_body(encode(request)))
        with pytest.raises(RuntimeError, match="out of order"):
            await an_app()(a_scope(request), client.receive, send)

    asyncio.run(scenario())


# Streams


@pytest.mark.parametrize("tool", ["count", "count_async"])
def test_progress_comes_before_the_answer(tool):
    client = ask(an_app(), call(tool, "t", to=3))
    assert client.status == 200
    assert client.headers["content-type"] == "text/event-stream"
    assert "content-length" not in client.headers
    *progress, answer = client.events()
    assert [each["params"]["progress"] for each in progress] == [1, 2, 3]
    assert answer["result"]["structuredContent"] == 3
    assert client.sent[-1] == {"type": "http.response.body", "body": b""}


@pytest.mark.parametrize(("tool", "arguments"), [("add", {"a": 1, "b": 2}), ("nap", {"seconds": 0})])
def test_a_handler_that_says_nothing_first_is_answered_with_json(tool, arguments):
    client = ask(an_app(), call(tool, "t", **arguments))
    assert client.headers["content-type"] == "application/json"


def test_a_silent_handler_opens_the_stream_with_comments():
    async def scenario() -> Client:
        gate = Gate(server := a_server())
        client = Client(a_body(encode(call("hold", "t"))))
        app = an_app(server, policy=QUICK)
        serving = asyncio.ensure_future(app(a_scope(call("hold", "t")), client.receive, client.send))
        await client.until(lambda: client.body.startswith(b":\n\n:\n\n"))
        gate.opened.set()
        await asyncio.wait_for(serving, 30)
        return client

    assert text_of(asyncio.run(scenario())) == "true"


def test_what_an_async_handler_reports_beyond_the_capacity_is_dropped_and_its_answer_is_not():
    """An async handler cannot be made to wait for a slow client without awaiting; memory stays bounded."""
    server = a_server()

    @server.tool
    async def flood(ctx: Context) -> str:
        for step in range(5000):
            ctx.report_progress(step)
        return "done"

    client = ask(an_app(server), call("flood", "t"))
    *progress, answer = client.events()
    assert len(progress) == 1000
    assert progress[-1]["params"]["progress"] == 4999
    assert answer["result"]["content"][0]["text"] == "done"


async def leave_after(app: App, request: dict[str, Any], parts: int) -> tuple[Client, asyncio.Future[None]]:
    client = Client(a_body(encode(request)))
    serving = asyncio.ensure_future(app(a_scope(request), client.receive, client.send))
    await client.until(lambda: len(client.sent) >= parts)
    client.gone.set()
    await asyncio.wait_for(serving, 30)
    return client, serving


@pytest.mark.parametrize("report", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_client_that_leaves_is_seen_by_the_handler_and_nothing_is_sent_after(is_async, report):
    seen: list[bool] = []
    server = a_server()

    def wait(ctx: Context) -> str:
        if report:
            ctx.report_progress(1)
        while not ctx.cancelled:
            time.sleep(0.01)
        seen.append(True)
        ctx.report_progress(2)
        return "nobody reads this"

    async def wait_async(ctx: Context) -> str:
        if report:
            ctx.report_progress(1)
        while not ctx.cancelled:
            await asyncio.sleep(0.01)
        seen.append(True)
        ctx.report_progress(2)
        return "nobody reads this"

    server.tool(wait_async if is_async else wait)

    async def scenario() -> None:
        client, _ = await leave_after(an_app(server, policy=QUICK), call("wait_async" if is_async else "wait", "t"), 2)
        sent = len(client.sent)
        await client.until(lambda: seen == [True])
        await asyncio.sleep(0.05)
        assert len(client.sent) == sent

    asyncio.run(scenario())


def test_an_async_handler_that_does_not_look_is_cancelled_after_a_grace_time(monkeypatch):
    monkeypatch.setattr(streams, "GRACE", 0.1)
    ended: list[float] = []
    server = a_server()

    @server.tool
    async def stubborn(ctx: Context) -> str:
        ctx.report_progress(1)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(time.monotonic())
        return "never"

    async def scenario() -> float:
        client = Client(a_body(encode(call("stubborn", "t"))))
        serving = asyncio.ensure_future(an_app(server)(a_scope(call("stubborn", "t")), client.receive, client.send))
        await client.until(lambda: len(client.sent) >= 2)
        # Before it leaves: a machine that stands still afterwards only makes the handler's time longer.
        left = time.monotonic()
        client.gone.set()
        await asyncio.wait_for(serving, 30)
        await client.until(lambda: len(ended) == 1)
        return ended[0] - left

    assert asyncio.run(scenario()) > 0.09


@pytest.mark.parametrize("parts", [0, 2])
def test_a_server_that_cancels_the_request_cancels_its_handler_too(parts):
    """Before the stream is open as well as after."""
    seen: list[bool] = []
    began: list[bool] = []
    server = a_server()

    @server.tool
    async def wait(ctx: Context) -> str:
        began.append(True)
        if parts:
            ctx.report_progress(1)
        while not ctx.cancelled:
            await asyncio.sleep(0.01)
        seen.append(True)
        return "x"

    async def scenario() -> None:
        client = Client(a_body(encode(call("wait", "t"))))
        app = an_app(server)
        serving = asyncio.ensure_future(app(a_scope(call("wait", "t")), client.receive, client.send))
        await client.until(lambda: len(client.sent) >= parts and began == [True])
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        await client.until(lambda: seen == [True])

    asyncio.run(scenario())


def test_a_handler_whose_task_is_cancelled_is_answered_with_a_generic_error(caplog):
    server = a_server()

    @server.tool
    async def cancel_me(ctx: Context) -> str:
        ctx.report_progress(1)
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel("secret")
        await asyncio.sleep(1)
        return "never"

    client = ask(an_app(server), call("cancel_me", "t"))
    assert client.events()[-1]["error"]["code"] == -32603
    assert b"secret" not in client.body


def test_a_handler_that_outlives_its_loop_reports_to_nobody():
    failures: list[BaseException] = []
    done = threading.Event()
    server = a_server()
    ended = threading.Event()

    @server.tool
    def outlive(ctx: Context) -> str:
        ctx.report_progress(1)
        ended.wait(30)
        try:
            ctx._notify({"jsonrpc": "2.0", "method": "x"})  # type: ignore[misc]
        except BaseException as error:
            failures.append(error)
        done.set()
        return "x"

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        await leave_after(an_app(server), call("outlive", "t"), 2)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(scenario())
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
    loop.close()
    ended.set()
    assert done.wait(30)
    assert failures == []


# Middleware that replays bodies


def replaying(app: App, *, pause: bool) -> App:
    """Give the whole body at every call, as middleware does that has read it before."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        body = await receive()

        async def replay() -> dict[str, Any]:
            if pause:
                await asyncio.sleep(0)
            return dict(body)

        await app(scope, replay, send)

    return wrapped


@pytest.mark.parametrize("pause", [True, False])
def test_a_body_that_is_replayed_for_ever_does_not_stop_the_stream_or_the_loop(pause):
    server = a_server()

    @server.tool
    def slowly(ctx: Context) -> str:
        for step in range(3):
            ctx.report_progress(step)
            time.sleep(0.05)
        return "done"

    # Of an endless loop the test runner's own alarm would get it out.
    client = ask(replaying(an_app(server), pause=pause), call("slowly", "t"))
    assert len(client.events()) == 4
    assert client.events()[-1]["result"]["content"][0]["text"] == "done"


def test_a_disconnect_after_a_replay_is_still_noticed(monkeypatch):
    monkeypatch.setattr(asgi, "REPLAY_PAUSE", 0.05)
    seen: list[bool] = []
    server = a_server()

    @server.tool
    async def wait(ctx: Context) -> str:
        ctx.report_progress(1)
        while not ctx.cancelled:
            await asyncio.sleep(0.01)
        seen.append(True)
        return "x"

    async def scenario() -> None:
        client = Client(a_body(encode(call("wait", "t"))), a_body(b""), a_body(b""), {"type": "http.disconnect"})
        await an_app(server)(a_scope(call("wait", "t")), client.receive, client.send)
        await client.until(lambda: seen == [True])

    asyncio.run(scenario())


def test_a_receive_that_fails_means_that_the_client_has_gone():
    async def scenario() -> None:
        client = Client(a_body(encode(call("nap", "t", seconds=0.3))))

        async def receive() -> dict[str, Any]:
            if client.coming:
                return client.coming.pop()
            raise ConnectionResetError

        await an_app()(a_scope(call("nap", "t", seconds=0.3)), receive, client.send)

    asyncio.run(scenario())


# Subscriptions


def listen(request_id: int = 1) -> dict[str, Any]:
    return message("subscriptions/listen", request_id=request_id, notifications={"toolsListChanged": True})


def test_a_listen_acknowledges_tells_changes_once_and_ends_with_a_result():
    async def scenario() -> Client:
        server = a_server()
        app = an_app(server)
        client = Client(a_body(encode(listen(7))))
        serving = asyncio.ensure_future(app(a_scope(listen(7)), client.receive, client.send))
        await client.until(lambda: len(client.sent) >= 2)
        for _ in range(10):
            server.notify_tools_changed()
        await client.until(lambda: b"list_changed" in client.body)
        server.close()
        await asyncio.wait_for(serving, 30)
        assert len(server.bus) == 0
        return client

    acknowledged, changed, result = asyncio.run(scenario()).events()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert changed["method"] == "notifications/tools/list_changed"
    assert (result["id"], result["result"]["resultType"]) == (7, "complete")


def test_what_changes_between_the_admission_and_the_first_write_is_told():
    async def scenario() -> list[bytes]:
        server = a_server()
        streams = AsyncStreams(HTTPPolicy(keep_alive=0.2, listen_lifetime=0.15), ThreadPool(1))
        context = server.make_context(_request(listen()), modern=True)
        stream = await streams.listen(context, {"toolsListChanged": True})
        server.notify_tools_changed()
        await asyncio.sleep(0)
        found = [data async for data in stream]
        await stream.aclose()
        return found

    assert b"list_changed" in asyncio.run(scenario())[1]


def _request(wire: dict[str, Any]) -> Any:
    from mcp_wsgi.protocol.jsonrpc import parse_message

    return parse_message(wire)


def test_a_silent_listen_sends_comments_and_ends_at_its_lifetime(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(streams, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def scenario() -> Client:
        client = Client(a_body(encode(listen())))
        app = an_app(policy=HTTPPolicy(keep_alive=0.1, listen_lifetime=30))
        serving = asyncio.ensure_future(app(a_scope(listen()), client.receive, client.send))
        await client.until(lambda: b"\n\n:\n\n" in client.body)
        now[0] += 29
        comments = client.body.count(b"\n:\n")
        await client.until(lambda: client.body.count(b"\n:\n") > comments + 1)
        assert not serving.done()
        now[0] += 1
        await asyncio.wait_for(serving, 30)
        return client

    assert asyncio.run(scenario()).events()[-1]["result"]["resultType"] == "complete"


def test_over_the_cap_a_listen_is_refused_until_another_one_ends():
    async def scenario() -> None:
        app = an_app(policy=HTTPPolicy(max_listens=1))
        first = Client(a_body(encode(listen())))
        serving = asyncio.ensure_future(app(a_scope(listen()), first.receive, first.send))
        await first.until(lambda: len(first.sent) >= 2)
        refused = await exchange(app, listen(2))
        assert (refused.status, refused.headers["retry-after"]) == (503, "10")
        first.gone.set()
        await asyncio.wait_for(serving, 30)
        await leave_after(app, listen(3), 2)

    asyncio.run(scenario())


def test_a_listen_whose_client_leaves_before_the_first_write_makes_room_again():
    async def scenario() -> None:
        server = a_server()
        app = an_app(server, policy=HTTPPolicy(max_listens=1))

        async def send(sent: dict[str, Any]) -> None:
            raise BrokenPipeError

        for _ in range(3):
            client = Client(a_body(encode(listen())), {"type": "http.disconnect"})
            await app(a_scope(listen()), client.receive, send)
        for _ in range(3):
            client = Client(a_body(encode(listen())))
            serving = asyncio.ensure_future(app(a_scope(listen()), client.receive, client.send))
            await client.until(lambda client=client: client.received >= 1)
            serving.cancel()
            await asyncio.wait({serving})
        assert len(server.bus) == 0
        await leave_after(app, listen(), 2)

    asyncio.run(scenario())


def test_a_stream_that_is_dropped_unclosed_ends_by_itself():
    """A framework that is cancelled, or whose hook fails, forgets what it was given."""
    seen: list[bool] = []
    server = a_server()

    @server.tool
    async def wait(ctx: Context) -> str:
        ctx.report_progress(1)
        while not ctx.cancelled:
            await asyncio.sleep(0.01)
        seen.append(True)
        return "x"

    async def scenario() -> None:
        streams = AsyncStreams(HTTPPolicy(max_listens=1), ThreadPool(1))
        context = server.make_context(_request(listen()), modern=True)
        for begun in (True, False):
            stream = await streams.listen(context, {"toolsListChanged": True})
            frames = aiter(stream)
            if begun:
                await anext(frames)
            del stream, frames
        assert len(server.bus) == 0
        context = server.make_context(_request(call("wait", "t")), modern=True)
        outcome = await streams.start(context)
        assert outcome.stream is not None
        del outcome
        await Client().until(lambda: seen == [True])

    asyncio.run(scenario())


def test_a_stream_may_be_closed_from_another_thread_and_more_than_once():
    """As Django does at the end of a response."""

    async def scenario() -> None:
        server = a_server()
        streams = AsyncStreams(HTTPPolicy(max_listens=1), ThreadPool(1))
        context = server.make_context(_request(listen()), modern=True)
        stream = await streams.listen(context, {"toolsListChanged": True})
        await asyncio.to_thread(stream.close)
        await asyncio.to_thread(stream.close)
        assert len(server.bus) == 0
        await stream.aclose()
        await (await streams.listen(context, {"toolsListChanged": True})).aclose()

    asyncio.run(scenario())


def test_a_change_after_the_loop_of_a_listener_has_ended_is_told_to_nobody():
    server = a_server()
    kept: list[Any] = []

    async def scenario() -> None:
        streams = AsyncStreams(HTTPPolicy(), ThreadPool(1))
        context = server.make_context(_request(listen()), modern=True)
        kept.append(await streams.listen(context, {"toolsListChanged": True}))

    asyncio.run(scenario())
    server.notify_tools_changed()
    server.close()


# The middleware


class Recorder:
    """An application that notes what reaches it."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 299, "headers": []})
            await send({"type": "http.response.body", "body": b"mine"})


def test_the_middleware_answers_its_path_and_passes_everything_else_on():
    inner = Recorder()
    app = ASGIMiddleware(inner, a_server(), auth=public, policy=QUICK)
    assert ask(app, ADD).status == 200
    assert ask(app, ADD, path="/mcp/").status == 200
    assert ask(app, ADD, path="/mcp/below").status == 404
    assert ask(app, ADD, root_path="/api", path="/api/mcp").status == 200
    assert ask(app, ADD, root_path="/api", path="/mcp").status == 200
    assert inner.scopes == []
    assert ask(app, ADD, path="/other").status == 299
    # Where the whole application is mounted, its mount point is its own.
    assert ask(app, ADD, root_path="/api", path="/api").status == 299
    assert lifespan(app, "startup") == []
    asyncio.run(app({"type": "websocket", "path": "/mcp"}, None, None))
    assert [scope["type"] for scope in inner.scopes] == ["http", "http", "lifespan", "websocket"]


def test_the_middleware_must_leave_paths_to_the_application():
    with pytest.raises(ConfigurationError, match="root"):
        ASGIMiddleware(Recorder(), a_server(), auth=public, path="/")


# Frameworks


def starlette(*, middleware: bool) -> App:
    applications = pytest.importorskip("starlette.applications")
    routing = pytest.importorskip("starlette.routing")
    app: App = applications.Starlette(routes=[routing.Mount("/tools", app=an_app())])
    if middleware:
        app = reading_middleware(app)
    return app


def reading_middleware(app: App) -> App:
    """Read the body before the application does, as logging middleware of Starlette's own kind does."""
    base = pytest.importorskip("starlette.middleware.base")

    async def dispatch(request: Any, call_next: Any) -> Any:
        assert await request.body()
        return await call_next(request)

    wrapped: App = base.BaseHTTPMiddleware(app, dispatch=dispatch)
    return wrapped


def fastapi(*, middleware: bool) -> App:
    module = pytest.importorskip("fastapi")
    app = module.FastAPI()
    app.mount("/tools", an_app())
    return reading_middleware(app) if middleware else app  # type: ignore[no-any-return]


@pytest.mark.parametrize("middleware", [False, True])
@pytest.mark.parametrize("framework", [starlette, fastapi])
def test_mounted_in_a_framework_and_behind_middleware_that_reads_bodies(framework, middleware):
    app = framework(middleware=middleware)
    for path in ("/tools/mcp", "/tools/mcp/", "/tools/"):
        assert ask(app, ADD, path=path, root_path="").answer["result"]["structuredContent"] == 3
    client = ask(app, call("count_async", "t", to=3), path="/tools/mcp", root_path="")
    assert len(client.events()) == 4
    assert client.events()[-1]["result"]["structuredContent"] == 3


@pytest.mark.parametrize("framework", [starlette, fastapi])
def test_behind_middleware_that_reads_bodies_a_client_that_leaves_is_noticed(framework):
    seen: list[bool] = []
    server = a_server()

    @server.tool
    async def wait(ctx: Context) -> str:
        ctx.report_progress(1)
        while not ctx.cancelled:
            await asyncio.sleep(0.01)
        seen.append(True)
        return "x"

    async def scenario() -> None:
        client, _ = await leave_after(reading_middleware(an_app(server)), call("wait", "t"), 2)
        await client.until(lambda: seen == [True])

    framework(middleware=True)
    asyncio.run(scenario())


# A client that leaves before a plain answer


async def plain_call(app: App, tool: str, begun: list[bool]) -> tuple[Client, asyncio.Future[None]]:
    """Send a call, and wait until its handler says that it has begun."""
    client = Client(a_body(encode(call(tool))))
    task = asyncio.ensure_future(app(a_scope(call(tool)), client.receive, client.send))
    await client.until(lambda: begun == [True])
    return client, task


async def plain_call_and_leave(app: App, tool: str, begun: list[bool]) -> Client:
    client, task = await plain_call(app, tool, begun)
    client.gone.set()
    await asyncio.wait_for(task, 30)
    return client


@pytest.mark.parametrize("is_async", [True, False])
def test_a_handler_of_a_plain_answer_sees_that_its_client_has_gone(is_async):
    server, begun, seen = Server("plain"), [], []

    @server.tool(name="slow")
    async def slow_async(ctx: Context) -> str:
        begun.append(True)
        while not ctx.cancelled:
            await asyncio.sleep(0.005)
        seen.append(ctx.cancelled)
        return "nobody reads this"

    @server.tool(name="slow_sync")
    def slow_sync(ctx: Context) -> str:
        begun.append(True)
        wait_until(lambda: ctx.cancelled, 30)
        seen.append(ctx.cancelled)
        return "nobody reads this"

    asyncio.run(plain_call_and_leave(an_app(server), "slow" if is_async else "slow_sync", begun))
    assert seen == [True]


def test_an_async_handler_of_a_plain_answer_that_does_not_look_is_cancelled(monkeypatch):
    monkeypatch.setattr(streams, "GRACE", 0.05)
    server, begun, seen = Server("plain"), [], []

    @server.tool
    async def deaf(ctx: Context) -> str:
        begun.append(True)
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("ended")
        return "never"

    client = asyncio.run(plain_call_and_leave(an_app(server), "deaf", begun))
    assert seen == ["ended"]
    assert client.sent == []


def test_a_request_that_the_server_cancels_is_no_client_that_left():
    server, begun, seen = Server("plain"), [], []

    @server.tool
    async def slow(ctx: Context) -> str:
        begun.append(True)
        try:
            await asyncio.sleep(60)
        finally:
            seen.append(ctx.cancelled)
        return "never"

    async def scenario() -> None:
        _, task = await plain_call(an_app(server), "slow", begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert seen == [False]


def test_a_thread_whose_request_is_cancelled_sees_it():
    server, begun, seen = Server("plain"), [], []

    @server.tool
    def slow(ctx: Context) -> str:
        begun.append(True)
        wait_until(lambda: ctx.cancelled, 30)
        seen.append(ctx.cancelled)
        return "nobody reads this"

    async def scenario() -> None:
        client, task = await plain_call(an_app(server), "slow", begun)
        task.cancel()
        await asyncio.wait({task})
        await client.until(lambda: bool(seen))

    asyncio.run(scenario())
    assert seen == [True]
