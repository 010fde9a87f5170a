"""Real MCP clients use a server that runs on two gunicorn workers; none of them knows about the workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from tests.interop.environments import CannotInstall, node_driver, python_driver, run_driver
from tests.servers import Running, serve

# The first run installs the clients, which takes as long as the network does.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

MODERN, LEGACY = "2026-07-28", "2025-11-25"
CLIENTS: dict[str, tuple[Callable[[], list[str]], list[str], str]] = {
    "python 2.3.0, automatic": (lambda: python_driver("py_mcp2"), ["auto"], MODERN),
    "python 2.3.0, legacy": (lambda: python_driver("py_mcp2"), ["legacy"], LEGACY),
    "python 1.30.0": (lambda: python_driver("py_mcp1"), [], LEGACY),
    "typescript 1.32.2": (lambda: node_driver("ts_sdk1"), [], LEGACY),
}
STEPS = [
    "connect",
    "list tools",
    "call tool",
    "structured content",
    "progress",
    "list resources",
    "read resource",
    "list prompts",
    "get prompt",
    "unknown tool",
    "session",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serve("gunicorn-gthread", "tests.apps.interop:application", workers=2) as running:
        yield running


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_a_real_client_can_do_everything(server: Running, name: str, path: str) -> None:
    driver, arguments, version = CLIENTS[name]
    try:
        command = driver()
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    steps = run_driver([*command, server.url + path, *arguments])
    assert [step for step in steps if not step.ok] == []
    assert [step.name for step in steps] == STEPS
    assert steps[0].detail == version
    server.assert_clean()
