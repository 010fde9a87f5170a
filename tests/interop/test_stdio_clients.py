"""The same real clients use the same server as a program that they start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import pytest

from tests.interop.environments import DRIVERS, CannotInstall, python_driver, run_driver
from tests.interop.test_clients import CLIENTS, LEGACY, MODERN, STEPS

# The first run installs the clients, which takes as long as the network does.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]


def target(module: str) -> str:
    return "stdio:" + json.dumps([sys.executable, "-m", module])


def command_of(driver: Callable[[], list[str]]) -> list[str]:
    try:
        return driver()
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


@pytest.mark.parametrize("name", CLIENTS)
def test_a_real_client_can_do_everything_over_stdio(name: str) -> None:
    driver, arguments, version = CLIENTS[name]
    steps = run_driver([*command_of(driver), target("tests.apps.interop_stdio"), *arguments])
    assert [step for step in steps if not step.ok] == []
    assert [step.name for step in steps] == STEPS
    assert steps[0].detail == version


#: What is asked, logged and told of changes; the drivers run with the packages of the client they are for.
FEATURES = {
    "python 2.3.0, automatic": ("py_mcp2", "stdio_mcp2.py", ["auto"], MODERN, ["changes"]),
    "python 2.3.0, legacy": ("py_mcp2", "stdio_mcp2.py", ["legacy"], LEGACY, []),
    "python 1.30.0": ("py_mcp1", "stdio_mcp1.py", [], LEGACY, ["level", "changes"]),
}


@pytest.mark.parametrize("name", FEATURES)
def test_a_real_client_is_asked_and_told(name: str) -> None:
    packages, driver, arguments, version, more = FEATURES[name]
    python = command_of(lambda: python_driver(packages))[0]
    steps = run_driver([python, str(DRIVERS / driver), target("tests.apps.asking_stdio"), *arguments])
    assert [step for step in steps if not step.ok] == []
    assert [step.name for step in steps] == ["connect", "elicit", "sample", "roots", "log", *more, "session"]
    assert steps[0].detail == version
