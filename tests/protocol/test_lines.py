from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.protocol.lines import FramingError, LineDecoder, encode_line
from tests.cost import cpu_seconds

streams = st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b"bc", b"\xe2\x80\xa8", b"\x85"])).map(b"".join)
cuts = st.lists(st.integers(0, 40), max_size=10)


def cut(stream, places):
    edges = [0, *sorted(min(place, len(stream)) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


def read(chunks, cap=1000):
    """Return the lines, then the rest or the fault's text."""
    decoder = LineDecoder(cap)
    lines = []
    try:
        for chunk in chunks:
            lines += decoder.feed(chunk)
        return lines, decoder.close()
    except FramingError as error:
        return lines, str(error)


@given(streams | st.binary(max_size=40), cuts, st.integers(1, 6))
def test_any_chunking_gives_the_same_lines_and_the_same_end(stream, places, cap):
    *ended, rest = (line.removesuffix(b"\r") for line in stream.split(b"\n"))
    long = next((index for index, line in enumerate([*ended, rest]) if len(line) > cap), None)
    good = [line for line in ended[:long] if line]
    fault = f"A line is longer than {cap} bytes; raise max_line_size to read it"
    expected = good, (rest or None) if long is None else fault
    for chunks in [stream], cut(stream, places), [stream[i : i + 1] for i in range(len(stream))]:
        assert read(chunks, cap) == expected


@given(st.lists(st.binary(min_size=1).filter(lambda data: not {10, 13} & set(data)), max_size=5), cuts)
def test_what_is_encoded_is_read_back(messages, places):
    stream = b"".join(map(encode_line, messages))
    assert read(cut(stream, places)) == (messages, None)


@pytest.mark.parametrize("data", [b"a\nb", b"a\rb", b"a\n", b""])
def test_a_message_with_line_breaks_or_without_bytes_is_refused(data):
    with pytest.raises(ValueError, match="must not"):
        encode_line(data)


def test_lf_and_crlf_end_lines_and_nothing_else_does():
    text = "a\rb\u2028c\x85d\v\f\x1c".encode()
    assert read([text + b"\n1\r\n\r\n\n2\r\r\n"]) == ([text, b"1", b"2\r"], None)


def test_the_unterminated_rest_is_returned_at_the_end():
    assert read([b"a\n", b"b"]) == ([b"a"], b"b")
    assert read([b"a\n", b"b\r"]) == ([b"a"], b"b")
    assert read([b"a\n\r"]) == ([b"a"], None)
    assert read([]) == ([], None)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537])
@pytest.mark.parametrize("step", [1, 4096, 65_536, 200_000])
def test_the_frame_behind_a_line_at_the_boundary_is_kept(size, end, step):
    stream = b"x" * size + end + b"next" + end
    lines, last = read((stream[i : i + step] for i in range(0, len(stream), step)), cap=65_536)
    if size > 65_536:
        assert (lines, last[:28]) == ([], "A line is longer than 65536 ")
    else:
        assert (lines, last) == ([b"x" * size, b"next"], None)


def test_lines_in_front_of_a_fault_are_returned_and_the_fault_stays():
    decoder = LineDecoder(3)
    assert decoder.feed(b"abc\nabcd\nab\n") == [b"abc"]
    for _ in range(2):
        with pytest.raises(FramingError, match="longer than 3"):
            decoder.feed(b"a\n")
    with pytest.raises(FramingError, match="longer than 3"):
        decoder.close()


def test_a_line_that_never_ends_is_refused_before_it_is_all_there():
    decoder = LineDecoder(1000)
    decoder.feed(b"x" * 1000)
    with pytest.raises(FramingError):
        decoder.feed(b"x")


def test_a_closed_decoder_says_so():
    decoder = LineDecoder()
    assert decoder.close() is None
    with pytest.raises(FramingError, match="closed"):
        decoder.close()


def test_the_cap_is_positive():
    with pytest.raises(ValueError, match="positive"):
        LineDecoder(0)


def test_small_chunks_take_linear_time():
    def read() -> None:
        decoder = LineDecoder()
        for _ in range(300_000):
            decoder.feed(b"0123456789abcdef")
        assert decoder.feed(b"\n") == [b"0123456789abcdef" * 300_000]

    assert cpu_seconds(read, 5) < 5
