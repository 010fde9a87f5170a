"""The two eras: how clients begin, and what they rely on then."""

from __future__ import annotations

from ...protocol.versions import LATEST_LEGACY_VERSION, LATEST_VERSION, LEGACY_VERSIONS, MODERN_VERSIONS
from ...server.reasons import shorten
from ..text import one_line
from .clients import CHATGPT, CLAUDE_CODE, COPILOT_STUDIO, LEGACY, MODERN, VSCODE
from .findings import Check, Opinion, broken, check, fine, note, some, worst
from .patient import UNKNOWN_TOOL, Patient
from .raw import Answer, Sent

__all__ = ["CHECKS"]

CHECKS: list[Check] = []


@check(CHECKS, "modern-discover", "server/discover, with which clients of 2026-07-28 begin")
def _discover(patient: Patient) -> Opinion:
    answer = patient.send(patient.opening("modern"))
    if not patient.modern:
        says = f"The server does not speak {LATEST_VERSION}; newer clients fall back to the older handshake."
        if 400 <= answer.status < 500 or answer.code is not None:
            return note(says)
        return some(f"{says} Some take this answer for a failure.", "Answer it with a 4xx status.", MODERN)
    result = answer.result or {}
    meta = result.get("_meta")
    told = meta if isinstance(meta, dict) else {}
    missing = [
        name
        for name, kind in (("supportedVersions", list), ("capabilities", dict), ("serverInfo", dict))
        if not isinstance(result.get(name, told.get(f"io.modelcontextprotocol/{name}")), kind)
    ]
    if missing:
        return some(f"The answer lacks {', '.join(missing)}.", "Add what is missing to the DiscoverResult.", MODERN)
    if result.get("resultType") != "complete":
        return some("The result has no resultType.", 'Add "resultType": "complete" to each result.', MODERN)
    return fine(f"The server speaks {LATEST_VERSION}.")


@check(CHECKS, "legacy-initialize", "initialize, with which older clients begin")
def _initialize(patient: Patient) -> Opinion:
    if patient.legacy:
        version = patient.initialized_result.get("protocolVersion")
        if version not in LEGACY_VERSIONS:
            shown = shorten(one_line(str(version)), 40)
            opinion = some(f"It answers the version '{shown}', which nobody knows.", "Answer a published one.", LEGACY)
            return patient.seen(opinion, patient.initialized)
        return fine(f"The server speaks {version}.")
    answer = patient.send(patient.opening("legacy"))
    if answer.code == -32022 and MODERN_VERSIONS[-1] in (answer.supported or ()):
        return some("It refuses the older handshake, and says so.", "Serve 2025-11-25 too, for now.", LEGACY)
    return some("The server does not speak the versions with a handshake.", "Serve 2025-11-25 too, for now.", LEGACY)


@check(CHECKS, "legacy-newer-version", "initialize with a version that is newer than the server", era="legacy")
def _newer(patient: Patient) -> Opinion:
    answer = patient.send(patient.opening("legacy", version="2030-01-01"))
    if patient.opens("legacy", answer):
        assert answer.result is not None  # noqa: S101 - for the type checker: it opens
        if answer.result["protocolVersion"] == "2030-01-01":
            return note("It claims to speak a version that does not exist.", "Answer a version that you serve.")
        return fine("It answers a version of its own.")
    return some(
        "A client that is newer than the server is refused.",
        f"Answer initialize with the newest version you serve, say {LATEST_LEGACY_VERSION}, whatever was asked for.",
        "clients newer than the server",
    )


@check(CHECKS, "legacy-version-header", "initialize that already carries a version header", era="legacy")
def _header_on_initialize(patient: Patient) -> Opinion:
    change = {"MCP-Protocol-Version": LATEST_LEGACY_VERSION}
    if patient.opens("legacy", patient.send(patient.opening("legacy", change))):
        return fine("It is served.")
    return some(
        "A version header on initialize is refused.",
        "Read the version from the body.",
        "clients like Claude's connectors",
    )


@check(CHECKS, "legacy-unknown-header", "a version header that no revision has", era="legacy")
def _unknown_header(patient: Patient) -> Opinion:
    answer = patient.send(patient.legacy_request("ping", change={"MCP-Protocol-Version": "1999-01-01"}))
    if answer.status == 400:
        return fine("It is refused with 400.")
    return note(f"It is answered with HTTP {answer.status}; 400 is what the specification asks for.")


@check(CHECKS, "notification", "a notification")
def _notification(patient: Patient) -> Opinion:
    return worst(patient.seen(_silent(patient.send(_note_of(patient, era)))) for era in patient.eras)


def _note_of(patient: Patient, era: str) -> Sent:
    if era == "legacy":
        return patient.legacy_request("notifications/initialized", notification=True)
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "mcp-wsgi-doctor"}}
    headers = {"MCP-Protocol-Version": LATEST_VERSION, "Mcp-Method": "notifications/cancelled"}
    return patient.post(f"notifications/cancelled of {LATEST_VERSION}", message, headers)


def _silent(answer: Answer) -> Opinion:
    change = "Answer a notification with 202 and no body."
    if answer.status == 202 and not answer.body:
        return fine("It is answered with 202 and no body.")
    if answer.body and answer.status in (200, 202):
        return some("A notification gets an answer with a body.", change, "strict clients, right after initialize")
    if answer.status == 204:
        return some("A notification is answered with 204.", change, "clients that expect 202")
    return broken(f"A notification is refused with HTTP {answer.status}.", change, "every client that sends them")


@check(CHECKS, "ids", "request ids: 0, a string, digits as a string")
def _ids(patient: Patient) -> Opinion:
    opinions = []
    era = patient.eras[-1]
    for identifier in (0, "init-1", "1"):
        what = f"the same request with the id {identifier!r}"
        answer = patient.send(patient.opening(era, id=identifier, what=what))
        got = answer.message.get("id")
        if type(got) is type(identifier) and got == identifier:
            opinions.append(fine("Ids come back as they were sent."))
        else:
            opinion = broken(
                f"The id {identifier!r} comes back as {shorten(one_line(repr(got)), 40)}.",
                "Send the id back exactly: same value, same type.",
                CLAUDE_CODE,
                COPILOT_STUDIO,
            )
            opinions.append(patient.seen(opinion))
    return worst(opinions)


@check(CHECKS, "null-id", "a request whose id is null")
def _null_id(patient: Patient) -> Opinion:
    era = patient.eras[-1]
    answer = patient.send(patient.opening(era, id=None, what="a request with the id null"))
    if answer.code is not None or 400 <= answer.status < 500:
        return fine("It is refused.")
    if answer.status == 202:
        return some(
            "It is taken for a notification, so its sender waits for ever.", "Refuse it with 400.", "wrong clients"
        )
    return note("It is answered; the specification does not allow such an id.")


@check(CHECKS, "modern-unknown-method", "a method that does not exist, in 2026-07-28", era="modern")
def _unknown_modern(patient: Patient) -> Opinion:
    answer = patient.send(patient.modern_request("mcp-wsgi-doctor/none"))
    if answer.status == 404 and answer.code == -32601:
        return fine("It is answered with 404 and -32601.")
    if answer.code == -32601:
        return note(f"The status is {answer.status}, where 404 is asked for.", "Answer unknown methods with HTTP 404.")
    return some("There is no error -32601.", "Answer unknown methods with HTTP 404 and -32601.", MODERN)


@check(CHECKS, "legacy-unknown-method", "a method that does not exist, in 2025-11-25", era="legacy")
def _unknown_legacy(patient: Patient) -> Opinion:
    answer = patient.send(patient.legacy_request("mcp-wsgi-doctor/none"))
    change = "Answer it with HTTP 200 and the JSON-RPC error -32601."
    if answer.code is None:
        return some("There is no JSON-RPC error.", change, LEGACY)
    if answer.status == 404:
        return some("The status 404 says that the session has ended.", change, "clients that begin a new session then")
    if answer.status >= 400:
        return some(f"The status {answer.status} looks like a broken connection.", change, VSCODE)
    if answer.code != -32601:
        return note(f"The code is {answer.code}, where -32601 is asked for.")
    return fine("It is answered with -32601.")


@check(CHECKS, "unknown-tool", "a tool that does not exist")
def _unknown_tool(patient: Patient) -> Opinion:
    params = {"name": UNKNOWN_TOOL, "arguments": {}}
    opinions = []
    for era in patient.eras:
        make = patient.modern_request if era == "modern" else patient.legacy_request
        answer = patient.send(make("tools/call", params, what=f"tools/call of a tool that does not exist ({era})"))
        opinions.append(patient.seen(_refused_tool(answer)))
    return worst(opinions)


def _refused_tool(answer: Answer) -> Opinion:
    if answer.code is not None or (answer.result or {}).get("isError") is True:
        return fine("It is refused.") if answer.status < 500 else note(f"It is refused with HTTP {answer.status}.")
    if answer.result is not None:
        return note("A tool that does not exist is said to have worked.", "Answer -32602.")
    return some(
        "There is neither a result nor a JSON-RPC error.", "Answer -32602.", CHATGPT, "clients that show errors"
    )


@check(CHECKS, "legacy-ping", "ping", era="legacy")
def _ping(patient: Patient) -> Opinion:
    answer = patient.send(patient.legacy_request("ping"))
    if answer.result is not None:
        return fine("It is answered.")
    return some("ping is not answered.", "Answer ping with an empty result.", "clients that ping to see who is alive")
