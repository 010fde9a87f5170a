"""What is left of a body whose request was refused.

Most servers close a connection with bytes unread, or reset it; then a client that is still sending may never see the
answer, and tells its user of a broken connection (RFC 9112, section 9.6). So the rest is read and dropped, within
bounds.
"""

from __future__ import annotations

import time

from ..server.drive import Call, Steps
from .messages import HTTPRequest

__all__ = ["discard"]

#: How often the limit may be read over again. Beyond it a client is not worth the time, and may lose the answer.
_TIMES = 4
#: In seconds. The last piece may take longer, as any reading may: how long, is the server's decision.
_LONGEST = 5.0
_PIECE = 16 * 1024


def discard(request: HTTPRequest, limit: int) -> Steps[None]:
    """Read the rest of a body that was refused, of which nothing was read if its length was announced.

    Args:
        request: The request.
        limit: The largest body that is served, in bytes.
    """
    left = _TIMES * limit
    if request.content_length is not None:
        if request.content_length > left:
            return
        left = request.content_length
    read = request.discard or request.read_body
    deadline = time.monotonic() + _LONGEST
    try:
        while left > 0 and time.monotonic() < deadline:
            piece = yield Call(read, (min(left, _PIECE),), {}, request.is_async)
            if not piece:
                return
            left -= len(piece)
    except Exception:  # noqa: BLE001 - each server raises something else for a client that went away
        return
