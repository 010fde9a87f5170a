"""What a process remembers of servers is bounded."""

from __future__ import annotations

import pytest

from mcp_wsgi.client import verdicts as module
from mcp_wsgi.client.client import _VERDICTS
from mcp_wsgi.client.verdicts import Verdicts


def test_what_was_known_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_VERDICTS", 3)
    verdicts = Verdicts()
    for number in range(5):
        verdicts[f"http://host/{number}"] = "2026-07-28"
    assert list(verdicts) == ["http://host/2", "http://host/3", "http://host/4"]
    verdicts["http://host/2"] = "2025-11-25"
    assert verdicts["http://host/2"] == "2025-11-25"
    assert len(verdicts) == 3


def test_a_process_remembers_so_by_default() -> None:
    assert isinstance(_VERDICTS, Verdicts)
