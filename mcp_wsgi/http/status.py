"""The HTTP status of each JSON-RPC error of a modern request, in one table.

2026-07-28, basic/transports/streamable-http: 404 for an unknown method, 400 for what the request got wrong.
"""

from __future__ import annotations

from ..errors import ErrorCode

__all__ = ["status_of"]

_STATUS: dict[int, int] = {
    ErrorCode.PARSE_ERROR: 400,
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.METHOD_NOT_FOUND: 404,
    ErrorCode.INVALID_PARAMS: 400,
    ErrorCode.INTERNAL_ERROR: 500,
    ErrorCode.HEADER_MISMATCH: 400,
    ErrorCode.MISSING_CLIENT_CAPABILITY: 400,
    ErrorCode.UNSUPPORTED_PROTOCOL_VERSION: 400,
}


def status_of(code: int) -> int:
    """Give the HTTP status of an error code; an application's own code rides on 200."""
    return _STATUS.get(code, 200)
