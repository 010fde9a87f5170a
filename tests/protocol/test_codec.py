from __future__ import annotations

import contextlib
import sys

import pytest

from mcp_wsgi.exceptions import EncodeError, ParseError
from mcp_wsgi.protocol.codec import MAX_DEPTH, MAX_NUMBER_LENGTH, decode, encode, encode_checked, encode_text
from tests.cost import cpu_seconds

# What is read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": [1, -2.5e3, "x", true, false, null]}', {"a": [1, -2500.0, "x", True, False, None]}),
        (b" \t\r\n5\n", 5),
        (b'"\\u2028"', "\u2028"),
        ("日本".join('""').encode(), "日本"),
        (b"[]", []),
    ],
)
def test_json_is_read(text, value):
    assert decode(text) == value
    assert decode(bytearray(text)) == value
    assert decode(memoryview(text)) == value


def test_a_byte_order_mark_is_ignored_once():
    """RFC 8259, section 8.1: a reader MAY ignore one. (B51)"""
    assert decode(b'\xef\xbb\xbf{"a":1}') == {"a": 1}
    with pytest.raises(ParseError, match="not JSON"):
        decode(b"\xef\xbb\xbf\xef\xbb\xbf{}")
    with pytest.raises(ParseError, match="empty"):
        decode(b"\xef\xbb\xbf")


def test_a_lone_surrogate_is_read_and_a_pair_is_one_character():
    """B53: arguments with one half of a pair reach the handler, and go back out."""
    assert decode(rb'"a\ud800b"') == "a\ud800b"
    assert decode(rb'"\ud83d\ude00"') == "😀"


# What is refused: -32700 of JSON-RPC 2.0, section 5.1 (B51)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "The body is empty"),
        (b" \r\n\t", "The body is empty"),
        (b"\xff\xfe{}", r"not UTF-8 \(byte 0\)"),
        (b'{"a":"\xed\xa0\x80"}', r"not UTF-8 \(byte 6\)"),
        ('{"a":1}'.encode("utf-16"), "not UTF-8"),
        (b"{}{}", "Extra data at character 2"),
        (b"{} x", "Extra data"),
        (b"{'a':1}", "not JSON"),
        (b'{"a":1,}', "not JSON"),
        (b'{"a":1', "not JSON"),
        (b'"a', "Unterminated string"),
        (b'"a\nb"', "control character"),
        (b'"\\x"', "not JSON"),
        (b'"\\', "not JSON"),
        (b"01", "Extra data"),
        (b"+1", "not JSON"),
        (b".5", "not JSON"),
        (b"0x10", "Extra data"),
        (b"[1] // note", "Extra data"),
        ("\u00a0{}".encode(), "not JSON"),
        ("\u00a0".encode(), "The body is empty"),
        ("٣".encode(), "not JSON"),
    ],
)
def test_what_is_not_json_is_refused(text, reason):
    with pytest.raises(ParseError, match=reason) as caught:
        decode(text)
    assert caught.value.code == -32700


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_are_refused(name):
    with pytest.raises(ParseError, match=f"^{name} is not JSON"):
        decode(f'{{"a":[{name}]}}'.encode())


@pytest.mark.parametrize("number", ["1e999", "-1e400", "1" * 400 + ".0"])
def test_numbers_that_overflow_are_refused(number):
    with pytest.raises(ParseError, match="too large"):
        decode(number.encode())


@pytest.mark.parametrize(
    "text",
    [
        rb'{"id":1,"id":2}',
        rb'{"id":1,"\u0069d":2}',
        rb'{"params":{"a":[{"id":1,"x":0,"id":1}]}}',
    ],
    ids=["root", "spelt differently", "nested"],
)
def test_duplicate_keys_are_refused_at_any_depth(text):
    """Two readers could take two different values."""
    with pytest.raises(ParseError, match=r'^Duplicate key in a JSON object: "id"'):
        decode(text)


def test_a_long_duplicate_key_is_cut_in_the_message():
    key = "k" * 5000
    with pytest.raises(ParseError) as caught:
        decode(f'{{"{key}":1,"{key}":2}}'.encode())
    assert str(caught.value).endswith('kkk..." (-32700)')
    assert len(str(caught.value)) < 130


# Bounds


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_nesting_is_bounded(start, end):
    deepest = start * (MAX_DEPTH - 1) + "[]" + end * (MAX_DEPTH - 1)
    decode(deepest.encode())
    with pytest.raises(ParseError, match=f"more than {MAX_DEPTH} levels"):
        decode((start + deepest + end).encode())


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b'"' + b"[" * 100_000, b'"\\' + b"{" * 200])
def test_hostile_nesting_is_a_parse_error(text):
    with pytest.raises(ParseError):
        decode(text)


@pytest.mark.parametrize("text", ["[" * 500, '\\"[{' * 500, "\\\\[" * 500])
def test_brackets_in_strings_do_not_nest(text):
    assert decode(f'["{text}"]'.encode()) == [text.replace("\\\\", "\\").replace('\\"', '"')]


def test_many_siblings_do_not_nest():
    assert decode(b"[" + b"[],{}," * 500 + b"[]]")[-1] == []


@pytest.mark.parametrize("number", ["1" * 1000, "-" + "1" * 999, "0." + "1" * 998], ids=len)
def test_a_number_of_the_greatest_length_is_read(number):
    assert len(number) == MAX_NUMBER_LENGTH
    assert decode(number.encode()) == (float if "." in number else int)(number)
    assert decode(f'["{"a" * 1000}",{number}]'.encode())[1] == decode(number.encode())


@pytest.mark.parametrize("number", ["1" * 1001, "-" + "1" * 1000, "0." + "1" * 999, "1" * 5000, "1" * 995 + "e-1000"])
def test_a_longer_number_is_refused(number):
    with pytest.raises(ParseError, match="more than 1000 characters"):
        decode(number.encode())


def test_long_digits_inside_a_string_are_no_number():
    assert decode(f'["{"7" * 5000}",1]'.encode()) == ["7" * 5000, 1]


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this interpreter has no limit")
def test_a_stricter_limit_of_the_interpreter_is_a_parse_error():
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(ParseError, match="too large"):
            decode(b"1" * 641)
    finally:
        sys.set_int_max_str_digits(limit)


# What is written


def test_output_is_compact_ascii_on_one_line():
    """B55: readers that split on U+2028 or U+0085 must not cut a message."""
    assert encode({"a": [1, 2.5, True, None], "b": "é\u2028\x85\n😀"}) == (
        b'{"a":[1,2.5,true,null],"b":"\\u00e9\\u2028\\u0085\\n\\ud83d\\ude00"}'
    )
    assert encode_text([]) == "[]"


def test_a_lone_surrogate_is_written_escaped():
    assert encode("a\ud800b") == rb'"a\ud800b"'


@pytest.mark.parametrize("key", [(1, 2), b"a", object()])
def test_an_object_key_that_is_no_string_is_refused(key):
    with pytest.raises(EncodeError, match=r"^an object key is not a string$"):
        encode({key: 1})


def test_a_number_as_key_becomes_its_text():
    assert encode({1: 1, None: 2, False: 3}) == b'{"1":1,"null":2,"false":3}'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_not_written(number):
    """B52"""
    with pytest.raises(EncodeError, match=r"^NaN and Infinity are not JSON$"):
        encode({"a": [number]})


def test_a_value_of_another_type_is_named_by_its_type_only():
    with pytest.raises(EncodeError, match=r"^a value of type bytes is not JSON$") as caught:
        encode({"a": [b"secret"]})
    assert (caught.value.path, caught.value.reason) == ("", "a value of type bytes is not JSON")


def test_a_value_that_contains_itself_is_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(EncodeError, match="contains itself"):
        encode(loop)


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this interpreter has no limit")
def test_an_integer_that_the_interpreter_cannot_write_is_refused():
    with pytest.raises(EncodeError, match=r"^the value is not JSON$"):
        encode(10**5000)


def test_many_brackets_that_are_not_balanced_are_for_the_decoder_to_refuse():
    with pytest.raises(ParseError, match="not JSON"):
        decode(b"[" + b"[]," * (MAX_DEPTH + 1))


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":1}}',
        b'[{"k":1,"k":2}]',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":1e400}',
        b'{"a":-1e400}',
    ],
)
def test_what_a_compact_writer_never_writes_is_refused_also_without_blanks(text):
    with pytest.raises(ParseError):
        decode(text)


HOSTILE = {
    "brackets without end": b"[" * 2_000_000,
    "brackets that close first": b"]" * 1_000_000 + b"[" * 1_000_000,
    "digits that are nearly too many": b"[" + b",".join([b"9" * (MAX_NUMBER_LENGTH - 1)] * 2_000) + b"]",
    "fractions that are nearly too long": b"[" + b",".join([b"0." + b"9" * (MAX_NUMBER_LENGTH - 9)] * 2_000) + b"]",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_body_costs_no_more_than_any_other(body):
    """Two megabytes took seconds: the depth was looked for level by level, the digits at each digit."""

    def read() -> None:
        with contextlib.suppress(ParseError):
            decode(body)

    assert cpu_seconds(read, 0.6) < 0.6


@pytest.mark.parametrize(
    "value",
    [{"a": [1, 2.5, "x", None, True]}, {"a": "日本"}, {"a": "\ud800"}, {"a": "\u2028"}, {1: "x"}, [10**30], "\x00"],
)
def test_what_is_known_to_be_json_is_written_alike(value):
    assert decode(encode_checked(value)) == decode(encode(value))
    assert encode_checked(value).isascii()


def test_what_neither_encoder_can_write_is_refused():
    with pytest.raises(EncodeError):
        encode_checked({"a": object()})
