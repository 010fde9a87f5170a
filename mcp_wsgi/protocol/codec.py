"""The strict JSON of the wire: one reading of every body, or none.

What is stricter than :mod:`json` is what two readers of one body could take differently, or what
could hurt this process: encodings other than UTF-8, duplicate keys at any depth, ``NaN`` and
``Infinity`` (also as an overflowing number), unbounded depth, unbounded numbers. Output is ASCII, so
no reader that splits on U+2028 or U+0085 ever cuts a message, and a lone surrogate survives.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from json import encoder as _json_encoder
from math import isfinite
from typing import Any

import msgspec

from ..exceptions import EncodeError, ParseError

__all__ = ["MAX_DEPTH", "MAX_NUMBER_LENGTH", "decode", "encode", "encode_checked", "encode_text"]

#: The deepest nesting of arrays and objects that is read. Real messages stay below 20.
MAX_DEPTH = 128
#: The longest number that is read, in characters. A double needs 25, a 2048-bit integer 617.
MAX_NUMBER_LENGTH = 1_000

# Only a body with such a run of digits (perhaps inside a string) pays for checking each integer.
# It is looked for at the first digit of a run only: at each one, runs that are a little shorter would cost seconds.
_LONG_INTEGER = re.compile(rb"(?<![0-9])[0-9]{%d}" % MAX_NUMBER_LENGTH)
# Such a run also shows in every hundredth byte, which is quick to see.
_SAMPLED = re.compile(rb"[0-9]{%d}" % (MAX_NUMBER_LENGTH // 100))
# As signed bytes: one level more, one level less.
_AS_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_read_fast = msgspec.json.Decoder().decode
_write_fast = msgspec.json.Encoder().encode
_BOM = b"\xef\xbb\xbf"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ParseError(f"Duplicate key in a JSON object: {_quote(repeated)}")
    return value


def _quote(text: str) -> str:
    return json.dumps(text if len(text) <= 60 else text[:60] + "...")


def _constant(name: str) -> Any:
    raise ParseError(f"{name} is not JSON")


def _bounded_int(digits: str) -> int:
    if len(digits) > MAX_NUMBER_LENGTH:
        raise ParseError(f"A number has more than {MAX_NUMBER_LENGTH} characters")
    return int(digits)


def _bounded_float(digits: str) -> float:
    if len(digits) > MAX_NUMBER_LENGTH:
        raise ParseError(f"A number has more than {MAX_NUMBER_LENGTH} characters")
    value = float(digits)
    if not isfinite(value):
        raise ParseError("A number is too large")
    return value


_FAST = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_bounded_float)
_CAREFUL = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_int=_bounded_int, parse_float=_bounded_float
)


def _check_depth(raw: bytes) -> None:
    # Without escapes, every second part between quotes is outside of strings.
    outside = b"".join(raw.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    # What is not balanced is left for the decoder to refuse: up to there these are the levels that it enters.
    if max(accumulate(array("b", outside.translate(_AS_STEPS, _NO_BRACKETS))), default=0) > MAX_DEPTH:
        raise ParseError(f"The JSON is nested more than {MAX_DEPTH} levels deep")


def _decode_canonical(raw: bytes) -> Any:
    """Read a text that is exactly what a compact writer writes, as most clients are; ``None`` for any other.

    A writer never repeats a key, nor writes NaN or an infinite number: a text that is written again as the same
    bytes has none of these. msgspec does both in a quarter of the time of one reading with a hook for each object.
    """
    if raw.find(b'": ', 0, 256) >= 0:
        return None  # not a compact writer
    try:
        value = _read_fast(raw)
        return value if _write_fast(value) == raw else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def decode(data: bytes | bytearray | memoryview) -> Any:
    """Read one strict JSON text.

    Args:
        data: The whole text as UTF-8. A byte order mark is ignored (RFC 8259, section 8.1).

    Returns:
        ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` or ``None``.

    Raises:
        ParseError: The bytes are not UTF-8, not JSON, have duplicate keys, ``NaN``, an infinite or
            overlong number, or are nested too deep. The message names what was wrong.
    """
    raw = bytes(data)
    if raw.startswith(_BOM):
        raw = raw[3:]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError(f"The body is not UTF-8 (byte {error.start})") from None
    if not text or text.isspace():
        raise ParseError("The body is empty")
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(raw)
    decoder = _FAST
    if len(raw) > MAX_NUMBER_LENGTH and _SAMPLED.search(raw[::100]) and _LONG_INTEGER.search(raw):
        decoder = _CAREFUL
    elif (value := _decode_canonical(raw)) is not None:
        return value
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise ParseError(f"The body is not JSON: {error.msg} at character {error.pos}") from None
    except ValueError:
        # The interpreter's own limit on the digits of an integer can be set below ours.
        raise ParseError("A number is too large") from None


_escape = json.encoder.encode_basestring_ascii
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), check_circular=False)


def _unencodable(value: Any) -> Any:
    raise EncodeError("", f"a value of type {type(value).__name__} is not JSON")


def _compile_encoder() -> Callable[[Any], str]:
    make = getattr(_json_encoder, "c_make_encoder", None)
    if make is None:  # pragma: no cover - an interpreter without the C accelerator
        return _ENCODER.encode
    # JSONEncoder.encode builds this object on every call; it holds no state, so one serves all.
    compiled = make(None, _unencodable, _escape, None, ":", ",", False, False, False)

    def encode_all(value: Any) -> str:
        return "".join(compiled(value, 0))

    return encode_all


_encode_all = _compile_encoder()


def encode_text(value: Any) -> str:
    """Write one JSON text as an ASCII string; see :func:`encode`."""
    try:
        return _encode_all(value)
    except EncodeError:
        raise
    except RecursionError:
        raise EncodeError("", "the value is nested too deep or contains itself") from None
    except (TypeError, ValueError) as error:
        raise EncodeError("", _explain(error)) from None


def _explain(error: Exception) -> str:
    text = str(error)
    if "JSON compliant" in text:
        return "NaN and Infinity are not JSON"
    if "keys must be" in text:
        return "an object key is not a string"
    return "the value is not JSON"


def encode_checked(value: Any) -> bytes:
    """Write a value that is known to hold nothing but JSON, several times as fast as :func:`encode`.

    msgspec would write ``NaN`` as ``null``, and dates and bytes as strings: whoever calls this has refused them before.
    What is not ASCII, or holds half a surrogate pair, is written by :func:`encode` after all.

    Raises:
        EncodeError: It holds something that neither can write.
    """
    try:
        data = _write_fast(value)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return encode(value)
    return data if data.isascii() else encode(value)


def encode(value: Any) -> bytes:
    """Write one JSON text as compact ASCII bytes on one line.

    A number, boolean or ``None`` as an object key becomes its JSON text, as :func:`json.dumps` has it.

    Raises:
        EncodeError: The value holds ``NaN``, ``Infinity``, a cycle, or something that is not JSON.
    """
    return encode_text(value).encode("ascii")
