"""One call of a remote tool: by a program, and for the client of a gateway."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcp_wsgi import (
    CancelledError,
    Context,
    Image,
    InputRequired,
    MCPError,
    Server,
    ToolError,
    ToolResult,
    elicit_request,
)
from mcp_wsgi.bridge import connect_servers
from mcp_wsgi.client import CallResult, Cancel, Client
from mcp_wsgi.exceptions import RequestCancelledError
from tests.bridge.support import shop, weather

MODERN = "2026-07-28"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def of(server: Any, **options: Any) -> Callable[..., Any]:
    """The handler of a server's only tool."""
    (tool,) = connect_servers([server], strict=True, **options)
    handler: Callable[..., Any] = tool["handler"]
    return handler


def one_tool(function: Callable[..., Any], **options: Any) -> Server:
    server = Server("inner", **options)
    server.tool(name="t")(function)
    return server


def behind(server: Any, **options: Any) -> Server:
    """A gateway in front of a server."""
    return Server("gateway", tools=connect_servers([server], strict=True, **options))


def refusing(code: int, message: str = "It is refused", data: Any = None) -> Any:
    """A server whose tool is always answered with an error."""

    def answer(message_in: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message_in:
            return None
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message_in["id"]}
        common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        if message_in["method"] == "server/discover":
            answer["result"] = {**common, "supportedVersions": [MODERN], "capabilities": {"tools": {}}}
        elif message_in["method"] == "tools/list":
            answer["result"] = {**common, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        else:
            answer["error"] = {"code": code, "message": message, **({} if data is None else {"data": data})}
        return answer

    return answer


# For a program


def test_progress_is_reported_to_who_wants_it() -> None:
    (_, tool) = connect_servers([shop()])
    seen: list[tuple[float, float | None, str | None]] = []
    handler = tool["handler"]
    assert (
        handler({"to": 2}, on_progress=lambda report: seen.append((report.progress, report.total, report.message)))
        == "2"
    )
    assert seen == [(1, 2, "number 1"), (2, 2, "number 2")]


def test_arguments_may_be_left_out() -> None:
    assert of(one_tool(lambda: "ok"))() == "ok"
    assert of(one_tool(lambda: "ok"))(None, None) == "ok"


def test_a_context_of_something_else_is_not_looked_at() -> None:
    assert of(one_tool(lambda: "ok"))({}, object()) == "ok"


def test_an_error_of_the_protocol_is_told_to_the_model() -> None:
    for code in (-32602, -32603, -32000, -32021, 5):
        with pytest.raises(ToolError, match=r"^It is refused$") as caught:
            of(refusing(code))({})
        assert isinstance(caught.value.__cause__, MCPError)
    with pytest.raises(ToolError, match=r"^The tool failed\.$"):
        of(refusing(-32603, ""))({})


def test_a_question_that_nobody_answers_is_told_to_the_model() -> None:
    def ask() -> Any:
        return InputRequired({}, state="later")

    with pytest.raises(ToolError, match="asks for something that nobody here can answer"):
        of(refusing_to_end(ask))({})


def refusing_to_end(ask: Callable[[], Any]) -> Any:
    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if message["method"] == "tools/call":
            request = {"method": "elicitation/create", "params": elicit_request("Who?", FORM)["params"]}
            result = {"resultType": "input_required", "inputRequests": {"q": request}, "requestState": "s"}
            return {"jsonrpc": "2.0", "id": message["id"], "result": result}
        found: dict[str, Any] | None = refusing(0)(message)
        return found

    return answer


def test_a_question_is_answered_by_a_handler_that_was_given() -> None:
    def greet(ctx: Context) -> str:
        return f"Hello {ctx.elicit('Who?', FORM).data['name']}"

    handler = of(one_tool(greet), elicit=lambda question: {"name": "Ada"})
    assert handler({}) == "Hello Ada"


# Through a gateway


def test_a_gateway_lists_what_the_other_server_lists() -> None:
    inner = weather()
    with Client(inner) as direct, Client(behind(inner)) as through:
        before = [{**tool.raw} for tool in direct.list_tools()]
        assert [{**tool.raw} for tool in through.list_tools()] == before


def test_mirrored_arguments_stay_mirrored() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    inner = Server("inner", tools=[{"name": "t", "parameters": schema, "handler": lambda arguments, ctx: "ok"}])
    gateway = behind(inner)
    (tool,) = gateway.registries["tools"].view
    assert [header.name for header in tool.param_headers] == ["Region"]
    with Client(gateway) as client:
        assert client.call_tool("t", {"region": "eu"}).text == "ok"


def results(function: Callable[..., Any], version: str | None = None, **options: Any) -> tuple[CallResult, CallResult]:
    """What a tool gives directly, and through a gateway."""
    inner = one_tool(function)
    with (
        Client(inner, protocol_version=version) as direct,
        Client(behind(inner, **options), protocol_version=version) as through,
    ):
        return direct.call_tool("t"), through.call_tool("t")


def numbers() -> list[int]:
    return [1, 2]


def nothing() -> dict[str, int] | None:
    return None


@pytest.mark.parametrize("version", [MODERN, "2025-11-25"])
@pytest.mark.parametrize(
    "function",
    [
        lambda: "text",
        lambda: {"a": [1, {"b": None}]},
        numbers,
        nothing,
        lambda: [Image(b"\x00\x01"), "and text"],
        lambda: ToolResult(content=["shown"], structured={"a": 1}, meta={"example.com/x": 1}),
        lambda: ToolResult(content=["it failed"], is_error=True),
    ],
)
def test_a_result_is_the_same_through_a_gateway(function: Any, version: str) -> None:
    direct, through = results(function, version)
    strip = lambda result: {**result.raw, "_meta": {**result.meta, "io.modelcontextprotocol/serverInfo": None}}  # noqa: E731
    assert strip(through) == strip(direct)


@pytest.mark.parametrize("form", ["text", "structured", "content", "result"])
def test_the_form_for_programs_does_not_change_it(form: Any) -> None:
    direct, through = results(numbers, result=form)
    assert through.structured == direct.structured == [1, 2]


def test_wrong_arguments_are_refused_by_the_other_server() -> None:
    def double(number: int) -> int:
        return 2 * number

    with Client(behind(one_tool(double))) as client:
        result = client.call_tool("t", {"number": "two"})
        assert result.is_error
        assert "number: expected integer" in result.text


def test_progress_goes_through() -> None:
    seen: list[tuple[float, float | None, str | None]] = []
    with Client(behind(shop())) as client:
        result = client.call_tool(
            "count", {"to": 2}, on_progress=lambda report: seen.append((report.progress, report.total, report.message))
        )
    assert result.text == "2"
    assert seen == [(1, 2, "number 1"), (2, 2, "number 2")]


def test_without_a_wish_for_it_the_other_server_is_not_asked_for_progress() -> None:
    tokens: list[Any] = []

    def look(ctx: Context) -> str:
        tokens.append(ctx.meta.get("progressToken"))
        return "ok"

    with Client(behind(one_tool(look))) as client:
        client.call_tool("t")
        client.call_tool("t", on_progress=lambda report: None)
    assert tokens[0] is None
    assert tokens[1] is not None


def test_only_the_trace_of_a_request_goes_on() -> None:
    seen: list[dict[str, Any]] = []

    def look(ctx: Context) -> str:
        seen.append(dict(ctx.meta))
        return "ok"

    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "baggage": "a=b"}
    with Client(behind(one_tool(look))) as client:
        client.call_tool("t", meta={**trace, "example.com/secret": "s"})
    assert {key: value for key, value in seen[0].items() if not key.startswith("io.modelcontextprotocol/")} == trace


def test_cancelling_reaches_the_other_server() -> None:
    started, seen = threading.Event(), []
    stopped = threading.Event()

    def wait(ctx: Context) -> str:
        started.set()
        for _ in range(1000):
            if ctx.cancelled:
                seen.append("cancelled")
                stopped.set()
                break
            stopped.wait(0.01)
        return "ended"

    cancel = Cancel()
    with Client(behind(one_tool(wait))) as client:
        threading.Thread(target=lambda: (started.wait(10), cancel.cancel())).start()
        with pytest.raises(RequestCancelledError):
            client.call_tool("t", cancel=cancel)
    assert stopped.wait(10)
    assert seen == ["cancelled"]


def test_a_call_that_was_cancelled_ends_like_one_of_our_own() -> None:
    handler = of(one_tool(lambda: "ok"))
    outcome: list[object] = []

    def call(ctx: Context) -> str:
        ctx.cancel()
        with pytest.raises(CancelledError):
            handler({}, ctx)
        outcome.append("raised")
        return "ok"

    with Client(one_tool(call)) as client:
        client.call_tool("t")
    assert outcome == ["raised"]


def test_a_server_that_is_gone_is_an_error_for_the_model_without_details() -> None:
    tools = connect_servers([shop()])
    with Client(Server("gateway", tools=tools)) as client:
        tools.close()
        result = client.call_tool("search", {"text": "a"})
    assert result.is_error
    assert result.text == "This is not available any more: the server 'shop'."


@pytest.mark.parametrize("code", [-32602, -32603, -32600, -32000])
def test_an_error_of_the_protocol_is_an_error_for_the_model_of_the_gateway_s_client(code: int) -> None:
    with Client(behind(refusing(code))) as client:
        result = client.call_tool("t")
    assert result.is_error
    assert result.text == "It is refused"


@pytest.mark.parametrize(("code", "data"), [(-32042, {"elicitations": []}), (5, [1]), (-31999, None), (-32769, None)])
def test_an_error_that_a_program_acts_on_stays_one(code: int, data: Any) -> None:
    with Client(behind(refusing(code, data=data))) as client, pytest.raises(MCPError, match="It is refused") as caught:
        client.call_tool("t")
    assert caught.value.code == code
    assert caught.value.data == data
