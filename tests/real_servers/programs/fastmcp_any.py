"""A server on the package fastmcp, 2.x or 4.x: python fastmcp_any.py stdio | http PORT

It offers what every program in this folder offers: the names are in `tests/real_servers/catalogue.py`.
"""

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP

server = FastMCP("real")
QUESTION = "What is your name?"


@dataclass
class Name:
    name: str


@server.tool
def repeat(word: str, times: int) -> str:
    """Repeat a word."""
    return word * times


@server.tool
async def count(to: int, ctx: Context) -> str:
    """Count to a number, and say so at each step."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
    return f"counted to {to}"


if hasattr(Context, "input_responses"):  # the release that speaks 2026-07-28, where a server asks by its result
    from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

    SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

    @server.tool
    async def greet_me(ctx: Context) -> str | InputRequiredResult:
        """Ask for a name and greet it."""
        answers = ctx.input_responses
        if answers is None:
            form = ElicitRequestFormParams(message=QUESTION, requested_schema=SCHEMA)
            return InputRequiredResult(input_requests={"name": ElicitRequest(params=form)}, request_state="asked")
        if ctx.request_state != "asked":
            return "The state was lost"
        answer = answers["name"]
        return f"Hello {answer.content['name']}" if answer.action == "accept" else f"Nobody: {answer.action}"

else:

    @server.tool
    async def greet_me(ctx: Context) -> str:
        """Ask for a name and greet it."""
        answer = await ctx.elicit(QUESTION, Name)
        return f"Hello {answer.data.name}" if answer.action == "accept" else f"Nobody: {answer.action}"


@server.resource("fixed://text", mime_type="text/plain")
def fixed_text() -> str:
    """Return a text that never changes."""
    return "A text that never changes."


@server.resource("square://{number}")
def square(number: str) -> str:
    """Square a number."""
    return str(int(number) ** 2)


@server.prompt
def compliment(name: str) -> str:
    """Ask for a compliment."""
    return f"Say something nice to {name}."


if sys.argv[1] == "http":
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
else:
    server.run(show_banner=False)
