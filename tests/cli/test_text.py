"""Text from elsewhere, made safe for a terminal."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.cli.text import (
    first_line,
    json_text,
    on_its_line,
    one_line,
    printable,
    without_query,
    without_secrets,
)
from mcp_wsgi.server.reasons import shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("北京 é 👩\u200d🔬", "北京 é 👩\u200d🔬"),
        ("a\tb\nc\r\nd", "a\tb\nc\nd"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m", "\\x9b31m"),
        ("gone\rhere", "gone\\x0dhere"),
        ("\x07\x08\x00\x7f", "\\x07\\x08\\x00\\x7f"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066\u2069\ufeff\u2028", "\\u2066\\u2069\\ufeff\\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("[bold]x[/]", "[bold]x[/]"),
    ],
)
def test_what_a_terminal_obeys_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown


any_text = st.text(st.characters(exclude_categories=()))


@given(any_text)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    for char in printable(text):
        assert char in "\n\t\u200c\u200d" or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")
    assert "\n" not in one_line(text)
    assert "\n" not in first_line(text)


@given(st.recursive(any_text, lambda inner: st.lists(inner) | st.dictionaries(any_text, inner), max_leaves=5))
def test_json_holds_no_control_character_and_reads_back(value: Any) -> None:
    for ascii_only in (True, False):
        text = json_text(value, indent=None, ascii_only=ascii_only)
        assert printable(text) == text
        assert json.loads(text) == value
        assert not ascii_only or text.isascii()


def test_long_text_is_cut() -> None:
    assert shorten("a" * 10, 10) == "a" * 10
    assert shorten("a" * 11, 10) == "a" * 7 + "..."


def test_the_first_line_is_the_first_with_something_in_it() -> None:
    assert first_line("\n\n  one two \n three") == "one two"
    assert first_line(None) == first_line(" \n ") == ""


@pytest.mark.parametrize(
    ("text", "shown"), [("a\nb\tc", "a\\nb\\tc"), ("a  b", "a  b"), ("a\r\n\x1b", "a\\n\\x1b"), ("", "")]
)
def test_what_has_a_line_of_its_own_begins_no_other(text: str, shown: str) -> None:
    assert on_its_line(text) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ada:s3cret@shop.example:8/mcp?key=s3cret#s3cret", "https://shop.example:8/mcp"),
        ("shop.example/mcp?key=s3cret", "shop.example/mcp"),
        ("https://[s3cret", "this URL"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


def test_of_a_query_only_that_there_is_one_is_shown() -> None:
    assert (without_query("/mcp?key=s3cret?"), without_query("/mcp")) == ("/mcp?...", "/mcp")
