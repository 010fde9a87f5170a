"""The example application: a login, a database and an MCP server in a factory application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

pytest.importorskip("flask_login")

from tests.apps.flask_shop import create_app
from tests.flask_door.wire import FORMS, call, messages, post, result, text

ANN = {"Authorization": "Bearer token-of-ann", "User_Agent": "tests"}
BOB = {"Authorization": "Bearer token-of-bob", "User_Agent": "tests"}
WAYS = pytest.mark.parametrize("token", [None, "t"], ids=["json", "stream"])


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    return create_app(TESTING=True, DATABASE=str(tmp_path / "shop.db"))


@pytest.fixture
def client(app: Flask) -> Any:
    return app.test_client()


def test_the_site_itself_is_as_it_was(client: Any) -> None:
    assert client.get("/").text == "Welcome"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_nobody_is_answered_without_a_login(client: Any, headers: dict[str, str]) -> None:
    response = post(client, call("list_orders"), **headers)
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")


@WAYS
def test_users_see_their_own_orders(client: Any, token: str | None) -> None:
    orders = [result(post(client, call("list_orders", token=token), **who)) for who in (ANN, BOB)]
    assert [each["structuredContent"] for each in orders] == [[1, 2], [3]]


@WAYS
def test_orders_are_shipped_in_json_and_while_streaming(app: Flask, client: Any, token: str | None) -> None:
    response = post(client, call("ship_orders", token=token), **ANN)
    assert text(response) == "2"
    if token:
        told = [each["params"]["message"] for each in messages(response.data)[:-1]]
        assert told == ["Order 1 for tests", "Order 2 for tests"]
    assert text(post(client, call("list_orders", {"status": "shipped"}), **ANN)) == "[1, 2]"
    assert app.config["OPENED"]
    assert len(app.config["CLOSED"]) == len(app.config["OPENED"])


@WAYS
def test_an_async_tool_finds_the_login(client: Any, token: str | None) -> None:
    assert text(post(client, call("greet", token=token), **ANN)) == "Hello ann, this is the shop"


def test_an_order_is_cancelled_after_a_question(client: Any) -> None:
    arguments = {"number": 1}
    asked = result(post(client, call("cancel_order", arguments, capabilities=FORMS), **ANN))
    assert asked["resultType"] == "input_required"
    (key,) = asked["inputRequests"]
    more: dict[str, Any] = {"inputResponses": {key: {"action": "accept", "content": {"sure": True}}}}
    if "requestState" in asked:
        more["requestState"] = asked["requestState"]
    again = call("cancel_order", arguments, capabilities=FORMS, **more)
    assert text(post(client, again, **ANN)) == "Order 1 is cancelled"
    assert text(post(client, call("list_orders"), **ANN)) == "[2]"
