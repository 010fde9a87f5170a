"""The report: what has to be changed first, then what is worth knowing, then for whom what fails."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from typing import Any

from ...server.reasons import shorten
from ..output import Output
from ..text import one_line
from .examination import Examination
from .findings import Finding, Verdict

__all__ = ["print_report", "to_json"]

_WORDS = {
    Verdict.BROKEN: ("broken", "bold red"),
    Verdict.SOME: ("fails for some", "bold yellow"),
    Verdict.NOTE: ("note", "cyan"),
    Verdict.SKIPPED: ("not checked", "dim"),
    Verdict.OK: ("ok", "green"),
}
_WIDEST = 110


def to_json(examination: Examination, url: str) -> dict[str, Any]:
    """Give the report as one JSON document."""
    return {
        "url": url,
        "admitted": examination.admitted,
        "eras": list(examination.patient.eras),
        "server": _identity(examination),
        "counts": {verdict.value: count for verdict, count in _counts(examination).items()},
        "findings": [finding.to_json() for finding in examination.findings],
    }


def print_report(output: Output, examination: Examination, url: str, *, everything: bool) -> None:
    """Print the report.

    Args:
        output: Where to.
        examination: What was found.
        url: What was examined.
        everything: Whether also what is fine, or was not checked, is listed.
    """
    width = min(shutil.get_terminal_size().columns - 1, _WIDEST) if not output.is_plain else _WIDEST
    output.text(url, "bold")
    output.text(_summary(examination))
    for verdict in _WORDS:
        if everything or verdict.is_fault or verdict is Verdict.NOTE:
            for finding in examination.findings:
                if finding.verdict is verdict:
                    _print_finding(output, finding, width)
    _print_whom(output, examination, width)
    output.text("")
    output.text(_totals(examination))


def _print_finding(output: Output, finding: Finding, width: int) -> None:
    word, style = _WORDS[finding.verdict]
    brief = finding.verdict in (Verdict.OK, Verdict.SKIPPED)
    if not brief:
        output.text("")
    head = f"{word}: {finding.title} [{finding.check}]"
    output.text(head, style)
    _wrapped(output, finding.says, width)
    if brief:
        return
    for name, value in (("sent", finding.sent), ("came", finding.came), ("change", finding.change)):
        _wrapped(output, value, width, label=name, style="" if name == "change" else "dim")
    _wrapped(output, ", ".join(finding.whom), width, label="affects")


def _wrapped(output: Output, text: str, width: int, *, label: str = "", style: str = "") -> None:
    """Print a text, indented and wrapped, behind its label; nothing where it is empty."""
    first = "  " + (f"{label}:".ljust(9) if label else "")
    hanging = " " * len(first) if label else "    "
    for line in textwrap.wrap(text, width, initial_indent=first, subsequent_indent=hanging, break_on_hyphens=False):
        output.text(line, style)


def _print_whom(output: Output, examination: Examination, width: int) -> None:
    fails: dict[str, list[str]] = {}
    for finding in examination.findings:
        if finding.verdict.is_fault:
            for name in finding.whom:
                fails.setdefault(name, []).append(finding.check)
    if not fails:
        return
    output.text("")
    output.text("Affected", "bold")
    for name, checks in sorted(fails.items()):
        _wrapped(output, f"{name}: {', '.join(checks)}", width)


def _identity(examination: Examination) -> dict[str, Any]:
    patient = examination.patient
    for answer in (patient.discovered, patient.initialized):
        result = (answer.result if answer is not None else None) or {}
        meta = result.get("_meta")
        info = result.get("serverInfo") or (
            meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
        )
        if isinstance(info, dict):
            return {name: info[name] for name in ("name", "version") if isinstance(info.get(name), str)}
    return {}


def _summary(examination: Examination) -> str:
    patient = examination.patient
    if not examination.admitted:
        return (
            "The server wants a login, so only what comes before it was checked. Give a token with --bearer-env NAME."
        )
    words = {
        "modern": "2026-07-28",
        "legacy": "the versions before it" if patient.modern else "versions up to 2025-11-25",
    }
    spoken = " and ".join(words[era] for era in patient.eras) or "no version that is known"
    identity = " ".join(_identity(examination).values())
    parts = [shorten(one_line(identity), 60)] if identity else []
    parts.append(f"speaks {spoken}")
    if patient.legacy:
        parts.append("with sessions" if patient.session else "without sessions")
    return ", ".join(parts)


def _counts(examination: Examination) -> dict[Verdict, int]:
    counted = Counter(finding.verdict for finding in examination.findings)
    return {verdict: counted[verdict] for verdict in Verdict}


def _totals(examination: Examination) -> str:
    parts = [f"{count} {_WORDS[verdict][0]}" for verdict, count in _counts(examination).items() if count]
    return f"{len(examination.findings)} checks: {', '.join(parts)}."
