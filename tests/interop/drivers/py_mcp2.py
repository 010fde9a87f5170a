"""The official Python client, version 2. Arguments: the target (a URL, or ``stdio:`` and a command as a JSON array),
and `auto` or `legacy`."""

from __future__ import annotations

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from steps import command_of, main, report, use


async def run(arguments: list[str]) -> None:
    target, mode = arguments
    command = command_of(target)
    server = target if command is None else StdioServerParameters(command=command[0], args=command[1:])
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        report("connect", True, client.protocol_version)
        await use(client)


main(run)
