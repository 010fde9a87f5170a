"""A server with something of everything that a server can send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mcp_wsgi import (
    Annotations,
    Audio,
    Completion,
    Context,
    EmbeddedResource,
    Icon,
    Image,
    InputRequired,
    MCPError,
    Message,
    ResourceContents,
    ResourceLink,
    Server,
    Text,
    ToolError,
    ToolResult,
    elicit_request,
    roots_request,
)

__all__ = ["CONTENT", "build_server"]

_ICON = Icon("https://example.com/i.png", "image/png", ("48x48",), "light")
_NOTES = Annotations(audience=("user",), priority=0.5, last_modified="2025-01-12T15:00:58Z")

#: One value of each content kind, and the first revision that knows the kind.
CONTENT: dict[str, tuple[Any, str]] = {
    "text": (Text("t", annotations=_NOTES, meta={"a/b": 1}), "2024-11-05"),
    "image": (Image(b"\x89PNG", annotations=_NOTES), "2024-11-05"),
    "blob": (EmbeddedResource(ResourceContents(b"\0", "x:blob"), annotations=_NOTES), "2024-11-05"),
    "embedded": (EmbeddedResource(ResourceContents("t", "x:text", "text/plain", {"a": 1})), "2024-11-05"),
    "audio": (Audio(b"RIFF", meta={}), "2025-03-26"),
    "link": (ResourceLink("x:y", "y", "Y", "why", "text/plain", 3, (_ICON,), annotations=_NOTES), "2025-06-18"),
}


@dataclass(frozen=True)
class Weather:
    """The weather."""

    temperature: float
    conditions: Literal["sunny", "cloudy"]
    wind: list[int] | None = None


@dataclass(frozen=True)
class Contact:
    """How to reach somebody."""

    name: str
    age: int = 0
    newsletter: bool = False
    size: Literal["s", "m"] = "s"


def build_server(*, page_size: int | None = 2, legacy: bool = True) -> Server:
    """Build the server; each group of definitions is registered by its own function."""
    server = Server(
        "rich",
        version="1.0",
        title="Rich",
        description="Everything",
        website_url="https://example.com",
        icons=[_ICON],
        instructions="Ask for anything.",
        page_size=page_size,
        ttl_ms=1000,
        keys=["a key for these tests"],
        legacy=legacy,
        extensions={"com.example/x": {"a": 1}},
    )
    _add_tools(server)
    _add_content_tools(server)
    _add_questions(server)
    _add_resources(server)
    _add_prompts(server)
    return server


def _add_tools(server: Server) -> None:
    @server.tool(title="Add", read_only=True, idempotent=True, destructive=False, open_world=False, icons=[_ICON])
    def add(a: int, b: float = 0) -> float:
        """Add two numbers.

        Args:
            a: The first one.
            b: The second one.
        """
        return a + b

    @server.tool(meta={"com.example/a": [1]})
    def weather(place: str | None = None) -> Weather:
        return Weather(21.5, "sunny", [1, 2])

    @server.tool
    def numbers() -> list[int]:
        return [1, 2, 3]

    @server.tool
    def nothing() -> None:
        return None

    @server.tool
    def anything(value: Any) -> Any:
        return value

    @server.tool
    def full() -> ToolResult:
        return ToolResult(content=["t", Image(b"")], structured={"a": 1}, meta={"com.example/b": None})

    @server.tool
    def refuses() -> str:
        raise ToolError("Not today")

    @server.tool
    def breaks() -> str:
        raise KeyError("secret")

    @server.tool
    def protocol_error() -> str:
        raise MCPError(-31999, "Of my own", {"why": ["x"]})

    @server.tool
    def not_json() -> dict[str, float]:
        return {"m": float("nan")}

    @server.tool
    def surrogate() -> str:
        return "a\ud800b\u2028"

    @server.tool
    async def work(steps: int, ctx: Context) -> int:
        for step in range(steps):
            ctx.report_progress(step, steps, f"step {step}")
            ctx.report_progress(step)
            ctx.log("warning", {"step": step}, "work")
            ctx.debug("not wanted")
        return steps

    server.add_tool(
        {
            "name": "mapped",
            "title": "Mapped",
            "parameters": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
                "required": ["region"],
            },
            "output_schema": {"type": "array", "items": {"type": "string"}},
            "annotations": {"readOnlyHint": True},
            "handler": lambda arguments, ctx: [arguments["region"]],
        }
    )


def _add_content_tools(server: Server) -> None:
    def add(kind: str, value: Any) -> None:
        server.add_tool({"name": f"give_{kind}", "handler": lambda arguments, ctx: value})
        server.add_tool({"name": f"mix_{kind}", "handler": lambda arguments, ctx: ["plain", value, {"a": 1}]})

    for kind, (value, _) in CONTENT.items():
        add(kind, value)


def _add_questions(server: Server) -> None:
    @server.tool
    def ask_form(ctx: Context) -> str:
        answer = ctx.elicit("Who?", Contact)
        return answer.data.name if answer.data else answer.action

    @server.tool
    def ask_url(ctx: Context) -> str:
        return ctx.elicit_url("Sign in", "https://example.com/in").action

    @server.tool
    def ask_model(ctx: Context) -> str:
        tool = {"name": "t", "inputSchema": {"type": "object"}}
        return ctx.sample(
            ["Hello", Message("Hi", "assistant")],
            systemPrompt="Be kind",
            temperature=0.5,
            modelPreferences={"hints": [{"name": "any"}], "speedPriority": 1},
            tools=[tool],
            toolChoice={"mode": "auto"},
        ).text

    @server.tool
    def ask_roots(ctx: Context) -> list[str]:
        return [root.uri for root in ctx.list_roots()]

    @server.tool
    def ask_twice(ctx: Context) -> str:
        form = {"type": "object", "properties": {"x": {"type": "string", "enum": ["a", "b"]}}, "required": ["x"]}
        first, second = ctx.elicit("First", form), ctx.elicit("Second", form, key="second")
        return f"{first.action} {second.action}"

    @server.tool
    def own_round(ctx: Context) -> str:
        if ctx.request_state is None:
            raise InputRequired({"who": elicit_request("Who?", Contact), "where": roots_request()}, state="1")
        return ctx.request_state

    @server.tool
    def poll(ctx: Context) -> Any:
        return "done" if ctx.request_state else InputRequired({}, state="later")


def _add_resources(server: Server) -> None:
    @server.resource("docs://intro", title="Intro", mime_type="text/markdown", size=5, icons=[_ICON], ttl_ms=5)
    def intro() -> str:
        """The introduction."""
        return "hello"

    @server.resource("docs://blob", annotations=_NOTES, meta={"com.example/c": 1})
    def blob() -> bytes:
        return b"\0\xff"

    @server.resource("docs://several")
    def several() -> list[ResourceContents]:
        return [ResourceContents("a", "docs://several/1"), ResourceContents(b"b", mime_type="x/y", meta={"a": 1})]

    @server.resource("docs://json")
    def as_json(ctx: Context) -> dict[str, Any]:
        return {"who": ctx.principal}

    @server.resource("docs://gone")
    def gone() -> None:
        return None

    @server.resource("docs://broken")
    def broken() -> str:
        raise OSError("secret")

    @server.resource("docs://asks")
    def asks(ctx: Context) -> str:
        return ctx.elicit_url("Allow", "https://example.com/allow").action

    for kind in ("files", "pages", "notes"):

        @server.resource(f"{kind}://{{name}}", name=kind, title=kind.title(), mime_type="text/plain")
        def item(name: str) -> str:
            """Read one."""
            return name

        @server.completion(f"{kind}://{{name}}", "name")
        def complete_name(value: str) -> Completion:
            return Completion([value + "a"], total=250, has_more=True)


def _add_prompts(server: Server) -> None:
    @server.prompt(title="Review", icons=[_ICON])
    def review(code: str, language: str = "python") -> list[Message]:
        """Review code.

        Args:
            code: The code.
            language: Its language.
        """
        return [Message(f"Review {code}"), Message("Sure", "assistant")]

    @server.prompt(meta={"com.example/d": 1})
    def plain() -> str:
        return "Hello"

    @server.prompt
    def prompt_asks(ctx: Context) -> str:
        return ctx.elicit("Who?", Contact).action

    @server.prompt
    def prompt_breaks() -> str:
        raise ToolError("Not today")

    def add(kind: str, value: Any) -> None:
        @server.prompt(name=f"show_{kind}")
        def show() -> Any:
            return value

    for kind, (value, _) in CONTENT.items():
        add(kind, value)

    @server.completion("review", "language")
    def complete_language(value: str) -> list[str]:
        return [f"{value}{number}" for number in range(150)]
