"""Patience for all tests of transports: what the package waits for a little, they wait for until it is there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _patient_farewell() -> Iterator[None]:
    """Let the end of a session be heard by a server that comes to it late."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcp_wsgi.transport.http._FAREWELL", 30.0)
        yield
