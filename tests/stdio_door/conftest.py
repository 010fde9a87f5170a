"""Servers here end as slowly as the machine does, but for the tests that are about how soon they end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcp_wsgi.stdio import serving
from tests.stdio_door.client import PATIENCE


@pytest.fixture(scope="package", autouse=True)
def patient() -> Iterator[None]:
    """Wait for threads that are about to end, or have a last word, until they have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "CANCEL_SECONDS", PATIENCE)
        yield
