"""A server with something of everything, for the commands that speak with servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mcp_wsgi import Context, EmbeddedResource, Image, ResourceContents, ResourceLink, Server, Text, ToolError

__all__ = ["HOSTILE", "server"]

#: What would clear a terminal, set its title, hide text, or be markup.
HOSTILE = "\x1b[2J\x1b]0;title\x07[bold red]red[/] \u202ekcab\x9b31m\ud800\r\n[link=file:///]x[/link]"

server = Server(
    "shop", title="The shop", version="1.0", keys=["only for tests"], instructions="Ask about orders.\nBe kind."
)


@server.tool
def add(a: int, b: float = 0.5) -> float:
    """Add two numbers.

    The second one may be left out.
    """
    return a + b


@server.tool
def describe(
    text: str = "",
    count: int = 0,
    ratio: float = 0.0,
    flag: bool = False,
    tags: list[str] | None = None,
    mapping: dict[str, int] | None = None,
) -> dict[str, Any]:
    """Give back what came."""
    return {"text": text, "count": count, "ratio": ratio, "flag": flag, "tags": tags, "mapping": mapping}


@server.tool
def fail() -> str:
    """Fail."""
    raise ToolError("There is no stock")


@server.tool
def hostile() -> str:
    """Say what a terminal would obey: \x1b[31m[red]."""
    return HOSTILE


@server.tool
def media() -> list[Any]:
    """Give content of every kind."""
    return [
        Text("a text"),
        Image(b"123", "image/png"),
        ResourceLink("shop://orders", "orders"),
        EmbeddedResource(ResourceContents("inside", "shop://a", "text/plain")),
        EmbeddedResource(ResourceContents(b"\x00", "shop://b", "image/gif")),
    ]


@server.tool
def count(to: int, ctx: Context) -> str:
    """Count, and report it."""
    for number in range(1, to + 1):
        ctx.report_progress(number, to, f"at {number}")
    ctx.warning({"counted": to})
    ctx.info("done \x1b[1m")
    return f"counted to {to}"


FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As on the card", "minLength": 2},
        "age": {"type": "integer", "minimum": 0},
        "height": {"type": "number", "default": 1.7},
        "member": {"type": "boolean", "default": True},
        "email": {"type": "string", "format": "email"},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["small", "medium"]},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "red"}, {"const": "b", "title": "blue"}]},
        "extras": {"type": "array", "items": {"enum": ["bag", "bow"], "type": "string"}},
        "days": {"type": "array", "items": {"anyOf": [{"const": "mo", "title": "Monday"}, {"const": "tu"}]}},
    },
    "required": ["name", "age"],
}


@server.tool
def order(ctx: Context) -> dict[str, Any]:
    """Ask for an order."""
    answer = ctx.elicit("Who are you?\x1b[31m", FORM)
    return {"action": answer.action, "data": answer.data}


@server.tool
def pay(ctx: Context) -> str:
    """Ask to pay."""
    return ctx.elicit_url("Please pay", "https://pay.example/order?id=1").action


@server.tool
def think(ctx: Context) -> str:
    """Ask a model."""
    return str(ctx.sample("What is two and two?"))


@server.tool
def change() -> str:
    """Change what is offered."""
    server.notify_tools_changed()
    server.notify_resource_updated("shop://orders")
    return "changed"


@server.resource("shop://orders", mime_type="text/plain", title="All orders")
def orders() -> str:
    """List the orders."""
    return "1 lamp\n2 chairs \x1b[31m\n"


@server.resource("shop://logo", mime_type="image/png")
def logo() -> bytes:
    """Show the logo."""
    return b"\x89PNG\x00"


@server.resource("shop://orders/{number}")
def one_order(number: str) -> str:
    """Show one order."""
    return f"order {number}"


@server.prompt
def letter(to: str, tone: Literal["warm", "cold"] = "warm") -> str:
    """Write a letter."""
    return f"Write a {tone} letter to {to}."


@server.completion("letter", "to")
def names(value: str, arguments: Mapping[str, str]) -> list[str]:
    """Complete a name."""
    known = ["ada", "alan", "grace"] if arguments.get("tone") != "cold" else ["ajax"]
    return [name for name in known if name.startswith(value)]
