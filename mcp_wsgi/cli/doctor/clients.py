"""Who is affected: how the report names clients. What they do is known from public reports, and changes."""

from __future__ import annotations

__all__ = [
    "BROWSERS",
    "CHATGPT",
    "CLAUDE",
    "CLAUDE_CODE",
    "COPILOT_CLI",
    "COPILOT_STUDIO",
    "CURSOR",
    "EVERYBODY",
    "INSPECTOR",
    "LEGACY",
    "MODERN",
    "PROXIES",
    "SDKS",
    "USERS",
    "VALIDATORS",
    "VSCODE",
]

EVERYBODY = "every client"
MODERN = "clients of 2026-07-28"
LEGACY = "clients up to 2025-11-25"
CLAUDE = "clients like Claude's connectors"
CLAUDE_CODE = "clients like Claude Code"
CHATGPT = "clients like ChatGPT"
CURSOR = "clients like Cursor"
VSCODE = "clients like VS Code"
COPILOT_STUDIO = "clients like Copilot Studio"
COPILOT_CLI = "clients like the Copilot command line"
INSPECTOR = "the Inspector in a browser"
BROWSERS = "clients that run in a web page"
SDKS = "clients built on the C# and Java SDKs"
VALIDATORS = "scripts and validators that ask for plain JSON"
#: Not clients, but who relies on a rule.
PROXIES = "operators whose proxy decides by the headers"
USERS = "users of this server whose browser opens a hostile page"
