"""Real MCP clients use a gateway on two gunicorn workers; neither they nor the servers behind it know of each other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.interop.environments import DRIVERS, CannotInstall, python_driver, run_driver
from tests.interop.test_clients import CLIENTS, STEPS
from tests.servers import Running, serve

# The first run installs the clients, which takes as long as the network does.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]


@contextmanager
def upstream(kind: str) -> Iterator[object]:
    """Give what connect_servers takes for a server of a kind."""
    if kind == "our own over HTTP, modern":
        with serve("waitress", "tests.apps.interop:application") as running:
            yield f"{running.url}/mcp"
    elif kind == "our own over HTTP, legacy":
        with serve("waitress", "tests.apps.interop:application") as running:
            yield {"url": f"{running.url}/mcp", "protocol_version": "2025-06-18"}
    else:
        python, _ = _installed("py_mcp1")
        yield {"command": [python, str(DRIVERS / "server_mcp1.py"), "stdio"]}


def _installed(driver: str) -> list[str]:
    try:
        return python_driver(driver)
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


@pytest.fixture(
    scope="module", params=["our own over HTTP, modern", "our own over HTTP, legacy", "python 1.30.0 over stdio"]
)
def gateway(request: pytest.FixtureRequest) -> Iterator[Running]:
    with upstream(request.param) as target:
        env = {"UPSTREAM": json.dumps([target])}
        with serve("gunicorn-gthread", "tests.apps.gateway:application", workers=2, env=env) as running:
            yield running


@pytest.mark.parametrize("name", CLIENTS)
def test_a_real_client_can_do_everything_through_a_gateway(gateway: Running, name: str) -> None:
    driver, arguments, version = CLIENTS[name]
    try:
        command = driver()
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    steps = run_driver([*command, f"{gateway.url}/mcp", *arguments])
    assert [step for step in steps if not step.ok] == []
    assert [step.name for step in steps] == STEPS
    assert steps[0].detail == version
    gateway.assert_clean()
