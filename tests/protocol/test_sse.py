from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_wsgi.protocol.sse import Event, EventDecoder, FramingError, encode_comment, encode_event
from tests.cost import cpu_seconds

PIECES = [
    b"data", b"event", b"id", b"retry", b":", b" ", b"\r", b"\n", b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\0",
    b"7", b"\xd9\xa3", b"\xc3", b"\xa9", b"\xe2\x80\xa8", b"x", b"data: {}\n\n", b"\x0b", b"\x85",
]  # fmt: skip
streams = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join) | st.binary(max_size=60)
cuts = st.lists(st.integers(0, 80), max_size=12)


def cut(stream, places):
    edges = [0, *sorted(min(place, len(stream)) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


def read(chunks, **caps):
    """Return the events, and the fault's text or None."""
    decoder = EventDecoder(**caps)
    events = []
    try:
        for chunk in chunks:
            events += decoder.feed(chunk)
        decoder.close()
    except FramingError as error:
        return events, str(error)
    return events, None


def events_of(stream):
    events, fault = read([stream])
    assert fault is None
    return events


def model(stream):
    """Read a whole stream the plain way: the standard's rules on a list of lines."""
    stream = stream.removeprefix(b"\xef\xbb\xbf")
    lines = [line.decode("utf-8", "replace") for line in re.split(rb"\r\n|\r|\n", stream)[:-1]]
    events, data, name, last_id, retry = [], [], "", None, None
    for line in lines:
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if not line:
            if "\n".join(data):
                events.append(Event(event=name or "message", data="\n".join(data), event_id=last_id, retry_ms=retry))
            data, name, retry = [], "", None
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value or None
        elif field == "retry" and re.fullmatch("[0-9]{1,15}", value):
            retry = int(value)
    return events


@given(streams, cuts)
@example(b"\xef\xbb\xbfdata: x\r\n\r\n", [1, 2, 11, 12, 13])
def test_any_chunking_gives_the_events_of_the_standard(stream, places):
    expected = model(stream)
    assert read(cut(stream, places)) == (expected, None)
    assert read([stream[i : i + 1] for i in range(len(stream))]) == (expected, None)


@given(streams, cuts, st.integers(1, 12), st.integers(1, 12))
def test_any_chunking_gives_the_same_events_and_then_the_same_fault(stream, places, max_event, max_line):
    caps = {"max_event_size": max_event, "max_line_size": max_line}
    assert read(cut(stream, places), **caps) == read([stream], **caps)


names = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text not in "\r\n"),
    st.none() | names,
    st.none() | names,
    st.none() | st.integers(0, 10**9),
    cuts,
)
def test_what_is_encoded_is_read_back(data, event, event_id, retry_ms, places):
    stream = encode_event(data.encode(), event=event, event_id=event_id, retry_ms=retry_ms)
    expected = Event(
        event=event or "message",
        data=re.sub("\r\n|\r|\n", "\n", data),
        event_id=event_id or None,
        retry_ms=retry_ms,
    )
    assert read(cut(encode_comment("hello") + stream + encode_comment(), places)) == ([expected], None)


def test_the_plain_event_is_one_data_line():
    assert encode_event(b'{"a":1}') == b'data: {"a":1}\n\n'


def test_all_fields_are_written_in_front_of_the_data():
    written = encode_event(b"1", event="e", event_id="5", retry_ms=10)
    assert written == b"event: e\nid: 5\nretry: 10\ndata: 1\n\n"


def test_line_breaks_in_data_become_data_lines():
    assert encode_event(b"a\nb\r\nc\rd") == b"data: a\ndata: b\ndata: c\ndata: d\n\n"


@pytest.mark.parametrize("bad", ["a\rb", "a\nb", "a\0b"])
def test_names_and_ids_hold_no_line_breaks_or_nul(bad):
    with pytest.raises(ValueError, match="event of an event"):
        encode_event(b"1", event=bad)
    with pytest.raises(ValueError, match="id of an event"):
        encode_event(b"1", event_id=bad)


def test_what_no_reader_could_use_is_refused():
    with pytest.raises(ValueError, match="needs data"):
        encode_event(b"")
    with pytest.raises(ValueError, match="negative"):
        encode_event(b"1", retry_ms=-1)
    with pytest.raises(ValueError):
        encode_event(b"1", event="\ud800")


def test_comments_cannot_end_early():
    assert encode_comment() == b":\n\n"
    assert encode_comment("a\ndata: b\r\rc") == b": a\n: data: b\n: \n: c\n\n"
    assert events_of(encode_comment("a\ndata: b")) == []


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending_ends_lines(end):
    assert events_of(end.join([b"id: 1", b"data: a", b"data: b", b"", b""])) == [Event(data="a\nb", event_id="1")]


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\x1d", "\x1e"])
def test_no_other_character_ends_a_line(char):
    assert events_of(f"data: a{char}b\n\n".encode()) == [Event(data=f"a{char}b")]


@pytest.mark.parametrize(
    "stream",
    [
        b"id: 1\ndata:\n\n",
        b"data\n\n",
        b"data: \n\n",
        b": hi\n\n",
        b"event: message\n\n",
        b"retry: 10\n\n",
        b"x\n\n",
    ],
)
def test_events_without_data_are_skipped(stream):
    assert events_of(stream) == []


def test_the_event_name_holds_for_one_event():
    assert events_of(b"event: ping\ndata: x\n\ndata: y\n\n") == [
        Event(event="ping", data="x"),
        Event(data="y"),
    ]


def test_an_event_ended_by_cr_does_not_wait_for_the_next_byte():
    decoder = EventDecoder()
    assert decoder.feed(b"data: x\r\n\r") == [Event(data="x")]
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\ndata: y\n\n") == [Event(data="y")]


def test_ids_persist_until_the_next_and_count_at_the_blank_line():
    decoder = EventDecoder()
    assert decoder.feed(b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n") == [
        Event(data="a", event_id="1"),
        Event(data="b", event_id="1"),
        Event(data="c"),
    ]
    decoder.feed(b"id: 2\ndata:\n\nid: 3\n")
    assert decoder.last_event_id == "2"
    decoder.feed(b"id: 4\0\n\n")
    assert decoder.last_event_id == "3"


@pytest.mark.parametrize(
    ("value", "wait"),
    [("10", 10), ("007", 7), ("0", 0), ("abc", None), ("", None), ("-1", None), ("+1", None), ("1_0", None),
     ("1.5", None), ("٣", None), (" 5", None), ("9" * 5000, None)],
)  # fmt: skip
def test_retry_is_ascii_digits_only(value, wait):
    decoder = EventDecoder()
    assert decoder.feed(f"retry: {value}\ndata: x\n\n".encode()) == [Event(data="x", retry_ms=wait)]
    assert decoder.retry_ms == wait


def test_retry_counts_without_data_and_belongs_to_its_event_only():
    decoder = EventDecoder()
    assert decoder.feed(b"retry: 9\n\ndata: x\n\n") == [Event(data="x")]
    assert decoder.retry_ms == 9


def test_only_the_first_bom_is_stripped():
    assert events_of(b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n") == []
    assert events_of(b"\xef\xbb\xbfdata: \xef\xbb\xbfx\n\n") == [Event(data="\ufeffx")]


def test_the_unterminated_last_event_is_dropped():
    assert events_of(b"data: x\n\ndata: y\n") == [Event(data="x")]
    assert events_of(b"data: x\n\ndata: y") == [Event(data="x")]


def test_data_at_the_cap_is_read_and_one_byte_more_is_not():
    caps = {"max_event_size": 5}
    assert read([b"data: 12345\n\ndata:12\ndata:34\n\n"], **caps)[0] == [
        Event(data="12345"),
        Event(data="12\n34"),
    ]
    assert read([b"data: 123456\n\n"], **caps) == (
        [],
        "An event carries more than 5 bytes of data; raise max_event_size to read it",
    )
    assert read([b"data: 12\ndata: 345\n\n"], **caps)[1]


def test_a_line_at_the_cap_is_read_and_one_byte_more_is_not():
    caps = {"max_line_size": 7}
    assert read([b"data: x\r\n\r\n"], **caps) == ([Event(data="x")], None)
    assert read([b": a long comment"], **caps) == (
        [],
        "A line of events is longer than 7 bytes; raise max_line_size to read it",
    )


def test_events_in_front_of_a_fault_are_returned_and_the_fault_stays():
    decoder = EventDecoder(max_line_size=8)
    assert decoder.feed(b"data: x\n\n: much too long\n\ndata: y\n\n") == [Event(data="x")]
    for _ in range(2):
        with pytest.raises(FramingError, match="longer than 8"):
            decoder.feed(b"data: z\n\n")
    with pytest.raises(FramingError, match="longer than 8"):
        decoder.close()


def test_a_closed_decoder_says_so():
    decoder = EventDecoder()
    decoder.close()
    with pytest.raises(FramingError, match="closed"):
        decoder.feed(b"")


@pytest.mark.parametrize("caps", [{"max_event_size": 0}, {"max_line_size": -1}])
def test_caps_are_positive(caps):
    with pytest.raises(ValueError, match="positive"):
        EventDecoder(**caps)


def test_hundred_thousand_comments_and_a_long_event_in_small_chunks_take_linear_time():
    def read() -> None:
        assert events_of(b": c\n\n" * 100_000) == []
        decoder = EventDecoder()
        for _ in range(200_000):
            decoder.feed(b"data: 1234567890")

    assert cpu_seconds(read, 5) < 5
