"""MCP Apps: which user interface a tool names (SEP-1865), in every spelling that servers use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["interface_of", "is_for_models", "without_interface"]

_SCHEME = "ui://"
_LONGEST = 500
#: Objects with ``resourceUri`` and ``visibility``: that of the extension, and one under the extension's own name.
_NESTED = ("ui", "io.modelcontextprotocol/ui")
#: The URI itself: what servers wrote before there was an object, and what another platform calls it.
_FLAT = ("ui/resourceUri", "io.modelcontextprotocol/ui-resource-uri", "openai/outputTemplate")
_BOTH = ["model", "app"]


def interface_of(meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read what a tool's ``_meta`` says of its interface.

    Returns:
        ``visibility``, who may call the tool (``model``, ``app``), and ``resourceUri`` where it names an interface;
        ``None`` where it says nothing.
    """
    objects = [meta[key] for key in _NESTED if isinstance(meta.get(key), Mapping)]
    uris = [each.get("resourceUri") for each in objects] + [meta.get(key) for key in _FLAT]
    uri = next((each for each in uris if _is_interface(each)), None)
    if uri is None and not objects:
        return None
    given: list[Any] = next((each["visibility"] for each in objects if isinstance(each.get("visibility"), list)), [])
    found: dict[str, Any] = {"visibility": [who for who in _BOTH if who in given] or list(_BOTH)}
    if uri is not None:
        found["resourceUri"] = uri
    return found


def _is_interface(uri: object) -> bool:
    return isinstance(uri, str) and uri.startswith(_SCHEME) and len(uri) <= _LONGEST and uri.isprintable()


def is_for_models(interface: Mapping[str, Any] | None) -> bool:
    """Say whether a model may see the tool; some are only for the buttons of an interface."""
    return interface is None or "model" in interface["visibility"]


def without_interface(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Give ``_meta`` without what names an interface, for a server that does not serve it."""
    return {key: value for key, value in meta.items() if key not in _NESTED and key not in _FLAT}
