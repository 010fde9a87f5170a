"""Sessions of the older versions."""

from __future__ import annotations

import time
from dataclasses import replace

from .clients import CLAUDE_CODE, LEGACY
from .findings import Check, Opinion, broken, check, fine, note, skipped, some
from .patient import Patient
from .raw import NoAnswer, Sent

__all__ = ["CHECKS", "end_sessions"]

CHECKS: list[Check] = []

_REPEATS = 8
_SHORT = 16
_KEEP = "Use no sessions, or share them among all workers."
_MAX_ENDED = 50
_SECONDS = 5.0


@check(CHECKS, "session-workers", "the same session, on new connections", era="legacy")
def _workers(patient: Patient) -> Opinion:
    refused = [
        patient.seen(broken("No request after initialize is answered.", _KEEP, LEGACY))
        for number in range(_REPEATS)
        if patient.send(patient.legacy_request("ping", id=number)).result is None
    ]
    if not refused:
        return fine("Each request is answered.")
    if len(refused) == _REPEATS:
        return refused[0]
    says = f"{len(refused)} of {_REPEATS} requests are refused: it seems that workers do not share their sessions."
    return replace(refused[0], says=says)


@check(CHECKS, "session-unknown", "a session that the server does not know", era="legacy")
def _unknown(patient: Patient) -> Opinion:
    answer = patient.send(patient.legacy_request("ping", change={"Mcp-Session-Id": "mcp-wsgi-doctor-gone"}))
    if not patient.session:
        if answer.result is not None:
            return fine("There are no sessions, and the header is ignored.")
        return some(
            "There are no sessions, and yet a session id is refused.",
            "Ignore the header.",
            "clients that keep a session id from before",
        )
    if answer.status == 404:
        return fine("It is answered with 404, so clients begin a new one.")
    if answer.result is not None:
        return note("A session id that was never given out is accepted.", "Answer 404.")
    return some(
        f"It is answered with HTTP {answer.status}, so clients do not begin a new session.", "Answer 404.", CLAUDE_CODE
    )


@check(CHECKS, "session-missing", "a request without its session id", era="legacy")
def _missing(patient: Patient) -> Opinion:
    if not patient.session:
        return skipped("There are no sessions.")
    answer = patient.send(patient.legacy_request("ping", change={"Mcp-Session-Id": None}))
    if answer.status == 400 or answer.result is not None:
        return fine("It is refused with 400." if answer.status == 400 else "It is served.")
    return note(f"It is refused with HTTP {answer.status}, where 400 is asked for.")


@check(CHECKS, "session-id", "the session id itself", era="legacy")
def _visible(patient: Patient) -> Opinion:
    if not patient.session:
        return skipped("There are no sessions.")
    if not (patient.session.isascii() and patient.session.isprintable() and " " not in patient.session):
        opinion = some("It holds characters that headers do not carry.", "Use visible ASCII characters.", LEGACY)
        return patient.seen(opinion, patient.initialized)
    if len(patient.session) < _SHORT:
        opinion = note("It is short enough to be guessed.", "Use a random id, such as a UUID.")
        return patient.seen(opinion, patient.initialized)
    return fine("It is long, and of visible characters.")


def end_sessions(patient: Patient) -> None:
    """End the sessions that the examination began, as far as the server lets it."""
    end = time.monotonic() + _SECONDS
    for session in patient.sessions[:_MAX_ENDED]:
        if time.monotonic() > end:
            return
        headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")]
        sent = Sent(what="the end of a session", method="DELETE", path=patient.path, headers=headers, head_only=True)
        try:
            answer = patient.wire.send(sent)
        except NoAnswer:
            return
        if answer.status in (405, 501):
            return
