"""Media types: what a request says its body is, and what its client takes."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["accepts_events", "accepts_only_events", "media_type_problem"]

_OWS = " \t"


def _values(parts: list[str], wanted: str) -> list[str]:
    """Give every value of a parameter: whoever repeats one must mean the same each time."""
    values = []
    for part in parts:
        name, _, value = part.partition("=")
        if name.strip(_OWS).lower() == wanted:
            values.append(value.strip(_OWS).strip('"').lower())
    return values


@lru_cache(maxsize=128)
def media_type_problem(content_type: str | None) -> str | None:
    """Say what is wrong with a request's ``Content-Type``, or ``None``.

    Only JSON in UTF-8 is served. This is also the wall against cross-site requests: a browser sends no form or
    text type without a preflight where the type must be JSON.
    """
    if not content_type:
        return "the Content-Type header is missing; send application/json"
    kind, *rest = content_type.split(";")
    if kind.strip(_OWS).lower() != "application/json":
        return "the Content-Type must be application/json"
    if any(charset not in ("utf-8", "utf8") for charset in _values(rest, "charset")):
        return "the charset of the body must be utf-8"
    return None


def _kinds(accept: str) -> set[str]:
    kinds = set()
    for entry in accept.split(","):
        kind, *rest = entry.split(";")
        if all(weight.rstrip("0.") for weight in _values(rest, "q")):
            kinds.add(kind.strip(_OWS).lower())
    return kinds


@lru_cache(maxsize=128)
def accepts_events(accept: str | None) -> bool:
    """Say whether an ``Accept`` header names event streams. A wildcard is no wish for one."""
    return accept is not None and "text/event-stream" in _kinds(accept)


@lru_cache(maxsize=128)
def accepts_only_events(accept: str | None) -> bool:
    """Say whether an ``Accept`` header takes an event stream and no JSON.

    Anything else gets JSON: an absent header means anything, wildcards match, and a server may disregard the
    header where it matches nothing (RFC 9110, section 12.5.1).
    """
    if accept is None:
        return False
    kinds = _kinds(accept)
    return "text/event-stream" in kinds and not kinds & {"application/json", "application/*", "*/*"}
