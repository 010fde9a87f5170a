"""What the streams do where a whole server would not show it."""

from __future__ import annotations

import os
import socket
import threading
from io import BytesIO

import pytest

from mcp_wsgi.stdio.streams import Sink, Source
from mcp_wsgi.stdio.users import process_user
from tests.stdio_door.client import PATIENCE


class Silenced:
    silenced = True


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_source_of_a_pipe_may_have_a_sink_that_is_no_file(pipe):
    os.write(pipe[1], b"abc")
    source = Source(pipe[0], Sink(BytesIO()))
    assert source.read() == b"abc"
    source.wake()
    assert source.read() == b""
    source.close()
    source.wake()
    assert source.wake_fd == -1


def test_both_directions_may_be_one_descriptor():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        source = Source(ours.fileno(), Sink(ours.fileno()))
        theirs.send(b"abc")
        assert source.read() == b"abc"
        theirs.close()
        assert source.read() == b""
        source.close()


def test_a_byte_on_the_wake_descriptor_alone_does_not_end_the_reading(pipe):
    """The interpreter writes one for any signal, also for one that somebody else handles."""
    source = Source(pipe[0], Sink(BytesIO()))
    os.write(source.wake_fd, b"\x11")
    os.write(pipe[1], b"abc")
    assert source.read() == b"abc"
    source.close()


def test_waking_often_blocks_nobody(pipe):
    source = Source(pipe[0], Sink(BytesIO()))
    for _ in range(100_000):
        source.wake()
    assert source.read() == b""
    source.close()


def test_a_source_that_fails_has_ended(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)  # which can be opened, but not read
    source = Source(folder, Sink(BytesIO()))
    assert source.read() == b""
    source.close()
    os.close(folder)


def test_an_input_without_a_descriptor_is_read_as_it_comes():
    source = Source(BytesIO(b"abc"), Sink(BytesIO()))
    assert source.read() == b"abc"
    assert source.read() == b""
    assert source.wake_fd == -1
    source.close()


def test_an_input_that_has_nothing_yet_is_asked_again():
    class Shared:
        """A stream whose bytes somebody else may take first."""

        def __init__(self) -> None:
            self.chunks = [None, b"abc"]

        def read(self, size):
            chunk = self.chunks.pop(0)
            if chunk is None:
                raise BlockingIOError
            return chunk

    assert Source(Shared(), Sink(BytesIO())).read() == b"abc"  # type: ignore[arg-type]


def test_a_sink_writes_nothing_for_what_was_cancelled_nor_when_it_is_closed():
    stream = BytesIO()
    sink = Sink(stream)
    sink.write(b"a")
    sink.write(b"b", Silenced())
    assert sink.close(0)
    sink.write(b"c")
    assert stream.getvalue() == b"a"


def test_a_sink_that_does_not_block_waits_for_its_reader(pipe):
    os.set_blocking(pipe[1], False)
    sink = Sink(pipe[1])
    writer = threading.Thread(target=sink.write, args=(b"x" * (1 << 20),))
    writer.start()
    writer.join(0.2)
    assert writer.is_alive()
    size = 0
    while size < 1 << 20:
        size += len(os.read(pipe[0], 1 << 16))
    writer.join(PATIENCE)
    assert not writer.is_alive()


def test_a_broken_sink_says_so_once(pipe):
    read_end, write_end = os.pipe()
    os.close(read_end)
    sink, told = Sink(write_end), []
    sink.when_broken = lambda: told.append(1)
    sink.write(b"a")
    sink.write(b"b")
    assert (sink.closed, told) == (True, [1])
    os.close(write_end)


def test_the_user_is_named_and_one_without_a_name_is_a_number(monkeypatch):
    assert process_user()
    monkeypatch.setattr(os, "geteuid", lambda: 2**31 - 7)
    assert process_user() == str(2**31 - 7)
