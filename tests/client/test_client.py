"""The client's methods against servers in this process: our own, and functions that play one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from mcp_wsgi import (
    Completion,
    ConfigurationError,
    Context,
    Image,
    MCPError,
    Server,
    Text,
    ToolError,
    ToolResult,
)
from mcp_wsgi.client import (
    CallResult,
    Cancel,
    Client,
    ElicitAnswer,
    ElicitQuestion,
    InputRequiredResult,
    LogMessage,
    Progress,
    PromptResult,
    ReadResult,
)
from mcp_wsgi.exceptions import (
    ClientClosedError,
    InvalidParamsError,
    MethodNotFoundError,
    NegotiationError,
    RemoteProtocolError,
    RequestCancelledError,
    ResourceNotFoundError,
)
from tests.patience import wait_until

MODERN, LEGACY = "2026-07-28", "2025-11-25"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


@dataclass
class Order:
    """A form."""

    count: int
    note: str = "none"


def make_server(**options: Any) -> Server:
    server = Server("shop", version="1.2", instructions="Sell.", **options)

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    def fail() -> str:
        raise ToolError("the model may read this")

    @server.tool
    def work(steps: int, ctx: Context) -> str:
        for step in range(steps):
            ctx.report_progress(step + 1, steps, f"step {step + 1}")
            ctx.info(f"did {step + 1}")
        return "done"

    @server.tool
    def wait(ctx: Context) -> str:
        end = time.monotonic() + 30
        while not ctx.cancelled and time.monotonic() < end:
            time.sleep(0.005)
        return "waited"

    @server.tool
    def order(item: Annotated[str, "What"], ctx: Context) -> str:
        answer = ctx.elicit(f"How many of {item}?", Order)
        if answer.action != "accept":
            return f"{answer.action}: none"
        return f"{answer.data.count} {item} ({answer.data.note})"

    @server.tool
    def picture() -> ToolResult:
        return ToolResult(content=[Text("a dot"), Image(b"\x89PNG")], structured={"dots": 1})

    @server.resource("shop://orders/{number}", mime_type="text/plain")
    def read_order(number: int) -> str:
        return f"order {number}"

    @server.resource("shop://logo", mime_type="image/png")
    def logo() -> bytes:
        return b"\x89PNG"

    @server.prompt
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Hello {name}"

    @server.completion("greet", "name")
    def names(value: str) -> Completion:
        return Completion([name for name in ("Ada", "Alan") if name.startswith(value)], total=2, has_more=False)

    return server


@pytest.fixture(params=[MODERN, LEGACY, "2024-11-05"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with Client(make_server(), protocol_version=request.param) as client:
        yield client


# Everything that both eras have


def test_the_lists_are_values(client: Client) -> None:
    tools = client.list_tools()
    assert [tool.name for tool in tools] == ["add", "fail", "work", "wait", "order", "picture"]
    assert tools[0].description == "Add two numbers."
    assert tools[0].input_schema["required"] == ["a", "b"]
    assert tools.next_cursor is None
    assert tools.raw[0]["tools"][0]["name"] == "add"
    assert [each.uri for each in client.list_resources()] == ["shop://logo"]
    assert [each.uri_template for each in client.list_resource_templates()] == ["shop://orders/{number}"]
    assert [(each.name, each.arguments[0].name) for each in client.list_prompts()] == [("greet", "name")]


def test_a_tool_is_called(client: Client) -> None:
    result = client.call_tool("add", {"a": 2, "b": 3})
    assert isinstance(result, CallResult)
    assert (result.text, result.is_error) == ("5", False)
    failed = client.call_tool("fail")
    assert isinstance(failed, CallResult)
    assert (failed.text, failed.is_error) == ("the model may read this", True)
    picture = client.call_tool("picture")
    assert isinstance(picture, CallResult)
    assert picture.content == (Text("a dot"), Image(b"\x89PNG"))
    assert picture.structured == {"dots": 1}


def test_resources_and_prompts_are_read(client: Client) -> None:
    order, logo = client.read_resource("shop://orders/7"), client.read_resource("shop://logo")
    assert isinstance(order, ReadResult)
    assert isinstance(logo, ReadResult)
    assert (order.text, order.contents[0].uri, logo.data) == ("order 7", "shop://orders/7", b"\x89PNG")
    prompt = client.get_prompt("greet", {"name": "Ada"})
    assert isinstance(prompt, PromptResult)
    assert prompt.messages[0].content == Text("Hello Ada")
    found = client.complete({"type": "ref/prompt", "name": "greet"}, "name", "Al", context={"other": "x"})
    assert (found.values, found.total, found.has_more) == (("Alan",), 2, False)


def test_the_server_says_what_it_is(client: Client) -> None:
    assert client.server_info["name"] == "shop"
    assert client.instructions == "Sell."
    assert set(client.capabilities) >= {"tools", "resources", "prompts", "completions"}
    assert client.discover().server_info["version"] == "1.2"
    assert client.era == ("modern" if client.protocol_version == MODERN else "legacy")
    assert client.address == "memory:shop"
    client.ping()
    assert client.request("tools/list")["tools"][0]["name"] == "add"


def test_refusals_are_raised_as_the_server_made_them(client: Client) -> None:
    with pytest.raises(InvalidParamsError, match="Unknown tool: none"):
        client.call_tool("none")
    with pytest.raises(ResourceNotFoundError if client.era == "legacy" else InvalidParamsError) as caught:
        client.read_resource("shop://none")
    assert caught.value.data == {"uri": "shop://none"}
    with pytest.raises(MethodNotFoundError):
        client.request("x/y", {"_meta": {"com.example/a": 1}})
    with pytest.raises(TypeError, match="a mapping, not list"):
        client.call_tool("add", [1, 2])  # type: ignore[arg-type]


def test_progress_is_told_in_the_thread_of_the_call(client: Client) -> None:
    told: list[tuple[float, float | None, str | None, str]] = []

    def take(progress: Progress) -> None:
        told.append((progress.progress, progress.total, progress.message, threading.current_thread().name))

    client.call_tool("work", {"steps": 2}, on_progress=take)
    here = threading.current_thread().name
    assert told == [(1, 2, "step 1", here), (2, 2, "step 2", here)]


def test_what_a_progress_callback_raises_ends_the_call(client: Client) -> None:
    def take(progress: Progress) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        client.call_tool("work", {"steps": 2}, on_progress=take)


def test_a_call_is_given_up_from_another_thread(client: Client) -> None:
    cancel = Cancel()
    timer = threading.Timer(0.05, cancel.cancel)
    timer.start()
    with pytest.raises(RequestCancelledError):
        client.call_tool("wait", cancel=cancel)
    timer.join()
    assert cancel.cancelled
    with pytest.raises(RequestCancelledError):
        client.call_tool("add", {"a": 1, "b": 2}, cancel=cancel)


# Connecting


def test_the_connection_is_made_by_the_first_call_and_only_once() -> None:
    asked: list[str] = []
    server = make_server()

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        asked.append(message["method"])
        return server.handle_message(message)

    client = Client(answer)
    assert asked == []
    client.connect()
    client.connect()
    client.list_tools()
    assert asked == ["server/discover", "tools/list"]
    client.forget()
    client.list_tools()
    assert asked[2:] == ["server/discover", "tools/list"]
    client.close()


def test_a_client_that_was_closed_says_so() -> None:
    client = Client(make_server())
    client.connect()
    client.close()
    client.close()
    for call in (client.connect, client.list_tools, lambda: client.listen(tools_list_changed=True)):
        with pytest.raises(ClientClosedError):
            call()
    never = Client(make_server())
    never.close()
    with pytest.raises(ClientClosedError):
        never.call_tool("add")


def test_closing_ends_calls_that_wait() -> None:
    client = Client(make_server())
    timer = threading.Timer(0.05, client.close)
    timer.start()
    with pytest.raises(ClientClosedError):
        client.call_tool("wait")
    timer.join()


@pytest.mark.parametrize(
    ("target", "options", "text"),
    [
        (5, {}, "not int"),
        ([], {}, "not list"),
        (["a", 1], {}, "not list"),
        ("ftp://example.com", {}, "begins with http:// or https://"),
        ("python server.py", {}, "A command is a list"),
        (["true"], {"headers": {"a": "b"}}, "headers= has no meaning for a command"),
        ("http://127.0.0.1/mcp", {"env": {}}, "env= has no meaning for a URL"),
        (Server("x"), {"auth": ("a", "b")}, "auth= has no meaning"),
        (print, {"cwd": "x"}, "cwd= has no meaning for a function"),
        (Server("x"), {"timeout": 0}, "timeout is a number of seconds above 0"),
        (Server("x"), {"max_rounds": 0}, "max_rounds must be at least 1"),
        (Server("x"), {"log_level": "loud"}, "log_level is one of: debug"),
        (Server("x"), {"client_info": {"name": "x"}}, 'client_info is a mapping with "name" and "version"'),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(target: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        Client(target, **options)


@pytest.mark.parametrize("target", ["ftp://user:pass-word@host/x", "/bin/serve --token pass-word"])
def test_a_target_that_cannot_be_used_is_not_repeated(target: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Client(target)
    assert "pass-word" not in str(caught.value)


def test_a_version_that_is_not_spoken_is_refused_when_it_is_wanted() -> None:
    with pytest.raises(NegotiationError, match="not spoken here"):
        Client(make_server(), protocol_version="2030-01-01").connect()


def test_the_client_says_who_it_is_and_what_it_can_do() -> None:
    seen: list[dict[str, Any]] = []
    server = make_server()

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        seen.append(message)
        return server.handle_message(message)

    with Client(
        answer, client_info={"name": "me", "version": "9"}, roots=["file:///x"], elicit=lambda _: None
    ) as client:
        client.list_tools()
    with Client(answer, protocol_version=LEGACY, client_info={"name": "me", "version": "9"}):
        pass
    meta = seen[1]["params"]["_meta"]
    assert meta[VERSION_KEY] == MODERN
    assert meta["io.modelcontextprotocol/clientInfo"] == {"name": "me", "version": "9"}
    assert set(meta["io.modelcontextprotocol/clientCapabilities"]) == {"roots", "elicitation"}
    hello = next(message for message in seen if message["method"] == "initialize")
    assert hello["params"] == {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "me", "version": "9"},
    }
    assert seen[-1] == {"jsonrpc": "2.0", "method": "notifications/initialized"}


# Lists of several pages


def pages_of(*cursors: Any) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    """Play a legacy server whose pages have these next cursors."""
    left = list(cursors)

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message:
            return None
        if message["method"] == "initialize":
            result: dict[str, Any] = {"protocolVersion": LEGACY, "capabilities": {}}
        else:
            cursor = left.pop(0) if left else None
            result = {"tools": [{"name": f"tool{len(left)}", "inputSchema": {"type": "object"}}], "nextCursor": cursor}
            if cursor is None:
                del result["nextCursor"]
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    return answer


def listed(*cursors: Any, **options: Any) -> Any:
    with Client(pages_of(*cursors), protocol_version=LEGACY, **options) as client:
        return client.list_tools()


def test_pages_are_followed_to_the_end_also_behind_an_empty_cursor() -> None:
    assert len(listed("a", "", "b")) == 4
    assert len(listed(None)) == 1
    assert len(listed(5)) == 1  # no string is no cursor


def test_a_cursor_that_repeats_and_too_many_pages_end_the_list_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    found = listed("a", "b", "a", "b")
    assert len(found) == 3
    assert "repeats a cursor" in caplog.text
    found = listed("a", "b", "c", "d", max_pages=2)
    assert (len(found), found.next_cursor) == (2, "b")
    assert "has more than 2 pages" in caplog.text


def test_a_list_that_is_too_large_ends_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp_wsgi.client.lists.MAX_LIST_SIZE", 150)
    found = listed("a", "b", "c", "d")
    assert (len(found), found.next_cursor) == (2, "b")
    assert "pages of" in caplog.text


def test_one_page_can_be_fetched_by_itself() -> None:
    server = make_server(page_size=2)
    with Client(server) as client:
        first = client.list_tools(follow=False)
        assert len(first) == 2
        second = client.list_tools(cursor=first.next_cursor, follow=False)
        assert [tool.name for tool in second] == ["work", "wait"]
        assert len(client.list_tools()) == 6


# Results that are none


def scripted(*results: Any, version: str = MODERN) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    """Play a modern server with these results, or errors, one after the other; the requests are in `asked`."""
    left = list(results)

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message:
            return None
        if message["method"] == "server/discover":
            return {"jsonrpc": "2.0", "id": message["id"], "result": {"supportedVersions": [version]}}
        asked.append(message)
        given = left.pop(0)
        return {"jsonrpc": "2.0", "id": message["id"], **(given if "error" in given else {"result": given})}

    asked: list[dict[str, Any]] = []
    answer.asked = asked  # type: ignore[attr-defined]
    return answer


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"resultType": "other"}, "of the unknown type 'other'"),
        ({"resultType": 5}, "of the unknown type"),
        ({"tools": 5}, 'has no list of "tools"'),
        ({}, 'has no list of "tools"'),
        ({"resultType": "input_required", "requestState": "x"}, "unknown type 'input_required'"),
        (None, "is not an object"),
        ([], "is not an object"),
    ],
)
def test_a_list_that_is_none_is_an_error(result: Any, text: str) -> None:
    server = scripted()

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if message["method"] == "tools/list":
            return {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return server(message)

    with Client(answer) as client, pytest.raises(RemoteProtocolError, match=text):
        client.list_tools()


def test_a_result_that_cannot_be_read_is_an_error() -> None:
    with Client(scripted({"contents": 5})) as client, pytest.raises(RemoteProtocolError, match="cannot be read"):
        client.read_resource("x://y")


def test_an_error_is_raised_with_its_code_and_data() -> None:
    server = scripted({"error": {"code": 42, "message": "No", "data": [1]}})
    with Client(server) as client, pytest.raises(MCPError) as caught:
        client.call_tool("x")
    assert (caught.value.code, caught.value.data) == (42, [1])


# Questions of a modern server


def test_a_question_is_answered_and_the_call_goes_on() -> None:
    asked: list[str] = []

    def elicit(question: ElicitQuestion) -> dict[str, Any]:
        asked.append(question.message)
        return {"count": 3}

    with Client(make_server(keys=["k"]), elicit=elicit) as client:
        result = client.call_tool("order", {"item": "eggs"})
    assert isinstance(result, CallResult)
    assert result.text == "3 eggs (none)"
    assert asked == ["How many of eggs?"]


def test_a_question_can_be_declined() -> None:
    with Client(make_server(keys=["k"]), elicit=lambda question: ElicitAnswer("decline")) as client:
        result = client.call_tool("order", {"item": "eggs"})
    assert isinstance(result, CallResult)
    assert result.text == "decline: none"


def test_a_question_for_nobody_is_returned_as_it_is() -> None:
    required = {
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}},
        "requestState": "state",
    }
    with Client(scripted(required)) as client:
        result = client.call_tool("x")
    assert isinstance(result, InputRequiredResult)
    assert result.state == "state"
    assert result.requests["q"]["method"] == "elicitation/create"


def test_the_state_is_echoed_untouched_and_each_round_is_a_request_of_its_own() -> None:
    form = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object"}}}
    rounds = [
        {"resultType": "input_required", "inputRequests": {"q": form}, "requestState": " st\u00e4te\n"},
        {"resultType": "input_required", "inputRequests": {"r": form}},
        {"resultType": "input_required", "requestState": ""},
        {"content": []},
    ]
    server = scripted(*rounds)
    with Client(server, elicit=lambda question: {}) as client:
        client.call_tool("x", {"a": 1})
    sent = [message["params"] for message in server.asked]  # type: ignore[attr-defined]
    assert "requestState" not in sent[0]
    assert "inputResponses" not in sent[0]
    assert sent[1]["requestState"] == " st\u00e4te\n"
    assert set(sent[1]["inputResponses"]) == {"q"}
    assert "requestState" not in sent[2]  # none was sent with the second round
    assert set(sent[2]["inputResponses"]) == {"r"}
    assert sent[3]["requestState"] == ""
    assert "inputResponses" not in sent[3]
    assert all(params["arguments"] == {"a": 1} for params in sent)
    assert len({message["id"] for message in server.asked}) == 4  # type: ignore[attr-defined]


def test_rounds_have_an_end() -> None:
    again = {"resultType": "input_required", "requestState": "x"}
    with (
        Client(scripted(*[again] * 5), max_rounds=3) as client,
        pytest.raises(RemoteProtocolError, match="more than 3"),
    ):
        client.call_tool("x")


def test_a_round_that_asks_nothing_is_an_error() -> None:
    with (
        Client(scripted({"resultType": "input_required"})) as client,
        pytest.raises(RemoteProtocolError, match="wants"),
    ):
        client.call_tool("x")


# Log messages


def test_log_messages_come_at_the_level_that_was_asked_for() -> None:
    got: list[tuple[str, Any]] = []
    raw: list[str] = []

    def take(log: LogMessage) -> None:
        got.append((log.level, log.data))

    options: dict[str, Any] = {"on_log": take, "on_notification": lambda message: raw.append(message["method"])}
    with Client(make_server(), log_level="info", **options) as client:
        client.call_tool("work", {"steps": 1})
        client.set_log_level("error")
        client.call_tool("work", {"steps": 1})
        with pytest.raises(ValueError, match="The level is one of"):
            client.set_log_level("loud")
    assert got == [("info", "did 1")]
    assert raw == ["notifications/message"]


def test_a_legacy_server_is_asked_for_log_messages_by_a_request_of_its_own() -> None:
    asked: list[Any] = []

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        asked.append((message["method"], message.get("params", {}).get("level")))
        if "id" not in message:
            return None
        if message["method"] == "initialize":
            result: dict[str, Any] = {"protocolVersion": LEGACY, "capabilities": {"logging": {}}}
            return {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if message.get("params", {}).get("level") == "debug":
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "No"}}
        return {"jsonrpc": "2.0", "id": message["id"], "result": {}}

    with Client(answer, protocol_version=LEGACY, log_level="info") as client:
        client.set_log_level("error")
        with pytest.raises(InvalidParamsError):
            client.set_log_level("debug")
    assert [level for method, level in asked if method == "logging/setLevel"] == ["info", "error", "debug"]


# Output schemas and the cache


def test_results_are_checked_against_the_output_schema_when_that_is_wanted() -> None:
    tool = {
        "name": "x",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    }
    right = {"content": [], "structuredContent": {"n": 1}}
    wrong = {"content": [], "structuredContent": {"n": "1"}}
    with Client(scripted({"tools": [tool]}, right, wrong, wrong), validate_output=True) as client:
        client.call_tool("x")
        with pytest.raises(RemoteProtocolError, match="n"):
            client.call_tool("x")
        client.call_tool("x", validate_output=False)
    with Client(scripted({"tools": []}, wrong)) as client:
        client.call_tool("y", validate_output=True)  # a tool that is not listed has no schema


def test_results_are_kept_as_long_as_the_server_says_and_until_it_says_otherwise() -> None:
    server = make_server(ttl_ms=60_000)
    asked: list[str] = []

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        asked.append(message["method"])
        return server.handle_message(message)

    with Client(answer, cache=True) as client:
        for _ in range(3):
            client.list_tools()
            client.read_resource("shop://orders/7")
        assert asked.count("tools/list") == 1
        assert asked.count("resources/read") == 1
        client.forget()
        client.list_tools()
        assert asked.count("tools/list") == 2
    with Client(answer) as client:
        client.list_tools()
        client.list_tools()
    assert asked.count("tools/list") == 4


def test_what_an_answer_made_of_a_result_is_not_kept_for_others() -> None:
    server = make_server(ttl_ms=60_000, keys=["k"])

    @server.resource("shop://mine/{item}")
    def mine(item: str, ctx: Context) -> str:
        answer = ctx.elicit("Who are you?", {"type": "object", "properties": {"name": {"type": "string"}}})
        return f"{item} of {answer.data}"

    names = iter(["Ada", "Bob"])
    with Client(server, cache=True, elicit=lambda question: {"name": next(names)}) as client:
        read = [client.read_resource("shop://mine/hat") for _ in range(2)]
    assert [each.text for each in read if isinstance(each, ReadResult)] == [
        "hat of {'name': 'Ada'}",
        "hat of {'name': 'Bob'}",
    ]


# Changes


def test_changes_are_listened_for() -> None:
    server = make_server()
    with Client(server, on_notification=lambda message: None) as client:
        with client.listen(tools_list_changed=True, resources=["shop://orders/7"]) as listener:
            assert listener.honoured == {"toolsListChanged": True, "resourceSubscriptions": ["shop://orders/7"]}
            assert listener.next(0.01) is None
            server.notify_tools_changed()
            change = listener.next(30)
            assert change is not None
            assert change.method == "notifications/tools/list_changed"
            server.notify_resource_updated("shop://orders/7")
            change = next(iter(listener))
            assert (change.method, change.uri) == ("notifications/resources/updated", "shop://orders/7")
            server.close()
            assert list(listener) == []
            assert listener.closed
        with pytest.raises(ConfigurationError, match="Say what to listen for"):
            client.listen()


def test_a_listener_is_ended_by_its_client() -> None:
    client = Client(make_server())
    listener = client.listen(tools_list_changed=True)
    client.close()
    with pytest.raises(ClientClosedError):
        list(listener)
    assert list(listener) == []
    listener.close()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name == "mcp-client-listen"])


def test_a_refused_subscription_is_raised() -> None:
    with Client(scripted({"error": {"code": -32601, "message": "No"}})) as client, pytest.raises(MethodNotFoundError):
        client.listen(prompts_list_changed=True)
