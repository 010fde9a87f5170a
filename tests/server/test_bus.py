"""Subscriptions: what is honoured, what is due, and how it is tagged (2026-07-28, basic/patterns/subscriptions)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Context, InvalidParamsError, Server
from mcp_wsgi.protocol.jsonrpc import parse_message
from mcp_wsgi.server.bus import MAX_RESOURCE_SUBSCRIPTIONS, Subscription, honoured_filter
from tests.modern import message

TOOLS = "notifications/tools/list_changed"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


def a_server() -> Server:
    server = Server("shop")
    server.add_tool({"name": "a", "handler": lambda arguments, ctx: "a"})

    @server.resource("docs://intro")
    def intro() -> str:
        return "hello"

    @server.resource("docs://hidden", visible=lambda ctx: False)
    def hidden() -> str:
        return "secret"

    @server.resource("orders://{number}")
    def order(number: int) -> str:
        return str(number)

    return server


def a_context(server: Server, notifications: Any) -> Context:
    parsed = parse_message(message("subscriptions/listen", notifications=notifications))
    return server.make_context(parsed, modern=True)  # type: ignore[arg-type]


def subscribe(server: Server, notifications: Any, request_id: str | int = 1) -> tuple[Subscription, list[int]]:
    woken: list[int] = []
    honoured = honoured_filter(a_context(server, notifications))
    subscription = Subscription(request_id, honoured, lambda: woken.append(1))
    server.bus.subscribe(subscription)
    return subscription, woken


def methods(subscription: Subscription) -> list[str]:
    return [each["method"] for each in subscription.drain()]


def test_only_what_the_server_has_is_honoured():
    honoured = honoured_filter(a_context(a_server(), {"toolsListChanged": True, "promptsListChanged": True}))
    assert honoured == {"toolsListChanged": True}


def test_what_was_not_asked_for_or_refused_is_not_honoured():
    honoured = honoured_filter(a_context(a_server(), {"toolsListChanged": False}))
    assert honoured == {}


def test_resources_that_the_caller_cannot_read_are_left_out():
    wanted = ["docs://intro", "docs://hidden", "nope://x", "orders://7", "docs://intro"]
    honoured = honoured_filter(a_context(a_server(), {"resourceSubscriptions": wanted}))
    assert honoured == {"resourceSubscriptions": ["docs://intro", "orders://7"]}


def test_resource_subscriptions_of_a_server_without_resources_are_not_honoured():
    assert honoured_filter(a_context(Server("bare"), {"resourceSubscriptions": ["docs://intro"]})) == {}


@pytest.mark.parametrize(
    ("notifications", "named"),
    [
        (None, "params.notifications"),
        ([], "params.notifications"),
        ({"toolsListChanged": 1}, "toolsListChanged"),
        ({"resourceSubscriptions": "docs://intro"}, "resourceSubscriptions"),
        ({"resourceSubscriptions": [1]}, "resourceSubscriptions"),
        ({"resourceSubscriptions": ["x:y"] * (MAX_RESOURCE_SUBSCRIPTIONS + 1)}, "at most"),
    ],
)
def test_an_ill_typed_filter_is_refused_by_name(notifications, named):
    with pytest.raises(InvalidParamsError, match=named):
        honoured_filter(a_context(a_server(), notifications))


def test_adding_and_removing_a_tool_is_a_change():
    server = a_server()
    subscription, woken = subscribe(server, {"toolsListChanged": True})
    server.add_tool({"name": "b", "handler": lambda arguments, ctx: "b"})
    assert methods(subscription) == [TOOLS]
    server.remove_tool("b")
    assert methods(subscription) == [TOOLS]
    assert len(woken) == 2


def test_a_loop_of_changes_is_one_notification():
    server = a_server()
    subscription, _ = subscribe(server, {"toolsListChanged": True})
    for number in range(1000):
        server.add_tool({"name": f"t{number}", "handler": lambda arguments, ctx: "x"})
    assert subscription.is_due
    assert methods(subscription) == [TOOLS]
    assert not subscription.is_due


def test_each_kind_of_change_reaches_only_those_who_asked_for_it():
    server = a_server()
    tools, _ = subscribe(server, {"toolsListChanged": True})
    resources, _ = subscribe(server, {"resourcesListChanged": True, "resourceSubscriptions": ["docs://intro"]})
    server.notify_tools_changed()
    server.notify_prompts_changed()
    server.notify_resources_changed()
    server.notify_resource_updated("docs://other")
    assert methods(tools) == [TOOLS]
    assert methods(resources) == ["notifications/resources/list_changed"]


def test_a_resource_update_names_its_uri():
    server = a_server()
    subscription, _ = subscribe(server, {"resourceSubscriptions": ["docs://intro", "orders://7"]})
    server.notify_resource_updated("orders://7")
    server.notify_resource_updated("docs://intro")
    assert [each["params"]["uri"] for each in subscription.drain()] == ["orders://7", "docs://intro"]


@pytest.mark.parametrize("request_id", [0, "x", "", 7])
def test_every_message_is_tagged_with_the_id_of_the_request(request_id):
    server = a_server()
    subscription, _ = subscribe(server, {"toolsListChanged": True}, request_id)
    server.notify_tools_changed()
    change = subscription.drain()[0]
    acknowledgement, completion = subscription.acknowledgement(), subscription.completion()
    assert change["params"]["_meta"][SUBSCRIPTION_ID] == request_id
    assert acknowledgement["params"]["_meta"][SUBSCRIPTION_ID] == request_id
    assert completion["result"]["_meta"][SUBSCRIPTION_ID] == request_id
    assert completion["id"] == request_id


def test_the_acknowledgement_says_what_is_honoured():
    subscription, _ = subscribe(a_server(), {"toolsListChanged": True, "promptsListChanged": True})
    assert subscription.acknowledgement()["params"]["notifications"] == {"toolsListChanged": True}


def test_closing_the_server_ends_its_subscriptions_and_nothing_more_is_due():
    server = a_server()
    subscription, woken = subscribe(server, {"toolsListChanged": True})
    server.close()
    server.notify_tools_changed()
    assert subscription.closed
    assert woken == [1]
    assert not subscription.is_due


def test_unsubscribing_twice_is_no_error():
    server = a_server()
    subscription, woken = subscribe(server, {"toolsListChanged": True})
    assert len(server.bus) == 1
    server.bus.unsubscribe(subscription)
    server.bus.unsubscribe(subscription)
    server.notify_tools_changed()
    assert len(server.bus) == 0
    assert woken == []


def test_a_filter_is_bounded_also_by_the_length_of_its_uris():
    """Each URI is matched with every template, and kept: four megabytes of them took the loop for half a minute."""
    with pytest.raises(InvalidParamsError, match="at most 100000 characters"):
        honoured_filter(a_context(a_server(), {"resourceSubscriptions": ["orders://" + "7" * 1000] * 100}))
