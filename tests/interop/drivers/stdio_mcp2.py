"""What version 2 of the official Python client can do over stdio. Arguments: the target, and `auto` or `legacy`."""

from __future__ import annotations

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from steps import Asked, command_of, main, report


async def run(arguments: list[str]) -> None:
    command = command_of(arguments[0])
    assert command is not None
    asked = Asked(types)
    async with Client(
        StdioServerParameters(command=command[0], args=command[1:]),
        mode=arguments[1],
        elicitation_callback=asked.elicit,
        sampling_callback=asked.sample,
        list_roots_callback=asked.roots,
        logging_callback=asked.log,
        log_level="warning",
    ) as client:
        report("connect", True, client.protocol_version)
        await asked.use(client)
        if arguments[1] == "legacy":
            return
        seen: list[str] = []
        async with client.listen(tools_list_changed=True, resource_subscriptions=["test://text"]) as subscription:
            await client.call_tool("change", {})
            with anyio.move_on_after(60):
                async for event in subscription:
                    seen.append(type(event).__name__)
                    if len(seen) == 2:
                        break
        report("changes", seen == ["ToolsListChanged", "ResourceUpdated"], seen)


main(run)
