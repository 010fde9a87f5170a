"""What is asked of all answers together, at the end."""

from __future__ import annotations

from .clients import CHATGPT, CLAUDE, EVERYBODY
from .findings import Check, Opinion, check, fine, note, skipped, some
from .patient import Patient

__all__ = ["CHECKS"]

CHECKS: list[Check] = []

_SLOW_SECONDS = 2.0
_TOO_SLOW_SECONDS = 8.0


@check(CHECKS, "html", "pages for people among the answers")
def _html(patient: Patient) -> Opinion:
    for sent, answer in patient.answers:
        # A Host that is not the server's comes from no client; frameworks refuse it in their own way.
        foreign = any(name == "Host" for name, _ in sent.headers)
        if sent.method == "POST" and answer.media_type == "text/html" and not foreign:
            opinion = some(
                "An answer is an HTML page; clients show something like 'unexpected token <'.",
                "Answer JSON-RPC errors in JSON, also where the framework refuses.",
                EVERYBODY,
            )
            return patient.seen(opinion, answer)
    return fine("No POST is answered with a page for people.")


@check(CHECKS, "time", "how long answers take")
def _time(patient: Patient) -> Opinion:
    answer = max((answer for _, answer in patient.answers), key=lambda answer: answer.seconds)
    says = f"The slowest answer took {answer.seconds:.2f} s."
    if answer.seconds > _TOO_SLOW_SECONDS:
        return patient.seen(some(says, "Answer faster, or keep a worker warm.", CLAUDE, CHATGPT), answer)
    if answer.seconds > _SLOW_SECONDS:
        return patient.seen(note(says), answer)
    return fine(says)


@check(CHECKS, "event-stream-headers", "what proxies are told of event streams")
def _streams(patient: Patient) -> Opinion:
    # An answer that says how long it is was complete when it was sent.
    streams = [
        answer
        for _, answer in patient.answers
        if answer.media_type == "text/event-stream" and answer.header("content-length") is None
    ]
    for answer in streams:
        caching = (answer.header("cache-control") or "").lower()
        if "no-cache" not in caching and "no-store" not in caching:
            return patient.seen(note("A stream does not say Cache-Control: no-cache."), answer)
        if (answer.header("x-accel-buffering") or "").lower() != "no":
            opinion = note("A stream does not say X-Accel-Buffering: no, so nginx may hold it back until its end.")
            return patient.seen(opinion, answer)
    return fine("They are told not to hold them back.") if streams else skipped("No answer was a stream.")
