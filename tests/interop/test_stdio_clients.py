"""The same real clients use the same server as a program that they start."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.interop.environments import CannotInstall, run_driver
from tests.interop.test_clients import CLIENTS, STEPS

# The first run installs the clients, which takes as long as the network does.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

TARGET = "stdio:" + json.dumps([sys.executable, "-m", "tests.apps.interop_stdio"])


@pytest.mark.parametrize("name", CLIENTS)
def test_a_real_client_can_do_everything_over_stdio(name: str) -> None:
    driver, arguments, version = CLIENTS[name]
    try:
        command = driver()
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    steps = run_driver([*command, TARGET, *arguments])
    assert [step for step in steps if not step.ok] == []
    assert [step.name for step in steps] == STEPS
    assert steps[0].detail == version
