"""Real servers of both eras, as packages or on the official SDKs, are used in full by a client that is told nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import MCPError
from mcp_wsgi.client import CallResult, Client, ElicitQuestion, Progress, SampleQuestion
from tests.interop.environments import CannotInstall
from tests.real_servers.catalogue import SERVERS, Call, RealServer
from tests.real_servers.installing import install
from tests.real_servers.running import QUIET, Remains, running, values

# The first test installs all the servers, which takes as long as the network does.
pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform != "linux", reason="the Node among the packages is one for Linux"),
]

MARK = "MCP_WSGI_TEST_PEER"
WORDS = {"name": "Zoë", "email": "zoe@example.org", "homepage": "https://example.org", "birthdate": "2000-02-29"}


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A server, a client of it, and what there was before the client."""

    server: RealServer
    client: Client
    folder: Path
    mark: str
    before: Remains

    def expand(self, value: Any) -> Any:
        return json.loads(json.dumps(value).replace("{folder}", str(self.folder)))

    def call(self, call: Call, **options: Any) -> CallResult:
        result = self.client.call_tool(call.tool, self.expand(dict(call.arguments)), **options)
        assert isinstance(result, CallResult)
        return result


@pytest.fixture(scope="module")
def homes(request: pytest.FixtureRequest) -> dict[str, Path]:
    """Install what the selected tests need."""
    names = {item.callspec.params["peer"] for item in request.session.items if "peer" in _parameters(item)}
    try:
        return install(SERVERS[name].environment for name in names)
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


def _parameters(item: Any) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") and item.module.__name__ == __name__ else {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a file, which is also a repository with one commit."""
    path = tmp_path_factory.mktemp("the-root")
    (path / "hello.txt").write_text("hello from the file\n")
    author = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "hello.txt"], ["commit", "-q", "-m", "The first commit"]):
        subprocess.run(["git", "-C", str(path), *author, *words], check=True, capture_output=True, timeout=60)
    return path


@pytest.fixture(scope="module", params=SERVERS)
def peer(
    request: pytest.FixtureRequest, homes: dict[str, Path], folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Peer]:
    server, mark = SERVERS[request.param], f"{MARK}={uuid.uuid4().hex}"
    known = values(server, homes[server.environment], folder)
    log_file = tmp_path_factory.mktemp("log") / "server.txt"
    with running(server, known, log_file) as target:
        before = Remains.now(mark)
        client = Client(
            target,
            env={**QUIET, MARK: mark.partition("=")[2]} if server.transport == "stdio" else None,
            elicit=_elicit,
            sample=_sample,
            roots=[{"uri": folder.as_uri(), "name": "the-root"}],
            timeout=60,
            # A busy machine takes its time to start a server. One that is known to be silent is not waited for as long.
            probe_timeout=3 if server.silent else 60,
            verdicts={},
        )
        with client:
            yield Peer(server=server, client=client, folder=folder, mark=mark, before=before)


def _elicit(question: ElicitQuestion) -> dict[str, Any]:
    """Fill in what has no default; where it has one, the client does."""
    fields = question.schema["properties"]
    return {name: text for name, text in WORDS.items() if name in fields and "default" not in fields[name]}


def _sample(question: SampleQuestion) -> str:
    return f"You said: {question.messages[-1].text}"


def test_the_era_and_the_version_are_found(peer: Peer) -> None:
    assert peer.client.protocol_version == peer.server.version
    assert peer.client.era == ("modern" if peer.server.modern else "legacy")
    assert peer.client.server_info["name"]
    peer.client.ping()


def test_its_tools_are_listed(peer: Peer) -> None:
    tools = {tool.name: tool for tool in peer.client.list_tools()}
    assert tools.keys() >= {call.tool for call in (*peer.server.calls, *peer.server.asks)}
    assert all(tool.input_schema["type"] == "object" for tool in tools.values())


def test_its_tools_are_called(peer: Peer) -> None:
    for call in peer.server.calls:
        result = peer.call(call)
        assert peer.expand(call.says) in result.text
        assert result.is_error is call.is_error


def test_all_its_progress_arrives_and_in_order(peer: Peer) -> None:
    for call in peer.server.calls:
        if call.steps:
            reports: list[Progress] = []
            peer.call(call, on_progress=reports.append)
            assert tuple(report.progress for report in reports) == call.steps
            assert reports[-1].total == call.steps[-1]


def test_what_it_asks_is_answered(peer: Peer) -> None:
    for call in peer.server.asks:
        result = peer.call(call)
        assert peer.expand(call.says) in result.text
        assert not result.is_error


def test_its_changes_are_heard_of(peer: Peer) -> None:
    for news in peer.server.news:
        with peer.client.listen(**news.listens) as listener:
            assert listener.honoured
            assert news.call.says in peer.call(news.call).text
            change = listener.next(60)
            assert change is not None
            assert change.method == news.method


def test_its_resources_are_read(peer: Peer) -> None:
    listed = {resource.uri for resource in peer.client.list_resources()} if peer.server.resources else set()
    templates = {template.uri_template for template in peer.client.list_resource_templates()} if listed else set()
    assert templates >= set(peer.server.templates)
    for uri, text in peer.server.resources.items():
        assert text in peer.client.read_resource(uri).text
        assert uri in listed or templates


def test_its_prompts_are_filled_in(peer: Peer) -> None:
    if peer.server.prompts:
        assert {prompt.name for prompt in peer.client.list_prompts()} >= peer.server.prompts.keys()
    for name, (arguments, text) in peer.server.prompts.items():
        (message, *_) = peer.client.get_prompt(name, arguments).messages
        assert text in message.content.text


def test_a_tool_that_it_does_not_have_is_refused(peer: Peer) -> None:
    try:
        refused = peer.call(Call(tool="no_such_tool", says="")).is_error
    except MCPError as error:
        refused = error.code in {-32601, -32602}
    assert refused


def test_closing_leaves_nothing_behind(peer: Peer) -> None:
    """This is the last test of each server: it closes the client that all of them share."""
    peer.client.connect()
    peer.client.close()
    assert Remains.now(peer.mark).beyond(peer.before, peer.mark) == []
