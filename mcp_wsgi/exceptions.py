"""The exceptions of the package.

::

    MCPError                          a JSON-RPC error, with its code
      ParseError                      -32700
      InvalidRequestError             -32600
      MethodNotFoundError             -32601
      InvalidParamsError              -32602
        ResourceNotFoundError         -32602, on legacy -32002
      InternalError                   -32603
      HeaderMismatchError             -32020
      MissingClientCapabilityError    -32021
      UnsupportedVersionError         -32022
    ToolError                         text that the model may read
    ArgumentError                     one argument is wrong: path and reason
    EncodeError                       a value that strict JSON cannot carry
    RegistrationError                 a tool, resource or prompt is defined wrongly
    ConfigurationError                the server or a door is set up wrongly
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ErrorCode

__all__ = [
    "ArgumentError",
    "ConfigurationError",
    "EncodeError",
    "HeaderMismatchError",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "MCPError",
    "MethodNotFoundError",
    "MissingClientCapabilityError",
    "ParseError",
    "RegistrationError",
    "ResourceNotFoundError",
    "ToolError",
    "UnsupportedVersionError",
]


class MCPError(Exception):
    """Answer a request with a JSON-RPC error.

    A handler may raise it: its code, message and data reach the client as they are.

    Args:
        code: The JSON-RPC error code.
        message: One sentence that says what was wrong and what to do.
        data: Any JSON value, left out of the answer when it is ``None``.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = int(code)
        self.message = message
        self.data = data
        #: The id of the request that is refused, where only the reader of the message knows it.
        self.request_id: str | int | None = None

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class _FixedCodeError(MCPError):
    """Carry the code of the class."""

    CODE: ErrorCode

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(self.CODE, message, data)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.message, self.data), self.__dict__


def _restore(kind: type[_FixedCodeError], message: str, data: Any) -> _FixedCodeError:
    error = kind.__new__(kind)
    _FixedCodeError.__init__(error, message, data)
    return error


class ParseError(_FixedCodeError):
    """Refuse bytes that are not strict JSON (JSON-RPC 2.0, section 5.1)."""

    CODE = ErrorCode.PARSE_ERROR


class InvalidRequestError(_FixedCodeError):
    """Refuse JSON that is not one JSON-RPC message.

    ``request_id`` is the id of the request where it could be read, else ``None``.
    """

    CODE = ErrorCode.INVALID_REQUEST

    def __init__(self, message: str, data: Any = None, *, request_id: str | int | None = None) -> None:
        super().__init__(message, data)
        self.request_id = request_id


class MethodNotFoundError(_FixedCodeError):
    """Refuse a method that does not exist in the request's era."""

    CODE = ErrorCode.METHOD_NOT_FOUND


class InvalidParamsError(_FixedCodeError):
    """Refuse parameters, request metadata or a name in them."""

    CODE = ErrorCode.INVALID_PARAMS


class ResourceNotFoundError(InvalidParamsError):
    """Say that a resource does not exist; ``data.uri`` repeats its URI.

    On the modern wire it is ``-32602``, on the legacy one ``-32002``.
    """

    def __init__(self, uri: str, message: str = "Resource not found") -> None:
        super().__init__(message, {"uri": uri})
        self.uri = uri


class InternalError(_FixedCodeError):
    """Say that the server failed, and nothing about how."""

    CODE = ErrorCode.INTERNAL_ERROR


class HeaderMismatchError(_FixedCodeError):
    """Refuse HTTP headers that are not those of the message in the body."""

    CODE = ErrorCode.HEADER_MISMATCH


class MissingClientCapabilityError(_FixedCodeError):
    """Name the client capabilities that a request would have to declare.

    Args:
        required: A ``ClientCapabilities`` object, for example ``{"elicitation": {"form": {}}}``.
    """

    CODE = ErrorCode.MISSING_CLIENT_CAPABILITY

    def __init__(self, required: Mapping[str, Any]) -> None:
        names = ", ".join(sorted(required))
        super().__init__(
            f"This request needs client capabilities that it does not declare: {names}",
            {"requiredCapabilities": dict(required)},
        )


class UnsupportedVersionError(_FixedCodeError):
    """Name the protocol versions that are served, and the one that was asked for."""

    CODE = ErrorCode.UNSUPPORTED_PROTOCOL_VERSION

    def __init__(self, requested: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"Unsupported protocol version {requested!r}; this server supports: {', '.join(supported)}",
            {"supported": list(supported), "requested": requested},
        )


class ToolError(Exception):
    """Tell the model what went wrong: the text reaches it in an ``isError`` result."""


class ArgumentError(ValueError):
    """Say which argument of a call is wrong and what was wanted.

    Args:
        path: Where in the arguments, for example ``items[2].price``; empty for the whole.
        reason: What was wanted there.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class EncodeError(ValueError):
    """Refuse a value that strict JSON cannot carry; ``path`` says where it is."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class RegistrationError(ValueError):
    """Refuse the definition of a tool, resource, prompt or completion."""


class ConfigurationError(ValueError):
    """Refuse the configuration of a server, policy or door."""
