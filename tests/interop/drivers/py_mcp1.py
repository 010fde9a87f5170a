"""The official Python client, version 1, which only knows the handshake. Argument: the target, a URL or ``stdio:`` and
a command as a JSON array."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from steps import command_of, main, report, use


def connect(target: str) -> AbstractAsyncContextManager[Any]:
    """Open the transport of a target."""
    command = command_of(target)
    if command is None:
        return streamable_http_client(target)
    return stdio_client(StdioServerParameters(command=command[0], args=command[1:]))


async def run(arguments: list[str]) -> None:
    async with connect(arguments[0]) as streams, ClientSession(streams[0], streams[1]) as session:
        opened = await session.initialize()
        report("connect", True, opened.protocolVersion)
        await use(session)


main(run)
