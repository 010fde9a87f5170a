"""What version 1 of the official Python client can do only over stdio. Argument: the target, a ``stdio:`` one."""

from __future__ import annotations

from typing import Any

import anyio
from mcp import ClientSession, types
from mcp.client.stdio import StdioServerParameters, stdio_client
from pydantic import AnyUrl
from steps import Asked, command_of, main, report


async def run(arguments: list[str]) -> None:
    command = command_of(arguments[0])
    assert command is not None
    asked = Asked(types)

    async def note(message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            asked.notifications.append(message.root.method)

    async with (
        stdio_client(StdioServerParameters(command=command[0], args=command[1:])) as (reader, writer),
        ClientSession(
            reader,
            writer,
            elicitation_callback=asked.elicit,
            sampling_callback=asked.sample,
            list_roots_callback=asked.roots,
            logging_callback=asked.log,
            message_handler=note,
        ) as session,
    ):
        opened = await session.initialize()
        report("connect", True, opened.protocolVersion)
        await asked.use(session)
        await session.set_logging_level("error")
        await session.call_tool("warn", {})
        report("level", asked.logs == ["careful"], asked.logs)
        await session.subscribe_resource(AnyUrl("test://text"))
        await session.call_tool("change", {})
        with anyio.move_on_after(60):
            while len([each for each in asked.notifications if each != "notifications/message"]) < 2:
                await anyio.sleep(0.02)
        seen = [each for each in asked.notifications if each != "notifications/message"]
        wanted = ["notifications/tools/list_changed", "notifications/resources/updated"]
        report("changes", seen == wanted, asked.notifications)


main(run)
