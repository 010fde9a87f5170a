"""Calls that are made for another client: that one is asked, and gets what is logged."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Context, MissingClientCapabilityError, Server
from mcp_wsgi.client import CallResult, Client, InputRequiredResult, Relay

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
CAPABILITIES = {"elicitation": {"form": {}}}

server = Server("s", keys=["k" * 32])


@server.tool
def greet(ctx: Context) -> str:
    """Ask for a name, and say hello."""
    return f"Hello {ctx.elicit('Who are you?', FORM).data['name']}"


@server.tool
def look(ctx: Context) -> dict[str, Any]:
    """Say what the request says of its client."""
    ctx.warning("looked at")
    return {"capabilities": dict(ctx.client_capabilities), "level": ctx.envelope and ctx.envelope.log_level}


def never(question: Any) -> Any:
    raise AssertionError("this client is not asked")


def test_the_question_and_the_answer_are_the_caller_s() -> None:
    with Client(server, elicit=never) as client:
        asked = client.call_tool("greet", relay=Relay(capabilities=CAPABILITIES))
        assert isinstance(asked, InputRequiredResult)
        (key,) = asked.requests
        answer = {"action": "accept", "content": {"name": "Ada"}}
        relay = Relay(capabilities=CAPABILITIES, responses={key: answer}, state=asked.state)
        result = client.call_tool("greet", relay=relay)
    assert isinstance(result, CallResult)
    assert result.text == "Hello Ada"


def test_what_is_declared_is_the_other_client_s() -> None:
    with Client(server, elicit=never, log_level="debug") as client:
        assert client.call_tool("look", relay=Relay()).structured == {"capabilities": {}, "level": None}
        relay = Relay(capabilities=CAPABILITIES, log_level="error")
        assert client.call_tool("look", relay=relay).structured == {"capabilities": CAPABILITIES, "level": "error"}
        assert set(client.call_tool("look").structured["capabilities"]) == {"elicitation"}
        with pytest.raises(MissingClientCapabilityError):
            client.call_tool("greet", relay=Relay())


def test_what_is_logged_is_the_other_client_s() -> None:
    own: list[Any] = []
    other: list[Any] = []
    with Client(server, log_level="debug", on_log=own.append) as client:
        client.call_tool("look", relay=Relay(log_level="info", on_log=other.append))
        assert (len(own), [message.data for message in other]) == (0, ["looked at"])
        client.call_tool("look", relay=Relay(log_level="info"))
        assert [message.data for message in own] == ["looked at"]


def test_a_log_message_without_a_level_is_none() -> None:
    seen: list[Any] = []
    relay = Relay(on_log=seen.append)
    assert relay.takes({"method": "notifications/message"})
    assert relay.takes({"method": "notifications/message", "params": {"data": 1}})
    assert not relay.takes({"method": "notifications/tools/list_changed"})
    assert seen == []


def test_a_legacy_server_knows_only_this_client() -> None:
    with Client(server, protocol_version="2025-11-25") as client:
        result = client.call_tool("look", relay=Relay(capabilities=CAPABILITIES, log_level="info"))
    assert result.structured == {"capabilities": {}, "level": None}
