"""A server on the official Python SDK 1.x: python mcp_v1.py stdio | (http|sse) PORT [stateless] [json]

It offers what every program in this folder offers: the names are in `tests/real_servers/catalogue.py`.
"""

import asyncio
import sys
from importlib.metadata import version
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

transport, *words = sys.argv[1:]
options: dict[str, Any] = {"log_level": "ERROR"}
if transport != "stdio":
    options |= {"host": "127.0.0.1", "port": int(words[0])}
if transport == "http":
    options |= {"stateless_http": "stateless" in words, "json_response": "json" in words}
server = FastMCP("real", **options)
# Older releases report progress on the stream of the session.
ASIDE = transport == "http" and "stateless" not in words and int(version("mcp").split(".")[1]) < 30


class Name(BaseModel):
    name: str


@server.tool()
def repeat(word: str, times: int) -> str:
    """Repeat a word."""
    return word * times


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count to a number, and say so at each step."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
    meta = ctx.request_context.meta
    if ASIDE and meta is not None and meta.progressToken is not None:
        # There it could come after the result, and be lost.
        await asyncio.sleep(5)
    return f"counted to {to}"


async def greet_me(ctx: Context) -> str:
    """Ask for a name and greet it."""
    answer = await ctx.elicit(message="What is your name?", schema=Name)
    return f"Hello {answer.data.name}" if answer.action == "accept" else f"Nobody: {answer.action}"


if hasattr(Context, "elicit"):
    server.tool()(greet_me)


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


server.run({"stdio": "stdio", "http": "streamable-http", "sse": "sse"}[transport])  # type: ignore[arg-type]
