"""The protocol revisions and the two eras they fall into.

*Legacy* revisions begin with the ``initialize`` handshake; *modern* ones carry everything in
each request (2026-07-28, basic/versioning).
"""

from __future__ import annotations

__all__ = [
    "LATEST_LEGACY_VERSION",
    "LATEST_VERSION",
    "LEGACY_VERSIONS",
    "MODERN_VERSIONS",
    "is_legacy_version",
    "negotiate_legacy",
]

#: Oldest first, as they were published.
LEGACY_VERSIONS: tuple[str, ...] = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: tuple[str, ...] = ("2026-07-28",)

LATEST_LEGACY_VERSION = LEGACY_VERSIONS[-1]
LATEST_VERSION = MODERN_VERSIONS[-1]

_LEGACY = frozenset(LEGACY_VERSIONS)


def is_legacy_version(version: str) -> bool:
    """Say whether a version is a known revision with a handshake."""
    return version in _LEGACY


def negotiate_legacy(requested: str) -> str:
    """Answer the version of an ``initialize`` request.

    "If the server supports the requested protocol version, it MUST respond with the same version.
    Otherwise, the server MUST respond with another protocol version it supports. This SHOULD be the
    latest version supported by the server." (2025-11-25, basic/lifecycle, Version Negotiation)
    """
    return requested if requested in _LEGACY else LATEST_LEGACY_VERSION
