"""A server on the official Python SDK 2.x: python mcp_v2.py stdio | http PORT

It offers what every program in this folder offers: the names are in `tests/real_servers/catalogue.py`.
"""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("real", log_level="ERROR")


class Name(BaseModel):
    name: str


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


@server.tool()
def repeat(word: str, times: int) -> str:
    """Repeat a word."""
    return word * times


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count to a number, and say so at each step."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
    return f"counted to {to}"


@server.tool()
def greet_me(answer: Annotated[Name, Resolve(ask_name)]) -> str:
    """Ask for a name and greet it."""
    return f"Hello {answer.name}"


@server.tool()
async def announce(ctx: Context) -> str:
    """Say that the list of tools has changed."""
    await ctx.notify_tools_changed()
    return "announced"


@server.resource("fixed://text", mime_type="text/plain")
def fixed_text() -> str:
    """Return a text that never changes."""
    return "A text that never changes."


@server.resource("square://{number}")
def square(number: str) -> str:
    """Square a number."""
    return str(int(number) ** 2)


@server.prompt()
def compliment(name: str) -> str:
    """Ask for a compliment."""
    return f"Say something nice to {name}."


if sys.argv[1] == "http":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")
