"""What is known of the only client of a transport, and what the methods that need it do with it."""

from __future__ import annotations

import pytest

from mcp_wsgi import Context, InvalidParamsError, Server
from mcp_wsgi.protocol.jsonrpc import Request
from mcp_wsgi.server.bus import RESOURCE_UPDATED, Change
from mcp_wsgi.server.dispatch import dispatch
from mcp_wsgi.server.drive import run_sync
from mcp_wsgi.server.peer import Peer
from tests.modern import message

TOOLS = Change("notifications/tools/list_changed")
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "a client", "version": "1"},
}


def a_server():
    server = Server("test")

    @server.tool
    def about(ctx: Context) -> str:
        return repr([ctx.protocol_version, dict(ctx.client_capabilities), ctx.client_info.get("name"), ctx.can_listen])

    @server.resource("docs://{name}")
    def doc(name: str) -> str:
        return name

    return server


def text_of(result):
    return result["content"][0]["text"]


class Talk:
    """Requests of one client, one after the other."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.woken: list[int] = []
        self.sent: list[dict] = []
        self.peer = Peer(lambda: self.woken.append(1))
        server.bus.subscribe(self.peer.feed)

    def ask(self, method, **params):
        return self.dispatch(Request(1, method, params))

    def dispatch(self, request):
        context = self.server.make_context(request, peer=self.peer, notify=self.sent.append)
        answer = run_sync(dispatch(context))
        return answer.get("result", answer.get("error"))


def test_a_handshake_is_remembered():
    talk = Talk(a_server())
    assert text_of(talk.ask("tools/call", name="about")) == "[None, {}, None, True]"
    opened = talk.ask("initialize", **HELLO)
    assert opened["capabilities"] == {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "logging": {},
    }
    seen = text_of(talk.ask("tools/call", name="about"))
    assert seen == "['2025-06-18', {'roots': {}}, 'a client', True]"


def test_a_handshake_that_is_refused_changes_nothing():
    talk = Talk(a_server())
    assert talk.ask("initialize", **HELLO | {"clientInfo": []})["code"] == -32602
    assert talk.peer.version is None


def test_a_modern_request_says_all_itself():
    talk = Talk(a_server())
    talk.ask("initialize", **HELLO)
    request = message("tools/call", name="about")
    seen = text_of(talk.dispatch(Request(1, request["method"], request["params"])))
    assert seen == "['2026-07-28', {}, 'test', True]"


def test_only_lists_that_were_declared_are_told_of():
    server = Server("test")
    talk = Talk(server)
    talk.ask("initialize", **HELLO)
    server.add_tool({"name": "late", "handler": lambda arguments, ctx: ""})
    assert talk.woken == []
    talk.ask("initialize", **HELLO)
    server.notify_tools_changed()
    server.notify_tools_changed()
    assert (talk.woken, talk.peer.feed.take(), talk.peer.feed.take()) == ([1, 1], [TOOLS], [])


def test_a_new_handshake_forgets_the_old_one():
    talk = Talk(a_server())
    talk.ask("initialize", **HELLO)
    talk.ask("resources/subscribe", uri="docs://a")
    talk.ask("logging/setLevel", level="emergency")
    talk.ask("initialize", **HELLO | {"capabilities": {}})
    talk.server.notify_resource_updated("docs://a")
    assert (talk.peer.feed.take(), talk.peer.log_level, talk.peer.capabilities) == ([], "info", {})


def test_a_resource_is_subscribed_to_once_and_its_changes_are_due_until_it_is_not():
    talk = Talk(a_server())
    for _ in range(2):
        assert talk.ask("resources/subscribe", uri="docs://a") == {}
    talk.server.notify_resource_updated("docs://a")
    assert talk.peer.feed.take() == [Change(RESOURCE_UPDATED, "docs://a")]
    for _ in range(2):
        assert talk.ask("resources/unsubscribe", uri="docs://a") == {}
    talk.server.notify_resource_updated("docs://a")
    assert not talk.peer.feed.is_due


def test_subscriptions_are_bounded_in_number_and_in_length():
    peer = Peer(lambda: None)
    for number in range(1000):
        peer.subscribe(f"docs://{number}")
    with pytest.raises(InvalidParamsError, match="at most 1000 resources"):
        peer.subscribe("docs://more")
    peer.subscribe("docs://999")
    peer = Peer(lambda: None)
    peer.subscribe("x" * 99_999)
    with pytest.raises(InvalidParamsError, match="at most 100000 characters"):
        peer.subscribe("xy")


def test_without_a_known_client_there_is_nothing_to_subscribe_with():
    server = a_server()
    for method in ("resources/subscribe", "resources/unsubscribe"):
        context = server.make_context(Request(1, method, {"uri": "docs://a"}), notify=print)
        assert run_sync(dispatch(context))["error"]["code"] == -32601
        assert not context.can_listen


def test_a_closed_server_tells_nothing_more():
    talk = Talk(a_server())
    talk.ask("initialize", **HELLO)
    talk.server.close()
    talk.server.notify_tools_changed()
    assert talk.peer.feed.closed
    assert not talk.peer.feed.is_due
