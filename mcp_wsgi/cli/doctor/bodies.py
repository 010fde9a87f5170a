"""Accept, Content-Type, and bodies that are not as they should be."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from .clients import CLAUDE, CURSOR, EVERYBODY, SDKS, USERS, VALIDATORS
from .findings import Check, Opinion, broken, check, fine, note, some, worst
from .patient import Change, Patient
from .raw import Answer, chunked

__all__ = ["CHECKS"]

CHECKS: list[Check] = []


@dataclass(frozen=True, kw_only=True)
class _Variation:
    """Headers that clients really send with their first request: it has to be served."""

    id: str
    title: str
    change: Change
    whom: tuple[str, ...]
    advice: str


_ACCEPT = "Choose JSON or an event stream by what Accept allows; wildcards match, and no Accept allows everything."
_TYPE = "Read the media type of Content-Type and leave its parameters alone."
_VARIATIONS = (
    _Variation(id="accept-any", title="Accept: */*", change={"Accept": "*/*"}, whom=(CLAUDE,), advice=_ACCEPT),
    _Variation(
        id="accept-json",
        title="only JSON in Accept",
        change={"Accept": "application/json"},
        whom=(VALIDATORS,),
        advice=_ACCEPT,
    ),
    _Variation(
        id="accept-events",
        title="only event streams in Accept",
        change={"Accept": "text/event-stream"},
        whom=(CLAUDE, CURSOR),
        advice=_ACCEPT,
    ),
    _Variation(id="accept-none", title="no Accept", change={"Accept": None}, whom=(VALIDATORS,), advice=_ACCEPT),
    _Variation(
        id="content-type-charset",
        title="Content-Type with a charset",
        change={"Content-Type": "application/json; charset=utf-8"},
        whom=(SDKS,),
        advice=_TYPE,
    ),
    _Variation(
        id="content-type-case",
        title="Content-Type in other letters",
        change={"Content-Type": "Application/JSON"},
        whom=("clients that write the type so",),
        advice=_TYPE,
    ),
)


def _look(variation: _Variation) -> Callable[[Patient], Opinion]:
    def look(patient: Patient) -> Opinion:
        opinions = []
        for era in patient.eras:
            answer = patient.send(patient.opening(era, variation.change))
            if patient.opens(era, answer):
                opinions.append(fine("It is served."))
            else:
                says = f"The first request of a client is refused with HTTP {answer.status} ({era})."
                opinions.append(patient.seen(some(says, variation.advice, *variation.whom)))
        return worst(opinions)

    return look


CHECKS += [Check(id=each.id, title=each.title, era="any", look=_look(each)) for each in _VARIATIONS]


@check(CHECKS, "content-type-text", "types that a web page may send without asking")
def _plain_text(patient: Patient) -> Opinion:
    opinions = []
    for kind in ("text/plain", "text/plain; a=application/json", None):
        for era in patient.eras:
            answer = patient.send(patient.opening(era, {"Content-Type": kind}))
            opinions.append(patient.seen(_typed(kind, served=patient.opens(era, answer))))
    return worst(opinions)


def _typed(kind: str | None, *, served: bool) -> Opinion:
    change = "Answer 415 to everything but application/json."
    if not served:
        return fine("They are refused.")
    if kind is None:
        return note("A body without a type is served.", change)
    return broken(f"The type {kind} is served: any web page can send that without being asked.", change, USERS)


@check(CHECKS, "chunked", "a body in chunks, without a length")
def _chunked(patient: Patient) -> Opinion:
    opinions = []
    for era in patient.eras:
        whole = patient.opening(era, {"Content-Length": None, "Transfer-Encoding": "chunked"})
        answer = patient.send(replace(whole, body=chunked(whole.body)))
        opinions.append(patient.seen(_unmeasured(answer, served=patient.opens(era, answer))))
    return worst(opinions)


def _unmeasured(answer: Answer, *, served: bool) -> Opinion:
    if served:
        return fine("It is served.")
    if answer.status == 411:
        return note("It is refused with 411, which says what is missing.")
    return some(
        f"A body without a length is answered with HTTP {answer.status}, as if it were empty or wrong.",
        "Read chunked bodies, let the proxy in front do it, or answer 411.",
        "clients that stream their requests, and some proxies",
    )


def _refusal(answer: Answer, code: int, what: str) -> Opinion:
    change = f"Answer 400 with a JSON-RPC error, {code}."
    if answer.status >= 500:
        return broken(f"{what} makes the server fail with HTTP {answer.status}.", change, EVERYBODY)
    if answer.code is None and answer.status < 400:
        return some(
            f"{what} is answered with HTTP {answer.status} and no error.", change, "clients that make a mistake"
        )
    if answer.code is None:
        return note(f"{what} is refused, without a JSON-RPC error that says why.", change)
    if answer.status != 400:
        return note(f"{what} is refused with {answer.code}, on HTTP {answer.status} in place of 400.", change)
    return fine(f"It is refused with {answer.code}.")


def _raw(patient: Patient, what: str, body: bytes) -> Answer:
    era = patient.eras[0]
    make = patient.modern_request if era == "modern" else patient.legacy_request
    method = "server/discover" if era == "modern" else "ping"
    return patient.send(make(method, body=body, what=what))


@check(CHECKS, "invalid-json", "bodies that are no JSON")
def _invalid(patient: Patient) -> Opinion:
    bodies = {
        "half a JSON object": b'{"jsonrpc": "2.0", "id"',
        "an empty body": b"",
        "bytes that are no UTF-8": b"\xff\xfe{}",
    }
    return worst(
        patient.seen(_refusal(_raw(patient, what, body), -32700, what[0].upper() + what[1:]))
        for what, body in bodies.items()
    )


@check(CHECKS, "batch", "several messages in an array")
def _batch(patient: Patient) -> Opinion:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = _raw(patient, "an array of two pings", json.dumps([ping, {**ping, "id": 2}]).encode())
    if answer.status == 200 and answer.body and answer.code is None:
        return note("Batches are served; they left the protocol with 2025-06-18.")
    return _refusal(answer, -32600, "A batch")


@check(CHECKS, "duplicate-keys", "a key that occurs twice")
def _duplicates(patient: Patient) -> Opinion:
    era = patient.eras[0]
    method = "server/discover" if era == "modern" else "ping"
    params = b"null"
    if era == "modern":
        params = json.dumps(patient.modern_message(method)["params"]).encode()
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"%b","params":%b}' % (method.encode(), params)
    if era == "legacy":
        body = body.replace(b',"params":null', b"")
    answer = _raw(patient, f'a message with "method" twice: tools/list and {method}', body)
    if answer.result is not None:
        return note(
            "It is served; a proxy may have read the other of the two.", "Refuse duplicate keys with 400 and -32700."
        )
    return _refusal(answer, -32700, "A duplicate key")
