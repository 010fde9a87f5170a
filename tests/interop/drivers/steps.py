"""What both Python drivers do with a connected client. `ts_sdk1.mjs` does the same.

One JSON object per line is printed for each step: its name, whether it went as expected, and what came.
The expectations are those of tests/apps/interop.py.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

STEP_SECONDS = 60
STDIO = "stdio:"


def command_of(target: str) -> list[str] | None:
    """Return the command of a target that is a program (``stdio:`` and a JSON array), ``None`` for a URL."""
    return json.loads(target.removeprefix(STDIO)) if target.startswith(STDIO) else None  # type: ignore[no-any-return]


def report(step: str, ok: bool, detail: object) -> None:
    """Print one step's outcome."""
    print(json.dumps({"step": step, "ok": ok, "detail": detail}), flush=True)


def innermost(error: BaseException) -> str:
    """Describe what really went wrong: task groups wrap it in groups of their own."""
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]  # type: ignore[attr-defined]
    return f"{type(error).__name__}: {error}"


def wire(result: Any) -> dict[str, Any]:
    """Return a result as it was on the wire: both SDKs rename members, each in its way."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)  # type: ignore[no-any-return]


async def check(step: str, answer: Awaitable[Any], expected: Callable[[dict[str, Any]], object]) -> None:
    """Report whether an answer is as expected."""
    try:
        result = wire(await asyncio.wait_for(answer, STEP_SECONDS))
        report(step, bool(expected(result)), result)
    except Exception as error:
        report(step, False, innermost(error))


async def check_refusal(step: str, answer: Awaitable[Any]) -> None:
    """Report whether a call was refused, by a protocol error or by a result that says so."""
    try:
        result = wire(await asyncio.wait_for(answer, STEP_SECONDS))
    except Exception as error:
        refusal = getattr(error, "error", None)
        report(step, refusal is not None, wire(refusal) if refusal is not None else innermost(error))
    else:
        report(step, result.get("isError") is True, result)


async def use(client: Any) -> None:
    """Do everything once."""

    def named(kind: str, name: str) -> Callable[[dict[str, Any]], bool]:
        return lambda result: name in [item["name"] for item in result[kind]]

    arguments = {"word": "北京 é ", "times": 2}
    await check("list tools", client.list_tools(), named("tools", "repeat"))
    await check(
        "call tool",
        client.call_tool("repeat", arguments),
        lambda result: not result.get("isError") and result["content"][0]["text"] == "北京 é 北京 é ",
    )
    await check(
        "structured content",
        client.call_tool("measure", {"width": 2, "height": 0.5}),
        lambda result: result["structuredContent"] == {"area": 1.0, "unit": "m2"},
    )
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    await check(
        "progress",
        client.call_tool("count", {"to": 3}, progress_callback=note),
        lambda result: result["content"][0]["text"] == "3" and seen == [1, 2, 3],
    )
    await check(
        "list resources",
        client.list_resources(),
        lambda result: [item["uri"] for item in result["resources"]] == ["test://static-text"],
    )
    await check(
        "read resource",
        client.read_resource("test://static-text"),
        lambda result: result["contents"][0]["text"] == "A text that never changes.",
    )
    await check("list prompts", client.list_prompts(), named("prompts", "greet"))
    await check(
        "get prompt",
        client.get_prompt("greet", {"name": "Ada"}),
        lambda result: result["messages"][0]["content"]["text"] == "Say hello to Ada.",
    )
    await check_refusal("unknown tool", client.call_tool("no_such_tool", {}))


class Asked:
    """Answer what a server asks, and note what it says; the questions are those of tests/apps/asking_stdio.py.

    Args:
        types: The module of the SDK's types.
    """

    def __init__(self, types: Any) -> None:
        self._types = types
        self.logs: list[Any] = []
        self.notifications: list[str] = []

    async def elicit(self, context: Any, params: Any) -> Any:
        return self._types.ElicitResult(action="accept", content={"row": len(params.message)})

    async def sample(self, context: Any, params: Any) -> Any:
        text = self._types.TextContent(type="text", text="42")
        return self._types.CreateMessageResult(role="assistant", content=text, model="a model")

    async def roots(self, context: Any) -> Any:
        return self._types.ListRootsResult(roots=[self._types.Root(uri="file:///notes")])

    async def log(self, params: Any) -> None:
        self.logs.append(params.data)

    async def use(self, client: Any) -> None:
        """Call each tool that asks or logs."""

        def said(text: str) -> Callable[[dict[str, Any]], bool]:
            return lambda result: not result.get("isError") and result["content"][0]["text"] == text

        await check("elicit", client.call_tool("book", {"city": "Oslo"}), said("row 19 to Oslo"))
        await check("sample", client.call_tool("think", {}), said("42"))
        await check("roots", client.call_tool("folders", {}), said("file:///notes"))
        await check(
            "log", client.call_tool("warn", {}), lambda result: said("warned")(result) and self.logs == ["careful"]
        )


def main(run: Callable[[list[str]], Awaitable[None]]) -> None:
    """Run a driver; what fails outside any step is a failure to connect or to close."""
    try:
        asyncio.run(run(sys.argv[1:]))  # type: ignore[arg-type]
    except BaseException as error:
        report("session", False, innermost(error))
        raise
    report("session", True, "closed")
