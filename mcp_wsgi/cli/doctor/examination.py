"""The examination: find out what the server speaks, then look at one thing after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit

from ...protocol.versions import MODERN_VERSIONS
from . import bodies, eras, headers, overall, sessions, tools, web, wellknown
from .clients import CHATGPT, CLAUDE, CURSOR, EVERYBODY
from .findings import Check, Finding, Opinion, Verdict, broken, skipped, some
from .patient import Patient
from .raw import Answer, NoAnswer, Sent

__all__ = ["CHECKS", "Examination", "examine"]

CHECKS: tuple[Check, ...] = (
    *eras.CHECKS,
    *tools.CHECKS,
    *web.CHECKS,
    *bodies.CHECKS,
    *headers.CHECKS,
    *sessions.CHECKS,
    *wellknown.CHECKS,
    *overall.CHECKS,
)

#: How many slow answers the whole examination may take.
_SLOW_ANSWERS = 30
#: After so many requests in a row without an answer the server has gone.
_PATIENCE = 3
_LEFT = "The server has stopped to answer, or answers too slowly."


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What came of it."""

    patient: Patient
    findings: tuple[Finding, ...]
    #: Whether the server let us in.
    admitted: bool

    @property
    def has_faults(self) -> bool:
        """Whether something has to be changed."""
        return any(finding.verdict.is_fault for finding in self.findings)


def examine(
    patient: Patient, *, report: Callable[[int, int, str], None], checks: Sequence[Check] = CHECKS
) -> Examination:
    """Examine a server.

    Args:
        patient: The server.
        report: Told before each check how many are done, how many there are, and what is next.
        checks: What to look at, in this order.

    Raises:
        NoAnswer: It cannot be reached.
    """
    report(0, len(checks), "connecting")
    findings = [_finding(name, title, opinion) for name, title, opinion in _begin(patient)]
    admitted = bool(patient.eras) or not _wants_login(patient)
    if not admitted:
        answer = patient.answers[-1][1]
        opinion = wellknown.check_resource(patient, answer.header("www-authenticate"))
        opinion = patient.seen(opinion, answer)
        findings.append(_finding("login", "what the server tells of its login", opinion))
    silent = 0
    end = time.monotonic() + _SLOW_ANSWERS * patient.wire.timeout
    for number, check in enumerate(checks):
        report(number, len(checks), check.title)
        if silent >= _PATIENCE or time.monotonic() > end:
            findings.append(_finding(check.id, check.title, skipped(_LEFT)))
            continue
        findings.append(_finding(check.id, check.title, _look(check, patient)))
        if patient.trace:
            silent = silent + 1 if isinstance(patient.trace[-1][1], NoAnswer) else 0
    sessions.end_sessions(patient)
    return Examination(patient=patient, findings=tuple(findings), admitted=admitted)


def _look(check: Check, patient: Patient) -> Opinion:
    patient.trace.clear()
    if not (check.era == "none" or check.era in patient.eras or (check.era == "any" and patient.eras)):
        spoken = "the protocol" if check.era == "any" else f"the {check.era} era"
        return skipped(f"The server does not speak {spoken}, or does not let us in.")
    try:
        opinion = patient.seen(check.look(patient))
    except NoAnswer as error:
        says = f"The server {error.reason}."
        return patient.seen(broken(says, "See the server's log; each request needs an answer."))
    if opinion.verdict is not Verdict.OK and any(
        isinstance(answer, Answer) and answer.status == 429 for _, answer in patient.trace
    ):
        return skipped("The server limits how often it is asked. Try again later.")
    return opinion


def _finding(check: str, title: str, opinion: Opinion) -> Finding:
    return Finding(check=check, title=title, **{name: getattr(opinion, name) for name in opinion.__dataclass_fields__})


def _begin(patient: Patient) -> Iterator[tuple[str, str, Opinion]]:
    """Find out which eras the server speaks; give what is wrong with its URL."""
    try:
        patient.discovered = patient.send(patient.opening("modern"))
        if patient.discovered.is_redirect:
            yield "redirect", "where the URL leads", _redirected(patient, patient.discovered)
            patient.discovered = patient.send(patient.opening("modern"))
    except NoAnswer as error:
        if not error.connected:
            raise
    else:
        patient.modern = _is_modern(patient.discovered)
    patient.initialized = patient.send(patient.opening("legacy"))
    patient.legacy = patient.opens("legacy", patient.initialized)
    if patient.legacy:
        patient.session = patient.initialized.header("mcp-session-id")
        patient.send(patient.legacy_request("notifications/initialized", notification=True))
    elif not patient.modern and not _wants_login(patient):
        yield "protocol", "whether there is a server at this URL", _nothing(patient, patient.initialized)


def _is_modern(answer: Answer) -> bool:
    versions = (answer.result or {}).get("supportedVersions")
    return isinstance(versions, list) and any(version in versions for version in MODERN_VERSIONS)


def _wants_login(patient: Patient) -> bool:
    return any(
        answer is not None and answer.status in (401, 403) for answer in (patient.discovered, patient.initialized)
    )


def _redirected(patient: Patient, answer: Answer) -> Opinion:
    """Go where a redirect leads, where that is on the same server, and say what clients make of it."""
    scheme = "https" if patient.wire.secure else "http"
    base = f"{scheme}://{patient.wire.authority}{patient.path}"
    target = urlsplit(urljoin(base, answer.header("location") or ""))
    opinion = patient.seen(
        some(
            "The URL redirects; many clients do not send a POST again, or lose their Authorization on the way.",
            "Serve the URL itself, with and without a slash at its end.",
            CLAUDE,
            CHATGPT,
            CURSOR,
        )
    )
    if (target.scheme, target.netloc) == (scheme, patient.wire.authority):
        patient.path = target.path + (f"?{target.query}" if target.query else "")
        return opinion
    if target.netloc == patient.wire.authority:
        says = "The URL redirects from https to http, so clients drop their Authorization or refuse to go there."
        return replace(opinion, verdict=Verdict.BROKEN, says=says)
    return replace(opinion, verdict=Verdict.BROKEN, says="The URL redirects to another server.")


def _nothing(patient: Patient, answer: Answer) -> Opinion:
    opinion = patient.seen(
        broken("No MCP server answers at this URL.", "Check the URL; the path is often /mcp.", EVERYBODY)
    )
    if answer.media_type == "text/html":
        opinion = replace(opinion, says="This URL is a web page, not an MCP server.")
    sent = Sent(
        what="GET of an event stream",
        method="GET",
        path=patient.path,
        headers=[("Accept", "text/event-stream")],
        head_only=True,
    )
    old = patient.send(sent)
    if old.status == 200 and old.media_type == "text/event-stream":
        says = "Only the transport of 2024-11-05 is spoken here."
        opinion = patient.seen(some(says, "Serve Streamable HTTP.", "clients that have left it, which most have"))
    return opinion
