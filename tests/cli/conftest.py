"""What the tests of the doctor have in common."""

from __future__ import annotations

import pytest

from tests.cli.examining import PATIENCE


@pytest.fixture
def patient_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mind what a server answers, and how long that takes only where a test is about it."""
    monkeypatch.setattr("mcp_wsgi.cli.doctor.wellknown._SLOW_SECONDS", PATIENCE)
    monkeypatch.setattr("mcp_wsgi.cli.doctor.overall._SLOW_SECONDS", PATIENCE)
    monkeypatch.setattr("mcp_wsgi.cli.doctor.overall._TOO_SLOW_SECONDS", PATIENCE)
