"""The real servers by name: how each is started, what it speaks, and what it offers.

The fixture server in the repository of the official Python SDK is missing: it is not published as a package. The
program `mcp_v2.py` runs on the same release of the SDK instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.real_servers.installing import NPM

__all__ = ["SERVERS", "Call", "News", "RealServer"]

MODERN, LEGACY = "2026-07-28", "2025-11-25"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a tool, and a part of the text that comes back; `steps` are the progress that it reports."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    says: str
    is_error: bool = False
    steps: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class News:
    """What a server tells to those who listen for it, and the call that makes it do so."""

    call: Call
    listens: Mapping[str, Any]
    method: str


@dataclass(frozen=True, kw_only=True)
class RealServer:
    """A server that can be had as a package, or a program of this folder on an SDK.

    Attributes:
        environment: Where its packages are: a file of `packages`, or that of npm.
        words: Its command. In it {home} is the folder of the environment, {bin} that of its scripts, {node} a Node,
            {program} the folder of our programs, {port} a free port, and {folder} a folder with the file hello.txt.
        version: What it agrees on with a client that speaks everything.
        calls: What is called without an answer to a question being needed.
        asks: What is called and asks for the answers that `test_real_servers.py` gives.
        news: What it tells by itself.
        silent: Whether it does not answer what it does not know.
    """

    environment: str
    transport: Literal["http", "sse", "stdio"]
    words: tuple[str, ...]
    version: str
    calls: tuple[Call, ...]
    asks: tuple[Call, ...] = ()
    news: tuple[News, ...] = ()
    silent: bool = False
    resources: Mapping[str, str] = field(default_factory=dict)
    templates: tuple[str, ...] = ()
    prompts: Mapping[str, tuple[Mapping[str, str], str]] = field(default_factory=dict)

    @property
    def modern(self) -> bool:
        return self.version == MODERN


TOOLS_CHANGE = News(
    call=Call(tool="announce", says="announced"),
    listens={"tools_list_changed": True},
    method="notifications/tools/list_changed",
)


def _updated(uri: str, call: Call) -> News:
    return News(call=call, listens={"resources": [uri]}, method="notifications/resources/updated")


def _program(
    environment: str, command: str, version: str, *, steps: bool = True, asks: bool = True, tells: bool = False
) -> RealServer:
    """Describe a program of this folder; they all offer the same, as far as their SDK can."""
    name, transport, *options = command.split()
    start = ("{node}", "{home}/") if name.endswith(".mjs") else ("{bin}/python", "{programs}/")
    words = (start[0], start[1] + name, transport, *(["{port}"] if transport != "stdio" else []), *options)
    if name == "ts_v1.mjs":  # it has one transport only
        words = (*words[:2], *words[3:])
    return RealServer(
        environment=environment,
        transport=transport,  # type: ignore[arg-type]
        words=words,
        version=version,
        calls=(
            Call(tool="repeat", arguments={"word": "ño", "times": 2}, says="ñoño"),
            Call(tool="count", arguments={"to": 3}, says="counted to 3", steps=(1, 2, 3) if steps else ()),
        ),
        asks=(Call(tool="greet_me", says="Hello Zoë"),) if asks else (),
        news=(TOOLS_CHANGE,) if tells else (),
        resources={"fixed://text": "A text that never changes.", "square://12": "144"},
        templates=("square://{number}",),
        prompts={"compliment": ({"name": "Zoë"}, "Say something nice to Zoë.")},
    )


def _programs() -> Iterator[tuple[str, RealServer]]:
    yield "mcp-2.3.0-http", _program("mcp_2_3_0", "mcp_v2.py http", MODERN, tells=True)
    yield "mcp-2.3.0-stdio", _program("mcp_2_3_0", "mcp_v2.py stdio", MODERN, tells=True)
    # Without a session there is nobody to ask, and an answer in JSON has no room for progress or a question.
    none = {"steps": False, "asks": False}
    yield "mcp-1.30.0-http", _program("mcp_1_30_0", "mcp_v1.py http", LEGACY)
    yield "mcp-1.30.0-http-json", _program("mcp_1_30_0", "mcp_v1.py http json", LEGACY, **none)
    yield "mcp-1.30.0-http-stateless", _program("mcp_1_30_0", "mcp_v1.py http stateless", LEGACY, asks=False)
    yield "mcp-1.30.0-http-stateless-json", _program("mcp_1_30_0", "mcp_v1.py http stateless json", LEGACY, **none)
    yield "mcp-1.30.0-sse", _program("mcp_1_30_0", "mcp_v1.py sse", LEGACY)
    yield "mcp-1.30.0-stdio", _program("mcp_1_30_0", "mcp_v1.py stdio", LEGACY)
    yield "mcp-1.12.4-http", _program("mcp_1_12_4", "mcp_v1.py http", "2025-06-18")
    # These could not ask yet, redirect /mcp to /mcp/, and report progress on the stream of the session if there is one.
    yield "mcp-1.9.4-http", _program("mcp_1_9_4", "mcp_v1.py http", "2025-03-26", asks=False)
    yield "mcp-1.9.4-http-stateless", _program("mcp_1_9_4", "mcp_v1.py http stateless", "2025-03-26", **none)
    yield "mcp-1.9.4-stdio", _program("mcp_1_9_4", "mcp_v1.py stdio", "2025-03-26", asks=False)
    # This one falls silent at the probe, and its process can only be replaced.
    silent = _program("mcp_1_9_3", "mcp_v1.py stdio", "2025-03-26", asks=False)
    yield "mcp-1.9.3-stdio", replace(silent, silent=True)
    yield "fastmcp-4.2.3-http", _program("fastmcp_4", "fastmcp_any.py http", MODERN)
    yield "fastmcp-4.2.3-stdio", _program("fastmcp_4", "fastmcp_any.py stdio", MODERN)
    yield "fastmcp-2.14.7-http", _program("fastmcp_2", "fastmcp_any.py http", LEGACY)
    yield "fastmcp-2.14.7-stdio", _program("fastmcp_2", "fastmcp_any.py stdio", LEGACY)
    yield "typescript-1.32.2-http", _program(NPM, "ts_v1.mjs http", LEGACY, tells=True)
    yield "typescript-1.32.2-http-stateless", _program(NPM, "ts_v1.mjs http stateless", LEGACY, asks=False)
    yield "typescript-2.4.0-http", _program(NPM, "ts_v2.mjs http", MODERN, tells=True)
    yield "typescript-2.4.0-http-modern-only", _program(NPM, "ts_v2.mjs http modern-only", MODERN, tells=True)
    yield "typescript-2.4.0-stdio", _program(NPM, "ts_v2.mjs stdio", MODERN, tells=True)


FEATURES = "demo://resource/static/document/features.md"
EVERYTHING = RealServer(
    environment=NPM,
    transport="stdio",
    words=("env", "PORT={port}", "{node}", "{bin}/mcp-server-everything", "stdio"),
    version=LEGACY,
    calls=(
        Call(tool="echo", arguments={"message": "hello"}, says="Echo: hello"),
        Call(tool="get-sum", arguments={"a": 2, "b": 3}, says="5"),
        Call(
            tool="trigger-long-running-operation",
            arguments={"duration": 0.6, "steps": 3},
            says="completed",
            steps=(1, 2, 3),
        ),
        Call(tool="echo", arguments={}, says="", is_error=True),
    ),
    asks=(
        Call(tool="trigger-elicitation-request", says="Zoë"),
        Call(tool="trigger-sampling-request", arguments={"prompt": "Hello?"}, says="You said:"),
        Call(tool="get-roots-list", says="the-root"),
    ),
    news=(_updated(FEATURES, Call(tool="toggle-subscriber-updates", says="Started")),),
    resources={FEATURES: "#"},
    templates=("demo://resource/dynamic/text/{resourceId}",),
    prompts={"simple-prompt": ({}, "prompt"), "args-prompt": ({"city": "Zürich"}, "Zürich")},
)


def _package(environment: str, command: str, version: str, *calls: Call, **offers: Any) -> RealServer:
    words = tuple(command.split())
    return RealServer(environment=environment, transport="stdio", words=words, version=version, calls=calls, **offers)


def _remember(name: str) -> Call:
    entity = {"name": name, "entityType": "person", "observations": ["has a dog"]}
    return Call(tool="create_entities", arguments={"entities": [entity]}, says="has a dog")


def _packages() -> Iterator[tuple[str, RealServer]]:
    yield "npm-everything-stdio", EVERYTHING
    for transport, word in (("http", "streamableHttp"), ("sse", "sse")):
        words = (*EVERYTHING.words[:-1], word)
        yield f"npm-everything-{transport}", replace(EVERYTHING, transport=transport, words=words)  # type: ignore[arg-type]
    yield (
        "npm-filesystem",
        _package(
            NPM,
            "{node} {bin}/mcp-server-filesystem {folder}",
            LEGACY,
            Call(tool="list_allowed_directories", says="{folder}"),
            Call(tool="read_text_file", arguments={"path": "{folder}/hello.txt"}, says="hello from the file"),
            Call(tool="read_text_file", arguments={"path": "/nowhere"}, says="denied", is_error=True),
        ),
    )
    yield (
        "npm-memory",
        _package(
            NPM,
            "env MEMORY_FILE_PATH={folder}/memory.jsonl {node} {bin}/mcp-server-memory",
            LEGACY,
            _remember("Zoë"),
            Call(tool="read_graph", says="Zoë"),
            news=(_updated("memory://knowledge-graph", _remember("Åsa")),),
            resources={"memory://knowledge-graph": "Zoë"},
        ),
    )
    for year, version in (("2026", MODERN), ("2025", LEGACY)):
        environment = f"servers_{year}"
        noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        calls = (
            Call(tool="get_current_time", arguments={"timezone": "UTC"}, says='"timezone": "UTC"'),
            Call(tool="convert_time", arguments=noon, says="21:00"),
        )
        yield f"time-{year}", _package(environment, "{bin}/mcp-server-time", version, *calls)
        log = Call(tool="git_log", arguments={"repo_path": "{folder}"}, says="first")
        yield f"git-{year}", _package(environment, "{bin}/mcp-server-git --repository {folder}", version, log)
        fetch = Call(tool="fetch", arguments={"url": "http://127.0.0.1:9/"}, says="", is_error=True)
        prompts = {"fetch": ({"url": "http://127.0.0.1:9/"}, "127.0.0.1")}
        yield f"fetch-{year}", _package(environment, "{bin}/mcp-server-fetch", version, fetch, prompts=prompts)


SERVERS: dict[str, RealServer] = {**dict(_programs()), **dict(_packages())}
