"""The official Python client, version 1, which only knows the handshake. Argument: the endpoint's URL."""

from __future__ import annotations

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from steps import main, report, use


async def run(arguments: list[str]) -> None:
    async with (
        streamable_http_client(arguments[0]) as (reader, writer, _),
        ClientSession(reader, writer) as session,
    ):
        opened = await session.initialize()
        report("connect", True, opened.protocolVersion)
        await use(session)


main(run)
