"""Call MCP servers of either era, over HTTP, stdio or inside the process."""

from __future__ import annotations

from ..exceptions import (
    ClientClosedError,
    ClientError,
    HTTPStatusError,
    NegotiationError,
    RemoteProtocolError,
    RequestCancelledError,
    RequestTimeoutError,
    ServerExitedError,
    SessionExpiredError,
    TransportError,
    UnauthorizedError,
)
from .answers import Answers, ElicitAnswer, ElicitQuestion, SampleQuestion
from .cancel import Cancel
from .client import Client
from .listen import Listener
from .relay import Relay
from .results import (
    CallResult,
    Change,
    CompletionResult,
    Discovery,
    InputRequiredResult,
    Listing,
    LogMessage,
    Progress,
    PromptArgument,
    PromptInfo,
    PromptResult,
    ReadResult,
    ResourceInfo,
    TemplateInfo,
    ToolInfo,
    UnknownContent,
)

__all__ = [
    "Answers",
    "CallResult",
    "Cancel",
    "Change",
    "Client",
    "ClientClosedError",
    "ClientError",
    "CompletionResult",
    "Discovery",
    "ElicitAnswer",
    "ElicitQuestion",
    "HTTPStatusError",
    "InputRequiredResult",
    "Listener",
    "Listing",
    "LogMessage",
    "NegotiationError",
    "Progress",
    "PromptArgument",
    "PromptInfo",
    "PromptResult",
    "ReadResult",
    "Relay",
    "RemoteProtocolError",
    "RequestCancelledError",
    "RequestTimeoutError",
    "ResourceInfo",
    "SampleQuestion",
    "ServerExitedError",
    "SessionExpiredError",
    "TemplateInfo",
    "ToolInfo",
    "TransportError",
    "UnauthorizedError",
    "UnknownContent",
]
