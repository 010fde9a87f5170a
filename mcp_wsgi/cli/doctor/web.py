"""What browsers and crawlers of web servers do: preflights, origins, hosts, GET and HEAD."""

from __future__ import annotations

import ipaddress

from ..text import without_query
from .clients import BROWSERS, CLAUDE_CODE, CURSOR, INSPECTOR, USERS
from .findings import Check, Opinion, Verdict, broken, check, fine, note, skipped, some, worst
from .patient import Patient, changed
from .raw import Answer, NoAnswer, Sent

__all__ = ["CHECKS", "is_loopback"]

CHECKS: list[Check] = []

_HOSTILE_ORIGIN = "https://hostile.invalid"
_HEADERS = (
    *("authorization", "content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"),
    *("mcp-session-id", "last-event-id", "mcp-param-region"),
)


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine, by its name or address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _preflight(patient: Patient, origin: str) -> Answer:
    headers = [
        ("Origin", origin),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", ",".join(_HEADERS)),
    ]
    what = f"preflight for a page of {origin}, asking for all headers of the protocol"
    return patient.send(Sent(what=what, method="OPTIONS", path=patient.path, headers=headers))


def _grants(answer: Answer, origin: str) -> bool:
    return 200 <= answer.status < 300 and answer.header("access-control-allow-origin") in ("*", origin)


def _names(answer: Answer, header: str) -> set[str]:
    return {name.strip().lower() for name in (answer.header(header) or "").split(",")}


@check(CHECKS, "preflight", "OPTIONS, as browsers send it before a POST", era="none")
def _preflight_check(patient: Patient) -> Opinion:
    origin = patient.origin
    answer = _preflight(patient, origin)
    if not patient.eras:
        if answer.status in (401, 403):
            return _unanswered(answer)
        return fine("It is answered without a login.")
    era = patient.eras[0]
    post = patient.send(patient.opening(era, {"Origin": origin}))
    served = patient.opens(era, post)
    if not _grants(answer, origin):
        if served and answer.status in (401, 403):
            return _unanswered(answer)
        return note(
            f"Web pages of {origin} may not call; nothing but a browser is affected.",
            "Allow the origins of the pages that should (with mcp_wsgi: HTTPPolicy(allowed_origins=[...])).",
        )
    return _granted(patient, answer, post, served)


def _unanswered(answer: Answer) -> Opinion:
    return some(
        f"The preflight is answered with HTTP {answer.status}; browsers send no credentials with it.",
        "Answer OPTIONS before authentication.",
        INSPECTOR,
        BROWSERS,
    )


def _granted(patient: Patient, answer: Answer, post: Answer, served: bool) -> Opinion:
    origin = patient.origin
    allowed = _names(answer, "access-control-allow-headers")
    # A wildcard does not cover Authorization (Fetch, CORS-safelisting), nor anything with credentials.
    missing = [name for name in _HEADERS if name not in allowed and ("*" not in allowed or name == "authorization")]
    # Accept may be sent without being asked for.
    missing = [name for name in missing if name != "accept"]
    whom = (INSPECTOR, BROWSERS)
    if not served or not _grants(post, origin):
        return some(
            f"The preflight allows pages of {origin}, and the POST is answered with HTTP {post.status} "
            "and without access to it.",
            "Let one list of origins decide both.",
            *whom,
        )
    if answer.header("access-control-allow-origin") == "*" and answer.header("access-control-allow-credentials"):
        return some("Credentials are allowed to every origin, which browsers refuse.", "Name the origin.", *whom)
    if missing == ["mcp-param-region"]:
        return note("A page may not send Mcp-Param-* headers.", "Allow the names that a preflight asks for.")
    if missing:
        return some(f"A page may not send: {', '.join(missing)}.", "Name them in Access-Control-Allow-Headers.", *whom)
    if patient.session and not {"mcp-session-id", "*"} & _names(post, "access-control-expose-headers"):
        return some(
            "A page may not read the session id of the answer.",
            "Name Mcp-Session-Id in Access-Control-Expose-Headers.",
            *whom,
        )
    if answer.header("access-control-allow-origin") != "*" and "origin" not in _names(answer, "vary") | _names(
        post, "vary"
    ):
        return note("The answer depends on Origin, and caches are not told.", "Add Vary: Origin.")
    return fine(f"Pages of {origin} may call, with all headers.")


@check(CHECKS, "hostile-origin", "a POST and a preflight from a page of another origin")
def _hostile(patient: Patient) -> Opinion:
    era = patient.eras[0]
    preflight = _preflight(patient, _HOSTILE_ORIGIN)
    answer = patient.send(patient.opening(era, {"Origin": _HOSTILE_ORIGIN}))
    change = "Answer 403 to a POST whose Origin is not on your list."
    if answer.status == 403 and not _grants(preflight, _HOSTILE_ORIGIN):
        return fine("It is refused with 403.")
    if not patient.opens(era, answer):
        return fine(f"It is refused with HTTP {answer.status}.")
    if not _grants(preflight, _HOSTILE_ORIGIN):
        return note("The Origin is not checked; what keeps pages out is only that browsers ask before a POST.", change)
    if is_loopback(patient.wire.host):
        return broken("Any web page that its user opens can call this server, and read what it answers.", change, USERS)
    return note("Web pages of any origin can call it, which is only right for a server that is open to all.", change)


@check(CHECKS, "hostile-host", "a name that a hostile page gave to this machine")
def _rebinding(patient: Patient) -> Opinion:
    if not is_loopback(patient.wire.host):
        return skipped("It matters for servers on loopback only.")
    era = patient.eras[0]
    host = f"hostile.invalid:{patient.wire.port}"
    both = patient.send(patient.opening(era, {"Host": host, "Origin": f"http://{host}"}))
    change = "Check the Host header of a server on loopback (with mcp_wsgi: HTTPPolicy(allowed_hosts=LOOPBACK_HOSTS))."
    if patient.opens(era, both):
        return broken("DNS rebinding lets any web page call this server, and read what it answers.", change, USERS)
    alone = patient.send(patient.opening(era, {"Host": host}))
    if patient.opens(era, alone):
        return note("The Origin is checked, the Host is not; a check of both is safer.", change)
    return fine("It is refused.")


@check(CHECKS, "get", "GET, with which older clients ask for a stream", era="none")
def _get(patient: Patient) -> Opinion:
    headers = changed(
        [("Accept", "text/event-stream")],
        {"Mcp-Session-Id": patient.session, "MCP-Protocol-Version": "2025-11-25"},
    )
    sent = Sent(what="GET of an event stream", method="GET", path=patient.path, headers=headers, head_only=True)
    answer = patient.send(sent)
    change = "Answer GET with 405 and Allow: POST, unless it opens an event stream."
    if answer.status == 405:
        if "post" in _names(answer, "allow"):
            return fine("It is answered with 405.")
        return note("It is answered with 405, without an Allow header.", "Add Allow: POST.")
    if answer.status == 200 and answer.media_type == "text/event-stream":
        return fine("It opens an event stream.")
    if answer.status == 200:
        kind = answer.media_type or "something"
        return broken(
            f"It is answered with 200 and {kind}, so clients connect again and again.", change, CLAUDE_CODE, CURSOR
        )
    if answer.status == 401:
        return some("GET asks for a login where POST does not.", change, CLAUDE_CODE)
    return some(f"It is answered with HTTP {answer.status}, which some take for a dead server.", change, CURSOR)


@check(CHECKS, "head", "HEAD, with which health checks ask", era="none")
def _head(patient: Patient) -> Opinion:
    try:
        answer = patient.send(Sent(what="HEAD", method="HEAD", path=patient.path))
    except NoAnswer as error:
        return some(f"The server {error.reason}.", "Answer it with 405.", "health checks")
    if answer.status >= 500:
        return some(f"The server fails with HTTP {answer.status}.", "Answer it with 405.", "health checks")
    return fine(f"It is answered with HTTP {answer.status}.")


@check(CHECKS, "path-slash", "the other spelling of the path, with or without a slash at its end")
def _other_spelling(patient: Patient) -> Opinion:
    path, question, query = patient.path.partition("?")
    if not path.strip("/"):
        return skipped("The endpoint is at the root, which has one spelling only.")
    other = (path.rstrip("/") if path.endswith("/") else path + "/") + question + query
    shown, opinions = without_query(other), []
    for era in patient.eras:
        answer = patient.send(patient.opening(era, path=other, what=f"the first request, to {shown} ({era})"))
        opinions.append(patient.seen(_spelling(shown, answer, served=patient.opens(era, answer))))
    return worst(opinions)


def _spelling(other: str, answer: Answer, *, served: bool) -> Opinion:
    if served:
        return fine("Both spellings are served.")
    if answer.is_redirect:
        return some(
            f"{other} redirects; many clients do not send a POST again, or lose their Authorization on the way.",
            "Serve both spellings without a redirect.",
            "users of clients like Claude's connectors, ChatGPT and Cursor who write the URL so",
        )
    if answer.status < 500:
        return note(f"Only this spelling is served; {other} is answered with HTTP {answer.status}.", "Serve both.")
    return Opinion(verdict=Verdict.SOME, says=f"{other} makes the server fail.", change="Serve both spellings.")
