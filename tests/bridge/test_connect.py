"""Connecting servers: what becomes of their tools, of those that are down, and of the connections."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import ConfigurationError, Context, MCPError, Server, ToolError
from mcp_wsgi.bridge import RemoteTool, ToolList, connect_servers
from mcp_wsgi.client import CallResult, Client
from mcp_wsgi.exceptions import ClientClosedError, ClientError, RequestTimeoutError, UnauthorizedError
from mcp_wsgi.protocol.types import Text
from tests.bridge.support import bridge_threads, closed_port, shop, wait_until, weather
from tests.client.interrupts import interrupted_when
from tests.servers import Running, serve

MODERN = "2026-07-28"


@pytest.fixture(scope="module")
def http() -> Iterator[Running]:
    with serve("waitress", "tests.bridge.apps:application") as running:
        yield running


def by_name(tools: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in tools}


# Tools


def test_a_tool_is_a_plain_mapping() -> None:
    with connect_servers([weather()]) as tools:
        assert isinstance(tools, list)
        tool = by_name(tools)["forecast"]
        assert type(tool) is dict
        handler = tool.pop("handler")
        assert tool == {
            "name": "forecast",
            "title": "Forecast",
            "description": "Say how the weather will be.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            "output_schema": {"type": "object"},
            "annotations": {"readOnlyHint": True},
            "metadata": {"server": "weather", "tool": "forecast"},
            "validate": False,
        }
        assert handler({"city": "Rom"}) == '{"city": "Rom", "degrees": 21.5}'
        assert repr(handler) == "<remote tool 'forecast' of 'weather'>"


def test_only_names_that_collide_begin_with_the_server_s_id() -> None:
    with connect_servers([weather(), shop()]) as tools:
        assert [tool["name"] for tool in tools] == ["forecast", "weather__search", "fail", "shop__search", "count"]
        assert by_name(tools)["shop__search"]["handler"]({"text": "a"}) == "shop: a"
        assert by_name(tools)["weather__search"]["handler"]({"text": "a"}) == "weather: a"


def test_all_names_begin_with_it_where_that_is_asked_for() -> None:
    with connect_servers([weather(), shop()], prefix=True) as tools:
        names = ["weather__forecast", "weather__search", "weather__fail", "shop__search", "shop__count"]
        assert [tool["name"] for tool in tools] == names
    with connect_servers([{"target": weather(), "id": "w", "prefix": True}, shop()]) as tools:
        assert [tool["name"] for tool in tools] == ["w__forecast", "w__search", "w__fail", "search", "count"]
    with connect_servers([{"target": shop(), "prefix": False}], prefix=True) as tools:
        assert [tool["name"] for tool in tools] == ["search", "count"]


def test_a_server_that_calls_itself_like_a_chosen_id_does_not_get_that() -> None:
    with connect_servers([weather(), {"id": "weather", "target": shop()}]) as tools:
        assert tools.clients["weather"].server_info["name"] == "shop"
        assert tools.clients["weather-2"].server_info["name"] == "weather"


def test_of_tools_that_are_left_out_only_some_are_named(caplog: pytest.LogCaptureFixture) -> None:
    tool = {"name": "again", "inputSchema": {"type": "object"}}

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        results = {
            "server/discover": {
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "x", "version": "1"},
            },
            "tools/list": {"tools": [tool] * 500},
        }
        common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return {"jsonrpc": "2.0", "id": message["id"], "result": common | results[message["method"]]}

    with connect_servers([answer]) as tools:
        assert len(tools) == 1
    assert len(caplog.messages) == 21
    assert caplog.messages[-1] == "479 more tools of the server 'x' are left out"


def test_two_servers_of_one_name_have_ids_of_their_own() -> None:
    with connect_servers([shop(), shop()]) as tools:
        assert [tool["name"] for tool in tools][:2] == ["shop__search", "shop__count"]
        assert [tool["name"] for tool in tools][2:] == ["shop-2__search", "shop-2__count"]
        assert list(tools.clients) == ["shop", "shop-2"]


def test_tools_can_be_chosen() -> None:
    with connect_servers([{"target": weather(), "include": ["search", "fail"], "exclude": ["fail"]}, shop()]) as tools:
        assert [tool["name"] for tool in tools] == ["weather__search", "shop__search", "count"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("text", '{"city": "Rom", "degrees": 21.5}'),
        ("structured", {"city": "Rom", "degrees": 21.5}),
        ("content", [Text('{"city": "Rom", "degrees": 21.5}')]),
    ],
)
def test_results_come_in_the_form_that_was_chosen(form: Any, expected: object) -> None:
    with connect_servers([weather()], result=form) as tools:
        assert by_name(tools)["forecast"]["handler"]({"city": "Rom"}) == expected


def test_the_whole_result_is_one_of_the_forms() -> None:
    with connect_servers([weather()], result="result") as tools:
        result = by_name(tools)["fail"]["handler"]({"text": "no"})
        assert isinstance(result, CallResult)
        assert result.is_error
        assert result.text == "no"


def test_a_model_s_call_finds_its_tool() -> None:
    with connect_servers([weather()]) as tools:
        assert tools.call("search", '{"text": "Rom"}') == "weather: Rom"
        with pytest.raises(ToolError, match=r"^storm$"):
            tools.call("fail", {"text": "storm"})


def test_no_servers_have_no_tools() -> None:
    with connect_servers([]) as tools:
        assert tools == []
        assert tools.clients == tools.errors == {}
    assert connect_servers(iter([])) == []


def test_a_server_without_tools_is_connected() -> None:
    server = Server("empty")
    with connect_servers([server], strict=True) as tools:
        assert tools == []
        assert list(tools.clients) == ["empty"]


# MCP Apps


def apps() -> Server:
    server = Server("apps")

    @server.tool(meta={"ui": {"resourceUri": "ui://apps/clock.html"}, "example.com/x": 1})
    def clock() -> str:
        """Show the time."""
        return "noon"

    @server.tool(meta={"io.modelcontextprotocol/ui-resource-uri": "ui://apps/old.html"})
    def old() -> str:
        return "old"

    @server.tool(meta={"ui": {"resourceUri": "ui://apps/clock.html", "visibility": ["app"]}})
    def refresh() -> str:
        """Refresh the clock."""
        return "noon"

    return server


def test_an_interface_is_noted_in_the_description_and_kept_in_the_metadata() -> None:
    with connect_servers([apps()]) as tools:
        clock, old = tools
        assert clock["description"] == (
            "Show the time.\n\n(The server has a user interface for this tool: ui://apps/clock.html)"
        )
        assert clock["metadata"] == {
            "server": "apps",
            "tool": "clock",
            "_meta": {"ui": {"resourceUri": "ui://apps/clock.html"}, "example.com/x": 1},
            "ui": {"resourceUri": "ui://apps/clock.html", "visibility": ["model", "app"]},
        }
        assert old["description"] == "(The server has a user interface for this tool: ui://apps/old.html)"
        assert old["metadata"]["ui"]["resourceUri"] == "ui://apps/old.html"


def test_a_tool_may_say_who_calls_it_without_an_interface() -> None:
    server = Server("s")
    server.tool(name="t", meta={"ui": {"visibility": ["model"]}})(lambda: "ok")
    with connect_servers([server]) as tools:
        assert tools[0]["description"] == ""
        assert tools[0]["metadata"]["ui"] == {"visibility": ["model"]}


def test_who_shows_no_interfaces_promises_none_and_has_no_tools_that_only_they_call() -> None:
    with connect_servers([apps()]) as tools:
        assert [(tool["name"], tool.get("_meta")) for tool in tools] == [("clock", {"example.com/x": 1}), ("old", None)]


def test_who_shows_interfaces_has_all_of_it() -> None:
    with connect_servers([apps()], apps=True) as tools:
        assert [tool["name"] for tool in tools] == ["clock", "old", "refresh"]
        assert all(tool["_meta"] == tool["metadata"]["_meta"] for tool in tools)


# Servers that are down


def dying() -> list[str]:
    return [sys.executable, "-c", "import sys; print('no configuration', file=sys.stderr); sys.exit(3)"]


def test_a_server_that_is_down_is_left_out_and_a_warning_says_why(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a program says when it dies is read when the machine finds the time for it.
    monkeypatch.setattr("mcp_wsgi.transport.stdio._MOMENT", 15)
    servers = [weather(), {"command": dying(), "id": "broken"}]
    with closed_port() as port, connect_servers([f"http://127.0.0.1:{port}/mcp", *servers], timeout=100) as tools:
        assert [tool["name"] for tool in tools] == ["forecast", "search", "fail"]
        assert list(tools.clients) == ["weather"]
        assert list(tools.errors) == ["127-0-0-1", "broken"]
        assert all(isinstance(error, ClientError) for error in tools.errors.values())
    told = [record for record in caplog.records if "is left out" in record.getMessage()]
    assert [record.name for record in told] == ["mcp_wsgi.client"] * 2
    assert "The server '127-0-0-1' is left out" in told[0].getMessage()
    assert "The server 'broken' is left out" in told[1].getMessage()
    assert "no configuration" in told[1].getMessage()
    assert all("\n" not in record.getMessage() for record in told)


def test_a_command_that_does_not_exist_is_left_out() -> None:
    with connect_servers([["mcp-wsgi-no-such-command"], shop()]) as tools:
        assert list(tools.errors) == ["mcp-wsgi-no-such-command"]
        assert [tool["name"] for tool in tools] == ["search", "count"]


def test_a_server_that_refuses_is_left_out(http: Running) -> None:
    with connect_servers([{"url": http.url + "/private", "id": "private"}, {"url": http.url + "/mcp"}]) as tools:
        assert isinstance(tools.errors["private"], UnauthorizedError)
        assert list(tools.clients) == ["remote"]


def test_it_is_an_error_where_that_is_asked_for(http: Running) -> None:
    with pytest.raises(UnauthorizedError):
        connect_servers([{"url": http.url + "/private"}, shop()], strict=True)
    with pytest.raises(ClientError):
        connect_servers([shop(), dying()], strict=True)
    assert bridge_threads() == []


def test_an_error_of_the_protocol_is_a_reason_too() -> None:
    def refuse(message: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message:
            return None
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "out of order"}}

    with connect_servers([refuse]) as tools:
        (error,) = tools.errors.values()
        assert isinstance(error, (MCPError, ClientError))


def test_a_server_that_takes_too_long_is_left_out_in_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]

    def wait_for_the_others(opening: Any, seconds: float) -> Any:
        assert seconds == 1.0
        wait_until(lambda: sum(not each.done() for each in opening) == 1, 30)
        return wait(opening, 0.1)

    monkeypatch.setattr("mcp_wsgi.bridge.connect.wait", wait_for_the_others)
    started = time.monotonic()
    with connect_servers([{"command": silent, "id": "silent"}, shop()], timeout=1.0) as tools:
        assert time.monotonic() - started < 30  # a client's own patience is a minute
        assert isinstance(tools.errors["silent"], RequestTimeoutError)
        assert [tool["name"] for tool in tools] == ["search", "count"]
    assert "The server 'silent' is left out: 'It has not listed its tools within 1 seconds'" in caplog.text
    assert bridge_threads() == []


def test_servers_that_had_to_wait_for_others_keep_their_names() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=32) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/mcp"
        with connect_servers([{"url": url, "id": f"mute{number}"} for number in range(10)], timeout=0.3) as tools:
            assert list(tools.errors) == [f"mute{number}" for number in range(10)]
    assert bridge_threads() == []


def test_a_server_that_is_described_wrongly_is_an_error_before_anything_is_connected() -> None:
    connected: list[object] = []

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        connected.append(message)
        return None

    with pytest.raises(ConfigurationError):
        connect_servers([answer, {"url": "ftp://example.com"}])
    with pytest.raises(ConfigurationError, match="result is one of text, structured, content, result, not 'json'"):
        connect_servers([answer], result="json")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="Unknown options of a client: retries"):
        connect_servers([answer], retries=3)
    for timeout in (0, -1, float("nan")):
        with pytest.raises(ConfigurationError, match="seconds above 0"):
            connect_servers([answer], timeout=timeout)
    assert connected == []


def test_a_fault_of_our_own_function_is_no_server_that_is_down() -> None:
    def broken(message: dict[str, Any]) -> dict[str, Any] | None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        connect_servers([broken, shop()])
    assert bridge_threads() == []


# Tools that cannot be used


def answers(tools: list[Any]) -> Any:
    """A server that lists these tools."""

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message:
            return None
        result: dict[str, Any] = {"resultType": "complete"}
        if message["method"] == "server/discover":
            result |= {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public"}
        else:
            result |= {"tools": tools, "ttlMs": 0, "cacheScope": "public"}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    return answer


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ({"name": "x" * 129, "inputSchema": {"type": "object"}}, "1 to 128 printable characters"),
        ({"name": "bad", "inputSchema": {"type": "array"}}, '"type": "object"'),
        (
            {
                "name": "bad",
                "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "a b"}}},
            },
            "HTTP token",
        ),
        ({"name": "good", "inputSchema": {"type": "object"}}, "another one of that name"),
    ],
)
def test_a_tool_that_cannot_be_served_is_left_out_and_the_others_are_not(
    tool: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"name": "good", "inputSchema": {"type": "object"}}
    with connect_servers([{"target": answers([good, tool]), "id": "odd"}], strict=True) as tools:
        assert [each["name"] for each in tools] == ["good"]
        assert Server("gateway", tools=tools)
    assert "of the server 'odd' is left out" in caplog.text
    assert reason in caplog.text


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://example.com/dialect", "type": "object"},
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"type": "integer"}}},
    ],
)
def test_a_schema_that_we_cannot_check_is_the_other_server_s_to_check(schema: dict[str, Any]) -> None:
    listed = {"name": "t", "inputSchema": schema, "outputSchema": {"$ref": "https://example.com/out.json"}}
    with connect_servers([answers([listed])], strict=True) as tools:
        gateway = Server("gateway", tools=tools)
        assert list(gateway.registries["tools"].view) != []


# Clients, threads, the end


def test_a_client_that_was_given_stays_open() -> None:
    with Client(shop()) as client:
        with connect_servers([client]) as tools:
            assert list(tools.clients.values()) == [client]
        assert [tool.name for tool in client.list_tools()] == ["search", "count"]


def test_a_client_that_was_given_is_left_out_where_it_fails_and_stays_open_too() -> None:
    current: list[Any] = [lambda message: {"error": {"code": -32603, "message": "out of order"}}]
    client = Client(lambda message: current[0](message))
    with connect_servers([client]) as tools:
        assert len(tools.errors) == 1
    current[0] = shop().handle_message
    assert [tool.name for tool in client.list_tools()] == ["search", "count"]
    client.close()


def test_closing_ends_the_connections() -> None:
    tools = connect_servers([shop()])
    handler = by_name(tools)["search"]["handler"]
    tools.close()
    tools.close()
    with pytest.raises(ToolError, match="not available any more: the server 'shop'") as caught:
        handler({"text": "a"})
    assert isinstance(caught.value.__cause__, ClientClosedError)


def test_a_part_of_the_list_is_as_good() -> None:
    handler = next(tool["handler"] for tool in connect_servers([shop()]) if tool["name"] == "search")
    assert isinstance(handler, RemoteTool)
    assert handler({"text": "a"}) == "shop: a"
    handler.client.close()


def test_servers_are_connected_at_the_same_time_and_their_order_stays() -> None:
    together = threading.Barrier(4, timeout=25)

    def slow(name: str) -> Any:
        inner = answers([{"name": name, "inputSchema": {"type": "object"}}])

        def answer(message: dict[str, Any]) -> dict[str, Any] | None:
            if message["method"] == "tools/list":
                together.wait()
            return inner(message)  # type: ignore[no-any-return]

        return answer

    with connect_servers([slow(name) for name in "dbca"]) as tools:
        assert [tool["name"] for tool in tools] == list("dbca")
    assert bridge_threads() == []


def test_more_servers_than_are_connected_at_once() -> None:
    with connect_servers([shop() for _ in range(20)]) as tools:
        assert len(tools.clients) == 20
        assert len({tool["name"] for tool in tools}) == 40


def test_many_threads_may_call(http: Running) -> None:
    with connect_servers([http.url + "/mcp", shop()], prefix=True) as tools:
        given = by_name(tools)
        found: dict[int, list[str]] = {}

        def work(number: int) -> None:
            text = f"n{number}"
            found[number] = [
                given["remote__echo"]["handler"]({"text": text}),
                given["shop__search"]["handler"]({"text": text}),
            ]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert found == {number: [f"n{number}", f"shop: n{number}"] for number in range(20)}


def test_an_interrupt_closes_what_was_opened(tmp_path: Path) -> None:
    """As when somebody presses Control-C while a server is slow: nothing is left."""
    begun = tmp_path / "begun"
    silent = [sys.executable, "-c", f"import sys; open({str(begun)!r}, 'w').close(); sys.stdin.read()"]

    # So long as it has not begun, this thread may not have come to wait for it.
    with pytest.raises(KeyboardInterrupt), interrupted_when(begun.exists):
        connect_servers([silent], probe_timeout=60)
    assert bridge_threads() == []


def test_options_are_for_all_clients_and_those_of_a_server_come_first() -> None:
    seen: list[Any] = []
    server = Server("s")

    @server.tool
    def who(ctx: Context) -> str:
        return str(ctx.client_info["name"])

    first, second = {"name": "all", "version": "1"}, {"name": "one", "version": "1"}
    with connect_servers([server, {"target": server, "client_info": second}], client_info=first) as tools:
        seen += [tool["handler"]() for tool in tools]
    assert seen == ["all", "one"]


def test_the_list_can_be_made_by_hand() -> None:
    tools = ToolList([{"name": "t", "handler": lambda arguments, ctx: arguments}])
    assert tools.call("t", {"a": 1}) == {"a": 1}
    tools.close()
