"""Turn a web application that already runs into a Model Context Protocol server.

The names here are the ones an application needs; the doors are modules of their own (:mod:`mcp_wsgi.wsgi`), so that
this import stays light and pulls in no framework.
"""

from __future__ import annotations

from .errors import ErrorCode
from .exceptions import (
    ArgumentError,
    ConfigurationError,
    EncodeError,
    HeaderMismatchError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MCPError,
    MethodNotFoundError,
    MissingClientCapabilityError,
    ParseError,
    RegistrationError,
    ResourceNotFoundError,
    ToolError,
    UnsupportedVersionError,
)
from .http.auth import AuthenticationError, public
from .http.messages import HTTPRequest
from .http.origin import LOOPBACK_HOSTS, LOOPBACK_ORIGINS
from .http.policy import HTTPPolicy
from .protocol.headers import expected_headers
from .protocol.types import (
    Annotations,
    Audio,
    Completion,
    EmbeddedResource,
    Icon,
    Image,
    Message,
    ResourceContents,
    ResourceLink,
    Text,
    ToolResult,
)
from .server import Cancellation, CancelledError, Context, Server
from .server.paths import safe_join
from .server.questions import (
    Elicited,
    InputRequired,
    Root,
    Sampled,
    elicit_request,
    elicit_url_request,
    roots_request,
    sample_request,
)

__version__ = "0.1.0"

__all__ = [
    "LOOPBACK_HOSTS",
    "LOOPBACK_ORIGINS",
    "Annotations",
    "ArgumentError",
    "Audio",
    "AuthenticationError",
    "Cancellation",
    "CancelledError",
    "Completion",
    "ConfigurationError",
    "Context",
    "Elicited",
    "EmbeddedResource",
    "EncodeError",
    "ErrorCode",
    "HTTPPolicy",
    "HTTPRequest",
    "HeaderMismatchError",
    "Icon",
    "Image",
    "InputRequired",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "MCPError",
    "Message",
    "MethodNotFoundError",
    "MissingClientCapabilityError",
    "ParseError",
    "RegistrationError",
    "ResourceContents",
    "ResourceLink",
    "ResourceNotFoundError",
    "Root",
    "Sampled",
    "Server",
    "Text",
    "ToolError",
    "ToolResult",
    "UnsupportedVersionError",
    "elicit_request",
    "elicit_url_request",
    "expected_headers",
    "public",
    "roots_request",
    "safe_join",
    "sample_request",
]
