"""The endpoint: every rung of admission in its order, then what each era is answered."""

from __future__ import annotations

import asyncio
import gc
import io
import itertools
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_wsgi import (
    AuthenticationError,
    ConfigurationError,
    Context,
    InputRequired,
    MCPError,
    Server,
    public,
)
from mcp_wsgi.http import unread
from mcp_wsgi.http.endpoint import Endpoint, not_found
from mcp_wsgi.http.messages import BodyError, HTTPRequest, HTTPResponse
from mcp_wsgi.http.policy import HTTPPolicy
from mcp_wsgi.protocol.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from mcp_wsgi.protocol.sse import EventDecoder
from tests.http.support import (
    ABSENT,
    ADD,
    JSON,
    LEGACY,
    LEGACY_HEADERS,
    MODERN,
    Pairs,
    ask,
    call_modern,
    envelope,
    header,
    http_request,
    make_endpoint,
    make_server,
    message,
    modern_headers,
    modern_message,
    outcome,
    read,
)

ORIGIN = "https://app.example"
LIMIT = 10_000


def who(request: HTTPRequest) -> str | None:
    """Authenticate by the word "good"."""
    return "ann" if request.get_all("authorization") == ["Bearer good"] else None


# The rungs, in the order of docs/architecture.md: what answers where nothing before it does.
RUNGS: dict[str, tuple[int, int]] = {
    "method": (405, -32600),
    "origin": (403, -32600),
    "host": (421, -32600),
    "auth": (401, -32600),
    "body too long": (413, -32600),
    "length missing": (411, -32600),
    "media type": (415, -32600),
    "not JSON": (400, -32700),
    "no message": (400, -32600),
    "envelope": (400, -32602),
    "header": (400, -32020),
    "version": (400, -32022),
    "unknown method": (404, -32601),
    "capability": (400, -32021),
    "params": (400, -32602),
    "failure": (500, -32603),
}
# Faults of the same thing, of which one request has only one.
EXCLUSIVE = [{"capability", "params", "failure"}]


def make_strict_endpoint() -> Endpoint:
    server = make_server()

    @server.tool
    def ask_back(ctx: Context) -> str:
        return str(ctx.elicit("Sure?", {"type": "object", "properties": {}}))

    @server.resource("test://broken")
    def broken() -> str:
        raise RuntimeError("a secret")

    return make_endpoint(server, auth=who, allowed_origins=[ORIGIN], allowed_hosts=["good.example"], body_limit=LIMIT)


def request_with(faults: set[str]) -> HTTPRequest:
    """Make a good modern request, and put faults into it."""
    method, params = "tools/call", dict(ADD)
    if "capability" in faults:
        params = {"name": "ask_back"}
    elif "params" in faults:
        params = {"name": "none"}
    elif "failure" in faults:
        method, params = "resources/read", {"uri": "test://broken"}
    mirrored = str(params.get("name") or params.get("uri"))
    if "unknown method" in faults:
        method = "nothing"
    version = "2030-01-01" if "version" in faults else MODERN
    params["_meta"] = {PROTOCOL_VERSION: version} if "envelope" in faults else envelope(version)
    body: Any = message(method, params)
    if "no message" in faults:
        body = [body]
    if "not JSON" in faults:
        body = json.dumps(body).encode().replace(b'"2.0"', b"NaN")
    headers = [
        ("content-type", "text/plain" if "media type" in faults else "application/json"),
        ("mcp-protocol-version", version),
        ("mcp-method", "ping" if "header" in faults else method),
        ("mcp-name", mirrored),
        ("origin", "https://evil.example" if "origin" in faults else ORIGIN),
        ("host", "evil.example" if "host" in faults else "good.example"),
        ("authorization", "Bearer bad" if "auth" in faults else "Bearer good"),
    ]

    def unreadable(size: int) -> bytes:
        raise BodyError(411, "The length of the body is not known")

    return http_request(
        body,
        headers,
        method="PUT" if "method" in faults else "POST",
        **({"length": LIMIT + 1} if "body too long" in faults else {}),
        read_body=unreadable if "length missing" in faults else None,
    )


def answer_to(faults: set[str]) -> HTTPResponse:
    return make_strict_endpoint().handle(request_with(faults))


def test_a_request_without_fault_is_served() -> None:
    assert outcome(answer_to(set())) == (200, None, 1)


@pytest.mark.parametrize("rung", RUNGS)
def test_each_rung_answers(rung: str) -> None:
    assert outcome(answer_to({rung}))[:2] == RUNGS[rung]


PAIRS = [
    pair for pair in itertools.combinations(RUNGS, 2) if not any(set(pair) <= exclusive for exclusive in EXCLUSIVE)
]


@pytest.mark.parametrize("pair", PAIRS, ids=" before ".join)
def test_of_two_faults_the_earlier_rung_answers(pair: tuple[str, str]) -> None:
    assert outcome(answer_to(set(pair)))[:2] == RUNGS[pair[0]]


def test_the_first_of_all_faults_answers() -> None:
    rungs = [rung for rung in RUNGS if rung not in {"params", "failure"}]
    for first in range(len(rungs)):
        assert outcome(answer_to(set(rungs[first:])))[:2] == RUNGS[rungs[first]]


def test_an_id_is_echoed_from_where_it_could_be_read() -> None:
    rungs = list(RUNGS)
    for rung in rungs:
        readable = rungs.index(rung) >= rungs.index("envelope")
        assert outcome(answer_to({rung}))[2] == (1 if readable else ABSENT), rung


@pytest.mark.parametrize("rung", RUNGS)
def test_cors_headers_stand_on_every_answer_to_an_allowed_origin(rung: str) -> None:
    # B20: without them a browser shows an opaque failure instead of the error.
    response = answer_to({rung})
    if rung == "origin":
        assert header(response, "access-control-allow-origin") is None
    else:
        assert header(response, "access-control-allow-origin") == ORIGIN
        assert "WWW-Authenticate" in (header(response, "access-control-expose-headers") or "")
    assert header(response, "vary") == "Origin"
    if response.status >= 400:
        assert header(response, "x-content-type-options") == "nosniff"


# Methods


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "post", "BREW", ""])
@pytest.mark.parametrize("accept", ["text/event-stream", "text/html"])
def test_any_other_method_is_405_before_auth(method: str, accept: str) -> None:
    # B38: a 401 here sends clients to sign in for nothing.
    response = ask(make_endpoint(auth=lambda request: None), b"", [("accept", accept)], method=method)
    assert outcome(response) == (405, -32600, ABSENT)
    assert header(response, "allow") == "POST, OPTIONS"
    assert header(response, "www-authenticate") is None


def test_head_is_405_without_a_body() -> None:
    response = ask(make_endpoint(), b"", [], method="HEAD")
    assert (response.status, response.body) == (405, b"")
    assert header(response, "allow") == "POST, OPTIONS"


def test_options_is_204_without_auth_and_body() -> None:
    endpoint = make_endpoint(auth=lambda request: None, allowed_origins=[ORIGIN])
    response = ask(endpoint, b"", [("origin", ORIGIN)], method="OPTIONS")
    assert (response.status, response.body) == (204, b"")
    assert header(response, "content-type") is None
    assert header(response, "access-control-allow-origin") == ORIGIN


# One policy for the preflight and the request


CORS_CASES = [
    (ORIGIN, "good.example", True),
    ("https://APP.example:443", "good.example:80", True),
    (ORIGIN, "evil.example", False),
    (ORIGIN, None, False),
    ("https://evil.example", "good.example", False),
    (f"{ORIGIN}, {ORIGIN}", "good.example", False),
    ("null", "good.example", False),
    ("", "good.example", False),
]


@pytest.mark.parametrize(("origin", "host", "granted"), CORS_CASES)
def test_a_preflight_grants_exactly_what_the_request_is_then_given(
    origin: str, host: str | None, granted: bool
) -> None:
    # B11: two lists for one question drift apart.
    endpoint = make_endpoint(allowed_origins=[ORIGIN], allowed_hosts=["good.example"])
    pairs = [("origin", origin)] + ([("host", host)] if host is not None else [])
    wanted = ("access-control-request-headers", "mcp-method,mcp-name,mcp-param-region")
    preflight = ask(endpoint, b"", [*pairs, wanted], method="OPTIONS")
    assert preflight.status == 204
    assert (header(preflight, "access-control-allow-origin") is not None) == granted
    assert (header(preflight, "access-control-allow-headers") is not None) == granted
    response = call_modern(endpoint, *pairs, ("mcp-param-region", "eu"))
    assert (response.status == 200) == granted


def test_an_absent_origin_is_always_allowed() -> None:
    response = ask(make_endpoint(), message("ping"))
    assert response.status == 200
    assert not any(name.lower().startswith(("access-control", "vary")) for name, _ in response.headers)
    assert header(ask(make_endpoint(allowed_origins=[ORIGIN]), message("ping")), "vary") == "Origin"


def test_no_origin_is_allowed_by_default() -> None:
    response = ask(make_endpoint(), message("ping"), [*LEGACY_HEADERS, ("origin", ORIGIN)])
    assert outcome(response) == (403, -32600, ABSENT)


@pytest.mark.parametrize("origin", ["http://localhost:6274", "https://chatgpt.com"])
def test_browser_clients_are_let_in_by_name(origin: str) -> None:
    endpoint = make_endpoint(allowed_origins=["https://chatgpt.com", "http://localhost:6274"])
    assert ask(endpoint, message("ping"), [*LEGACY_HEADERS, ("origin", origin)]).status == 200


@pytest.mark.parametrize("host", ["api.example.com", "127.0.0.1", "localhost:9000", "[::1]:8000", "LOCALHOST"])
def test_any_host_is_answered_unless_hosts_are_named(host: str) -> None:
    # B10: a default of loopback answers 421 to everything behind a proxy.
    assert ask(make_endpoint(), message("ping"), [*LEGACY_HEADERS, ("host", host)]).status == 200


def test_a_policy_of_ones_own_is_asked_about_every_host() -> None:
    class Tenants(HTTPPolicy):
        def allows_host(self, host: str | None) -> bool:
            return host == "one.example"

    endpoint = Endpoint(make_server(), auth=public, policy=Tenants())
    for host, status in (("one.example", 200), ("two.example", 421)):
        assert ask(endpoint, message("ping"), [*LEGACY_HEADERS, ("host", host)]).status == status


# Authentication


def test_auth_is_required() -> None:
    with pytest.raises(ConfigurationError, match="auth= is required"):
        Endpoint(make_server(), auth=None)


def test_the_principal_reaches_the_handler() -> None:
    server = Server("test")

    @server.tool
    def me(ctx: Context) -> str:
        return f"{ctx.principal} {ctx.request.get_all('authorization')}"

    endpoint = make_endpoint(server, auth=lambda request: request.get_all("authorization")[0])
    for token in ("A", "B"):
        # B36: what a handler sees is of its own request, not of the first.
        response = call_modern(endpoint, ("authorization", token), params={"name": "me"})
        assert read(response)["result"]["content"][0]["text"] == f"{token} ['{token}']"


def test_no_principal_is_401_with_a_challenge() -> None:
    response = ask(make_endpoint(auth=lambda request: None), message("ping"))
    assert outcome(response) == (401, -32600, ABSENT)
    assert header(response, "www-authenticate") == "Bearer"


@pytest.mark.parametrize("principal", ["", "ada", 0])
def test_only_none_is_nobody(principal: object) -> None:
    assert ask(make_endpoint(auth=lambda request: principal), message("ping")).status == 200


@pytest.mark.parametrize("principal", [False, True, [], object()])
def test_what_is_no_name_lets_nobody_in(principal: object) -> None:
    """A function that returns False, or an anonymous user, means to refuse: a text of it would be a name."""
    calls: list[Any] = []
    endpoint = make_endpoint(make_server(calls), auth=lambda request: principal)
    assert outcome(call_modern(endpoint)) == (500, -32603, ABSENT)
    assert calls == []


def test_an_auth_function_refuses_in_its_own_words() -> None:
    def refuse(request: HTTPRequest) -> str:
        raise AuthenticationError("Not you", status=403, challenge="")

    response = ask(make_endpoint(auth=refuse), message("ping"))
    assert outcome(response) == (403, -32600, ABSENT)
    assert read(response)["error"]["message"] == "Not you"
    assert header(response, "www-authenticate") is None


def test_an_auth_function_may_be_asynchronous() -> None:
    async def who(request: HTTPRequest) -> str:
        await asyncio.sleep(0)
        return "ann"

    assert ask(make_endpoint(auth=who), message("ping")).status == 200


def test_two_authorization_headers_are_not_guessed_from() -> None:
    headers = [*LEGACY_HEADERS, ("authorization", "Bearer good"), ("authorization", "Bearer bad")]
    assert outcome(ask(make_endpoint(auth=who), message("ping"), headers)) == (400, -32600, ABSENT)


@pytest.mark.parametrize("data", [None, object(), float("nan")])
def test_a_failure_of_an_auth_function_is_an_answer_and_no_secret(
    data: object, caplog: pytest.LogCaptureFixture
) -> None:
    # B136: no framework page, no traceback.
    def fail(request: HTTPRequest) -> str:
        raise RuntimeError("a secret") if data is None else MCPError(-32000, "unsendable", data)

    response = ask(make_endpoint(auth=fail), message("ping"))
    assert outcome(response) == (500, -32603, ABSENT)
    assert b"secret" not in response.body
    failure = read(response)["error"]["message"].split("(id ")[1].rstrip(")")
    assert failure in caplog.text


def test_an_error_of_an_auth_function_is_answered_as_it_is() -> None:
    def busy(request: HTTPRequest) -> str:
        raise MCPError(-32000, "Busy", {"retry": 5})

    response = ask(make_endpoint(auth=busy), message("ping"))
    assert outcome(response) == (200, -32000, ABSENT)
    assert read(response)["error"]["data"] == {"retry": 5}


def test_an_interrupt_is_not_swallowed() -> None:
    def stop(request: HTTPRequest) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(make_endpoint(auth=stop), message("ping"))


# The body


def test_no_more_of_a_body_is_kept_than_decides_and_the_rest_is_bounded() -> None:
    asked = []

    def endless(size: int) -> bytes:
        asked.append(size)
        return b" " * size

    response = ask(make_endpoint(body_limit=100), b"", read_body=endless, length=None)
    assert outcome(response) == (413, -32600, ABSENT)
    assert asked == [101, 400]


@pytest.mark.parametrize(("length", "taken"), [(101, 101), (400, 400), (401, 0), (10**18, 0)])
def test_a_body_over_the_limit_is_taken_from_the_connection_within_bounds(length: int, taken: int) -> None:
    stream = io.BytesIO(b" " * 1000)
    response = ask(make_endpoint(body_limit=100), b"", read_body=stream.read, length=length)
    assert outcome(response) == (413, -32600, ABSENT)
    assert stream.tell() == taken


def test_a_body_over_the_limit_is_taken_in_small_pieces_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    # A clock that goes on by a second with each piece.
    monkeypatch.setattr(unread, "time", SimpleNamespace(monotonic=lambda: float(len(asked))))

    def slow(size: int) -> bytes:
        asked.append(size)
        return b" "

    response = ask(make_endpoint(body_limit=100_000), b"", read_body=slow, length=200_000)
    assert outcome(response) == (413, -32600, ABSENT)
    assert asked == [16384] * 5


@pytest.mark.parametrize("end", [b"", OSError("gone"), BodyError(400, "cut")])
def test_a_body_over_the_limit_that_ends_early_is_refused_all_the_same(end: bytes | Exception) -> None:
    asked = []

    def ending(size: int) -> bytes:
        asked.append(size)
        if isinstance(end, Exception):
            raise end
        return end

    response = ask(make_endpoint(body_limit=100), b"", read_body=ending, length=200)
    assert outcome(response) == (413, -32600, ABSENT)
    assert asked == [200]


def test_the_body_of_who_is_refused_is_left_but_for_a_server_that_drops_the_answer() -> None:
    for router, taken in ((False, 0), (True, 50)):
        stream = io.BytesIO(b" " * 1000)
        request = http_request(b"", read_body=stream.read, length=50)
        request.router = router
        assert outcome(make_endpoint(auth=who).handle(request)) == (401, -32600, ABSENT)
        assert stream.tell() == taken


def test_a_body_of_exactly_the_limit_is_served() -> None:
    body = json.dumps(message("ping")).encode()
    assert ask(make_endpoint(body_limit=len(body)), body).status == 200
    assert ask(make_endpoint(body_limit=len(body) - 1), body).status == 413


@pytest.mark.parametrize("length", [0, 5, 1000])
def test_a_false_length_is_refused(length: int) -> None:
    response = ask(make_endpoint(), message("ping"), length=length)
    assert outcome(response) == (400, -32600, ABSENT)
    assert f"Content-Length says {length}" in read(response)["error"]["message"]


def test_what_the_door_says_of_a_body_is_answered() -> None:
    def unreadable(size: int) -> bytes:
        raise BodyError(400, "The body is cut")

    response = ask(make_endpoint(), b"", read_body=unreadable)
    assert outcome(response) == (400, -32600, ABSENT)
    assert read(response)["error"]["message"] == "The body is cut"


def test_a_compressed_body_is_refused_and_identity_is_none() -> None:
    endpoint = make_endpoint()
    assert ask(endpoint, message("ping"), [JSON, ("content-encoding", "gzip")]).status == 415
    assert ask(endpoint, message("ping"), [JSON, ("content-encoding", " Identity\t")]).status == 200


@pytest.mark.parametrize("twice", ["application/json", "text/plain"])
def test_two_content_types_are_refused(twice: str) -> None:
    assert ask(make_endpoint(), message("ping"), [JSON, ("content-type", twice)]).status == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"\xff\xfe{}",
        b'{"id":1,"id":2}',
        b"NaN",
        b"[" * 100_000,
        b"1" * 5000,
        b'{"a":1}}',
        b"{'a':1}",
        json.dumps(message("ping")).encode("utf-16"),
    ],
)
def test_a_body_that_is_not_strict_json_is_a_parse_error_without_id(body: bytes) -> None:
    assert outcome(ask(make_endpoint(), body)) == (400, -32700, ABSENT)


@pytest.mark.parametrize("body", [[], [message("ping")], "text", 5, None, True])
def test_a_body_that_is_no_message_is_refused_and_nothing_of_it_runs(body: Any) -> None:
    # B49: batches left the protocol in 2025-06-18.
    assert outcome(ask(make_endpoint(), body)) == (400, -32600, ABSENT)


@pytest.mark.parametrize("request_id", [None, 1.5, True, [], {}])
def test_an_id_that_is_neither_string_nor_integer_is_refused(request_id: Any) -> None:
    # B42: the presence of the key decides.
    assert outcome(ask(make_endpoint(), message("tools/list", request_id=request_id))) == (400, -32600, ABSENT)


@pytest.mark.parametrize("request_id", ["1", "001", "", "init-1", 0, -5, 10**20])
@pytest.mark.parametrize("modern", [True, False])
def test_an_id_comes_back_in_type_and_value(request_id: Any, modern: bool) -> None:
    # B43, B45.
    if modern:
        response = ask(make_endpoint(), modern_message("tools/list", {}, request_id), modern_headers("tools/list"))
    else:
        response = ask(make_endpoint(), message("tools/list", request_id=request_id))
    answered = read(response)["id"]
    assert (type(answered), answered) == (type(request_id), request_id)


def test_two_clients_may_use_one_id() -> None:
    endpoint = make_endpoint()  # B50
    first, second = endpoint.steps(http_request(message("ping"))), endpoint.steps(http_request(message("ping")))
    assert outcome(finish(first)) == outcome(finish(second)) == (200, None, 1)


def finish(steps: Any) -> HTTPResponse:
    try:
        call = next(steps)
        while True:
            call = steps.send(call.function(*call.args, **call.kwargs))
    except StopIteration as stop:
        response: HTTPResponse = stop.value
        return response


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "zero"}, None),
        ({"name": "zero", "arguments": None}, None),
        ({"name": "zero", "arguments": {}}, None),
        ({"name": "zero", "arguments": []}, -32602),
        ({"name": "zero", "arguments": "x"}, -32602),
        ({"name": "zero", "_meta": None}, None),
        ({"name": "zero", "_meta": []}, -32602),
        ([], -32602),
        ("x", -32602),
    ],
)
def test_absent_and_null_params_are_empty_and_other_shapes_are_errors(params: Any, code: int | None) -> None:
    # B47, legacy: JSON-RPC errors ride on 200.
    server = Server("test")

    @server.tool
    def zero() -> int:
        return 0

    assert outcome(ask(make_endpoint(server), message("tools/call", params))) == (200, code, 1)


@pytest.mark.parametrize("params", [ABSENT, None])
@pytest.mark.parametrize("method", ["ping", "tools/list"])
def test_a_legacy_request_may_leave_its_params_out(method: str, params: Any) -> None:
    assert outcome(ask(make_endpoint(), message(method, params))) == (200, None, 1)


@pytest.mark.parametrize("params", [[], "x", 5])
def test_params_of_the_wrong_shape_are_400_where_the_header_names_a_modern_version(params: Any) -> None:
    assert outcome(ask(make_endpoint(), message("tools/list", params), modern_headers("tools/list"))) == (
        400,
        -32602,
        1,
    )


@pytest.mark.parametrize("headers", [LEGACY_HEADERS, modern_headers("x")])
def test_a_notification_is_never_answered_on_200(headers: Pairs) -> None:
    assert outcome(ask(make_endpoint(), message("x", [], ABSENT), headers)) == (400, -32602, ABSENT)


# Notifications and responses: B40, B138


def is_accepted(response: HTTPResponse) -> bool:
    assert header(response, "content-length") == str(len(response.body))
    return (response.status, response.body) == (202, b"")


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/nothing"])
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", None])
def test_a_notification_is_202_with_an_empty_body(method: str, accept: str | None) -> None:
    headers = [JSON, ("mcp-protocol-version", LEGACY)] + ([("accept", accept)] if accept else [])
    assert is_accepted(ask(make_endpoint(), message(method, request_id=ABSENT), headers))


@pytest.mark.parametrize("with_method", [True, False])
@pytest.mark.parametrize("with_version", [True, False])
@pytest.mark.parametrize("with_envelope", [True, False])
def test_a_modern_notification_needs_none_of_its_headers(
    with_method: bool, with_version: bool, with_envelope: bool
) -> None:
    params = {"requestId": 1} | ({"_meta": envelope()} if with_envelope else {})
    body = message("notifications/cancelled", params, ABSENT)
    headers = [JSON]
    headers += [("mcp-method", "notifications/cancelled")] if with_method else []
    headers += [("mcp-protocol-version", MODERN)] if with_version else []
    assert is_accepted(ask(make_endpoint(), body, headers))


@pytest.mark.parametrize(
    ("version", "sent", "code"),
    [
        (MODERN, LEGACY, -32020),
        (MODERN, f"{MODERN},{MODERN}", -32020),
        ("2030-01-01", None, -32022),
        ("2030-01-01", "2030-01-01", -32022),
        (LEGACY, LEGACY, -32022),
        (ABSENT, "2030-01-01", -32022),
        (ABSENT, f"{MODERN}, {MODERN}", -32022),
        (5, MODERN, -32602),
        (None, None, -32602),
    ],
)
def test_a_notification_of_a_false_or_unserved_version_is_refused(version: Any, sent: str | None, code: int) -> None:
    params = {} if version is ABSENT else {"_meta": envelope(version)}
    headers = [JSON] + ([("mcp-protocol-version", sent)] if sent else [])
    assert outcome(ask(make_endpoint(), message("notifications/x", params, ABSENT), headers)) == (400, code, ABSENT)


@pytest.mark.parametrize("sent", ["tools/call", "notifications/x,notifications/x", "", "notifications/x\xa0"])
@pytest.mark.parametrize("version", [MODERN, LEGACY, None])
def test_a_method_header_of_a_notification_must_be_true(sent: str, version: str | None) -> None:
    headers = [JSON, ("mcp-method", sent)] + ([("mcp-protocol-version", version)] if version else [])
    assert outcome(ask(make_endpoint(), message("notifications/x", {}, ABSENT), headers)) == (400, -32020, ABSENT)


@pytest.mark.parametrize("body", [{"result": {}}, {"error": {"code": 1, "message": "x"}}])
def test_a_response_is_accepted_from_legacy_clients_only(body: dict[str, Any]) -> None:
    response = {"jsonrpc": "2.0", "id": 1, **body}
    assert is_accepted(ask(make_endpoint(), response))
    assert is_accepted(ask(make_endpoint(), response, [JSON]))
    assert outcome(ask(make_endpoint(), response, modern_headers("x")[:2])) == (400, -32600, ABSENT)
    assert outcome(ask(make_endpoint(), response, [JSON, ("mcp-method", "x")])) == (400, -32020, ABSENT)


# Legacy


def initialize(version: Any = LEGACY) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    if version is ABSENT:
        del params["protocolVersion"]
    return message("initialize", params)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        (LEGACY, LEGACY),
        (MODERN, LEGACY),
        ("2030-01-01", LEGACY),
        ("1.0", LEGACY),
        ("", LEGACY),
    ],
)
def test_initialize_negotiates(asked: str, answered: str) -> None:
    # B73; 2025-11-25, basic/lifecycle, Version Negotiation.
    result = read(ask(make_endpoint(), initialize(asked), [JSON]))["result"]
    assert result["protocolVersion"] == answered


@pytest.mark.parametrize("version", [ABSENT, 5, None])
def test_initialize_needs_a_version_that_is_a_string(version: Any) -> None:
    assert outcome(ask(make_endpoint(), initialize(version), [JSON])) == (200, -32602, 1)


@pytest.mark.parametrize(
    "accept", [None, "*/*", "application/json", "application/*;q=0.8", "APPLICATION/JSON", "text/html"]
)
def test_whatever_accept_says_json_is_the_answer(accept: str | None) -> None:
    # B01, B02.
    for body, headers in ((initialize(), [JSON]), (modern_message("tools/list"), modern_headers("tools/list"))):
        more = [("accept", accept)] if accept else []
        assert outcome(ask(make_endpoint(), body, [*headers, *more])) == (200, None, 1)


@pytest.mark.parametrize("method", ["tools/list", "nothing"])
def test_a_client_that_takes_only_events_gets_one(method: str) -> None:
    headers = [*modern_headers(method), ("accept", "text/event-stream")]
    response = ask(make_endpoint(), modern_message(method), headers)
    assert response.status == (200 if method == "tools/list" else 404)
    assert header(response, "content-type") == "text/event-stream"
    assert header(response, "content-length") == str(len(response.body))
    assert header(response, "cache-control") == "no-cache, no-transform"
    (event,) = EventDecoder().feed(response.body)
    assert json.loads(event.data)["id"] == 1


def test_no_session_is_made_and_an_old_one_is_ignored() -> None:
    # B27, B28: so any worker can go on.
    endpoint = make_endpoint()
    assert header(ask(endpoint, initialize()), "mcp-session-id") is None
    response = ask(endpoint, message("tools/list"), [*LEGACY_HEADERS, ("mcp-session-id", "gone")])
    assert outcome(response) == (200, None, 1)


def test_nothing_is_kept_of_a_request() -> None:
    # B29: 1,000 of each, and no object more.
    endpoint = make_endpoint()
    requests = [(b"", method) for method in ("GET", "HEAD", "OPTIONS", "DELETE")]
    requests += [(json.dumps(initialize()).encode(), "POST"), (b"{", "POST")]

    def turn(times: int) -> int:
        for body, method in requests * times:
            ask(endpoint, body, method=method)
        gc.collect()
        return len(gc.get_objects())

    before = turn(20)
    assert turn(1000) - before < 100


@pytest.mark.parametrize("version", [None, *("2024-11-05", "2025-03-26", "2025-06-18"), f" {LEGACY}\t"])
def test_a_known_legacy_version_is_served(version: str | None) -> None:
    headers = [JSON] + ([("mcp-protocol-version", version)] if version else [])
    assert outcome(ask(make_endpoint(), message("tools/list"), headers)) == (200, None, 1)


@pytest.mark.parametrize("version", ["2030-01-01", "1.0", "", f"{LEGACY},{LEGACY}", f"{LEGACY}\xa0", f'"{LEGACY}"'])
def test_any_other_version_header_without_an_envelope_is_400(version: str) -> None:
    headers = [JSON, ("mcp-protocol-version", version)]
    assert outcome(ask(make_endpoint(), message("tools/list"), headers)) == (400, -32602, 1)


def test_errors_of_legacy_requests_ride_on_200() -> None:
    assert outcome(ask(make_endpoint(), message("nothing"))) == (200, -32601, 1)
    assert outcome(ask(make_endpoint(), message("server/discover"))) == (200, -32601, 1)
    assert outcome(ask(make_endpoint(), message("tools/call", {"name": "none"}))) == (200, -32602, 1)


@pytest.mark.parametrize("sent", ["ping", "tools/list,tools/list", "", "tools/list\x0b", "TOOLS/LIST"])
def test_a_method_header_of_a_legacy_request_must_be_true(sent: str) -> None:
    headers = [*LEGACY_HEADERS, ("mcp-method", sent)]
    assert outcome(ask(make_endpoint(), message("tools/list"), headers)) == (400, -32020, 1)
    headers = [*LEGACY_HEADERS, ("mcp-method", " tools/list ")]
    assert outcome(ask(make_endpoint(), message("tools/list"), headers)) == (200, None, 1)


@pytest.mark.parametrize("sent", ["safe", "add,add", "", "=?base64?c2FmZQ==?="])
@pytest.mark.parametrize("version", [(), (("mcp-protocol-version", LEGACY),)])
def test_a_name_header_of_a_legacy_request_must_be_true(sent: str, version: Pairs) -> None:
    """A proxy that decides by the name would otherwise be passed by leaving the envelope out."""
    calls: list[Any] = []
    endpoint = make_endpoint(make_server(calls))
    headers = [JSON, *version, ("mcp-name", sent)]
    assert outcome(ask(endpoint, message("tools/call", ADD), headers)) == (400, -32020, 1)
    assert calls == []
    headers = [JSON, *version, ("mcp-name", "=?base64?YWRk?=")]
    assert outcome(ask(endpoint, message("tools/call", ADD), headers)) == (200, None, 1)


def test_a_method_that_another_reader_would_read_as_another_has_no_header_form() -> None:
    headers = [*LEGACY_HEADERS, ("mcp-method", "tools/list\xa0")]
    assert outcome(ask(make_endpoint(), message("tools/list\xa0"), headers)) == (400, -32020, 1)


def test_legacy_can_be_switched_off() -> None:
    endpoint = make_endpoint(make_server(legacy=False))
    response = ask(endpoint, initialize(), [JSON])
    assert outcome(response) == (400, -32022, 1)
    assert read(response)["error"]["data"] == {"supported": [MODERN], "requested": LEGACY}
    assert call_modern(endpoint).status == 200


# Modern


def test_results_say_their_type_on_modern_and_never_on_legacy() -> None:
    # B83
    for method, params in (("tools/list", {}), ("server/discover", {}), ("tools/call", ADD)):
        response = ask(make_endpoint(), modern_message(method, params), modern_headers(method, "add"))
        assert read(response)["result"]["resultType"] == "complete"
    for method, params in (("tools/list", {}), ("tools/call", ADD)):
        assert "resultType" not in read(ask(make_endpoint(), message(method, params)))["result"]
    assert "resultType" not in read(ask(make_endpoint(), initialize()))["result"]


def without(headers: Pairs, name: str) -> list[tuple[str, str]]:
    return [pair for pair in headers if pair[0] != name]


def replaced(headers: Pairs, name: str, value: str) -> list[tuple[str, str]]:
    return [*without(headers, name), (name, value)]


GOOD = modern_headers("tools/call", "add")
BAD_HEADERS = {
    "no version (B71)": without(GOOD, "mcp-protocol-version"),
    "a legacy version (B70)": replaced(GOOD, "mcp-protocol-version", LEGACY),
    "an unknown version": replaced(GOOD, "mcp-protocol-version", "2030-01-01"),
    "an empty version": replaced(GOOD, "mcp-protocol-version", ""),
    "no method (B71)": without(GOOD, "mcp-method"),
    "another method (B77)": replaced(GOOD, "mcp-method", "tools/list"),
    "the method in capitals": replaced(GOOD, "mcp-method", "Tools/Call"),
    "no name (B71)": without(GOOD, "mcp-name"),
    "another name (B77)": replaced(GOOD, "mcp-name", "delete"),
    "two versions, the same (B76)": [*GOOD, ("mcp-protocol-version", MODERN)],
    "two versions (B76)": [*GOOD, ("mcp-protocol-version", LEGACY)],
    "two methods, the same (B76)": [*GOOD, ("mcp-method", "tools/call")],
    "two methods (B76)": [*GOOD, ("mcp-method", "tools/list")],
    "two names, the same (B76)": [*GOOD, ("mcp-name", "add")],
    "two names (B76)": [*GOOD, ("mcp-name", "delete")],
    "a joined version (B76)": replaced(GOOD, "mcp-protocol-version", f"{MODERN},{MODERN}"),
    "a no-break space": replaced(GOOD, "mcp-protocol-version", MODERN + "\xa0"),
    "a line feed": replaced(GOOD, "mcp-method", "tools/call\n"),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_a_header_that_is_missing_repeated_or_different_is_refused_and_nothing_runs(case: str) -> None:
    calls: list[Any] = []
    response = ask(make_endpoint(make_server(calls)), modern_message("tools/call", ADD), BAD_HEADERS[case])
    assert outcome(response) == (400, -32020, 1)
    assert calls == []


def test_a_mismatch_names_both_values() -> None:
    response = ask(make_endpoint(), modern_message("tools/call", ADD), BAD_HEADERS["a legacy version (B70)"])
    text = read(response)["error"]["message"]
    assert LEGACY in text
    assert MODERN in text


@pytest.mark.parametrize("stray", [("mcp-name", "add"), ("mcp-param-region", "eu"), ("mcp-name", "\xe9")])
def test_a_header_that_a_method_does_not_need_is_ignored(stray: tuple[str, str]) -> None:
    # B77
    response = ask(make_endpoint(), modern_message("tools/list"), [*modern_headers("tools/list"), stray])
    assert outcome(response) == (200, None, 1)


@pytest.mark.parametrize("method", ["nothing", "ping", "logging/setLevel", "resources/subscribe", "initialize"])
def test_unknown_and_removed_methods_are_404_with_an_id(method: str) -> None:
    # B80
    response = ask(make_endpoint(), modern_message(method), modern_headers(method))
    assert outcome(response) == (404, -32601, 1)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"_meta": None},
        {"_meta": []},
        {"_meta": {}},
        {"_meta": {PROTOCOL_VERSION: MODERN}},
        {"_meta": {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: None}},
        {"_meta": {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: []}},
        {"_meta": {CLIENT_CAPABILITIES: {}}},
        {"_meta": envelope(5)},
        {"_meta": envelope(**{"io.modelcontextprotocol/clientInfo": "junk"})},
    ],
)
def test_an_incomplete_or_ill_typed_envelope_is_400(params: dict[str, Any]) -> None:
    # B82
    assert outcome(ask(make_endpoint(), message("tools/list", params), modern_headers("tools/list"))) == (
        400,
        -32602,
        1,
    )


@pytest.mark.parametrize("version", ["2030-01-01", LEGACY, ""])
def test_a_version_that_is_not_served_is_named_with_those_that_are(version: str) -> None:
    body = message("tools/list", {"_meta": envelope(version)})
    response = ask(make_endpoint(), body, modern_headers("tools/list", version=version))
    assert outcome(response) == (400, -32022, 1)
    data = read(response)["error"]["data"]
    assert data["requested"] == version
    assert MODERN in data["supported"]


def test_a_missing_client_capability_is_400_with_what_is_required() -> None:
    # B81
    response = answer_to({"capability"})
    assert read(response)["error"]["data"]["requiredCapabilities"].keys() == {"elicitation"}


class TestTolerance:
    """B70: a connector in the field sends another version in its header than in its envelope."""

    endpoint = make_endpoint(tolerate_version_header=True)

    @pytest.mark.parametrize("version", [LEGACY, MODERN, "2025-06-18", f" {LEGACY} "])
    def test_a_known_version_in_the_header_is_tolerated_on_request(self, version: str) -> None:
        headers = replaced(GOOD, "mcp-protocol-version", version)
        assert outcome(ask(self.endpoint, modern_message("tools/call", ADD), headers)) == (200, None, 1)

    @pytest.mark.parametrize("version", ["2030-01-01", "", f"{LEGACY},{MODERN}"])
    def test_any_other_version_is_not(self, version: str) -> None:
        headers = replaced(GOOD, "mcp-protocol-version", version)
        assert outcome(ask(self.endpoint, modern_message("tools/call", ADD), headers)) == (400, -32020, 1)

    @pytest.mark.parametrize("case", [case for case in BAD_HEADERS if "name" in case or "method" in case])
    def test_method_and_name_are_never_tolerated(self, case: str) -> None:
        headers = replaced(BAD_HEADERS[case], "mcp-protocol-version", LEGACY)
        assert outcome(ask(self.endpoint, modern_message("tools/call", ADD), headers)) == (400, -32020, 1)

    def test_a_missing_version_is_not_tolerated_either(self) -> None:
        headers = without(GOOD, "mcp-protocol-version")
        assert outcome(ask(self.endpoint, modern_message("tools/call", ADD), headers)) == (400, -32020, 1)


# Failures: B136


def make_failing_server(error: BaseException) -> Server:
    def filter_tool(context: Context) -> bool:
        raise error

    server = Server("test")

    @server.tool(visible=filter_tool)
    def add(a: int, b: int) -> int:
        return a + b

    return server


@pytest.mark.parametrize("modern", [True, False])
def test_a_failing_filter_is_an_internal_error_with_the_id(modern: bool, caplog: pytest.LogCaptureFixture) -> None:
    endpoint = make_endpoint(make_failing_server(RuntimeError("a secret")))
    with caplog.at_level(logging.CRITICAL):
        response = call_modern(endpoint) if modern else ask(endpoint, message("tools/call", ADD))
    assert outcome(response) == (500 if modern else 200, -32603, 1)
    assert b"secret" not in response.body


def test_a_filter_and_an_auth_function_have_nobody_to_ask() -> None:
    question = InputRequired({}, state="x")
    assert outcome(call_modern(make_endpoint(make_failing_server(question)))) == (500, -32603, 1)

    def ask_back(request: HTTPRequest) -> str:
        raise question

    assert outcome(call_modern(make_endpoint(auth=ask_back))) == (500, -32603, ABSENT)


def test_an_error_of_a_filter_is_answered_as_it_is() -> None:
    assert outcome(call_modern(make_endpoint(make_failing_server(MCPError(-32000, "Busy"))))) == (200, -32000, 1)


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("data", [object(), float("nan"), {1: 2, "a": b"x"}])
def test_an_error_of_a_tool_whose_data_is_no_json_is_still_answered(modern: bool, data: object) -> None:
    server = Server("test")

    @server.tool
    def add(a: int, b: int) -> int:
        raise MCPError(-32000, "unsendable", data)

    endpoint = make_endpoint(server)
    response = call_modern(endpoint) if modern else ask(endpoint, message("tools/call", ADD))
    assert outcome(response) == (200, -32000, 1)


def test_unsendable_data_of_a_filter_is_an_internal_error_with_the_id() -> None:
    endpoint = make_endpoint(make_failing_server(MCPError(-32000, "unsendable", object())))
    assert outcome(call_modern(endpoint)) == (500, -32603, 1)


def test_a_failing_origin_predicate_lets_nobody_in() -> None:
    def fail(origin: str) -> bool:
        raise RuntimeError("a secret")

    for method in ("POST", "GET", "OPTIONS"):
        response = ask(
            make_endpoint(allowed_origins=[fail]), message("ping"), [JSON, ("origin", ORIGIN)], method=method
        )
        assert outcome(response) == (500, -32603, ABSENT)
        assert header(response, "access-control-allow-origin") is None


def test_a_tool_that_fails_tells_the_model_and_not_its_secret() -> None:
    server = Server("test")

    @server.tool
    def add(a: int, b: int) -> int:
        raise RuntimeError("a secret")

    response = call_modern(make_endpoint(server))
    assert outcome(response) == (200, None, 1)
    assert read(response)["result"]["isError"] is True
    assert b"secret" not in response.body


# Other paths, and steps


def test_a_path_without_endpoint_is_a_json_404() -> None:
    assert outcome(not_found("POST")) == (404, -32600, ABSENT)
    assert (not_found("HEAD").status, not_found("HEAD").body) == (404, b"")


def test_no_answer_is_a_redirect() -> None:
    # B07, B08
    for rung in RUNGS:
        response = answer_to({rung})
        assert not 300 <= response.status < 400
        assert header(response, "location") is None


def test_a_public_endpoint_asks_nobody() -> None:
    assert make_endpoint(auth=public).policy.body_limit == 4 * 1024 * 1024
    steps = make_endpoint(auth=public).steps(http_request(message("ping")))
    assert outcome(finish(steps)) == (200, None, 1)
