"""Where the endpoint is in a Flask application, and that nothing but JSON comes from it."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask, Response, abort, request, url_for

from mcp_wsgi import HTTPPolicy, Server, public
from mcp_wsgi.exceptions import ConfigurationError
from mcp_wsgi.flask import MCP, create_blueprint
from mcp_wsgi.wsgi import WSGIApp
from tests.flask_door.wire import call, headers_of, modern, post, result, text

SLOPPY = {"DEBUG": True, "TESTING": True, "PROPAGATE_EXCEPTIONS": True}
METHODS = ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"]
DISCOVER = modern("server/discover")


def make_server(**options: Any) -> Server:
    server = Server("routes", **options)

    @server.tool
    def where() -> str:
        return f"{request.path} {request.view_args}"

    return server


def make_app(url_prefix: str | None = "/mcp", *, name: str = "mcp", **options: Any) -> Flask:
    app = Flask("routes")
    app.config |= SLOPPY
    options = {"auth": public, **options}
    app.register_blueprint(create_blueprint(make_server(), name=name, **options), url_prefix=url_prefix)
    return app


@pytest.mark.parametrize("prefix", ["/mcp", "/mcp/", "/a/b"])
def test_both_spellings_of_the_path_are_the_endpoint_and_none_redirects(prefix: str) -> None:
    client = make_app(prefix).test_client()
    bare = prefix.rstrip("/")
    for path in (bare, f"{bare}/"):
        assert post(client, DISCOVER, path).status_code == 200


@pytest.mark.parametrize("prefix", ["/", ""])
def test_the_endpoint_may_be_at_the_root_beside_the_applications_own_routes(prefix: str) -> None:
    app = make_app(prefix)
    app.add_url_rule("/own", view_func=lambda: "own")
    client = app.test_client()
    assert post(client, DISCOVER, "/").status_code == 200
    assert client.get("/own").text == "own"
    assert client.get("/other").json["error"]["code"] == -32600


def test_the_prefix_of_the_blueprint_is_used_where_the_registration_gives_none() -> None:
    app = Flask("routes")
    app.register_blueprint(create_blueprint(make_server(), auth=public, url_prefix="/tools"))
    assert post(app.test_client(), DISCOVER, "/tools").status_code == 200


def test_a_prefix_may_have_variables_that_tools_find_in_the_request() -> None:
    client = make_app("/<tenant>/mcp").test_client()
    assert text(post(client, call("where"), "/acme/mcp")) == "/acme/mcp {'tenant': 'acme'}"
    assert client.post("/acme/mcp/x").status_code == 404


def test_the_endpoint_has_a_url_name() -> None:
    with make_app().test_request_context():
        assert url_for("mcp.endpoint") == "/mcp"


@pytest.mark.parametrize("path", ["/mcp/x", "/mcp/x/", "/mcp//", "/mcp//x", "/mcp/x//y", "/mcp/%00", "/mcp/%0A"])
@pytest.mark.parametrize("method", ["POST", *METHODS])
def test_below_the_endpoint_every_answer_is_a_json_404(path: str, method: str) -> None:
    response = make_app().test_client().open(path, method=method)
    assert (response.status_code, response.mimetype) == (404, "application/json")
    assert response.data == b"" if method == "HEAD" else response.json["error"]["code"] == -32600


def raw_answer(app: Any, method: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, list[Any], bytes]:
    from werkzeug.test import Client

    response = Client(app).open("/mcp", method=method, headers=headers, data=body)
    return response.status_code, sorted(response.headers), response.data


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("origin", [None, "https://a.example", "https://b.example"])
def test_every_method_is_answered_as_at_the_wsgi_door(method: str, origin: str | None) -> None:
    policy = HTTPPolicy(allowed_origins=["https://a.example"])
    headers = {"Origin": origin} if origin else {}
    plain = WSGIApp(make_server(), auth=public, policy=policy)
    assert raw_answer(make_app(policy=policy), method, headers) == raw_answer(plain, method, headers)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"jsonrpc":"2.0","method":"notifications/initialized"}', b'{"jsonrpc":"2.0","id":1}'],
)
def test_every_body_is_answered_as_at_the_wsgi_door(body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    plain = WSGIApp(make_server(), auth=public)
    assert raw_answer(make_app(), "POST", headers, body) == raw_answer(plain, "POST", headers, body)


def test_an_answer_without_content_has_no_type_of_content() -> None:
    response = make_app().test_client().open("/mcp", method="OPTIONS")
    assert response.status_code == 204
    assert "Content-Type" not in response.headers


def fail(_: Any) -> str:
    raise RuntimeError("secret")


def test_a_failing_auth_function_is_answered_in_json_though_the_application_debugs() -> None:
    response = post(make_app(auth=fail).test_client(), DISCOVER)
    assert (response.status_code, response.json["error"]["code"]) == (500, -32603)
    assert b"secret" not in response.data


def test_an_auth_function_finds_the_request_of_flask() -> None:
    app = make_app(auth=lambda each: request.headers.get("X-User") if each.raw.path == request.path else None)
    assert post(app.test_client(), DISCOVER).status_code == 401
    assert post(app.test_client(), DISCOVER, X_User="ann").status_code == 200


@pytest.mark.parametrize("make", [create_blueprint, MCP])
def test_auth_is_required(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="auth"):
        make(make_server())


def test_hooks_of_the_application_run_and_their_refusals_are_theirs() -> None:
    app = make_app()

    @app.before_request
    def refuse() -> None:
        if "X-Refuse" in request.headers:
            abort(401)

    @app.after_request
    def mark(response: Response) -> Response:
        response.headers["X-Marked"] = "yes"
        return response

    client = app.test_client()
    assert post(client, DISCOVER, X_Refuse="1").status_code == 401
    answer = post(client, DISCOVER)
    assert (answer.status_code, answer.headers["X-Marked"]) == (200, "yes")


def test_a_blueprint_takes_hooks_of_its_own() -> None:
    blueprint = create_blueprint(make_server(), auth=public)
    blueprint.before_request(lambda: abort(403))
    app = Flask("routes")
    app.register_blueprint(blueprint)
    app.add_url_rule("/own", view_func=lambda: "own")
    assert post(app.test_client(), DISCOVER).status_code == 403
    assert app.test_client().get("/own").status_code == 200


def test_several_servers_in_one_application_and_one_server_in_several() -> None:
    one, two = Server("one"), Server("two")
    first, second = Flask("first"), Flask("second")
    extension = MCP(one, first, auth=public, name="one", url_prefix="/one")
    extension.init_app(second)
    MCP(two, first, auth=public, name="two", url_prefix="/two")

    def name_at(app: Flask, path: str) -> str:
        found: str = result(post(app.test_client(), DISCOVER, path))["_meta"]["io.modelcontextprotocol/serverInfo"][
            "name"
        ]
        return found

    assert (name_at(first, "/one"), name_at(first, "/two"), name_at(second, "/one")) == ("one", "two", "one")
    assert second.test_client().post("/two").status_code == 404


def test_a_blueprint_may_be_part_of_another_and_be_registered_twice() -> None:
    from flask import Blueprint

    inner = create_blueprint(make_server(), auth=public)
    outer = Blueprint("api", __name__, url_prefix="/api")
    outer.register_blueprint(inner)
    app = Flask("routes")
    app.register_blueprint(outer)
    app.register_blueprint(inner, name="again", url_prefix="/again")
    for path in ("/api/mcp", "/again"):
        assert post(app.test_client(), DISCOVER, path).status_code == 200
        assert app.test_client().get(path).json["error"]["message"] == "The MCP endpoint takes POST, not GET"


def test_a_response_class_of_the_application_is_used() -> None:
    class Own(Response):
        default_mimetype = "text/fancy"

    app = make_app()
    app.response_class = Own
    assert isinstance(app.test_client().open("/mcp", method="OPTIONS"), Response)
    with app.test_request_context("/mcp", method="POST", json=DISCOVER, headers=headers_of(DISCOVER)):
        response = app.full_dispatch_request()
    assert type(response) is Own
    assert response.content_type == "application/json"
