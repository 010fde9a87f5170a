"""Call MCP servers of either era, over HTTP, stdio or inside the process."""

from __future__ import annotations

from .answers import Answers, ElicitAnswer, ElicitQuestion, SampleQuestion
from .calls import Cancel
from .client import Client
from .listen import Listener
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
    "CompletionResult",
    "Discovery",
    "ElicitAnswer",
    "ElicitQuestion",
    "InputRequiredResult",
    "Listener",
    "Listing",
    "LogMessage",
    "Progress",
    "PromptArgument",
    "PromptInfo",
    "PromptResult",
    "ReadResult",
    "ResourceInfo",
    "SampleQuestion",
    "TemplateInfo",
    "ToolInfo",
    "UnknownContent",
]
