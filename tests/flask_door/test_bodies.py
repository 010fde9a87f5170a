"""Bodies: read once, by whoever comes first, under our limit and with our answers."""

from __future__ import annotations

import gc
import json
import weakref
from io import BytesIO
from typing import Any

import pytest
from flask import Flask, Response, request

from mcp_wsgi import HTTPPolicy, Server, public
from mcp_wsgi.flask import create_blueprint
from tests.flask_door.wire import call, headers_of, post, text

MESSAGE = call("method_of_body")
BODY = json.dumps(MESSAGE).encode()

server = Server("bodies")


@server.tool
def method_of_body() -> str:
    """Read the body once more."""
    name: str = request.get_json()["method"]
    return f"{name} {len(request.get_data())}"


def make_app(**config: Any) -> Flask:
    app = Flask("bodies")
    app.config |= {"TESTING": True, "DEBUG": True, **config}
    app.register_blueprint(create_blueprint(server, auth=public, policy=HTTPPolicy(body_limit=10_000)))
    return app


def send(app: Flask, body: bytes = BODY, **environ: Any) -> Any:
    """Send a body whose length is not announced, as a server that decodes chunks hands it over."""
    return app.test_client().post(
        "/mcp",
        headers=headers_of(MESSAGE),
        input_stream=BytesIO(body),
        environ_overrides={"wsgi.input_terminated": True, **environ},
    )


def test_a_body_is_read_and_stays_readable_for_the_handler() -> None:
    assert text(post(make_app().test_client(), MESSAGE)) == f"tools/call {len(BODY)}"


@pytest.mark.parametrize("read", ["get_data", "get_json"])
@pytest.mark.parametrize("known", [True, False], ids=["length", "chunked"])
def test_a_body_that_a_hook_has_read_is_read_again(read: str, known: bool) -> None:
    app = make_app()
    app.before_request(lambda: getattr(request, read)() and None)
    response = post(app.test_client(), MESSAGE) if known else send(app)
    assert text(response) == f"tools/call {len(BODY)}"


def test_a_request_is_freed_with_its_answer() -> None:
    """Not when garbage is collected, or bodies would pile up until then."""
    app, seen = make_app(), []
    app.before_request(lambda: seen.append(weakref.ref(request._get_current_object())))  # type: ignore[attr-defined]
    gc.collect()
    gc.disable()
    try:
        assert post(app.test_client(), MESSAGE).status_code == 200
        assert seen[0]() is None
    finally:
        gc.enable()


def test_a_hook_may_read_the_body_after_the_answer() -> None:
    app, seen = make_app(), []

    @app.after_request
    def remember(response: Response) -> Response:
        seen.append(request.get_data())
        return response

    assert post(app.test_client(), MESSAGE).status_code == 200
    assert json.loads(seen[0]) == MESSAGE


def test_a_hook_that_looks_for_a_form_does_not_hurt() -> None:
    app = make_app()
    app.before_request(lambda: request.form.get("csrf"))
    assert post(app.test_client(), MESSAGE).status_code == 200


@pytest.mark.parametrize("config", [{}, {"MAX_CONTENT_LENGTH": 10_000}, {"MAX_CONTENT_LENGTH": 10**9}])
def test_a_chunked_body_is_read_to_its_end(config: dict[str, Any]) -> None:
    assert text(send(make_app(**config))) == f"tools/call {len(BODY)}"


@pytest.mark.parametrize(("config", "limit"), [({}, 10_000), ({"MAX_CONTENT_LENGTH": 500}, 500)])
@pytest.mark.parametrize("known", [True, False], ids=["length", "chunked"])
def test_the_smaller_limit_holds_and_is_answered_in_json(config: dict[str, Any], limit: int, known: bool) -> None:
    app = make_app(**config)
    body = BODY.ljust(limit + 1)
    headers = headers_of(MESSAGE)
    response = app.test_client().post("/mcp", data=body, headers=headers) if known else send(app, body)
    assert (response.status_code, response.mimetype) == (413, "application/json")
    assert response.json["error"]["message"] == f"The body is larger than {limit} bytes"


def test_a_hook_finds_nothing_of_a_body_that_was_refused_and_does_not_fail() -> None:
    app, seen = make_app(), []

    @app.after_request
    def remember(response: Response) -> Response:
        seen.append(request.get_data())
        return response

    assert app.test_client().post("/mcp", data=BODY.ljust(10_001), headers=headers_of(MESSAGE)).status_code == 413
    assert seen == [b""]


def test_a_body_of_just_the_limit_of_flask_is_read() -> None:
    app = make_app(MAX_CONTENT_LENGTH=len(BODY))
    assert post(app.test_client(), MESSAGE).status_code == 200
    assert send(app).status_code == 200


def test_a_limit_of_nothing_admits_nothing() -> None:
    assert post(make_app(MAX_CONTENT_LENGTH=0).test_client(), MESSAGE).status_code == 413


def test_an_unknown_length_is_answered_411_in_json() -> None:
    response = (
        make_app()
        .test_client()
        .post("/mcp", headers=headers_of(MESSAGE), input_stream=BytesIO(BODY), environ_overrides={"CONTENT_LENGTH": ""})
    )
    assert (response.status_code, response.mimetype) == (411, "application/json")


@pytest.mark.parametrize("length", ["x", "-1", "1_0", "+5"])
def test_a_false_length_is_answered_400_in_json(length: str) -> None:
    response = send(make_app(), CONTENT_LENGTH=length)
    assert (response.status_code, response.json["error"]["code"]) == (400, -32600)


def test_a_body_shorter_than_announced_is_answered_400_in_json() -> None:
    response = send(make_app(), CONTENT_LENGTH=str(len(BODY) + 5))
    assert (response.status_code, response.json["error"]["code"]) == (400, -32600)


def test_a_form_is_answered_in_json() -> None:
    response = make_app().test_client().post("/mcp", data={"a": "b"})
    assert (response.status_code, response.mimetype) == (415, "application/json")
