"""The doctor's report as tests read it, made with all the time that a busy machine takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_wsgi.cli import main

__all__ = ["PATIENCE", "examine"]

#: How long an answer may take here, in seconds: the doctor tells servers off that take longer than a busy machine may.
PATIENCE = 60.0


def examine(capsys: pytest.CaptureFixture[str], url: str, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run the doctor; give its status and its findings by name."""
    status = main(["doctor", url, "--json", "--timeout", f"{PATIENCE}", *options])
    report = json.loads(capsys.readouterr().out)
    assert report["url"] == url
    findings = {finding["check"]: finding for finding in report["findings"]}
    assert sum(report["counts"].values()) == len(findings) == len(report["findings"])
    return status, findings
