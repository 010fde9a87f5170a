"""The official Python client, version 2. Arguments: the endpoint's URL, and `auto` or `legacy`."""

from __future__ import annotations

from mcp import Client
from steps import main, report, use


async def run(arguments: list[str]) -> None:
    url, mode = arguments
    async with Client(url, mode=mode, read_timeout_seconds=20) as client:
        report("connect", True, client.protocol_version)
        await use(client)


main(run)
