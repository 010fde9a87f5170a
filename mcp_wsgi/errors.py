"""The JSON-RPC error codes that MCP uses, in one place.

``-32700`` to ``-32600`` come from JSON-RPC 2.0; ``-32020`` to ``-32022`` are allocated by
the 2026-07-28 revision. The HTTP status of each code is decided in
:mod:`mcp_wsgi.http.status`, not here: a code knows nothing of a transport.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ErrorCode"]


class ErrorCode(IntEnum):
    """Name the error codes of JSON-RPC 2.0 and of MCP."""

    #: The bytes are not the strict JSON this protocol takes.
    PARSE_ERROR = -32700
    #: The JSON is not one JSON-RPC request or notification.
    INVALID_REQUEST = -32600
    #: The method is unknown, or not part of this era of the protocol.
    METHOD_NOT_FOUND = -32601
    #: The parameters, the request metadata or a name in them are wrong.
    INVALID_PARAMS = -32602
    #: The server failed; nothing of the failure is told.
    INTERNAL_ERROR = -32603
    #: Legacy revisions only: the resource does not exist.
    RESOURCE_NOT_FOUND = -32002
    #: An HTTP header is missing, repeated or malformed, or differs from the body.
    HEADER_MISMATCH = -32020
    #: The request needs a client capability that it does not declare.
    MISSING_CLIENT_CAPABILITY = -32021
    #: The protocol version is not served here.
    UNSUPPORTED_PROTOCOL_VERSION = -32022
