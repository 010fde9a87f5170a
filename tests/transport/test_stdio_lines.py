"""What a server writes, cut anywhere: the same messages, or the documented error, in bounded memory.

Everything goes through a real process and its pipe. What is expected is worked out by a model of a few lines.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wsgi.exceptions import RemoteProtocolError
from mcp_wsgi.protocol.codec import encode
from mcp_wsgi.protocol.lines import LineDecoder
from mcp_wsgi.protocol.meta import SUBSCRIPTION_ID
from mcp_wsgi.transport.routing import CAPACITY, Mailbox, Router
from mcp_wsgi.transport.stdio import StdioTransport
from tests.transport.stdio_support import MARK, exchange, leaves_nothing, program, request

LIMIT = 4096
OWN = 7

foreign_ids = st.sampled_from([8, -7, "8", "07", "7.0", "", "own", 70, "foreign"])


class Piece(NamedTuple):
    """A line, and where it goes: ``own``, ``inbox``, ``nowhere`` or ``too long``."""

    line: bytes
    to: str = "nowhere"


def piece(to: str, **message: Any) -> Piece:
    return Piece(encode({"jsonrpc": "2.0", **message}), to)


texts = st.text(max_size=20) | st.sampled_from(["\u2028", "\x85", "\r\n", "é日😀"])
own_pieces = st.one_of(
    st.builds(
        lambda token, text: piece(
            "own", method="notifications/progress", params={"progressToken": token, "progress": 1, "message": text}
        ),
        st.sampled_from([OWN, str(OWN)]),
        texts,
    ),
    st.builds(
        lambda text: piece("own", method="notifications/x", params={"_meta": {SUBSCRIPTION_ID: OWN}, "text": text}),
        texts,
    ),
)
inbox_pieces = st.one_of(
    st.builds(lambda text: piece("inbox", method="notifications/message", params={"data": text}), texts),
    st.builds(lambda foreign: piece("inbox", method="roots/list", id=foreign), foreign_ids),
    st.builds(
        lambda token: piece("inbox", method="notifications/progress", params={"progressToken": token, "progress": 1}),
        foreign_ids | st.none(),
    ),
)
other_pieces = st.one_of(
    st.builds(lambda foreign: piece("nowhere", id=foreign, result={}), foreign_ids),
    st.builds(lambda foreign: piece("nowhere", id=foreign, error={"code": 1, "message": ""}), foreign_ids),
    st.binary(max_size=30).map(lambda data: Piece(data.replace(b"\n", b""))),
    st.sampled_from(
        [b"", b"5", b"{}", b"[]", b"null", b'"x"', b"\x1b[31mred\x1b[0m", b'{"jsonrpc":"2.0"', b"\xff\xfe"]
    ).map(Piece),
    st.sampled_from([b'{"jsonrpc":"2.0","id":8,"result":5}', b'{"id":8,"result":NaN}', b'{"id":8,"x":{}}']).map(Piece),
    # Just below the limit is skipped as anything else is.
    st.integers(LIMIT - 2, LIMIT).map(lambda size: Piece(b"x" * size)),
)
pieces = st.lists(own_pieces | inbox_pieces | other_pieces, max_size=12)
endings = st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b"\n\r\n"])
cuts = st.lists(st.integers(0, 3000), max_size=8)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({min(place, len(stream)) for place in places}), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges) if end > start]


@pytest.fixture(scope="module")
def transport() -> Iterator[StdioTransport]:
    with leaves_nothing():
        transport = StdioTransport(program("talker"), env=MARK, max_message_size=LIMIT)
        yield transport
        transport.close()


def ask(transport: StdioTransport, chunks: list[bytes]) -> tuple[list[Any], list[Any], Any]:
    """Let the server write these bytes; give what came for the request, for the inbox, and the answer or the error."""
    own: list[Any] = []
    box: list[Any] = []
    transport.inbox = box.append
    message = request(OWN, "raw", chunks=[chunk.hex() for chunk in chunks])
    try:
        answer: Any = transport.request(message, exchange(60, own.append))
    except RemoteProtocolError as error:
        answer = error
        transport.restart()
    return own, box, answer


def expected(sent: list[Piece], to: str) -> list[Any]:
    return [json.loads(each.line) for each in sent if each.to == to]


@given(pieces, st.lists(endings, min_size=13, max_size=13), cuts, st.sampled_from([OWN, str(OWN)]))
def test_lines_that_are_cut_anywhere_are_the_same_messages(transport, sent, ends, places, answered):
    answer = piece("answer", id=answered, result={"done": True})
    stream = b"".join(each.line + end for each, end in zip([*sent, answer], ends, strict=False))
    own, box, got = ask(transport, cut(stream, places))
    assert got == {"jsonrpc": "2.0", "id": OWN, "result": {"done": True}}
    assert own == expected(sent, "own")
    assert box == expected(sent, "inbox")


@settings(max_examples=40)
@given(pieces, st.lists(endings, min_size=13, max_size=13), cuts, st.integers(LIMIT + 2, LIMIT * 40), st.booleans())
def test_what_is_in_front_of_a_line_too_long_arrives_and_then_the_error(transport, sent, ends, places, size, ended):
    stream = b"".join(each.line + end for each, end in zip(sent, ends, strict=False))
    stream += b"y" * size + (b"\n" if ended else b"")
    own, box, got = ask(transport, cut(stream, places))
    assert str(got) == f"The server sent a message of more than {LIMIT} bytes; raise max_message_size to read it"
    assert own == expected(sent, "own")
    assert box == expected(sent, "inbox")


@given(pieces, st.lists(endings, min_size=13, max_size=13), st.lists(st.integers(0, 3000), max_size=40))
def test_the_router_behind_a_decoder_does_the_same(sent, ends, places):
    box: list[Any] = []
    own: list[Any] = []
    router, decoder = Router(box.append, "test", 1024 * 1024), LineDecoder(LIMIT)
    answer = piece("answer", id=OWN, result={})
    stream = b"".join(each.line + end for each, end in zip([*sent, answer], ends, strict=False))
    with router.expect(OWN) as mailbox:
        for chunk in cut(stream, places):
            for line in decoder.feed(chunk):
                router.receive(line)
        assert mailbox.wait(exchange(0, own.append)) == {"jsonrpc": "2.0", "id": OWN, "result": {}}
    assert (own, box) == (expected(sent, "own"), expected(sent, "inbox"))


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=60), st.integers(50, 200))
def test_a_mailbox_never_holds_more_than_it_may(sizes, limit):
    mailbox = Mailbox(1, limit)
    for number, (is_progress, size) in enumerate(sizes):
        mailbox.put({"method": "notifications/progress" if is_progress else "other", "n": number}, size)
        assert sum(size for _, size in mailbox._messages) <= max(limit, 60)
    mailbox.answer({})
    taken: list[Any] = []
    assert mailbox.wait(exchange(0, taken.append)) == {}
    assert [each["n"] for each in taken] == sorted(each["n"] for each in taken)
    assert len(taken) + mailbox.dropped == len(sizes)
    # The newest is kept, but for progress that came when nothing older could go.
    assert not sizes or taken[-1]["n"] == len(sizes) - 1 or sizes[-1][0]


def test_progress_is_dropped_before_anything_else():
    mailbox = Mailbox(1, 1_000_000)
    mailbox.put({"method": "kept", "n": 0}, 1)
    for number in range(1, CAPACITY + 5):
        mailbox.put({"method": "notifications/progress", "n": number}, 1)
    mailbox.answer({})
    taken: list[Any] = []
    mailbox.wait(exchange(0, taken.append))
    assert (len(taken), mailbox.dropped) == (CAPACITY, 5)
    assert [each["n"] for each in taken[:2]] == [0, 6]


def test_a_line_without_end_is_held_up_to_the_limit_only():
    limit = 1024 * 1024
    transport = StdioTransport(
        program("endless", b"x".hex(), "65536"), env=MARK, max_message_size=limit, stop_seconds=0.2
    )
    with leaves_nothing():
        tracemalloc.start()
        try:
            with pytest.raises(RemoteProtocolError, match="max_message_size"):
                transport.request(request(1, "x"), exchange())
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            transport.close()
    assert peak < 4 * limit


def test_messages_that_nobody_takes_are_held_up_to_the_limit_only():
    text = "x" * 100_000
    progress = encode(
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "message": text}}
    )
    mailbox_limit = 1024 * 1024
    router = Router(lambda message: None, "test", mailbox_limit)
    tracemalloc.start()
    try:
        with router.expect(1) as mailbox:
            for _ in range(200):
                router.receive(progress)
            held = tracemalloc.get_traced_memory()[0]
            assert mailbox.dropped >= 180
    finally:
        tracemalloc.stop()
    assert held < 3 * mailbox_limit
