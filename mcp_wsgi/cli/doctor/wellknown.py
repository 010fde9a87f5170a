"""The well-known paths that clients look at before, or instead of, a login."""

from __future__ import annotations

import json
from typing import Any

from .clients import CHATGPT, CLAUDE, INSPECTOR, VSCODE
from .findings import Check, Opinion, check, fine, note, some, worst
from .patient import Patient
from .raw import Answer, Sent

__all__ = ["CHECKS", "check_resource"]

CHECKS: list[Check] = []

_RESOURCE = "/.well-known/oauth-protected-resource"
_SLOW_SECONDS = 3.0
_WHOM = (CLAUDE, CHATGPT)


def _paths(patient: Patient) -> list[str]:
    suffix = patient.path.partition("?")[0].rstrip("/")
    found = [
        _RESOURCE + suffix,
        _RESOURCE,
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ]
    return list(dict.fromkeys(found))


def _get(patient: Patient, path: str) -> Answer:
    headers = [("Accept", "application/json"), ("MCP-Protocol-Version", "2025-11-25")]
    return patient.send(Sent(what="metadata of the login, if there is one", method="GET", path=path, headers=headers))


def _document(answer: Answer) -> dict[str, Any] | None:
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@check(CHECKS, "well-known", "the well-known paths of OAuth", era="none")
def _well_known(patient: Patient) -> Opinion:
    return worst(patient.seen(_one(path, _get(patient, path))) for path in _paths(patient))


def _one(path: str, answer: Answer) -> Opinion:
    change = "Answer it with metadata in JSON, or with 404 at once; keep catch-all pages away from /.well-known."
    if answer.status == 200 and _document(answer) is None:
        kind = answer.media_type or "something"
        return some(f"{path} is answered with 200 and {kind} that is no JSON.", change, *_WHOM, INSPECTOR)
    if answer.status in (401, 403) or answer.is_redirect or answer.status >= 500:
        return some(f"{path} is answered with HTTP {answer.status}, so the login cannot begin.", change, *_WHOM)
    if answer.seconds > _SLOW_SECONDS:
        return some(f"{path} takes {answer.seconds:.1f} s; clients give up.", change, *_WHOM)
    return fine("They are answered with JSON or 404, at once.")


def check_resource(patient: Patient, challenge: str | None) -> Opinion:
    """Look at what a server that wants a login tells of it."""
    change = "Send WWW-Authenticate: Bearer with resource_metadata, and serve that document as JSON (RFC 9728)."
    if not challenge:
        return some("The server refuses with 401 and does not say what it wants.", change, "clients that can log in")
    for path in _paths(patient)[:2]:
        answer = _get(patient, path)
        document = _document(answer) if answer.status == 200 else None
        if document is not None:
            return _resource(patient, document)
    if "resource_metadata" in challenge:
        return note("The metadata is not at the usual paths; clients that only look there cannot log in.")
    return note("There is no metadata of a login; users have to give their clients a token.")


def _resource(patient: Patient, document: dict[str, Any]) -> Opinion:
    scheme = "https" if patient.wire.secure else "http"
    url = f"{scheme}://{patient.wire.authority}{patient.path}"
    resource, servers = document.get("resource"), document.get("authorization_servers")
    if not isinstance(resource, str) or not (isinstance(servers, list) and servers):
        return some("The metadata lacks resource or authorization_servers.", "Add both.", "clients that can log in")
    if resource == url:
        return fine("The metadata names this URL.")
    if resource.rstrip("/") == url.rstrip("/"):
        return some("The resource of the metadata differs from the URL by a slash.", "Name exactly the URL.", VSCODE)
    return some(
        "The resource of the metadata is not this URL.",
        "Name the public URL; behind a proxy it has to be configured.",
        CLAUDE,
        VSCODE,
    )
