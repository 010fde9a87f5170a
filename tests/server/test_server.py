"""The server object: its options, and changes while it serves."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from mcp_wsgi import Cancellation, ConfigurationError, Context, Icon, InvalidParamsError, RegistrationError, Server
from mcp_wsgi.protocol.jsonrpc import Request
from mcp_wsgi.server.drive import run_sync

from .wire import ask, call, request, result_of, text_of


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": 5}, "name"),
        ({"page_size": 0}, "page_size"),
        ({"page_size": -1}, "page_size"),
        ({"ttl_ms": -1}, "ttl_ms"),
        ({"state_ttl": 0}, "lifetime"),
        ({"state_ttl": float("nan")}, "lifetime"),
        ({"keys": [""]}, "key"),
        ({"keys": [None]}, "key"),
        ({"keys": [5]}, "key"),
        ({"title": 5}, "title"),
        ({"website_url": 5}, "websiteUrl"),
        ({"icons": ["x"]}, "icons"),
        ({"extensions": {"x": {"a": object()}}}, "object"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        Server(**{"name": "s", **options})


def test_what_was_given_is_not_shared_with_the_caller() -> None:
    extensions = {"example.com/x": {"a": 1}}
    server = Server("s", extensions=extensions)
    extensions["example.com/x"]["a"] = object()  # type: ignore[assignment]
    result_of(server, "server/discover")


def test_tools_can_be_given_at_the_start() -> None:
    server = Server("s", tools=[{"name": "a", "handler": lambda arguments, ctx: "A"}])
    server.add_tool(named)
    assert text_of(call(server, "a")) == "A"
    assert text_of(call(server, "named")) == "N"


def named() -> str:
    return "N"


def test_decorators_give_the_function_back() -> None:
    server = Server("s")
    assert server.tool(named) is named
    assert server.tool(name="other")(named) is named
    assert server.prompt(named) is named
    assert server.prompt(name="other")(named) is named
    assert server.resource("r://x")(named) is named
    assert server.completion("named", "x")(one) is one


def one(value: str) -> list[str]:
    return [value]


def test_the_supported_versions_begin_with_the_newest() -> None:
    assert Server("s").supported_versions[0] == "2026-07-28"
    assert Server("s").supported_versions == tuple(sorted(Server("s").supported_versions, reverse=True))
    assert Server("s", legacy=False).supported_versions == ("2026-07-28",)


def test_a_handler_sees_its_request_and_nobody_else_s() -> None:
    """B36: the context is that of each request."""
    server = Server("s")

    @server.tool
    def who(ctx: Context) -> list[Any]:
        return [ctx.principal, ctx.request, ctx.request_id, ctx.cancelled]

    flag = Cancellation()
    flag.cancel()
    first = call(server, "who", principal="a", request="first", request_id=1)
    second = call(server, "who", principal="b", request="second", request_id="2", cancellation=flag)
    assert text_of(first) == '["a", "first", 1, false]'
    assert text_of(second) == '["b", "second", "2", true]'


def test_a_transport_that_knows_the_era_says_so() -> None:
    server = Server("s")
    bare = Request(7, "tools/list", {})
    with pytest.raises(InvalidParamsError) as caught:
        server.make_context(bare, modern=True)
    assert caught.value.request_id == 7
    assert server.make_context(bare, modern=False).envelope is None
    modern = Request(7, "server/discover", request("server/discover")["params"])
    context = server.make_context(modern)
    assert context.envelope is not None
    assert run_sync(server.steps(context))["result"]["supportedVersions"]


def test_tools_resources_and_prompts_come_and_go_while_serving() -> None:
    server = Server("s")
    server.tool(name="stays")(lambda: "ok")
    stop = threading.Event()
    problems: list[Any] = []

    def change(index: int) -> None:
        number = 0
        while not stop.is_set():
            name = f"t{index}-{number}"
            server.tool(name=name)(lambda: "new")
            server.prompt(name=name)(lambda: "new")
            server.resource(f"r://{name}", name=name)(lambda: "new")
            answer = ask(server, "tools/call", {"name": name})
            if text_of(answer["result"]) != "new":
                problems.append(answer)
            server.remove_tool(name)
            server.remove_prompt(name)
            server.remove_resource(f"r://{name}")
            number += 1

    def read() -> None:
        for _ in range(150):
            for method, member in (
                ("tools/list", "tools"),
                ("prompts/list", "prompts"),
                ("resources/list", "resources"),
            ):
                answer = ask(server, method)
                names = [each["name"] for each in answer.get("result", {member: []})[member]]
                if len(set(names)) != len(names) or (member == "tools" and "stays" not in names):
                    problems.append(answer)

    writers = [threading.Thread(target=change, args=(index,)) for index in range(2)]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    for thread in writers:
        thread.join()
    assert problems == []


def test_capabilities_registered_at_once_are_all_declared() -> None:
    for _ in range(20):
        server = Server("s")
        barrier = threading.Barrier(3)

        def register(part: Any, barrier: Any = barrier) -> None:
            barrier.wait()
            part()

        parts = (
            lambda server=server: server.tool(named),
            lambda server=server: server.prompt(named),
            lambda server=server: server.completion("named", "x")(one),
        )
        threads = [threading.Thread(target=register, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.declared == {"tools", "prompts", "completions"}


def test_a_hidden_template_is_not_found() -> None:
    server = Server("s")
    server.resource("r://{a}", name="a", visible=lambda ctx: False)(lambda a: "hidden")
    server.resource("r://{b}", name="b")(lambda b: "shown")
    assert result_of(server, "resources/read", {"uri": "r://x"})["contents"][0]["text"] == "shown"


def test_icons_are_values() -> None:
    assert Server("s", icons=[Icon("i")]).info["icons"] == [{"src": "i"}]
    with pytest.raises(RegistrationError):
        Server("s", tools=[{"name": ""}])


def test_importing_and_serving_stays_light() -> None:
    """What a sync tool needs imports neither asgiref nor itsdangerous nor jsonschema nor pydantic."""
    program = """
import sys
from mcp_wsgi import Server
server = Server("s")
@server.tool
def add(a: int, b: int) -> int:
    return a + b
answer = server.handle_message(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}
)
assert answer["result"]["content"][0]["text"] == "3"
heavy = {"asgiref", "itsdangerous", "jsonschema", "pydantic", "asyncio", "gevent"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
