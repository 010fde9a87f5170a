"""From an answer to its bytes, without encoding a prepared list again."""

from __future__ import annotations

from typing import Any

from ..protocol.codec import encode, encode_checked, encode_text
from .listing import ListResult

__all__ = ["encode_message"]


def encode_message(message: dict[str, Any]) -> bytes:
    """Write a message as strict ASCII JSON on one line.

    Raises:
        EncodeError: It holds something that is not JSON.
    """
    result = message.get("result")
    if result is None:
        return encode(message)
    if type(result) is not ListResult or not result.member:
        # Everything that a handler gave was made JSON, or refused, when its result was built.
        return encode_checked(message)
    rest = encode_text({name: value for name, value in result.items() if name != result.member})
    identity = encode_text(message["id"])
    tail = "}}" if rest == "{}" else "," + rest[1:] + "}"
    text = f'{{"jsonrpc":"2.0","id":{identity},"result":{{"{result.member}":{result.prepared}{tail}'
    return text.encode("ascii")
