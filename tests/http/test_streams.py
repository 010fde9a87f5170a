"""Streams from a thread: late commitment, order, cancellation, and the bounds of listeners.

2026-07-28, basic/transports/streamable-http, Receiving Messages; basic/patterns/cancellation and subscriptions.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_wsgi import ConfigurationError, Context, HTTPPolicy, Server, public
from mcp_wsgi.http import streams
from mcp_wsgi.http.endpoint import Endpoint
from mcp_wsgi.http.messages import HTTPRequest, HTTPResponse
from mcp_wsgi.http.streams import CAPACITY, MOST_ABANDONED, ThreadStreams
from mcp_wsgi.protocol.codec import encode
from mcp_wsgi.protocol.sse import EventDecoder
from tests.modern import BOTH, headers_of, message
from tests.patience import wait_until

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")
#: A silent handler opens its stream after a fifth of it: never in the time of a test, or after a moment.
PATIENT, QUICK = HTTPPolicy(keep_alive=600), HTTPPolicy(keep_alive=0.2)


def a_server() -> Server:
    server = Server("streams")

    @server.tool
    def count(to: int, ctx: Context) -> int:
        for step in range(to):
            ctx.report_progress(step + 1, to)
        return to

    @server.tool
    def silent(ctx: Context) -> str:
        return VARIABLE.get()

    @server.tool
    def chatty(ctx: Context) -> str:
        ctx.debug("quiet")
        ctx.warning({"loud": True})
        return "said"

    @server.tool
    def leave(ctx: Context) -> str:
        ctx.report_progress(1)
        raise SystemExit("secret")

    return server


def post(
    endpoint: Endpoint, request: dict[str, Any], *, accept: str | None = BOTH, exclusive: bool = False
) -> HTTPResponse:
    body = encode(request)
    headers = headers_of(request, accept=accept)
    return endpoint.handle(HTTPRequest("POST", headers, lambda size: body[:size], exclusive=exclusive))


def an_endpoint(server: Server | None = None, policy: HTTPPolicy = PATIENT, **options: Any) -> Endpoint:
    return Endpoint(server or a_server(), auth=public, policy=policy, streams=ThreadStreams(policy, **options))


def call(name: str, token: str | int | None = "t", level: str | None = None, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", progress_token=token, log_level=level, name=name, arguments=arguments)


def events(response: HTTPResponse) -> list[dict[str, Any]]:
    decoder = EventDecoder()
    found = [json.loads(event.data) for chunk in response.stream for event in decoder.feed(chunk)]
    response.stream.close()
    return found


def listen(request_id: str | int = 1, **wanted: Any) -> dict[str, Any]:
    return message("subscriptions/listen", request_id=request_id, notifications=wanted or {"toolsListChanged": True})


def counting():
    """Give what counts the threads that were started since: one that another test left behind may end at any time."""
    there = set(threading.enumerate())
    return lambda: sum(thread not in there for thread in threading.enumerate())


def test_progress_comes_before_the_answer_and_nothing_after_it():
    response = post(an_endpoint(), call("count", token=0, to=3))
    assert response.status == 200
    *progress, answer = events(response)
    assert [each["params"] for each in progress] == [
        {"progressToken": 0, "progress": step, "total": 3} for step in (1, 2, 3)
    ]
    assert answer["result"]["structuredContent"] == 3


def test_a_stream_says_that_nothing_may_hold_it_back():
    response = post(an_endpoint(), call("count", to=1))
    headers = dict(response.headers)
    assert headers["Content-Type"] == "text/event-stream"
    assert headers["X-Accel-Buffering"] == "no"
    assert headers["Cache-Control"] == "no-cache, no-transform"
    assert "Content-Length" not in headers
    response.stream.close()


def test_a_handler_that_says_nothing_first_is_answered_with_json_and_its_own_status():
    assert post(an_endpoint(), call("silent")).stream is None
    refused = post(an_endpoint(), call("nope"))
    assert (refused.status, refused.stream) == (400, None)


@pytest.mark.parametrize("accept", ["application/json", None, "*/*"])
def test_a_client_that_does_not_name_event_streams_gets_json(accept):
    response = post(an_endpoint(), call("count", to=2), accept=accept)
    assert response.stream is None
    assert json.loads(response.body)["result"]["structuredContent"] == 2


def test_without_a_token_or_level_there_is_nothing_to_stream():
    assert post(an_endpoint(), call("count", token=None, to=2)).stream is None


def test_logs_at_or_above_the_level_are_streamed():
    log, answer = events(post(an_endpoint(), call("chatty", token=None, level="warning")))
    assert log["params"] == {"level": "warning", "data": {"loud": True}}
    assert answer["result"]["content"][0]["text"] == "said"


def test_a_silent_handler_opens_the_stream_after_the_interval_with_a_comment():
    server, opened = a_server(), threading.Event()

    @server.tool
    def hold(ctx: Context) -> bool:
        return opened.wait(30)

    response = post(an_endpoint(server, QUICK), call("hold"))
    assert [next(response.stream) for _ in range(2)] == [b":\n\n"] * 2
    opened.set()
    assert events(response)[-1]["result"]["structuredContent"] is True


def test_context_variables_of_the_request_are_seen_by_the_handler():
    token = VARIABLE.set("mine")
    try:
        response = post(an_endpoint(), call("silent"))
    finally:
        VARIABLE.reset(token)
    assert json.loads(response.body)["result"]["content"][0]["text"] == "mine"


def test_closing_the_stream_cancels_the_handler_and_its_thread_ends():
    seen: list[bool] = []
    started = counting()
    server = a_server()

    @server.tool
    def endless(ctx: Context) -> str:
        ctx.report_progress(1)
        wait_until(lambda: ctx.cancelled, 30)
        ctx.report_progress(2)
        seen.append(ctx.cancelled)
        return "nobody reads this"

    response = post(an_endpoint(server), call("endless"))
    assert b"progress" in next(response.stream)
    response.stream.close()
    wait_until(lambda: seen == [True], 30)
    assert list(response.stream) == []
    wait_until(lambda: started() == 0, 30)


def test_a_reader_that_is_slow_makes_the_handler_wait_and_loses_nothing():
    response = post(an_endpoint(), call("count", to=CAPACITY * 3))
    time.sleep(0.05)
    *progress, answer = events(response)
    assert len(progress) == CAPACITY * 3
    assert answer["result"]["structuredContent"] == CAPACITY * 3


def test_a_handler_that_is_blocked_by_a_full_stream_is_freed_when_the_client_leaves():
    started = counting()
    response = post(an_endpoint(), call("count", to=CAPACITY * 3))
    response.stream.close()
    wait_until(lambda: started() == 0, 30)


def test_a_handler_that_exits_is_answered_with_a_generic_error(caplog):
    *_, answer = events(post(an_endpoint(), call("leave")))
    assert answer["error"]["code"] == -32603
    assert "secret" not in json.dumps(answer)
    assert "SystemExit" in caplog.text


def test_the_handler_runs_inside_what_the_door_puts_around_it():
    order: list[str] = []

    def around() -> contextlib.AbstractContextManager[None]:
        order.append(f"made {threading.current_thread() is threading.main_thread()}")

        @contextlib.contextmanager
        def manager() -> Iterator[None]:
            order.append(f"entered {threading.current_thread() is threading.main_thread()}")
            yield
            order.append("left")

        return manager()

    post(an_endpoint(around=around), call("silent"))
    assert order == ["made True", "entered False", "left"]


# Subscriptions


def test_a_listen_acknowledges_first_then_tells_changes_and_ends_with_a_result():
    server = a_server()
    response = post(an_endpoint(server), listen("s"))
    frames = iter(response.stream)
    assert b"notifications/subscriptions/acknowledged" in next(frames)
    server.add_tool({"name": "new", "handler": lambda arguments, ctx: "x"})
    assert b"notifications/tools/list_changed" in next(frames)
    server.close()
    last = json.loads(next(frames).split(b"data: ")[1])
    assert last["id"] == "s"
    assert last["result"]["resultType"] == "complete"
    assert list(frames) == []
    response.stream.close()
    response.stream.close()
    assert len(server.bus) == 0


def test_a_change_after_another_one_is_told_again():
    server = a_server()
    response = post(an_endpoint(server), listen())
    frames = iter(response.stream)
    next(frames)
    for _ in range(2):
        server.notify_tools_changed()
        assert b"notifications/tools/list_changed" in next(frames)
    response.stream.close()


def test_a_silent_listen_sends_comments_and_ends_at_its_lifetime(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(streams, "time", SimpleNamespace(monotonic=lambda: now[0]))
    response = post(an_endpoint(policy=HTTPPolicy(keep_alive=0.1, listen_lifetime=30)), listen())
    frames = iter(response.stream)
    assert b"acknowledged" in next(frames)
    assert next(frames) == b":\n\n"
    now[0] += 29
    assert next(frames) == b":\n\n"
    now[0] += 1
    (last,) = frames
    assert b'"resultType":"complete"' in last
    response.stream.close()


def test_over_the_cap_a_clear_error_says_to_come_back():
    policy = HTTPPolicy(max_listens=1)
    endpoint = an_endpoint(policy=policy)
    first = post(endpoint, listen())
    refused = post(endpoint, listen(2))
    assert refused.status == 503
    assert ("Retry-After", "10") in refused.headers
    assert json.loads(refused.body)["id"] == 2
    first.stream.close()
    again = post(endpoint, listen(3))
    assert again.status == 200
    again.stream.close()


@pytest.mark.parametrize(("exclusive", "expected"), [(True, 1), (False, 2)])
def test_by_default_listeners_never_take_all_threads_of_a_server(exclusive, expected):
    endpoint = an_endpoint()
    opened = [post(endpoint, listen(number), exclusive=exclusive) for number in range(3)]
    assert [each.status for each in opened].count(200) == expected
    for each in opened:
        if each.stream is not None:
            each.stream.close()


def test_a_listener_that_blocks_its_worker_lives_shorter_than_the_server_waits():
    assert HTTPPolicy().lifetime(exclusive=True) < 30 < HTTPPolicy().lifetime(exclusive=False)
    assert HTTPPolicy(listen_lifetime=5).lifetime(exclusive=True) == 5


def test_a_listen_without_event_streams_is_refused_with_the_reason():
    response = post(an_endpoint(), listen(), accept="application/json")
    assert response.status == 400
    assert "text/event-stream" in json.loads(response.body)["error"]["message"]


def test_a_listen_with_a_bad_filter_or_version_is_refused():
    assert post(an_endpoint(), message("subscriptions/listen")).status == 400
    other = listen()
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
    refused = post(an_endpoint(), other)
    assert (refused.status, json.loads(refused.body)["error"]["code"]) == (400, -32022)


def test_where_nothing_can_be_streamed_there_is_no_listen():
    endpoint = Endpoint(a_server(), auth=public)
    response = post(endpoint, listen())
    assert (response.status, json.loads(response.body)["error"]["code"]) == (404, -32601)


def test_a_legacy_client_has_no_listen():
    endpoint = an_endpoint()
    body = encode({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {}}})
    headers = [("content-type", "application/json"), ("accept", BOTH)]
    response = endpoint.handle(HTTPRequest("POST", headers, lambda size: body))
    assert json.loads(response.body)["error"]["code"] == -32601


def test_a_stream_that_is_dropped_unclosed_ends_by_itself():
    """A framework whose hook fails answers otherwise, and forgets what it was given."""
    server, seen = a_server(), threading.Event()

    @server.tool
    def wait(ctx: Context) -> str:
        ctx.report_progress(1)
        wait_until(lambda: ctx.cancelled, 30)
        seen.set()
        return "nobody reads this"

    endpoint = an_endpoint(server, HTTPPolicy(max_listens=1))
    for number in range(3):
        response = post(endpoint, listen(number))
        assert response.status == 200
        assert b"acknowledged" in next(iter(response.stream))
        del response
    assert len(server.bus) == 0
    post(endpoint, call("wait"))
    assert seen.wait(30)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"keep_alive": 0}, "keep_alive"),
        ({"keep_alive": "15"}, "keep_alive"),
        ({"keep_alive": float("inf")}, "keep_alive"),
        ({"keep_alive": True}, "keep_alive"),
        ({"listen_lifetime": 0}, "listen_lifetime"),
        ({"listen_lifetime": float("nan")}, "listen_lifetime"),
        ({"max_listens": -1}, "max_listens"),
        ({"max_listens": "3"}, "max_listens"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(options, named):
    with pytest.raises(ConfigurationError, match=named):
        HTTPPolicy(**options)


def test_no_listener_at_all_may_be_wanted():
    assert post(an_endpoint(policy=HTTPPolicy(max_listens=0)), listen()).status == 503


def test_clients_that_leave_at_once_do_not_pile_up_threads():
    release = threading.Event()
    server = Server("abandoned")

    @server.tool
    def long(ctx: Context) -> str:
        ctx.report_progress(1)
        return str(release.wait(60))

    @server.tool
    def short(ctx: Context) -> str:
        ctx.report_progress(1)
        return threading.current_thread().name

    endpoint = an_endpoint(server)
    started = counting()
    for _ in range(MOST_ABANDONED):
        response = post(endpoint, call("long"))
        next(response.stream)
        response.stream.close()
    assert started() == MOST_ABANDONED
    # The next one is served by the request's own thread, of which a server has only so many.
    plain = post(endpoint, call("short"))
    assert json.loads(plain.body)["result"]["content"][0]["text"] == threading.current_thread().name
    release.set()
    wait_until(lambda: started() == 0, 30)
    assert len(events(post(endpoint, call("short")))) == 2


def test_a_stream_that_is_closed_after_its_handler_has_ended_counts_for_nothing():
    threads = ThreadStreams(PATIENT)
    endpoint = Endpoint(a_server(), auth=public, policy=PATIENT, streams=threads)
    started = counting()
    response = post(endpoint, call("count", to=2))
    wait_until(lambda: started() == 0, 30)
    response.stream.close()
    assert not threads._abandoned


def test_a_filter_that_fails_is_answered_with_the_id_of_a_legacy_request_too():
    server = a_server()

    def failing(ctx: Context) -> bool:
        raise RuntimeError("secret")

    @server.tool(visible=failing)
    def hidden(ctx: Context) -> str:
        return "x"

    body = encode({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "hidden"}})
    headers = [("content-type", "application/json"), ("accept", BOTH)]
    response = an_endpoint(server).handle(HTTPRequest("POST", headers, lambda size: body))
    answer = json.loads(response.body)
    assert (response.status, answer["id"], answer["error"]["code"]) == (200, 7, -32603)
    assert "secret" not in json.dumps(answer)
