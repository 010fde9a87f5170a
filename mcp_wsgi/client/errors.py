"""From a JSON-RPC error on the wire to the exception that a caller gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ErrorCode
from ..exceptions import (
    HeaderMismatchError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MCPError,
    MethodNotFoundError,
    MissingClientCapabilityError,
    ParseError,
    ResourceNotFoundError,
    UnsupportedVersionError,
)

__all__ = ["error_from_wire"]

_CLASSES: Mapping[int, type[MCPError]] = {
    ErrorCode.PARSE_ERROR: ParseError,
    ErrorCode.INVALID_REQUEST: InvalidRequestError,
    ErrorCode.METHOD_NOT_FOUND: MethodNotFoundError,
    ErrorCode.INVALID_PARAMS: InvalidParamsError,
    ErrorCode.INTERNAL_ERROR: InternalError,
    ErrorCode.RESOURCE_NOT_FOUND: ResourceNotFoundError,
    ErrorCode.HEADER_MISMATCH: HeaderMismatchError,
    ErrorCode.MISSING_CLIENT_CAPABILITY: MissingClientCapabilityError,
    ErrorCode.UNSUPPORTED_PROTOCOL_VERSION: UnsupportedVersionError,
}


def error_from_wire(error: object) -> MCPError:
    """Read the ``error`` member of an answer, as far as it can be read.

    Returns:
        An exception of the class that the code has, with the server's own message and data.
    """
    body: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    code = body.get("code")
    code = code if type(code) is int else int(ErrorCode.INTERNAL_ERROR)
    message = body.get("message")
    kind = _CLASSES.get(code, MCPError)
    # The constructors of some classes make their message of other things; what the server said is told as it is.
    found = kind.__new__(kind)
    MCPError.__init__(
        found, code, message if isinstance(message, str) else "The server gave no reason", body.get("data")
    )
    return found
