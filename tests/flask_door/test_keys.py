"""What a tool asks the user is signed with the keys of the application that answers."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask import Flask

from mcp_wsgi import Context, Server, public
from mcp_wsgi.flask import MCP
from tests.flask_door.wire import FORMS, call, post, result, text

FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}


def make_server(**options: Any) -> Server:
    server = Server("keys", **options)

    @server.tool
    def ask(ctx: Context) -> str:
        ctx.elicit("First?", FORM)
        ctx.elicit("Second?", FORM)
        return "thanks"

    return server


def make_app(server: Server, **config: Any) -> Flask:
    app = Flask("keys")
    app.config |= {"TESTING": True, **config}
    MCP(server, app, auth=public)
    return app


def begin(app: Flask) -> dict[str, Any]:
    """Answer the first question; what is asked next carries the answer in its state."""
    first = result(post(app.test_client(), call("ask", capabilities=FORMS)))
    return go_on(app, first)


def reply(asked: dict[str, Any]) -> dict[str, Any]:
    answers = {key: {"action": "accept", "content": {"sure": True}} for key in asked["inputRequests"]}
    state = {"requestState": asked["requestState"]} if "requestState" in asked else {}
    return call("ask", capabilities=FORMS, inputResponses=answers, **state)


def go_on(app: Flask, asked: dict[str, Any]) -> dict[str, Any]:
    return result(post(app.test_client(), reply(asked)))


def is_accepted(app: Flask, asked: dict[str, Any]) -> bool:
    response = post(app.test_client(), reply(asked))
    if response.status_code == 200:
        assert text(response) == "thanks"
        return True
    assert response.json["error"]["code"] == -32602
    return False


def test_another_worker_with_the_same_secret_key_goes_on() -> None:
    asked = begin(make_app(make_server(), SECRET_KEY="one"))
    assert is_accepted(make_app(make_server(), SECRET_KEY="one"), asked)
    assert not is_accepted(make_app(make_server(), SECRET_KEY="two"), asked)


def test_a_fallback_key_is_accepted_and_does_not_sign() -> None:
    old, new = make_app(make_server(), SECRET_KEY="old"), make_app(make_server(), SECRET_KEY="new")
    both = make_app(make_server(), SECRET_KEY="new", SECRET_KEY_FALLBACKS=["old"])
    assert is_accepted(both, begin(old))
    assert is_accepted(new, begin(both))


def test_one_server_signs_with_the_key_of_the_application_that_answers() -> None:
    server = make_server()
    one, two = make_app(server, SECRET_KEY="one"), make_app(server, SECRET_KEY="two")
    asked = begin(one)
    assert is_accepted(one, asked)
    assert not is_accepted(two, asked)


def test_keys_are_read_at_each_request() -> None:
    app = make_app(make_server())
    app.config["SECRET_KEY"] = "one"
    asked = begin(app)
    app.config |= {"SECRET_KEY": "two", "SECRET_KEY_FALLBACKS": None}
    assert not is_accepted(app, asked)
    app.config["SECRET_KEY_FALLBACKS"] = ["one"]
    assert is_accepted(app, asked)


def test_a_server_with_keys_of_its_own_keeps_to_them() -> None:
    asked = begin(make_app(make_server(keys=["own"]), SECRET_KEY="one"))
    assert is_accepted(make_app(make_server(keys=["own"]), SECRET_KEY="two"), asked)


def test_without_a_secret_key_a_random_one_is_used_and_a_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    app = make_app(make_server())
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        asked = begin(app)
    assert "No signing keys were given" in caplog.text
    assert is_accepted(app, asked)
    assert not is_accepted(make_app(make_server()), asked)
