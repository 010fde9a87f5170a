"""One message in, one answer out: methods, eras, ill-typed params, and what failures look like."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from typing import Any

import pytest

from mcp_wsgi import (
    ArgumentError,
    CancelledError,
    ConfigurationError,
    Context,
    EncodeError,
    InputRequired,
    MCPError,
    ResourceNotFoundError,
    Server,
    ToolError,
    ToolResult,
    UnsupportedVersionError,
    elicit_request,
)
from mcp_wsgi.protocol.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION, SERVER_INFO

from .wire import ERAS, FORMS, ask, call, error_of, request, result_of, text_of

SECRET = "postgres://admin:hunter2@db/prod"
FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}}


@pytest.fixture
def server() -> Server:
    server = Server("shop", version="1.2", keys=["k"])

    @server.tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    @server.tool
    def nothing() -> None:
        pass

    @server.resource("docs://intro")
    def intro() -> str:
        return "Welcome"

    @server.resource("orders://{number}")
    def order(number: int) -> dict[str, int]:
        return {"number": number}

    @server.prompt
    def greet(name: str = "you") -> str:
        return f"Hello {name}"

    server.completion("greet", "name")(lambda value: ["Ada", "Grace"])
    return server


VALID: dict[str, dict[str, Any]] = {
    "tools/list": {},
    "tools/call": {"name": "add", "arguments": {"a": 1}},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "docs://intro"},
    "prompts/list": {},
    "prompts/get": {"name": "greet", "arguments": {"name": "Ada"}},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "name", "value": "A"},
    },
    "server/discover": {},
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
    "ping": {},
}
MODERN_ONLY = {"server/discover"}
LEGACY_ONLY = {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}


def methods(era: str) -> list[str]:
    return [method for method in VALID if method not in (LEGACY_ONLY if era == "modern" else MODERN_ONLY)]


BY_ERA = [(era, method) for era in ("modern", "legacy") for method in methods(era)]


@pytest.mark.parametrize(("era", "method"), BY_ERA)
def test_every_method_answers(server: Server, era: str, method: str) -> None:
    result_of(server, method, VALID[method], era=era)


@pytest.mark.parametrize(("era", "method"), BY_ERA)
def test_result_type_and_identity_are_in_every_modern_result_and_in_no_legacy_one(
    server: Server, era: str, method: str
) -> None:
    """2026-07-28, basic/index, ResultType (B83)."""
    result = result_of(server, method, VALID[method], era=era)
    if era == "modern":
        assert result["resultType"] == "complete"
        assert result["_meta"] == {SERVER_INFO: {"name": "shop", "version": "1.2"}}
    else:
        assert "resultType" not in result
        assert "_meta" not in result


@pytest.mark.parametrize("method", [*sorted(LEGACY_ONLY), "nope", "tools/", "TOOLS/LIST", "notifications/initialized"])
def test_methods_that_left_the_protocol_are_unknown_to_modern_requests(server: Server, method: str) -> None:
    """2026-07-28, basic/transports/streamable-http, Protocol Version Header (B80)."""
    error = error_of(server, method, VALID.get(method, {}))
    assert error == {"code": -32601, "message": f"Method not found: {method}"}


@pytest.mark.parametrize("method", ["server/discover", "nope", "resources/subscribe"])
def test_methods_that_only_modern_has_are_unknown_to_legacy_requests(server: Server, method: str) -> None:
    assert error_of(server, method, era="legacy")["code"] == -32601


def test_the_name_of_an_unknown_method_is_not_repeated_without_end(server: Server) -> None:
    assert len(error_of(server, "x" * 100_000)["message"]) < 120


@ERAS
@pytest.mark.parametrize("request_id", ["1", "001", "", "init-1", 0, -5, 1, 2**70, "\ud800"])
def test_an_id_comes_back_as_it_was_in_value_and_type(server: Server, era: str, request_id: str | int) -> None:
    """2026-07-28, basic/index, Result Responses (B43, B45)."""
    answer = ask(server, "tools/list", era=era, request_id=request_id)
    assert type(answer["id"]) is type(request_id)
    assert "id" in ask(server, "nope", era=era, request_id=request_id)


@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/cancelled", "tools/call", "nope", "server/discover"]
)
@ERAS
def test_a_notification_is_never_answered(server: Server, method: str, era: str) -> None:
    message = request(method, era=era)
    del message["id"]
    assert server.handle_message(message) is None


def test_a_response_is_never_answered(server: Server) -> None:
    assert server.handle_message({"jsonrpc": "2.0", "id": 1, "result": {}}) is None


@pytest.mark.parametrize(
    ("message", "identified"),
    [
        ([], False),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], False),
        ("ping", False),
        (5, False),
        (None, False),
        (True, False),
        ({}, False),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, False),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, False),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, False),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, True),
        ({"id": 1, "method": "ping"}, True),
        ({"jsonrpc": "2.0", "id": 1, "method": ""}, True),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, True),
    ],
)
def test_what_is_no_request_is_refused_with_the_id_where_it_can_be_read(
    server: Server, message: Any, identified: bool
) -> None:
    """2026-07-28, basic/index, Requests; batches left in 2025-06-18 (B42, B49)."""
    answer = server.handle_message(message)
    assert answer is not None
    assert answer["error"]["code"] == -32600
    assert ("id" in answer) is identified


# Ill-typed params (B47)


@pytest.mark.parametrize("method", sorted(VALID))
@pytest.mark.parametrize("params", [[], "x", 5, True, [1]])
def test_params_that_are_no_object_are_invalid(server: Server, method: str, params: Any) -> None:
    answer = server.handle_message({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert answer == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32602, "message": '"params" must be an object'},
    }


@pytest.mark.parametrize("method", ["ping", "tools/list", "resources/list", "resources/templates/list", "prompts/list"])
@pytest.mark.parametrize("message", [{}, {"params": None}, {"params": {}}, {"params": {"_meta": None}}])
def test_legacy_methods_without_parameters_take_absent_and_null_params(
    server: Server, method: str, message: dict[str, Any]
) -> None:
    answer = server.handle_message({"jsonrpc": "2.0", "id": 1, "method": method, **message})
    assert answer is not None
    assert "result" in answer


@pytest.mark.parametrize("method", methods("legacy"))
@pytest.mark.parametrize("meta", [[], "x", 5, True])
def test_legacy_meta_that_is_no_object_is_invalid(server: Server, method: str, meta: Any) -> None:
    error = error_of(server, method, {**VALID[method], "_meta": meta}, era="legacy")
    assert error == {"code": -32602, "message": '"params._meta" must be an object'}


@pytest.mark.parametrize("token", [[], {}, 1.5, True])
def test_a_legacy_progress_token_is_a_string_or_an_integer(server: Server, token: Any) -> None:
    error = error_of(server, "ping", {"_meta": {"progressToken": token}}, era="legacy")
    assert error["code"] == -32602
    assert "progressToken" in error["message"]


@pytest.mark.parametrize("method", methods("modern"))
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({PROTOCOL_VERSION: 5}, PROTOCOL_VERSION),
        ({PROTOCOL_VERSION: None}, PROTOCOL_VERSION),
        ({CLIENT_CAPABILITIES: None}, CLIENT_CAPABILITIES),
        ({CLIENT_CAPABILITIES: []}, CLIENT_CAPABILITIES),
        ({CLIENT_CAPABILITIES: {"elicitation": True}}, "elicitation"),
        ({CLIENT_INFO: "c"}, CLIENT_INFO),
        ({CLIENT_INFO: {"name": "c"}}, CLIENT_INFO),
        ({LOG_LEVEL: "verbose"}, LOG_LEVEL),
        ({"progressToken": []}, "progressToken"),
    ],
)
def test_an_ill_typed_envelope_is_refused_before_anything_runs(
    server: Server, method: str, changes: dict[str, Any], named: str
) -> None:
    """2026-07-28, basic/index, Per-request protocol fields (B82)."""
    message = request(method, VALID[method])
    message["params"]["_meta"].update(changes)
    answer = server.handle_message(message)
    assert answer is not None
    assert answer["id"] == 1
    assert answer["error"]["code"] == -32602
    assert named in answer["error"]["message"]


def test_capabilities_are_required_in_the_envelope_and_the_client_s_name_is_not(server: Server) -> None:
    message = request("tools/list")
    assert CLIENT_INFO not in message["params"]["_meta"]
    assert "result" in (server.handle_message(message) or {})
    del message["params"]["_meta"][CLIENT_CAPABILITIES]
    assert (server.handle_message(message) or {})["error"]["code"] == -32602


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-29", "", "1.0", "\ud800"])
def test_a_modern_request_of_another_version_is_refused_with_the_versions_that_are_served(
    server: Server, version: str
) -> None:
    error = error_of(server, "tools/list", version=version)
    assert error["code"] == -32022
    assert error["data"]["requested"] == version
    assert error["data"]["supported"] == list(server.supported_versions)


def test_the_version_is_looked_at_before_the_method(server: Server) -> None:
    """design.md, section 5: the first rung that fails answers."""
    assert error_of(server, "nope", version="2030-01-01")["code"] == -32022


@ERAS
@pytest.mark.parametrize(
    ("method", "member"), [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")]
)
@pytest.mark.parametrize("value", [None, "", 5, [], {}, True])
def test_names_and_uris_are_non_empty_strings(server: Server, era: str, method: str, member: str, value: Any) -> None:
    error = error_of(server, method, {member: value}, era=era)
    assert error == {"code": -32602, "message": f'"params.{member}" must be a non-empty string'}
    assert error_of(server, method, {}, era=era) == error


@ERAS
@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
@pytest.mark.parametrize("arguments", [[], [1], "x", "", 5, 0, True, False])
def test_arguments_are_an_object(server: Server, era: str, method: str, arguments: Any) -> None:
    params = {"name": VALID[method]["name"], "arguments": arguments}
    assert error_of(server, method, params, era=era) == {
        "code": -32602,
        "message": '"params.arguments" must be an object',
    }


@ERAS
@pytest.mark.parametrize("params", [{}, {"arguments": None}, {"arguments": {}}])
def test_absent_and_null_arguments_are_none(server: Server, era: str, params: dict[str, Any]) -> None:
    assert result_of(server, "tools/call", {"name": "nothing", **params}, era=era)["content"] == []
    messages = result_of(server, "prompts/get", {"name": "greet", **params}, era=era)["messages"]
    assert messages[0]["content"]["text"] == "Hello you"


@ERAS
@pytest.mark.parametrize("name", ["nope", "\ud800", "a" * 5000, "add ", "ADD", "__init__"])
def test_an_unknown_tool_or_prompt_is_an_invalid_parameter(server: Server, era: str, name: str) -> None:
    """2026-07-28, server/tools, Error Handling: unknown tools are protocol errors."""
    assert error_of(server, "tools/call", {"name": name}, era=era) == {
        "code": -32602,
        "message": f"Unknown tool: {name[:128]}",
    }
    assert error_of(server, "prompts/get", {"name": name}, era=era)["message"] == f"Unknown prompt: {name[:128]}"


@pytest.mark.parametrize("uri", ["docs://none", "not a uri", "x:y", "http://h", "http://h/", "\ud800", "docs://intro/"])
def test_a_resource_that_is_not_there_has_the_code_of_the_era_and_its_uri_as_it_came(server: Server, uri: str) -> None:
    """2026-07-28, server/resources, Error Handling (B134)."""
    modern = error_of(server, "resources/read", {"uri": uri})
    legacy = error_of(server, "resources/read", {"uri": uri}, era="legacy")
    assert modern == {"code": -32602, "message": "Resource not found", "data": {"uri": uri}}
    assert legacy == {"code": -32002, "message": "Resource not found", "data": {"uri": uri}}


@ERAS
def test_a_variable_that_does_not_fit_its_type_is_an_invalid_parameter(server: Server, era: str) -> None:
    error = error_of(server, "resources/read", {"uri": "orders://x"}, era=era)
    assert error["code"] == -32602
    assert "number" in error["message"]
    assert error["data"] == {"uri": "orders://x"}


# Nothing registered (B132)


@ERAS
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
def test_the_list_of_what_was_never_registered_is_an_unknown_method(era: str, method: str) -> None:
    assert error_of(Server("empty"), method, era=era)["code"] == -32601


@ERAS
def test_completion_is_an_unknown_method_without_completions(era: str) -> None:
    assert error_of(Server("empty"), "completion/complete", era=era)["code"] == -32601


@ERAS
def test_a_capability_that_was_declared_keeps_its_list_when_everything_is_removed(server: Server, era: str) -> None:
    server.remove_tool("add")
    server.remove_tool("nothing")
    assert result_of(server, "tools/list", era=era)["tools"] == []


@pytest.mark.parametrize("level", ["debug", "emergency"])
def test_legacy_clients_may_set_a_level_where_something_can_be_sent(server: Server, level: str) -> None:
    assert result_of(server, "logging/setLevel", {"level": level}, era="legacy", notify=print) == {}


@pytest.mark.parametrize("level", ["verbose", None, 5, [], {}])
def test_an_unknown_level_is_an_invalid_parameter(server: Server, level: Any) -> None:
    error = error_of(server, "logging/setLevel", {"level": level}, era="legacy", notify=print)
    assert error["code"] == -32602
    assert "debug" in error["message"]


def test_without_a_way_to_send_there_is_no_level_to_set(server: Server) -> None:
    """B133."""
    assert error_of(server, "logging/setLevel", {"level": "info"}, era="legacy")["code"] == -32601


# Failures of handlers (B125, B136)


class Interrupting(BaseException):
    pass


FAILURES = [
    KeyError(f"pw={SECRET}"),
    ValueError(SECRET),
    RuntimeError(SECRET),
    StopIteration(SECRET),
    RecursionError(SECRET),
    AssertionError(SECRET),
    asyncio.TimeoutError(SECRET),
    UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET),
    OSError(SECRET),
]


@pytest.fixture
def failing() -> Server:
    server = Server("failing", keys=["k"])
    failure: list[BaseException] = []

    def fail(value: str = "") -> Any:
        raise failure[0]

    server.failure = failure  # type: ignore[attr-defined]
    server.tool(name="fail")(fail)
    server.resource("fail://x", name="fail")(lambda: fail())
    server.prompt(name="fail")(fail)
    server.completion("fail", "value")(fail)
    return server


FAILING = [
    ("tools/call", {"name": "fail"}),
    ("resources/read", {"uri": "fail://x"}),
    ("prompts/get", {"name": "fail"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "fail"}, "argument": {"name": "value", "value": ""}},
    ),
]


@ERAS
@pytest.mark.parametrize(("method", "params"), FAILING)
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_the_text_of_an_exception_goes_to_the_log_under_the_id_in_the_answer(
    failing: Server,
    caplog: pytest.LogCaptureFixture,
    era: str,
    method: str,
    params: dict[str, Any],
    failure: Exception,
) -> None:
    failing.failure[:] = [failure]  # type: ignore[attr-defined]
    with caplog.at_level(logging.ERROR, "mcp_wsgi"):
        answer = ask(failing, method, params, era=era)
    assert "hunter2" not in str(answer)
    assert "Traceback" not in str(answer)
    if method == "tools/call":
        assert answer["result"]["isError"] is True
        told = text_of(answer["result"])
    else:
        assert answer["error"]["code"] == -32603
        assert "data" not in answer["error"]
        told = answer["error"]["message"]
    identifier = re.search(r"id ([0-9a-f]{8})", told)
    assert identifier is not None
    assert f"[{identifier[1]}]" in caplog.text
    assert "Traceback" in caplog.text
    assert "hunter2" in caplog.text


@ERAS
@pytest.mark.parametrize(("method", "params"), FAILING)
def test_the_text_of_a_tool_error_is_told(
    failing: Server, caplog: pytest.LogCaptureFixture, era: str, method: str, params: dict[str, Any]
) -> None:
    failing.failure[:] = [ToolError("Orders are closed on Sundays")]  # type: ignore[attr-defined]
    answer = ask(failing, method, params, era=era)
    assert "Orders are closed on Sundays" in str(answer)
    assert caplog.records == []
    if method != "tools/call":
        assert answer["error"]["code"] == -32602


@ERAS
def test_a_tool_error_without_text_still_says_something(failing: Server, era: str) -> None:
    """B125: never an empty ``isError`` content."""
    failing.failure[:] = [ToolError()]  # type: ignore[attr-defined]
    assert call(failing, "fail", era=era)["content"] == [{"type": "text", "text": "The tool failed."}]


def test_a_cancelled_handler_says_so(failing: Server) -> None:
    failing.failure[:] = [CancelledError("The client cancelled the request")]  # type: ignore[attr-defined]
    assert call(failing, "fail")["isError"] is True


@ERAS
@pytest.mark.parametrize(("method", "params"), FAILING)
@pytest.mark.parametrize("data", [None, {"a": [1]}, "x", 0, False, []])
def test_an_mcp_error_reaches_the_client_as_it_is(
    failing: Server, era: str, method: str, params: dict[str, Any], data: Any
) -> None:
    failing.failure[:] = [MCPError(-31999, "No \ud800 luck", data)]  # type: ignore[attr-defined]
    expected = {"code": -31999, "message": "No \ud800 luck"} | ({} if data is None else {"data": data})
    assert error_of(failing, method, params, era=era) == expected


@ERAS
@pytest.mark.parametrize(("method", "params"), FAILING)
@pytest.mark.parametrize("data", [object(), float("nan"), {"a": {1, 2}}, [b"x"]])
def test_an_mcp_error_with_data_that_is_not_json_loses_the_data_and_not_the_answer(
    failing: Server,
    caplog: pytest.LogCaptureFixture,
    era: str,
    method: str,
    params: dict[str, Any],
    data: Any,
) -> None:
    failing.failure[:] = [MCPError(-31999, "No luck", data)]  # type: ignore[attr-defined]
    error = error_of(failing, method, params, era=era)
    assert error["code"] == -31999
    assert re.fullmatch(r"No luck \(id [0-9a-f]{8}\)", error["message"])
    assert "is not JSON" in caplog.text


@ERAS
@pytest.mark.parametrize(("method", "params"), FAILING)
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), SystemExit(3), Interrupting()])
def test_interrupts_pass_through(
    failing: Server, era: str, method: str, params: dict[str, Any], failure: BaseException
) -> None:
    failing.failure[:] = [failure]  # type: ignore[attr-defined]
    with pytest.raises(type(failure)):
        failing.handle_message(request(method, params, era=era))


@ERAS
def test_a_handler_may_refuse_an_argument_by_its_path(failing: Server, era: str) -> None:
    failing.failure[:] = [ArgumentError("to", "must be after from")]  # type: ignore[attr-defined]
    result = call(failing, "fail", era=era)
    assert text_of(result) == "Invalid arguments for tool 'fail': to: must be after from"


@ERAS
def test_a_handler_may_say_that_a_resource_is_not_there(failing: Server, era: str) -> None:
    failing.failure[:] = [ResourceNotFoundError("fail://x", "No such order")]  # type: ignore[attr-defined]
    error = error_of(failing, "resources/read", {"uri": "fail://x"}, era=era)
    assert error == {
        "code": -32602 if era == "modern" else -32002,
        "message": "No such order",
        "data": {"uri": "fail://x"},
    }


def test_a_lower_error_keeps_its_code_in_both_eras(failing: Server) -> None:
    failing.failure[:] = [UnsupportedVersionError("1", ["2"])]  # type: ignore[attr-defined]
    assert error_of(failing, "tools/call", {"name": "fail"}, era="legacy")["code"] == -32022


def test_a_tool_that_fails_to_encode_says_where(failing: Server) -> None:
    failing.failure[:] = [EncodeError("a.b", "is no number")]  # type: ignore[attr-defined]
    assert "a.b: is no number" in text_of(call(failing, "fail"))


@ERAS
def test_a_filter_that_fails_is_an_internal_error_with_the_id_of_the_request(era: str) -> None:
    """B136: raise inside a tool filter."""
    server = Server("s", keys=["k"])

    def visible(context: Context) -> bool:
        raise RuntimeError(SECRET)

    server.tool(name="t", visible=visible)(lambda: 1)
    server.prompt(name="t", visible=visible)(lambda: "")
    server.resource("r://t", name="t", visible=visible)(lambda: "")
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "t"}),
        ("resources/list", {}),
        ("resources/read", {"uri": "r://t"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "t"}),
        ("initialize", VALID["initialize"]) if era == "legacy" else ("server/discover", {}),
    ):
        error = error_of(server, method, params, era=era)
        assert error["code"] == -32603
        assert "hunter2" not in str(error)


@pytest.mark.parametrize("method", ["tools/list", "completion/complete"])
def test_a_question_where_none_can_be_asked_is_the_server_s_failure(method: str) -> None:
    """2026-07-28, basic/patterns/mrtr: only calls, reads and prompts may require input (B94)."""
    server = Server("s", keys=["k"])

    def question(context: Context) -> Any:
        return context.elicit("Sure?", FORM).accepted

    def complete(value: str, ctx: Context) -> Any:
        return question(ctx)

    server.tool(name="t", visible=question)(lambda: 1)
    server.prompt(name="p")(lambda a="": "")
    server.completion("p", "a")(complete)
    params = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}
    assert error_of(server, method, params if "complete" in method else {}, caps=FORMS)["code"] == -32603


@ERAS
def test_reading_nothing_is_not_found(era: str) -> None:
    """2026-07-28, server/resources: "servers MUST NOT return empty contents"."""
    server = Server("s")
    server.resource("r://t", name="t")(lambda: None)
    error = error_of(server, "resources/read", {"uri": "r://t"}, era=era)
    assert error["code"] == (-32602 if era == "modern" else -32002)
    assert error["data"] == {"uri": "r://t"}


@ERAS
@pytest.mark.parametrize("value", [float("nan"), object(), {"a": float("inf")}, [object()]])
def test_a_resource_or_prompt_that_gives_no_json_is_an_internal_error(
    caplog: pytest.LogCaptureFixture, era: str, value: Any
) -> None:
    server = Server("s")
    server.resource("r://t", name="t")(lambda: value)
    server.prompt(name="p")(lambda: value)
    for method, params in (("resources/read", {"uri": "r://t"}), ("prompts/get", {"name": "p"})):
        error = error_of(server, method, params, era=era)
        assert error["code"] == -32603
        identifier = re.search(r"id ([0-9a-f]{8})", error["message"])
        assert identifier is not None
        assert identifier[1] in caplog.text


def test_the_log_cannot_be_forged_by_a_method_name(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.tool(name="t", visible=lambda ctx: 1 / 0)(lambda: 1)  # type: ignore[arg-type, return-value]
    error_of(server, "tools/call", {"name": "t"})
    assert all("\n" not in record.getMessage() for record in caplog.records)


# Every kind of handler


class Shop:
    def method(self, a: int) -> int:
        return a + 1

    @classmethod
    def of_class(cls, a: int) -> int:
        return a + 1

    @staticmethod
    def static(a: int) -> int:
        return a + 1

    def __call__(self, a: int) -> int:
        return a + 1

    async def coroutine_method(self, a: int) -> int:
        await asyncio.sleep(0)
        return a + 1


class AsyncShop:
    async def __call__(self, a: int) -> int:
        return a + 1


def plain(a: int) -> int:
    return a + 1


def two(b: int, a: int) -> int:
    return a + b


async def coroutine(a: int) -> int:
    await asyncio.sleep(0)
    return a + 1


@functools.wraps(coroutine)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return coroutine(*args, **kwargs)


HANDLERS = {
    "function": plain,
    "method": Shop().method,
    "classmethod": Shop.of_class,
    "staticmethod": Shop.static,
    "callable": Shop(),
    "partial": functools.partial(two, 1),
    "cached": functools.lru_cache(plain),
    "lambda": lambda a: a + 1,
    "async": coroutine,
    "async method": Shop().coroutine_method,
    "async callable": AsyncShop(),
    "wrapped async": wrapped,
    "async partial": functools.partial(coroutine),
    "hidden async": lambda a: coroutine(a),
}


@ERAS
@pytest.mark.parametrize("kind", HANDLERS)
def test_every_kind_of_handler_is_called_the_same_way(era: str, kind: str) -> None:
    server = Server("s")
    server.tool(name="t")(HANDLERS[kind])
    assert text_of(call(server, "t", {"a": 41}, era=era)) == "42"
    mapping = {"name": "m", "handler": lambda arguments, ctx: HANDLERS[kind](a=arguments["a"])}
    server.add_tool(mapping)
    assert text_of(call(server, "m", {"a": 41}, era=era)) == "42"


@ERAS
def test_arguments_that_do_not_fit_are_told_to_the_model(server: Server, era: str) -> None:
    """2026-07-28, server/tools, Error Handling: input validation is a tool execution error (B98)."""
    result = call(server, "add", {"a": "one"}, era=era)
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert text_of(result) == "Invalid arguments for tool 'add': a: expected integer, got string"


@ERAS
def test_a_missing_argument_is_named(server: Server, era: str) -> None:
    assert "a" in text_of(call(server, "add", {}, era=era))


@ERAS
@pytest.mark.parametrize(("method", "params"), [("prompts/get", {"name": "greet", "arguments": {"name": 5}})])
def test_prompt_arguments_are_strings(server: Server, era: str, method: str, params: dict[str, Any]) -> None:
    error = error_of(server, method, params, era=era)
    assert error["code"] == -32602
    assert "'name'" in error["message"]


def test_a_handler_s_meta_is_kept_and_the_identity_is_ours(server: Server) -> None:
    """A gateway may pass on a result whose metadata names the server behind it."""
    other = {SERVER_INFO: {"name": "other", "version": "9"}, "example.com/trace": "t"}
    server.tool(name="meta")(lambda: ToolResult(content=["x"], meta=other))
    assert call(server, "meta")["_meta"] == {
        SERVER_INFO: {"name": "shop", "version": "1.2"},
        "example.com/trace": "t",
    }
    assert call(server, "meta", era="legacy")["_meta"] == other


# Questions at the edge; the rounds themselves are in test_interaction.py


class Question(InputRequired):
    pass


@pytest.mark.parametrize("kind", [InputRequired, Question])
@pytest.mark.parametrize("raised", [True, False])
def test_a_handler_may_return_or_raise_what_it_asks(kind: type[InputRequired], raised: bool) -> None:
    server = Server("s", keys=["k"])

    def asking() -> Any:
        required = kind({"q": elicit_request("Sure?", FORM)})
        if raised:
            raise required
        return required

    server.tool(name="t")(asking)
    server.prompt(name="p")(asking)
    server.resource("r://t")(asking)
    for method, params in (
        ("tools/call", {"name": "t"}),
        ("prompts/get", {"name": "p"}),
        ("resources/read", {"uri": "r://t"}),
    ):
        result = result_of(server, method, params, caps=FORMS)
        assert result["resultType"] == "input_required"
        assert list(result["inputRequests"]) == ["q"]
        assert result["_meta"][SERVER_INFO]["name"] == "s"
        assert not {"content", "contents", "messages", "isError"} & set(result)

        error = error_of(server, method, params)
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}

        answer = ask(server, method, params, era="legacy", caps=FORMS)
        assert "cannot be asked" in str(answer)
        assert ("result" in answer) is (method == "tools/call")


@pytest.mark.parametrize("member", ["requestState", "inputResponses"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "add", "arguments": {"a": 1}}),
        ("prompts/get", {"name": "greet"}),
        ("resources/read", {"uri": "docs://intro"}),
    ],
)
def test_state_and_answers_are_checked_also_where_the_handler_asks_nothing(
    server: Server, method: str, params: dict[str, Any], member: str
) -> None:
    """2026-07-28, basic/patterns/mrtr: "servers MUST always validate that state"."""
    for value in ("forged", "", 5, [], True):
        error = error_of(server, method, {**params, member: value})
        assert error["code"] == -32602
        assert member in error["message"]
    assert "isError" not in result_of(server, method, {**params, member: None})


class OutOfStockError(Exception):
    """An exception of the application."""


def test_the_text_of_an_applications_own_exception_is_told_where_the_server_says_so():
    server = Server("shop", tool_errors=[OutOfStockError])

    @server.tool
    def buy() -> str:
        raise OutOfStockError("No more apples")

    @server.resource("shop://stock")
    def stock() -> str:
        raise OutOfStockError("No stock today")

    assert text_of(call(server, "buy")) == "No more apples"
    assert error_of(server, "resources/read", {"uri": "shop://stock"})["message"] == "No stock today"


def test_tool_errors_are_exception_classes():
    with pytest.raises(ConfigurationError, match="tool_errors"):
        Server("shop", tool_errors=["no"])  # type: ignore[list-item]


def test_what_a_client_sent_makes_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")

    @server.tool
    def echo(key: str) -> dict[str, float]:
        return {key: float("nan")}

    server.handle_message(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"key": "x\nERROR forged\x1b[2J"}},
        }
    )
    (record,) = caplog.records
    assert "forged" in record.getMessage()
    assert record.getMessage().isprintable()
