"""Streams at the Flask door: their headers, their ends, and what is not held while they run."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from flask import Flask, current_app, g, has_request_context
from werkzeug.test import Client

from mcp_wsgi import Context, HTTPPolicy, Server, public
from mcp_wsgi.flask import MCP
from mcp_wsgi.wsgi import WSGIApp
from tests.flask_door.wire import call, messages, modern, post, text
from tests.patience import wait_until

#: A silent handler opens its stream after a fifth of it: never in the time of a test, or after a moment.
PATIENT, QUICK = HTTPPolicy(keep_alive=600), HTTPPolicy(keep_alive=0.1)
LISTEN = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})


class Kit:
    """A server with a few tools, and its application."""

    def __init__(self, policy: HTTPPolicy = PATIENT, **config: Any) -> None:
        self.server = Server("streams")
        self.enough = threading.Event()
        self.ended = threading.Event()
        self.cancelled = False
        self.server.tool(self.count)
        self.server.tool(self.wait)
        self.app = Flask("streams")
        self.app.config |= {"TESTING": True, **config}
        MCP(self.server, self.app, auth=public, policy=policy)

    def count(self, to: int, ctx: Context) -> str:
        for number in range(1, to + 1):
            ctx.report_progress(number, to, "x" * 1000)
        return f"counted in {current_app.name}"

    def wait(self, ctx: Context) -> str:
        wait_until(lambda: self.enough.is_set() or ctx.cancelled, 60)
        self.cancelled = ctx.cancelled
        self.ended.set()
        return f"waited in {current_app.name}"

    def post(self, message: Any, **headers: str) -> Any:
        return post(self.app.test_client(), message, **headers)


def test_the_messages_come_in_order_and_the_answer_last() -> None:
    got = messages(Kit().post(call("count", {"to": 250}, token="t")).data)
    assert [each["params"]["progress"] for each in got[:-1]] == list(range(1, 251))
    assert got[-1]["result"]["content"][0]["text"] == "counted in streams"


def test_the_headers_are_those_of_the_wsgi_door_and_forbid_compression() -> None:
    kit = Kit()
    message = call("count", {"to": 1}, token="t")
    plain = post(Client(WSGIApp(kit.server, auth=public, policy=PATIENT)), message)
    response = kit.post(message)
    assert list(response.headers) == [*plain.headers, ("Content-Encoding", "identity")]
    assert messages(response.data)[0] == messages(plain.data)[0]


def test_a_handler_that_has_nothing_to_report_is_answered_in_json() -> None:
    response = Kit().post(call("count", {"to": 0}, token="t"))
    assert response.mimetype == "application/json"
    assert "Content-Encoding" not in response.headers
    assert text(response) == "counted in streams"


def test_silence_is_broken_by_comments() -> None:
    kit = Kit(QUICK)
    response = kit.post(call("wait", token="t"))
    pieces = iter(response.response)
    assert [next(pieces) for _ in range(3)] == [b":\n\n"] * 3
    kit.enough.set()
    assert messages(b"".join(pieces))[-1]["result"]["content"][0]["text"] == "waited in streams"
    response.close()


def test_a_client_that_goes_away_cancels_the_handler_and_leaves_no_thread() -> None:
    kit = Kit(QUICK)
    before = set(threading.enumerate())
    response = kit.post(call("wait", token="t"))
    assert next(iter(response.response)).startswith(b":")
    response.close()
    assert kit.ended.wait(30)
    assert kit.cancelled
    wait_until(lambda: set(threading.enumerate()) <= before, 30)


def test_an_answer_that_nobody_reads_leaves_no_context_behind() -> None:
    kit = Kit()
    assert kit.post(call("count", {"to": 3}, token="t")).status_code == 200
    assert not has_request_context()
    assert not current_app


def test_a_server_that_never_begins_to_read_still_ends_everything() -> None:
    kit = Kit(QUICK)
    message = call("wait", token="t")
    with kit.app.test_client() as client:
        post(client, message, "/mcp").close()
    assert kit.ended.wait(30)
    assert kit.cancelled
    assert not current_app


def test_a_subscription_tells_of_changes_and_holds_no_context() -> None:
    kit = Kit()
    torn_down: list[Any] = []
    kit.app.before_request(lambda: setattr(g, "db", object()))
    kit.app.teardown_appcontext(lambda error: torn_down.append(g.db))
    response = kit.post(LISTEN)
    assert len(torn_down) == 1
    assert response.headers["Content-Encoding"] == "identity"
    pieces = iter(response.response)
    assert messages(next(pieces))[0]["method"] == "notifications/subscriptions/acknowledged"
    assert not current_app
    kit.server.notify_tools_changed()
    kit.server.close()
    rest = messages(b"".join(pieces))
    assert rest[0]["method"] == "notifications/tools/list_changed"
    assert "result" in rest[-1]
    response.close()
    assert len(torn_down) == 1


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_flask_compress_leaves_streams_alone(coding: str) -> None:
    flask_compress = pytest.importorskip("flask_compress")
    types = ["text/event-stream", "application/json"]
    kit = Kit(COMPRESS_MIMETYPES=types, COMPRESS_ALGORITHM_STREAMING=[coding], COMPRESS_MIN_SIZE=0)
    flask_compress.Compress(kit.app)
    response = kit.post(call("count", {"to": 3}, token="t"), Accept_Encoding=coding)
    assert response.headers["Content-Encoding"] == "identity"
    assert len(messages(response.data)) == 4
    # A plain answer is compressed as any other of the application.
    plain = kit.post(modern("tools/list"), Accept_Encoding=coding)
    assert plain.headers["Content-Encoding"] == coding
