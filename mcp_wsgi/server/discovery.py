"""What the server says of itself: ``server/discover`` on modern, ``initialize`` on legacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..exceptions import InvalidParamsError
from ..protocol.versions import negotiate_legacy
from .listing import cache_hints

if TYPE_CHECKING:
    from .context import Context

__all__ = ["capabilities", "discover", "initialize"]


def capabilities(context: Context) -> dict[str, Any]:
    """Declare what this caller really finds, and what the transport can deliver.

    A capability whose definitions are all hidden from the caller is not declared to it.
    """
    server = context.server
    declared: dict[str, Any] = {}
    # On HTTP only a modern client can listen: a legacy one would need a session and its GET stream.
    listens = context.can_listen
    for name in ("tools", "resources", "prompts"):
        if name in server.declared and _is_visible(context, name):
            declared[name] = {"listChanged": True} if listens else {}
    if listens and "resources" in declared:
        declared["resources"]["subscribe"] = True
    if "completions" in server.declared:
        declared["completions"] = {}
    if listens:
        declared["logging"] = {}
    if server.extensions:
        declared["extensions"] = {name: dict(settings) for name, settings in server.extensions.items()}
    return declared


def _is_visible(context: Context, name: str) -> bool:
    views = [context.server.registries[name].view]
    if name == "resources":
        views.append(context.server.registries["templates"].view)
    items = [item for view in views for item in view]
    return not items or any(item.visible is None or item.visible(context) for item in items)


def discover(context: Context) -> dict[str, Any]:
    """Answer ``server/discover`` (2026-07-28, server/discover)."""
    server = context.server
    result: dict[str, Any] = {
        "supportedVersions": list(server.supported_versions),
        "capabilities": capabilities(context),
    }
    if server.instructions is not None:
        result["instructions"] = server.instructions
    varies = server.has_filters
    return result | cache_hints(server, context, varies=varies)


def initialize(context: Context) -> dict[str, Any]:
    """Answer ``initialize`` (2025-11-25, basic/lifecycle).

    On HTTP no session is made: any worker can go on. What a transport knows of its only client begins anew.

    Raises:
        InvalidParamsError: A required member is missing or ill-typed.
    """
    params = context.params
    version = params.get("protocolVersion")
    if type(version) is not str:
        raise InvalidParamsError('"params.protocolVersion" must be a string')
    for member in ("capabilities", "clientInfo"):
        if type(params.get(member, {})) is not dict:
            raise InvalidParamsError(f'"params.{member}" must be an object')
    server = context.server
    result: dict[str, Any] = {
        "protocolVersion": negotiate_legacy(version),
        "capabilities": capabilities(context),
        "serverInfo": server.info,
    }
    if server.instructions is not None:
        result["instructions"] = server.instructions
    if context.peer is not None:
        context.peer.open(params, result["protocolVersion"], result["capabilities"])
    return result
