"""A legacy server that has lost a session and says so in its own way: with HTTP 400, as SDKs and their examples do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi import InvalidRequestError, MCPError
from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import TransportError
from tests.client.session_peer import SessionPeer, session_peer
from tests.patience import wait_until


class Forgetful:
    """A peer that refuses unknown sessions, or everything, with HTTP 400 and an error."""

    def __init__(self, peer: SessionPeer, code: int, identity: str | None) -> None:
        self.peer, self.code, self.identity = peer, code, identity
        self.always = False
        self._post = peer.post
        peer.post = self.post  # type: ignore[method-assign]

    def post(self, handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        lost = identity is not None and identity not in self.peer.sessions
        if lost or (self.always and message.get("method") == "tools/call"):
            self.peer.requests.append((f"refused {message.get('method')}", {}))
            error = {"code": self.code, "message": "Bad Request"}
            refusal = {"jsonrpc": "2.0", "id": self.identity, "error": error}
            self.peer.send(handler, 400, json.dumps(refusal).encode())
        else:
            self._post(handler, identity, message)


@pytest.fixture(params=[(-32000, None), (-32600, "server-error")], ids=["typescript", "python"])
def forgetful(request: pytest.FixtureRequest) -> Iterator[Forgetful]:
    with session_peer() as peer:
        yield Forgetful(peer, *request.param)


def test_another_session_is_begun_and_the_call_made_again(forgetful: Forgetful) -> None:
    with Client(forgetful.peer.url, verdicts={}) as client:
        assert client.call_tool("which").text == "session-1"
        forgetful.peer.forget_sessions()
        assert client.call_tool("which").text == "session-2"
        assert client.call_tool("which").text == "session-2"
    assert forgetful.peer.methods().count("refused tools/call") == 1


def test_a_call_that_is_refused_in_the_new_session_too_is_refused(forgetful: Forgetful) -> None:
    forgetful.always = True
    with Client(forgetful.peer.url, verdicts={}) as client, pytest.raises(MCPError) as failure:
        client.call_tool("which")
    assert failure.value.code == forgetful.code
    assert forgetful.peer.methods().count("refused tools/call") == 2


def test_an_error_of_the_tool_begins_no_session() -> None:
    """It comes with HTTP 200, and what it was about may have been done."""
    with session_peer() as peer:
        post = peer.post

        def failing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
            if message.get("method") != "tools/call":
                post(handler, identity, message)
                return
            peer.requests.append(("tools/call", {}))
            error = {"code": -32600, "message": "Not like this"}
            peer.send(handler, 200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())

        peer.post = failing  # type: ignore[method-assign]
        with Client(peer.url, verdicts={}) as client, pytest.raises(InvalidRequestError):
            client.call_tool("which")
        assert (peer.made, peer.methods().count("tools/call")) == (1, 1)


def test_who_listens_in_a_session_that_is_lost_is_told_and_can_listen_again() -> None:
    with session_peer() as peer, Client(peer.url, verdicts={}) as client:
        with client.listen(tools_list_changed=True) as listener:
            peer.tell("notifications/tools/list_changed")
            change = listener.next(30)
            assert change is not None
            peer.forget_sessions()
            with pytest.raises(TransportError):
                listener.next(30)
        with client.listen(tools_list_changed=True) as listener:
            wait_until(lambda: (peer.made, peer.streams) == (2, 2))
            peer.tell("notifications/tools/list_changed")
            assert listener.next(30) == change


def test_who_listens_at_a_server_without_such_a_stream_waits() -> None:
    with session_peer() as peer, Client(peer.url, verdicts={}) as client:
        peer.stream = lambda handler, identity: peer.send(handler, 405, b"")  # type: ignore[method-assign]
        with client.listen(tools_list_changed=True) as listener:
            assert listener.next(1.5) is None
            assert not listener.closed
