"""What is asked of all answers together, at the end."""

from __future__ import annotations

from .clients import CHATGPT, CLAUDE, EVERYBODY
from .findings import Check, Opinion, check, fine, note, skipped, some
from .patient import Patient, describe
from .raw import Answer, Sent

__all__ = ["CHECKS"]

CHECKS: list[Check] = []

_SLOW_SECONDS = 2.0
_TOO_SLOW_SECONDS = 8.0


def _about(opinion: Opinion, sent: Sent, answer: Answer) -> Opinion:
    from dataclasses import replace

    return replace(opinion, sent=f"{sent.method} {sent.path}: {sent.what}", came=describe(answer))


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
            return _about(opinion, sent, answer)
    return fine("No POST is answered with a page for people.")


@check(CHECKS, "time", "how long answers take")
def _time(patient: Patient) -> Opinion:
    sent, answer = max(patient.answers, key=lambda pair: pair[1].seconds)
    says = f"The slowest answer took {answer.seconds:.2f} s."
    if answer.seconds > _TOO_SLOW_SECONDS:
        return _about(some(says, "Answer faster, or keep a worker warm.", CLAUDE, CHATGPT), sent, answer)
    if answer.seconds > _SLOW_SECONDS:
        return _about(note(says), sent, answer)
    return fine(says)


@check(CHECKS, "event-stream-headers", "what proxies are told of event streams")
def _streams(patient: Patient) -> Opinion:
    # An answer that says how long it is was complete when it was sent.
    streams = [
        pair
        for pair in patient.answers
        if pair[1].media_type == "text/event-stream" and pair[1].header("content-length") is None
    ]
    for sent, answer in streams:
        caching = (answer.header("cache-control") or "").lower()
        if "no-cache" not in caching and "no-store" not in caching:
            return _about(note("A stream does not say Cache-Control: no-cache."), sent, answer)
        if (answer.header("x-accel-buffering") or "").lower() != "no":
            opinion = note("A stream does not say X-Accel-Buffering: no, so nginx may hold it back until its end.")
            return _about(opinion, sent, answer)
    return fine("They are told not to hold them back.") if streams else skipped("No answer was a stream.")
