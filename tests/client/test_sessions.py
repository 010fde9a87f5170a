"""A legacy server on HTTP: its session, its GET stream, its own questions (2025-11-25, basic/transports)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi.client import CallResult, Client
from mcp_wsgi.exceptions import SessionExpiredError
from tests.client.session_peer import SessionPeer, session_peer
from tests.patience import wait_until


@pytest.fixture
def peer() -> Iterator[SessionPeer]:
    with session_peer() as peer:
        yield peer


def text_of(result: Any) -> str:
    assert isinstance(result, CallResult)
    return result.text


def test_a_session_is_sent_back_and_ended(peer: SessionPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        assert (client.era, client.protocol_version, client.instructions) == ("legacy", "2025-11-25", "old")
        assert text_of(client.call_tool("which")) == "session-1"
    assert peer.methods() == ["notifications/initialized", "tools/call"]
    wait_until(lambda: peer.ended == ["session-1"])
    assert peer.headers[-1]["mcp-protocol-version"] == "2025-11-25"


def test_a_session_that_is_gone_is_renewed_once_and_the_call_made_again(peer: SessionPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        assert text_of(client.call_tool("which")) == "session-1"
        peer.forget_sessions()
        assert text_of(client.call_tool("which")) == "session-2"
        peer.forget_sessions()
        assert text_of(client.call_tool("which")) == "session-3"


def test_a_server_that_loses_each_session_at_once_is_not_asked_for_ever(peer: SessionPeer) -> None:
    post = peer.post

    def losing(handler: Any, identity: str | None, message: dict[str, Any]) -> None:
        if message.get("method") == "tools/call":
            peer.forget_sessions()
        post(handler, identity, message)

    with Client(peer.url, verdicts={}) as client:
        peer.post = losing  # type: ignore[method-assign]
        with pytest.raises(SessionExpiredError):
            client.call_tool("which")
    assert peer.made == 2


@pytest.mark.parametrize("own_stream", [True, False])
def test_questions_of_the_server_are_answered_wherever_they_come(peer: SessionPeer, own_stream: bool) -> None:
    asked: list[str] = []

    def elicit(question: Any) -> dict[str, Any]:
        asked.append(question.message)
        return {}

    with Client(peer.url, verdicts={}, elicit=elicit) as client:
        said = json.loads(text_of(client.call_tool("ask", {"own_stream": own_stream})))
    # The question, the ping, and a method that no client has.
    assert said == [{"action": "accept", "content": {"count": 3}}, {}, -32601]
    assert asked == ["How many?"]


def test_a_question_for_nobody_is_refused(peer: SessionPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        assert json.loads(text_of(client.call_tool("ask", {}))) == [-32601, {}, -32601]


def test_changes_of_a_legacy_server_are_listened_for(peer: SessionPeer) -> None:
    with Client(peer.url, verdicts={}) as client:
        wanted = {"tools_list_changed": True, "prompts_list_changed": True, "resources": ["x://a", "x://b"]}
        with client.listen(**wanted) as listener:
            assert listener.honoured == {"toolsListChanged": True, "resourceSubscriptions": ["x://a", "x://b"]}
            wait_until(lambda: peer.streams == 1)
            peer.tell("notifications/tools/list_changed")
            peer.tell("notifications/resources/updated", uri="x://a")
            peer.tell("notifications/other")
            changes = [listener.next(30), listener.next(30)]
            assert [(each.method, each.uri) for each in changes if each is not None] == [
                ("notifications/tools/list_changed", None),
                ("notifications/resources/updated", "x://a"),
            ]
            with client.listen(resources=["x://b"]):
                pass
            assert peer.methods().count("resources/unsubscribe") == 0  # the other one listens on
        assert peer.methods().count("resources/unsubscribe") == 2


def test_subscriptions_outlive_the_session(peer: SessionPeer) -> None:
    with Client(peer.url, verdicts={}) as client, client.listen(resources=["x://a"]) as listener:
        wait_until(lambda: peer.streams == 1)
        peer.forget_sessions()
        client.call_tool("which")
        assert [params["uri"] for method, params in peer.requests if method == "resources/subscribe"] == ["x://a"] * 2
        wait_until(lambda: peer.streams == 2)
        peer.tell("notifications/resources/updated", uri="x://a")
        change = listener.next(30)
        assert change is not None
        assert change.uri == "x://a"


def test_log_messages_come_on_the_stream_of_the_session(peer: SessionPeer) -> None:
    got: list[tuple[str, Any]] = []
    with Client(peer.url, verdicts={}, log_level="info", on_log=lambda log: got.append((log.level, log.data))):
        wait_until(lambda: peer.streams == 1)
        peer.tell("notifications/message", level="info", data="x")
        peer.tell("notifications/message")  # without a level it is none
        peer.tell("notifications/message", level="error", data="y")
        wait_until(lambda: len(got) == 2)
    assert got == [("info", "x"), ("error", "y")]
    assert ("logging/setLevel", {"level": "info"}) in peer.requests
