"""Change notifications: subscriptions of modern clients, and what legacy clients are told."""

from __future__ import annotations

import threading
import time

import pytest

from mcp_wsgi import Context, MCPError, Server
from mcp_wsgi.stdio import changes
from tests.modern import message
from tests.stdio_door.client import PATIENCE, initialize, legacy, notice, serving

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def a_server(**options):
    server = Server("test", version="1", **options)

    @server.tool
    def one() -> int:
        return 1

    @server.resource("docs://{name}")
    def doc(name: str) -> str:
        return name

    return server


def listen(request_id, **wanted):
    return message("subscriptions/listen", request_id=request_id, notifications=wanted)


def add_tool(server, name):
    server.add_tool({"name": name, "handler": lambda arguments, ctx: "done"})


def test_a_subscription_is_acknowledged_and_told_of_changes_until_the_server_ends_it():
    server = a_server()
    with serving(server) as client:
        client.send(
            listen(0, toolsListChanged=True, promptsListChanged=True, resourceSubscriptions=["docs://a", "x:y"])
        )
        acknowledged = client.read()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"] == {
            "_meta": {SUBSCRIPTION: 0},
            "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["docs://a"]},
        }
        begin = time.monotonic()
        for number in range(100):
            add_tool(server, f"tool-{number}")
        server.notify_resource_updated("docs://a")
        server.notify_resource_updated("docs://b")
        seen = [client.read()]
        while "uri" not in seen[-1]["params"]:
            seen.append(client.read())
        tools = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {SUBSCRIPTION: 0}}}
        assert all(each == tools for each in seen[:-1])
        # Once in each pause: on a busy machine the hundred take several.
        assert 1 <= len(seen[:-1]) <= (time.monotonic() - begin) / changes.DEBOUNCE + 2
        assert seen[-1]["params"] == {"_meta": {SUBSCRIPTION: 0}, "uri": "docs://a"}
        assert client.is_quiet()
        server.close()
        cancelled, completed = client.read(), client.read()
        assert cancelled == {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}
        assert completed["id"] == 0
        assert completed["result"]["resultType"] == "complete"
        assert completed["result"]["_meta"][SUBSCRIPTION] == 0
        assert client.ask(legacy(0, "ping"))["result"] == {}


def test_the_end_of_the_input_ends_subscriptions_with_their_results():
    with serving(a_server()) as client:
        client.send(listen("a", toolsListChanged=True), listen("b"))
        assert {client.read()["params"]["_meta"][SUBSCRIPTION] for _ in range(2)} == {"a", "b"}
        client.end_input()
        last = client.rest()
        assert [each.get("method") for each in last] == ["notifications/cancelled", None] * 2
        assert sorted(each["id"] for each in last[1::2]) == ["a", "b"]


def test_a_subscription_that_the_client_cancels_ends_without_a_word():
    server = a_server()
    with serving(server) as client:
        client.send(listen(1, toolsListChanged=True), listen(2, toolsListChanged=True))
        client.read(), client.read()
        client.send(notice("notifications/cancelled", requestId=1))
        assert client.is_quiet()
        add_tool(server, "new")
        assert client.read()["params"]["_meta"][SUBSCRIPTION] == 2
        assert client.is_quiet()
        client.send(listen(1, toolsListChanged=True))
        assert client.read()["params"]["_meta"][SUBSCRIPTION] == 1


def test_a_subscription_that_is_cancelled_while_it_opens_is_not_opened():
    server, gate, begun = a_server(), threading.Event(), threading.Event()

    def visible(ctx: Context) -> bool:
        begun.set()
        return gate.wait(PATIENCE)

    @server.resource("slow://it", visible=visible)
    def slow() -> str:
        return ""

    with serving(server) as client:
        client.send(listen(1, resourceSubscriptions=["slow://it"]))
        assert begun.wait(PATIENCE)
        client.send(notice("notifications/cancelled", requestId=1))
        # Handlers have threads of their own: with this answer the cancellation has been read.
        assert client.ask(message("tools/call", request_id=2, name="one"))["result"]
        gate.set()
        assert client.is_quiet()
        server.notify_resource_updated("slow://it")
        assert client.is_quiet()
        assert len(server.bus) == 1  # the feed of the legacy client that may still come


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (message("subscriptions/listen", request_id=1), -32602),
        (message("subscriptions/listen", request_id=1, notifications={"toolsListChanged": 1}), -32602),
        (legacy(1, "subscriptions/listen", notifications={}), -32601),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(request_, code):
    with serving(a_server()) as client:
        assert client.ask(request_)["error"]["code"] == code


def test_a_subscription_of_a_version_that_is_not_served_is_refused():
    request = listen(1)
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
    with serving(a_server()) as client:
        assert client.ask(request)["error"]["code"] == -32022


def test_a_filter_that_fails_is_answered_for(caplog):
    server = a_server()

    @server.resource("own://it", visible=lambda ctx: 1 / 0)
    def own() -> str:
        return ""

    def refuse(ctx):
        raise MCPError(-31999, "No", {1, 2, 3})  # which no JSON can say

    @server.resource("odd://it", visible=refuse)
    def odd() -> str:
        return ""

    with serving(server) as client:
        for uri in ("own://it", "odd://it"):
            error = client.ask(listen(1, resourceSubscriptions=[uri]))["error"]
            assert error["code"] == -32603
            assert "Internal error (id " in error["message"]


def test_so_many_subscriptions_may_be_open(monkeypatch):
    monkeypatch.setattr(changes, "MAX_LISTENS", 2)
    with serving(a_server()) as client:
        client.send(listen(1), listen(2))
        client.read(), client.read()
        assert "Too many subscriptions" in client.ask(listen(3))["error"]["message"]
        client.send(notice("notifications/cancelled", requestId=1), listen(4))
        assert client.read()["params"]["_meta"][SUBSCRIPTION] == 4


def test_a_legacy_client_is_told_of_changed_lists_once_it_is_ready():
    server = a_server()
    with serving(server) as client:
        add_tool(server, "before the handshake")
        opened = client.ask(initialize())["result"]
        assert opened["capabilities"]["tools"] == {"listChanged": True}
        assert opened["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
        add_tool(server, "before it is ready")
        assert client.is_quiet()
        client.send(notice("notifications/initialized"))
        assert client.read() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        server.notify_resources_changed()
        server.notify_prompts_changed()
        assert client.read() == {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}
        assert client.is_quiet()


def test_a_legacy_client_subscribes_to_resources():
    server = a_server()
    with serving(server) as client:
        client.handshake()
        for _ in range(2):
            assert client.ask(legacy(1, "resources/subscribe", uri="docs://a"))["result"] == {}
        server.notify_resource_updated("docs://a")
        server.notify_resource_updated("docs://b")
        updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "docs://a"}}
        assert client.read() == updated
        assert client.is_quiet()
        for _ in range(2):
            assert client.ask(legacy(2, "resources/unsubscribe", uri="docs://a"))["result"] == {}
        server.notify_resource_updated("docs://a")
        assert client.is_quiet()


@pytest.mark.parametrize(
    ("params", "code"), [({}, -32602), ({"uri": 5}, -32602), ({"uri": ""}, -32602), ({"uri": "no://such"}, -32002)]
)
def test_only_a_resource_can_be_subscribed_to(params, code):
    with serving(a_server()) as client:
        client.handshake()
        assert client.ask(legacy(1, "resources/subscribe", **params))["error"]["code"] == code


def test_a_server_without_resources_has_nothing_to_subscribe_to():
    with serving(Server("test")) as client:
        client.handshake()
        assert client.ask(legacy(1, "resources/subscribe", uri="docs://a"))["error"]["code"] == -32601


def test_both_eras_are_told_of_one_change():
    server = a_server()
    with serving(server) as client:
        client.handshake()
        client.send(listen("l", toolsListChanged=True))
        client.read()
        add_tool(server, "new")
        # In either order: the change may come while one of them is being told of what was before.
        told = [client.read().get("params") for _ in range(2)]
        assert None in told
        assert {"_meta": {SUBSCRIPTION: "l"}} in told
        assert client.is_quiet()


def test_a_legacy_client_is_sent_logs_of_the_level_that_it_asks_for():
    server = a_server()

    @server.tool
    def log(ctx: Context) -> str:
        for level in ("debug", "info", "error"):
            ctx.log(level, level)
        return ""

    def logged(client):
        client.send(legacy(1, "tools/call", name="log"))
        levels = []
        while "id" not in (message := client.read()):
            levels.append(message["params"]["level"])
        return levels

    with serving(server) as client:
        assert logged(client) == []  # nobody has said hello
        client.handshake()
        assert logged(client) == ["info", "error"]
        for level, wanted in {"debug": 3, "error": 1, "emergency": 0}.items():
            assert client.ask(legacy(2, "logging/setLevel", level=level))["result"] == {}
            assert len(logged(client)) == wanted
        assert client.ask(legacy(2, "logging/setLevel", level="loud"))["error"]["code"] == -32602
        # A modern request says for itself what it wants.
        assert client.ask(message("tools/call", request_id=3, name="log"))["result"]["content"]
        client.handshake()
        assert logged(client) == ["info", "error"]
