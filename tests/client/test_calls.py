"""What a call sends, how long it waits, what a server is told when it is given up, and what refusals mean."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import Server
from mcp_wsgi.client import Cancel, Client, Progress
from mcp_wsgi.exceptions import (
    EncodeError,
    HeaderMismatchError,
    HTTPStatusError,
    InvalidParamsError,
    MCPError,
    MethodNotFoundError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
)
from tests.client.session_peer import SessionPeer, session_peer
from tests.client.times import CallTime, hurry_calls, take_call_time

MODERN, LEGACY = "2026-07-28", "2025-11-25"
PREFIX = "io.modelcontextprotocol/"
ROOT = Path(__file__).resolve().parents[2]
Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


def recording(seen: list[dict[str, Any]], results: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> Answer:
    """Play a server of both eras that notes what it gets."""

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        seen.append(message)
        if "id" not in message:
            return None
        given: dict[str, Any] = {"content": []}
        if message["method"] == "server/discover":
            given = {"supportedVersions": [MODERN], "capabilities": {}}
        elif message["method"] == "initialize":
            given = {"protocolVersion": LEGACY, "capabilities": {"logging": {}, "resources": {"subscribe": True}}}
        elif results is not None:
            given = results(message)
        return {"jsonrpc": "2.0", "id": message["id"], **(given if "error" in given else {"result": given})}

    return answer


@pytest.fixture
def sessions() -> Iterator[SessionPeer]:
    with session_peer() as peer:
        yield peer


# What is sent


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_reserved_members_of_meta_are_the_clients_own(version: str) -> None:
    seen: list[dict[str, Any]] = []
    given = {
        PREFIX + "protocolVersion": "1999-01-01",
        PREFIX + "clientInfo": {"name": "other", "version": "0"},
        PREFIX + "clientCapabilities": {"sampling": {}},
        "com.example/a": 1,
        "progressToken": "mine",
    }
    with Client(recording(seen), protocol_version=version) as client:
        client.call_tool("x", meta=given, on_progress=lambda report: None)
        client.request("tools/call", {"name": "x", "_meta": given})
        client.request("tools/call", {"name": "x", "_meta": {PREFIX + "protocolVersion": "1999-01-01"}})
    called = [message for message in seen if message["method"] == "tools/call"]
    first = called[0]["params"]["_meta"]
    assert first["com.example/a"] == 1
    assert first["progressToken"] == called[0]["id"]
    if version == MODERN:
        assert first[PREFIX + "protocolVersion"] == MODERN
        assert first[PREFIX + "clientInfo"]["name"] == "mcp_wsgi"
        assert first[PREFIX + "clientCapabilities"] == {}
    else:
        assert set(first) == {"com.example/a", "progressToken"}
        assert called[1]["params"]["_meta"] == {"com.example/a": 1, "progressToken": "mine"}
        assert "_meta" not in called[2]["params"]


def test_a_log_level_for_one_call_is_passed_on() -> None:
    seen: list[dict[str, Any]] = []
    with Client(recording(seen)) as client:
        client.call_tool("x", meta={PREFIX + "logLevel": "debug"})
    assert seen[-1]["params"]["_meta"][PREFIX + "logLevel"] == "debug"


@pytest.mark.parametrize(
    "arguments", [{"a": {1, 2}}, {"a": float("nan")}, {"a": object()}, {"a": [1, float("inf")]}, {(1, 2): "a"}]
)
def test_what_json_cannot_carry_is_refused_before_anything_is_sent(
    sessions: SessionPeer, arguments: dict[Any, Any]
) -> None:
    with Client(sessions.url, verdicts={}) as client:
        before = len(sessions.requests)
        with pytest.raises(EncodeError):
            client.call_tool("x", arguments)
        assert sessions.requests[before:] == []
        assert client.call_tool("which").text == "session-1"


def test_names_are_strings() -> None:
    seen: list[dict[str, Any]] = []
    with Client(recording(seen)) as client:
        before = len(seen)
        calls: list[Callable[[], Any]] = [
            lambda: client.call_tool(5),  # type: ignore[arg-type]
            lambda: client.read_resource(Path("x")),  # type: ignore[arg-type]
            lambda: client.get_prompt(None),  # type: ignore[arg-type]
            lambda: client.request(b"x"),  # type: ignore[arg-type]
            lambda: client.listen(resources="file:///x"),
        ]
        for call in calls:
            with pytest.raises(TypeError, match="string"):
                call()
        assert len(seen) == before


def test_ids_are_never_used_twice() -> None:
    seen: list[dict[str, Any]] = []
    with Client(recording(seen)) as client:
        threads = [threading.Thread(target=client.call_tool, args=("x",)) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    ids = [message["id"] for message in seen]
    assert len(set(ids)) == len(ids) == 51


# Time


SLOW = """
import json, os, sys, threading, time
lock, given_up, seen = threading.Lock(), set(), []
def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + chr(10))
        sys.stdout.flush()
def work(message):
    token = message["params"].get("_meta", {}).get("progressToken")
    for step in range(message["params"]["arguments"].get("steps", 1_000_000)):
        if message["id"] in given_up:
            return
        if token is not None:
            send({"method": "notifications/progress", "params": {"progressToken": TOKEN(token), "progress": step}})
        time.sleep(0.02)
    send({"id": message["id"], "result": {"content": []}})
for line in sys.stdin:
    message = json.loads(line)
    seen.append(message)
    method = message["method"]
    if method == "initialize":
        send({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    elif method == "server/discover":
        send({"id": message["id"], "result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}})
    elif method == "tools/call":
        threading.Thread(target=work, args=(message,), daemon=True).start()
    elif method == "notifications/cancelled":
        given_up.add(message["params"]["requestId"])
    elif method == "seen":
        send({"id": message["id"], "result": {"seen": seen}})
os._exit(0)
"""


def slow(token: str = "int", **options: Any) -> Client:
    """Connect a server whose tool has no end, unless it is told after how many reports of progress."""
    return Client([sys.executable, "-c", SLOW.replace("TOKEN", token)], **options)


@pytest.fixture
def call_time(monkeypatch: pytest.MonkeyPatch) -> CallTime:
    return take_call_time(monkeypatch)


def seconds(work: Callable[[], Any]) -> float:
    start = time.monotonic()
    with pytest.raises(RequestTimeoutError):
        work()
    return time.monotonic() - start


def ignore(report: Progress) -> None:
    pass


def test_the_longest_time_holds_whatever_is_reported(call_time: CallTime) -> None:
    call_time.before_each = 40
    with slow() as client:
        for options in ({}, {"timeout": 50}):
            with pytest.raises(RequestTimeoutError, match="longest time"):
                client.call_tool("x", on_progress=ignore, max_timeout=100, **options)
    with slow(max_timeout=100) as client:
        with pytest.raises(RequestTimeoutError, match="longest time"):
            client.call_tool("x", on_progress=ignore)
        # A silence that is longer was meant for this call.
        client.call_tool("x", {"steps": 5}, on_progress=ignore, timeout=1000)
    with slow(timeout=None, max_timeout=100) as client, pytest.raises(RequestTimeoutError, match="longest time"):
        client.call_tool("x", on_progress=ignore)


def test_the_longest_time_holds_where_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry_calls(monkeypatch)
    with slow(timeout=10_000) as client:
        assert seconds(lambda: client.call_tool("x", max_timeout=30)) < 30
    with slow(timeout=None, max_timeout=30) as client:
        assert seconds(lambda: client.call_tool("x")) < 30


def test_a_long_silence_that_is_allowed_is_not_cut_by_what_nobody_said() -> None:
    client = Client(print, timeout=900)
    assert client._options.longest == 900
    assert Client(print, timeout=900, max_timeout=700)._options.longest == 700
    assert Client(print, timeout=None)._options.longest == 600
    assert Client(print, timeout=5, max_timeout=None)._options.longest is None


@pytest.mark.parametrize("token", ["int", "str"])
def test_progress_extends_the_time_also_where_its_token_came_back_as_text(call_time: CallTime, token: str) -> None:
    reports: list[float] = []
    call_time.before_each = 40
    with slow(token, max_timeout=10_000) as client:
        client.call_tool("x", {"steps": 20}, timeout=60, on_progress=lambda report: reports.append(report.progress))
    assert len(reports) == 20
    assert call_time.now == 20 * 40


# Giving up


def cancel_after(event: threading.Event) -> Cancel:
    """Give what another thread cancels when this has happened."""
    cancel = Cancel()

    def work() -> None:
        assert event.wait(30)
        cancel.cancel()

    threading.Thread(target=work).start()
    return cancel


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_a_server_on_stdio_is_told_by_message(call_time: CallTime, version: str) -> None:
    with slow(protocol_version=version) as client:
        reported = threading.Event()
        with pytest.raises(RequestCancelledError):
            client.call_tool("x", cancel=cancel_after(reported), on_progress=lambda report: reported.set())
        call_time.before_each = 40
        with pytest.raises(RequestTimeoutError):
            client.call_tool("x", max_timeout=60, on_progress=ignore)
        seen = client.request("seen")["seen"]
    called = [message["id"] for message in seen if message["method"] == "tools/call"]
    told = [message["params"] for message in seen if message["method"] == "notifications/cancelled"]
    assert [params["requestId"] for params in told] == called
    assert [params["reason"] for params in told] == ["The caller gave up", "The request took too long"]
    assert all((PREFIX + "protocolVersion" in params.get("_meta", {})) == (version == MODERN) for params in told)


def test_the_handshake_is_never_cancelled(sessions: SessionPeer) -> None:
    post, release = sessions.post, threading.Event()

    def silent(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        sessions.requests.append((message["method"], {}))
        if message["method"] == "initialize":
            release.wait(60)
        post(handler, identity, message)

    sessions.post = silent  # type: ignore[method-assign]
    with closing(Client(sessions.url, verdicts={}, timeout=0.3)) as client, pytest.raises(RequestTimeoutError):
        client.connect()
    release.set()
    assert "notifications/cancelled" not in sessions.methods()


def test_a_modern_server_over_http_is_told_by_nothing_but_the_closed_answer(sessions: SessionPeer) -> None:
    Mirroring(sessions)
    post, release, called, seen = sessions.post, threading.Event(), threading.Event(), []

    def silent(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        seen.append(message["method"])
        if message["method"] == "tools/call":
            called.set()
            release.wait(60)
        else:
            post(handler, identity, message)

    sessions.post = silent  # type: ignore[method-assign]
    with Client(sessions.url, verdicts={}) as client:
        with pytest.raises(RequestTimeoutError):
            client.call_tool("x", {"region": "eu"}, timeout=0.3)
        called.clear()
        with pytest.raises(RequestCancelledError):
            client.call_tool("x", {"region": "eu"}, cancel=cancel_after(called))
        release.set()
        client.list_tools()
    assert "notifications/cancelled" not in seen


def test_a_server_in_this_process_never_sees_the_callers_own_objects() -> None:
    server = Server("s")

    @server.tool
    def grow(items: list[int]) -> list[int]:
        items.append(1)
        return items

    given = [0]
    with Client(server) as client:
        client.call_tool("grow", {"items": given})
        with pytest.raises(EncodeError):
            client.call_tool("grow", {"items": {1, 2}})
    assert given == [0]


def test_a_call_that_is_given_up_before_it_begins_is_not_sent() -> None:
    seen: list[dict[str, Any]] = []
    cancel = Cancel()
    cancel.cancel()
    with Client(recording(seen)) as client:
        before = len(seen)
        with pytest.raises(RequestCancelledError):
            client.call_tool("x", cancel=cancel)
        assert [message["method"] for message in seen[before:]] in ([], ["notifications/cancelled"])


# Headers of arguments


class Mirroring:
    """A modern server over HTTP that wants an argument in a header whose name it changes."""

    def __init__(self, peer: SessionPeer) -> None:
        self.peer, self.header, self.calls, self.lists = peer, "Region", 0, 0
        self.broken = False
        peer.post = self.post  # type: ignore[method-assign]

    def post(self, handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        method = message["method"]
        result: dict[str, Any] = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}
        if method == "server/discover":
            result.update(supportedVersions=[MODERN], capabilities={})
        elif method == "tools/list":
            self.lists += 1
            if self.broken:
                self.refuse(handler, message, -32603)
                return
            field = {"type": "string", "x-mcp-header": self.header}
            schema = {"type": "object", "properties": {"region": field}}
            shape = {"type": "object", "required": ["n"]}
            result["tools"] = [{"name": "x", "inputSchema": schema, "outputSchema": shape}]
        else:
            self.calls += 1
            given = handler.headers.get(f"Mcp-Param-{self.header}")
            refuses = "com.example/refuse" in message["params"]["_meta"]
            if refuses or given != message["params"]["arguments"]["region"]:
                self.refuse(handler, message, -32020)
                return
            result.update(content=[], structuredContent={"n": 1})
        self.peer.send(handler, 200, self.peer.result(message, result))

    def refuse(self, handler: Any, message: dict[str, Any], code: int) -> None:
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "No"}}
        self.peer.send(handler, 400, json.dumps(error).encode())


@pytest.mark.parametrize("options", [{}, {"validate_output": True}, {"cache": True}])
def test_headers_of_arguments_are_learnt_and_learnt_again(sessions: SessionPeer, options: dict[str, Any]) -> None:
    mirroring = Mirroring(sessions)
    with Client(sessions.url, verdicts={}, **options) as client:
        for header in ("Region", "Area", "Place"):
            mirroring.header = header
            assert client.call_tool("x", {"region": "eu"}).structured == {"n": 1}
        calls = mirroring.calls
        client.call_tool("x", {"region": "us"})
        assert (mirroring.calls, mirroring.lists) == (calls + 1, 3)


def test_a_refused_header_is_told_where_nothing_else_can_be_learnt(sessions: SessionPeer) -> None:
    mirroring = Mirroring(sessions)
    with Client(sessions.url, verdicts={}) as client:
        client.call_tool("x", {"region": "eu"})
        mirroring.header, mirroring.broken = "Area", True
        with pytest.raises(HeaderMismatchError):
            client.call_tool("x", {"region": "eu"})


def test_a_refusal_that_the_newest_schema_explains_no_better_is_raised(sessions: SessionPeer) -> None:
    mirroring = Mirroring(sessions)
    with Client(sessions.url, verdicts={}) as client:
        client.list_tools()
        with pytest.raises(HeaderMismatchError):
            client.call_tool("x", {"region": "eu"}, meta={"com.example/refuse": True})
    assert (mirroring.calls, mirroring.lists) == (1, 2)


# Lists that are kept


def test_what_is_kept_is_dropped_when_the_server_says_so() -> None:
    seen: list[dict[str, Any]] = []
    server = Server("s", ttl_ms=60_000)

    @server.tool
    def work() -> None:
        pass

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        seen.append(message)
        return server.handle_message(message)

    with Client(answer, cache=True, validate_output=True) as client:
        client.call_tool("work")
        client.list_tools()
        assert [message["method"] for message in seen].count("tools/list") == 1
        client._notified({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        client.list_tools()
    assert [message["method"] for message in seen].count("tools/list") == 2


def test_a_cursor_that_is_no_longer_valid_begins_the_list_anew() -> None:
    """The first page was kept, and its cursor is older than the server's list by now."""
    version = ["a"]

    def results(message: dict[str, Any]) -> dict[str, Any]:
        cursor = message["params"].get("cursor")
        page: dict[str, Any] = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}
        if cursor is None:
            return {**page, "tools": [{"name": f"one-{version[0]}", "inputSchema": {}}], "nextCursor": version[0]}
        if cursor != version[0]:
            return {"error": {"code": -32602, "message": "Invalid cursor"}}
        return {**page, "ttlMs": 0, "tools": [{"name": f"two-{version[0]}", "inputSchema": {}}]}

    with Client(recording([], results), cache=True) as client:
        assert [tool.name for tool in client.list_tools()] == ["one-a", "two-a"]
        version[0] = "b"
        assert [tool.name for tool in client.list_tools()] == ["one-b", "two-b"]
        with pytest.raises(InvalidParamsError):
            client.list_tools(cursor="old")


# Results of kinds that are not known


@pytest.mark.parametrize("kind", ["task", 5, None, "", "x" * 1000])
def test_results_of_unknown_kinds_are_errors(kind: Any) -> None:
    with (
        Client(recording([], lambda message: {"resultType": kind})) as client,
        pytest.raises(RemoteProtocolError, match="unknown type"),
    ):
        client.request("x/y")


# The level of log messages


def test_the_level_survives_a_lost_session(sessions: SessionPeer) -> None:
    with Client(sessions.url, verdicts={}) as client:
        sessions.forget_sessions()
        client.set_log_level("error")
        sessions.forget_sessions()
        client.call_tool("which")
    levels = [params["level"] for method, params in sessions.requests if method == "logging/setLevel"]
    assert levels == ["error", "error"]


def test_a_server_that_refuses_the_level_can_be_used(caplog: pytest.LogCaptureFixture) -> None:
    def results(message: dict[str, Any]) -> dict[str, Any]:
        return {"error": {"code": -32602, "message": "No"}} if "level" in message["params"] else {"content": []}

    with Client(recording([], results), protocol_version=LEGACY, log_level="debug") as client:
        client.call_tool("x")
        with pytest.raises(MCPError):
            client.set_log_level("info")
    assert "refuses the level of log messages: -32602" in caplog.text


# Servers that refuse


def test_what_a_legacy_server_refuses_by_status_is_raised(sessions: SessionPeer) -> None:
    post = sessions.post

    def refusing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message["method"] == "tools/call":
            sessions.send(handler, 422, b"No", kind="text/plain")
        else:
            post(handler, identity, message)

    sessions.post = refusing  # type: ignore[method-assign]
    with Client(sessions.url, verdicts={}) as client:
        with pytest.raises(HTTPStatusError):
            client.call_tool("x")
        assert client.list_tools() == ()


def test_a_method_that_no_server_has_is_refused_at_once_the_second_time(sessions: SessionPeer) -> None:
    Mirroring(sessions)
    seen: list[str] = []
    post = sessions.post

    def refusing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        seen.append(message["method"])
        if message["method"] == "x/y":
            error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "No"}}
            sessions.send(handler, 404, json.dumps(error).encode())
        else:
            post(handler, identity, message)

    sessions.post = refusing  # type: ignore[method-assign]
    with Client(sessions.url, verdicts={}) as client:
        for _ in range(3):
            with pytest.raises(MethodNotFoundError):
                client.request("x/y")
    assert seen.count("x/y") == 3
    assert seen.count("server/discover") == 2


def test_a_server_that_is_silent_is_asked_with_the_patience_of_the_call(sessions: SessionPeer) -> None:
    Mirroring(sessions)
    release = threading.Event()
    with Client(sessions.url, verdicts={}, probe_timeout=60) as client:

        def silent(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            release.wait(300)
            handler.close_connection = True

        sessions.post = silent  # type: ignore[method-assign]
        try:
            for _ in range(4):
                assert seconds(lambda: client.request("x", timeout=0.3)) < 30
        finally:
            release.set()
