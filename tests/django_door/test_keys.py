"""What signs the state of a question: Django's own keys."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from mcp_wsgi import Context, Server, public
from mcp_wsgi.django import mcp_urls
from tests.django_door.wire import post, result_of
from tests.modern import message


def make_server(**options: Any) -> Server:
    server = Server("asking", **options)

    @server.tool
    def ask(ctx: Context) -> str:
        """Ask."""
        schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
        return str(ctx.elicit("Sure?", schema, key="q").data)

    return server


def round_trip(state: str | None = None) -> Any:
    more = {} if state is None else {"requestState": state}
    more["inputResponses"] = {"q": {"action": "accept", "content": {"sure": True}}} if state else None
    params = {key: value for key, value in more.items() if value is not None}
    sent = message("tools/call", name="ask", arguments={}, capabilities={"elicitation": {"form": {}}}, **params)
    return post(Client(), sent)


def test_another_worker_with_the_same_key_takes_the_answer(site: Any) -> None:
    site(mcp_urls(make_server(), auth=public), SECRET_KEY="one")
    state = result_of(round_trip())["requestState"]
    site(mcp_urls(make_server(), auth=public), SECRET_KEY="one")
    assert "True" in result_of(round_trip(state))["content"][0]["text"]


def test_keys_can_be_rotated_while_a_user_thinks(site: Any) -> None:
    site(mcp_urls(make_server(), auth=public), SECRET_KEY="old")
    state = result_of(round_trip())["requestState"]
    site(SECRET_KEY="new", SECRET_KEY_FALLBACKS=["old"], urls=mcp_urls(make_server(), auth=public))
    assert "True" in result_of(round_trip(state))["content"][0]["text"]


def test_a_state_of_another_key_is_refused(site: Any) -> None:
    site(mcp_urls(make_server(), auth=public), SECRET_KEY="old")
    state = result_of(round_trip())["requestState"]
    site(mcp_urls(make_server(), auth=public), SECRET_KEY="new")
    response = round_trip(state)
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["code"] == -32602


def test_keys_of_the_server_go_before_djangos(site: Any) -> None:
    site(mcp_urls(make_server(keys=["own"]), auth=public), SECRET_KEY="one")
    state = result_of(round_trip())["requestState"]
    site(mcp_urls(make_server(keys=["own"]), auth=public), SECRET_KEY="two")
    assert "True" in result_of(round_trip(state))["content"][0]["text"]
