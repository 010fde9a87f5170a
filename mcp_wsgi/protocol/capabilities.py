"""What a client says it can do, and what a request would need of it.

2026-07-28, basic/index: "An empty object means the client supports no optional capabilities.
Servers MUST NOT infer capabilities from prior requests."
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["missing_capabilities"]


def missing_capabilities(declared: Mapping[str, Any], required: Mapping[str, Any]) -> dict[str, Any]:
    """Say which of the required capabilities a client does not declare.

    Args:
        declared: The client's ``ClientCapabilities`` object.
        required: The same shape; nested objects name sub-capabilities, as ``{"elicitation": {"url": {}}}``.

    Returns:
        The part of ``required`` that is missing, in the same shape; empty when nothing is.
    """
    missing: dict[str, Any] = {}
    for name, wanted in required.items():
        have = declared.get(name)
        if not isinstance(have, Mapping):
            missing[name] = dict(wanted)
            continue
        if name == "elicitation" and not have:
            have = {"form": {}}  # "elicitation": {} declares form mode, for clients older than the modes
        lacking = {part: value for part, value in wanted.items() if part not in have}
        if lacking:
            missing[name] = lacking
    return missing
