"""Our client with our five doors, on real servers and in both eras; and one client shared by fifty threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcp_wsgi import InvalidParamsError
from mcp_wsgi.client import CallResult, Client, ReadResult
from mcp_wsgi.exceptions import HeaderMismatchError, RequestTimeoutError
from tests.conformance.serve import DOORS
from tests.patience import wait_until
from tests.servers import Running, serve

pytestmark = pytest.mark.servers

MODERN, LEGACY = "2026-07-28", "2025-11-25"
THREADS = 50
CALLS = 20


@pytest.fixture(scope="module", params=DOORS)
def door(request: pytest.FixtureRequest) -> Iterator[Running]:
    factory, is_asgi = DOORS[request.param]
    target = f"tests.client.doors:{factory}"
    kind, options = ("uvicorn", ["--factory"]) if is_asgi else ("gunicorn-gthread", [])
    with serve(kind, target if is_asgi else f"{target}()", threads=32, options=options) as running:
        yield running


def text_of(result: Any) -> str:
    assert isinstance(result, CallResult)
    assert not result.is_error, result.text
    return result.text


@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_everything_that_is_offered_can_be_used(door: Running, version: str, path: str) -> None:
    with Client(door.url + path, protocol_version=version) as client:
        tools = client.list_tools()
        assert "test_simple_text" in [tool.name for tool in tools]
        assert text_of(client.call_tool("test_simple_text")).startswith("This is a simple text")
        assert text_of(client.call_tool("test_x_mcp_header", {"region": "Łódź, PL"}))
        resource = client.read_resource("test://template/7/data")
        assert isinstance(resource, ReadResult)
        assert "7" in resource.text
        assert client.list_resources()
        assert client.list_resource_templates()
        assert client.list_prompts()
        assert client.get_prompt("test_simple_prompt")
        assert client.complete({"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "arg1", "").values
        with pytest.raises(InvalidParamsError, match="Unknown tool"):
            client.call_tool("no_such_tool")
        assert client.capabilities["tools"] is not None


def test_the_era_is_found_and_progress_logs_and_questions_come(door: Running) -> None:
    progress: list[float] = []
    logs: list[Any] = []
    options: dict[str, Any] = {"on_log": logs.append, "log_level": "debug"}
    with Client(door.url + "/mcp", elicit=lambda question: {"name": "Ada"}, roots=["file:///x"], **options) as client:
        assert (client.era, client.protocol_version) == ("modern", MODERN)
        client.call_tool("test_tool_with_progress", on_progress=lambda report: progress.append(report.progress))
        assert progress == sorted(set(progress))
        assert len(progress) >= 3
        client.call_tool("test_tool_with_logging")
        assert len(logs) >= 3
        assert text_of(client.call_tool("test_input_required_result_elicitation")) == "Hello, Ada!"
        assert "file:///x" in text_of(client.call_tool("test_input_required_result_list_roots"))


def test_changes_are_heard(door: Running) -> None:
    with Client(door.url + "/mcp") as client, client.listen(tools_list_changed=True) as changes:
        client.call_tool("test_trigger_tool_change")
        change = changes.next(30)
        assert change is not None
        assert change.method == "notifications/tools/list_changed"


def test_headers_of_arguments_are_learned_when_the_server_wants_them(door: Running) -> None:
    sent: list[dict[str, str]] = []

    def look(request: Any) -> Any:
        sent.append({name.lower(): value for name, value in request.headers.items()})
        return request

    with Client(door.url + "/mcp", auth=look, verdicts={}) as client:
        # Never listed: sent without, refused with -32020, listed, sent again with.
        text_of(client.call_tool("test_x_mcp_header", {"region": "eu"}))
        assert [each["mcp-method"] for each in sent] == ["server/discover", "tools/call", "tools/list", "tools/call"]
        assert "mcp-param-region" not in sent[1]
        assert sent[3]["mcp-param-region"] == "eu"
        text_of(client.call_tool("test_x_mcp_header", {"region": "us"}))
        assert len(sent) == 5
        with pytest.raises(HeaderMismatchError):
            client.request("tools/call", {"name": "test_x_mcp_header", "arguments": {"region": "eu"}})


def many(client: Client, calls: int = CALLS) -> None:
    """Call from many threads at once, each with arguments of its own, and see that each gets its own answer."""
    begin = threading.Barrier(THREADS, timeout=30)

    def work(number: int) -> int:
        begin.wait()
        right = 0
        for each in range(calls):
            word = f"{number}-{each}"
            right += text_of(client.call_tool("repeat", {"word": word, "times": 2})) == word * 2
        return right

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(work, range(THREADS))) == THREADS * calls


def test_fifty_threads_share_a_client_over_http_without_a_mix_up() -> None:
    with serve("gunicorn-gthread", "tests.apps.interop:application", threads=16) as server:
        with Client(server.url + "/mcp", verdicts={}) as client:
            many(client)
        server.assert_clean()


def test_fifty_threads_share_a_client_over_stdio_without_a_mix_up() -> None:
    there = set(threading.enumerate())
    program = "from mcp_wsgi.stdio import serve_stdio; from tests.apps.interop import server; serve_stdio(server)"
    with Client([sys.executable, "-c", program], verdicts={}) as client:
        many(client)
    wait_until(lambda: set(threading.enumerate()) <= there)


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_a_call_that_takes_too_long_is_given_up(door: Running, version: str) -> None:
    with Client(door.url + "/mcp", protocol_version=version) as client:
        with pytest.raises(RequestTimeoutError):
            client.call_tool("take_some_time", timeout=0.1)
        assert text_of(client.call_tool("test_simple_text"))
