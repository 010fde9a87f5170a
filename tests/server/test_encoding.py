"""From an answer to its bytes, with the prepared list and without."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import EncodeError, Server
from mcp_wsgi.protocol.codec import decode, encode
from mcp_wsgi.server.encoding import encode_message
from mcp_wsgi.server.listing import ListResult

from .wire import ERAS, request


@ERAS
@pytest.mark.parametrize("page_size", [None, 1, 2])
@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize("request_id", [1, 'a"b\ud800', -5])
def test_a_prepared_list_is_encoded_as_the_codec_would(
    era: str, page_size: int | None, filtered: bool, request_id: Any
) -> None:
    server = Server("s", page_size=page_size)
    for name in ("a", "é"):
        server.tool(name=name, visible=(lambda ctx: True) if filtered else None)(lambda: 1)
    answer = server.handle_message(request("tools/list", era=era, request_id=request_id))
    assert answer is not None
    assert type(answer["result"]) is ListResult
    assert decode(encode_message(answer)) == decode(encode(answer))


def test_other_answers_are_encoded_by_the_codec() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "\u2028"}}
    assert encode_message(answer) == encode(answer)
    with pytest.raises(EncodeError):
        encode_message({"result": {"a": object()}})
