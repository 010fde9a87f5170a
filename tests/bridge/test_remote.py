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
    InvalidParamsError,
    MCPError,
    MissingClientCapabilityError,
    Server,
    ToolError,
    ToolResult,
    elicit_request,
)
from mcp_wsgi.bridge import connect_servers
from mcp_wsgi.bridge.remote import _logs_to
from mcp_wsgi.client import CallResult, Cancel, Client, LogMessage
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
        client.call_tool("t", meta={"traceparent": {"secret": "s"}, "tracestate": 5, "baggage": "b" * 8193})
    own = [
        {key: value for key, value in each.items() if not key.startswith("io.modelcontextprotocol/")} for each in seen
    ]
    assert own == [trace, {}]


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


@pytest.mark.parametrize("code", [-32042, -32021])
def test_a_server_that_may_not_ask_sends_nobody_anywhere_by_an_error(code: int) -> None:
    elicitation = {"mode": "url", "url": "https://evil.example", "elicitationId": "1", "message": "Log in"}
    gateway = behind({"target": refusing(code, data={"elicitations": [elicitation]}), "questions": False})
    with Client(gateway) as client:
        result = client.call_tool("t")
    assert result.is_error
    assert "evil" not in str(result.raw)


# What the other server asks and logs


def greeter(**options: Any) -> Server:
    def greet(ctx: Context) -> str:
        first = ctx.elicit("What is your first name?", FORM)
        if not first.accepted:
            return f"Nobody: {first.action}"
        last = ctx.elicit("And your last name?", FORM)
        return f"Hello {first.data['name']} {last.data['name']}"

    return one_tool(greet, **options)


def test_a_question_goes_through_to_the_user_and_the_answer_comes_back() -> None:
    asked: list[str] = []

    def answer(question: Any) -> dict[str, Any]:
        asked.append(question.message)
        return {"name": ["Ada", "Lovelace"][len(asked) - 1]}

    with Client(behind(greeter()), elicit=answer) as client:
        assert client.call_tool("t").text == "Hello Ada Lovelace"
    assert asked == ["What is your first name?", "And your last name?"]


def test_a_question_goes_through_two_gateways() -> None:
    with Client(behind(behind(greeter())), elicit=lambda question: {"name": "Ada"}) as client:
        assert client.call_tool("t").text == "Hello Ada Ada"


def test_a_user_may_decline() -> None:
    with Client(behind(greeter()), elicit=lambda question: None) as client:
        assert client.call_tool("t").text in ("Nobody: decline", "Nobody: cancel")


def test_the_other_server_may_ask_what_the_gateway_s_client_declares_and_no_more() -> None:
    seen: list[dict[str, Any]] = []

    def look(ctx: Context) -> str:
        seen.append(dict(ctx.client_capabilities))
        return "ok"

    gateway = behind(one_tool(look), sample=lambda question: None)
    with Client(gateway) as plain, Client(gateway, elicit=lambda question: None, roots=["file:///a"]) as able:
        plain.call_tool("t")
        able.call_tool("t")
    assert seen[0] == {}
    assert set(seen[1]) == {"elicitation", "roots"}


def test_a_client_that_cannot_be_asked_learns_what_it_has_to_declare() -> None:
    with Client(behind(greeter())) as client, pytest.raises(MissingClientCapabilityError) as caught:
        client.call_tool("t")
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


def test_a_server_that_may_ask_nothing_is_told_so_and_so_is_the_model() -> None:
    gateway = behind({"target": greeter(), "questions": False})
    with Client(gateway, elicit=lambda question: {"name": "Ada"}) as client:
        result = client.call_tool("t")
    assert result.is_error
    assert "client capabilities that it does not declare: elicitation" in result.text


def test_the_state_of_the_other_server_is_sealed_in_ours() -> None:
    """B92: what comes back is what was given out, for the same call."""
    with Client(
        behind(
            greeter(),
        ),
        elicit=None,
    ) as client:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": "t",
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
                },
            },
        }
        assert client.era == "modern"
    gateway = behind(greeter())
    first = gateway.handle_message(message)["result"]
    assert first["resultType"] == "input_required"
    (key,) = first["inputRequests"]
    params = message["params"]
    answered = {"inputResponses": {key: {"action": "accept", "content": {"name": "Ada"}}}}
    forged = {**params, **answered, "requestState": first["requestState"][:-2] + "xx"}
    assert gateway.handle_message({**message, "params": forged})["error"]["code"] == -32602
    second = gateway.handle_message(
        {**message, "params": {**params, **answered, "requestState": first["requestState"]}}
    )
    assert next(iter(second["result"]["inputRequests"].values()))["params"]["message"] == "And your last name?"


def test_a_state_is_never_given_to_another_server() -> None:
    """After a change of the servers behind a gateway a tool's name may mean another one."""
    keys = ["k" * 32]
    first = Server("gateway", tools=connect_servers([{"target": greeter(), "id": "one"}]), keys=keys)
    second = Server("gateway", tools=connect_servers([{"target": greeter(), "id": "two"}]), keys=keys)
    current = [first]

    def answer(question: Any) -> dict[str, Any]:
        current[0] = second
        return {"name": "Ada"}

    with Client(lambda message: current[0].handle_message(message), elicit=answer) as client:
        assert list(client.list_tools()) != []
        with pytest.raises(InvalidParamsError, match="belongs to another tool"):
            client.call_tool("t")


def test_a_round_without_questions_goes_through_too() -> None:
    """A server may ask for nothing but another request, with its state."""
    rounds: list[str | None] = []

    def later(ctx: Context) -> Any:
        rounds.append(ctx.request_state)
        return "done" if ctx.request_state == "half" else InputRequired({}, state="half")

    with Client(behind(one_tool(later))) as client:
        assert client.call_tool("t").text == "done"
    assert rounds == [None, "half"]


def test_a_legacy_client_cannot_be_asked_and_is_told_so() -> None:
    with Client(behind(greeter()), protocol_version="2025-11-25", elicit=lambda question: None) as client:
        result = client.call_tool("t")
    assert result.is_error


def test_a_client_of_a_legacy_connection_is_told_when_the_other_server_asks_nevertheless() -> None:
    with Client(behind(refusing_to_end(lambda: None)), protocol_version="2025-11-25") as client:
        result = client.call_tool("t")
    assert result.is_error
    assert "cannot be asked" in result.text


def test_a_log_message_of_a_level_of_its_own_is_one_of_level_info() -> None:
    seen: list[tuple[Any, ...]] = []

    def body(ctx: Context) -> str:
        _logs_to(ctx)(LogMessage(level="verbose", data="odd", logger="engine"))
        return "ok"

    note = lambda message: seen.append((message.level, message.data, message.logger))  # noqa: E731
    with Client(one_tool(body), on_log=note, log_level="debug") as client:
        client.call_tool("t")
    assert seen == [("info", "odd", "engine")]


def test_logs_go_through_to_who_wants_them() -> None:
    def talk(ctx: Context) -> str:
        ctx.debug("small")
        ctx.log("warning", {"big": True}, "engine")
        return "ok"

    gateway = behind(one_tool(talk))
    seen: list[tuple[Any, ...]] = []
    note = lambda message: seen.append((message.level, message.data, message.logger))  # noqa: E731
    with Client(gateway, on_log=note) as quiet:
        quiet.call_tool("t")
    assert seen == []
    with Client(gateway, on_log=note, log_level="info") as curious:
        curious.call_tool("t")
    assert seen == [("warning", {"big": True}, "engine")]
