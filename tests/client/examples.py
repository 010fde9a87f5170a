"""The examples of the specification that a client reads; none where the specification is absent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.spec.validate import spec_folder

__all__ = ["examples", "load"]

_FOLDER = Path(os.environ.get("MCP_WSGI_SPEC") or Path(__file__).resolve().parents[3] / "shared" / "spec")
_FOLDER = _FOLDER / "2026-07-28" / "examples"


def examples(*names: str) -> pytest.MarkDecorator:
    """Parametrise by the examples of schema definitions, named exactly or by a pattern."""
    paths = [path for name in names for path in sorted(_FOLDER.glob(f"{name}/*.json"))]
    ids = [f"{path.parent.name}/{path.stem}" for path in paths]
    # One case where there is no specification: it skips and says so.
    return pytest.mark.parametrize("path", paths or [None], ids=ids or ["none"])


def load(path: Path | None) -> Any:
    """Read an example, or skip the test."""
    if path is None:
        spec_folder()
        pytest.fail("the specification is here, without this example")
    return json.loads(path.read_bytes())
