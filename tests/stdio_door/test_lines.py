"""Lines of any length, cut anywhere; those that are too long are left out, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.stdio.lines import Lines


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_up_to_the_cap_is_read_and_one_byte_more_is_not(end):
    lines = Lines(10)
    assert lines.feed(b"x" * 10 + end + b"y" * 11 + end + b"z" + end) == [b"x" * 10, None, b"z"]
    assert lines.close() == []


def test_an_endless_line_is_told_of_once_and_not_held():
    lines = Lines(10)
    assert lines.feed(b"x" * 8) == []
    assert lines.feed(b"x" * 8) == [None]
    for _ in range(1000):
        assert lines.feed(b"x" * 1000) == []
    assert lines.feed(b"x\nnext\n") == [b"next"]


def test_the_last_line_needs_no_end():
    lines = Lines(10)
    assert lines.feed(b"\n\nlast\r") == []
    assert lines.close() == [b"last"]


def test_an_endless_last_line_is_no_line():
    lines = Lines(10)
    assert lines.feed(b"x" * 11) == [None]
    assert lines.close() == []


def test_a_cap_is_positive():
    with pytest.raises(ValueError, match="positive"):
        Lines(0)


@given(
    st.lists(st.binary(max_size=14).filter(lambda line: b"\n" not in line and not line.endswith(b"\r"))),
    st.sampled_from([b"\n", b"\r\n"]),
    st.lists(st.integers(1, 9)),
)
def test_the_lines_are_the_same_however_the_stream_is_cut(texts, end, cuts):
    stream, chunks = b"".join(text + end for text in texts), []
    for cut in cuts:
        chunks.append(stream[:cut])
        stream = stream[cut:]
    lines = Lines(10)
    found = [line for chunk in [*chunks, stream] for line in lines.feed(chunk)]
    assert found == [text if len(text) <= 10 else None for text in texts if text]
