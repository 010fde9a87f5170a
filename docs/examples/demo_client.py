"""Use the demo server with the official Python client, and show what is said.

    python demo_client.py URL

`./run-demo` starts this with the package `mcp`, which mcp_wsgi itself does not need.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client
from mcp.types import ElicitResult

SECONDS = 20


def say(text: str) -> None:
    """Print a line at once, so that it stands in order with what other processes print."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show(what: str, answer: Any) -> None:
    """Print a question and its answer."""
    say(f"\n> {what}\n{answer}")


async def answer_user(_context: Any, question: Any) -> ElicitResult:
    """Answer what the server asks the user; a real client shows a form."""
    answer = {"days": 14}
    show(f"the server asks the user: {question.message}", f"accepted with {json.dumps(answer)}")
    return ElicitResult(action="accept", content=answer)


async def use_modern(url: str) -> None:
    """Do what a client of today does: the newest revision, with a question to the user."""
    async with Client(url, read_timeout_seconds=SECONDS, elicitation_callback=answer_user) as client:
        say(f"\n== Connected to {client.server_info.title!r}, protocol version {client.protocol_version}")
        tools = (await client.list_tools()).tools
        show("list the tools", "\n".join(f"{tool.name}: {tool.description}" for tool in tools))
        found = await client.call_tool("search_books", {"text": "austen", "only_available": True})
        titles = [f"{book['title']} ({book['isbn']})" for book in found.structured_content]
        show('call search_books with {"text": "austen", "only_available": true}', "\n".join(titles))
        isbn = found.structured_content[0]["isbn"]
        lent = await client.call_tool("lend_book", {"isbn": isbn, "member": 1})
        show(f'call lend_book with {{"isbn": "{isbn}", "member": 1}}', lent.content[0].text)
        book = await client.read_resource(f"book://{isbn}")
        show(f"read the resource book://{isbn}", book.contents[0].text)
        letter = await client.get_prompt("overdue_letter", {"member": "2"})
        show('get the prompt overdue_letter with {"member": "2"}', letter.messages[0].content.text)


async def use_legacy(url: str) -> None:
    """Do what a client of the years before does: the handshake first."""
    async with Client(url, mode="legacy", read_timeout_seconds=SECONDS) as client:
        say(f"\n== Connected once more, with the handshake of protocol version {client.protocol_version}")
        numbers = await client.call_tool("statistics")
        show("call statistics", numbers.content[0].text)


async def main(url: str) -> None:
    """Use the server in both eras."""
    await use_modern(url)
    await use_legacy(url)


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(sys.argv[1]), 3 * SECONDS))
