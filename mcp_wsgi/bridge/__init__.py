"""Tools of other servers, as plain tools of this process: for a model, for an agent framework, for a gateway."""

from __future__ import annotations

from .connect import ToolList, connect_servers
from .models import call_by_model_name, to_anthropic, to_openai
from .remote import RemoteTool

__all__ = ["RemoteTool", "ToolList", "call_by_model_name", "connect_servers", "to_anthropic", "to_openai"]
