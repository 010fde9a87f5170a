"""The page about Django names everything that it should."""

from __future__ import annotations

import re
from pathlib import Path

import mcp_wsgi.django
from mcp_wsgi.django import checks
from mcp_wsgi.django.conf import KEYS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "django.md").read_text()


def test_every_setting_is_documented() -> None:
    assert [key for key in sorted(KEYS) if f"`{key}`" not in PAGE] == []


def test_every_check_is_documented() -> None:
    used = set(re.findall(r"mcp_wsgi\.[EW][0-9]{3}", Path(str(checks.__file__)).read_text()))
    assert used == set(re.findall(r"mcp_wsgi\.[EW][0-9]{3}", PAGE))


def test_every_public_name_is_documented() -> None:
    assert [name for name in mcp_wsgi.django.__all__ if name != "MCPView" and name not in PAGE] == []
