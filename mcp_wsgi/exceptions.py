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
    ConfigurationError                the server, a door or a client is set up wrongly
    ClientError                       what a client has to say, where no answer of the server says it
      ClientClosedError               it was closed, before the call or during it
      NegotiationError                the server speaks no protocol version that the client speaks
      RemoteProtocolError             what the server sent is no answer of this protocol
      TransportError                  the connection failed, and with it the request
        RequestTimeoutError           the answer did not come in time (a TimeoutError too)
        RequestCancelledError         the request was given up by its caller
        HTTPStatusError               an HTTP status without a JSON-RPC message
          UnauthorizedError           401: who calls is not known, or 403: is not allowed
          SessionExpiredError         404 to a request with a session of its own
        ServerExitedError             the server's process ended
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ErrorCode

__all__ = [
    "ArgumentError",
    "ClientClosedError",
    "ClientError",
    "ConfigurationError",
    "EncodeError",
    "HTTPStatusError",
    "HeaderMismatchError",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "MCPError",
    "MethodNotFoundError",
    "MissingClientCapabilityError",
    "NegotiationError",
    "ParseError",
    "RegistrationError",
    "RemoteProtocolError",
    "RequestCancelledError",
    "RequestTimeoutError",
    "ResourceNotFoundError",
    "ServerExitedError",
    "SessionExpiredError",
    "ToolError",
    "TransportError",
    "UnauthorizedError",
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
    """Refuse the configuration of a server, policy, door or client."""


class ClientError(Exception):
    """Say why a client got no answer; what the server answers is an :class:`MCPError`."""


class ClientClosedError(ClientError):
    """Say that the client was closed, before the call or while it waited."""


class NegotiationError(ClientError):
    """Say that client and server have no protocol version in common.

    Args:
        message: What both speak.
        supported: The versions that the server named, as far as it did.
    """

    def __init__(self, message: str, supported: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.supported = tuple(supported)


class RemoteProtocolError(ClientError):
    """Say that what the server sent is no answer of this protocol: no JSON, say, or a page for browsers."""


class TransportError(ClientError):
    """Say that the connection failed. Whether the server has done what was asked is not known."""


class RequestTimeoutError(TransportError, TimeoutError):
    """Say that the answer did not come in time; the request was cancelled where the transport can."""


class RequestCancelledError(TransportError):
    """Say that the request was given up: :meth:`~mcp_wsgi.transport.Exchange.cancel` was called."""


class HTTPStatusError(TransportError):
    """Say that the answer was an HTTP status without a JSON-RPC message.

    Args:
        status: The HTTP status.
        content_type: The media type of the body, empty where there was none.
        excerpt: The beginning of the body, in printable characters.
        headers: The headers of the answer, names in lower case.
    """

    def __init__(
        self, status: int, content_type: str = "", excerpt: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, content_type, excerpt, headers)
        self.status = status
        self.content_type = content_type
        self.excerpt = excerpt
        self.headers = dict(headers or {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.status}, {self.content_type!r})"  # headers may hold what is secret

    def __str__(self) -> str:
        kind = self.content_type or "no content type"
        said = f": {self.excerpt}" if self.excerpt else ""
        return f"The server answered HTTP {self.status} ({kind}) and no JSON-RPC message{said}"


class UnauthorizedError(HTTPStatusError):
    """Say that the server wants to know who calls (401), or does not allow the caller this (403)."""

    @property
    def challenge(self) -> str | None:
        """What the ``WWW-Authenticate`` header of the answer says."""
        return self.headers.get("www-authenticate")


class SessionExpiredError(HTTPStatusError):
    """Say that the server no longer knows the session that a request named (2025-11-25, Session Management)."""


class ServerExitedError(TransportError):
    """Say that the server's process has ended.

    Args:
        returncode: Its exit status; the negative number of the signal that ended it.
        stderr: The end of what it wrote to its standard error.
    """

    def __init__(self, returncode: int | None, stderr: str = "") -> None:
        super().__init__(returncode, stderr)
        self.returncode = returncode
        self.stderr = stderr

    def __str__(self) -> str:
        how = "has ended" if self.returncode is None else f"ended with status {self.returncode}"
        said = f"; it last wrote: {self.stderr}" if self.stderr else ""
        return f"The server's process {how}{said}"
