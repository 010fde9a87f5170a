"""The pipes to a process: whole lines out, and what is left of its standard error."""

from __future__ import annotations

import logging
import os

import pytest

from mcp_wsgi.transport.pipes import PipeWriter, Tail, printable


def test_closing_does_not_wait_long_for_who_writes_to_it():
    reader, writer = os.pipe()
    pipe = PipeWriter(os.fdopen(writer, "wb", buffering=0))
    with pipe._lock:
        pipe.close(0.01)
    pipe.close()
    pipe.close()
    assert pipe.write(b"x", lambda: None) is False
    os.close(reader)


def test_the_tail_is_the_end_from_the_beginning_of_a_line():
    tail = Tail("test", 20)
    assert tail.text == ""
    tail.take(b"one\r\ntwo\n")
    assert tail.text == "one\ntwo"
    tail.take(b"x" * 10 + b"\n\x1b[1mlast\x1b[0m\t!\x00\n")
    assert tail.text == "last\t!"
    tail.take("é".encode() * 100)
    assert tail.text == "é" * 10


def test_each_line_goes_to_the_log_for_who_wants_it(caplog):
    caplog.set_level(logging.DEBUG, "mcp_wsgi.client")
    Tail("stdio:x").take(b"one\n\x1b[31mtwo\n")
    assert [record.getMessage() for record in caplog.records] == [
        "stdio:x wrote to standard error: one",
        "stdio:x wrote to standard error: two",
    ]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"plain", "plain"),
        (b"\x1b]0;title\x07a\x1b[2Kb\x1b(B", "ab"),
        (b"a\nb\0\xff", "a b \ufffd"),
        (b"x" * 11, "x" * 10 + "..."),
        (b" " * 100, "..."),
        ("日本".encode(), "日本"),
    ],
)
def test_foreign_text_is_made_fit_for_a_line(data, shown):
    assert printable(data, 10) == shown
