"""``mcp-wsgi doctor URL``: send what real clients send, and say what would fail for whom.

Nothing that the doctor sends can change anything: it lists tools, and calls one that does not exist.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..exits import CommandFailed, Exit
from ..options import header, seconds

if TYPE_CHECKING:
    from .findings import Check

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command."""
    doctor = commands.add_parser(
        "doctor",
        help="send what real clients send, and say what would fail for whom",
        description="Send what real clients send to a server, and say in plain words what would fail for whom. No tool "
        "is called, and nothing is changed.",
    )
    doctor.add_argument("url", metavar="URL", help="the URL of the MCP endpoint")
    doctor.add_argument(
        "--header", type=header, action="append", default=[], metavar="'NAME: VALUE'", help="may be repeated"
    )
    doctor.add_argument("--bearer-env", metavar="NAME", help="the environment variable that holds a bearer token")
    doctor.add_argument(
        "--origin", default=None, help="a web page's origin that should be allowed (default: the Inspector's)"
    )
    doctor.add_argument(
        "--timeout",
        type=seconds,
        default=10.0,
        metavar="SECONDS",
        help="for each request, in seconds (default: %(default)g)",
    )
    doctor.add_argument(
        "--check", action="append", metavar="ID", help="make this check only, by the name in brackets; may be repeated"
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON document")
    doctor.add_argument("--plain", action="store_true", help="print plain text, also in a terminal")
    doctor.add_argument("-v", "--verbose", action="store_true", help="also list what is fine")
    doctor.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ... import __version__
    from ..output import Output
    from ..text import without_secrets
    from ..tokens import request_headers
    from .examination import examine
    from .patient import INSPECTOR_ORIGIN, Patient
    from .raw import NoAnswer, Wire
    from .report import print_report, to_json

    output = Output(json=arguments.json, plain=arguments.plain)
    headers = [("User-Agent", f"mcp-wsgi-doctor/{__version__}"), *request_headers(arguments)]
    try:
        wire = Wire(arguments.url, timeout=arguments.timeout, headers=headers)
    except ValueError as error:
        raise CommandFailed(f"This is no URL of an MCP endpoint: {error}.", Exit.USAGE) from None
    checks = _chosen(arguments.check)
    patient = Patient(wire=wire, path=wire.path, origin=arguments.origin or INSPECTOR_ORIGIN)
    try:
        with output.progress("doctor") as progress:
            examination = examine(patient, report=progress, checks=checks)
    except NoAnswer as error:
        raise CommandFailed(
            f"The server at {wire.authority} {error.reason}. Check the URL, and that it runs.",
            Exit.UNREACHABLE,
            cause=error.__cause__,
        ) from None
    url = without_secrets(arguments.url)
    if output.json:
        output.document(to_json(examination, url))
    else:
        print_report(output, examination, url, everything=arguments.verbose)
    if not examination.admitted:
        return Exit.UNAUTHORIZED
    return Exit.FAULT if examination.has_faults else Exit.OK


def _chosen(names: list[str] | None) -> Sequence[Check]:
    from .examination import CHECKS

    known = {check.id: check for check in CHECKS}
    for name in names or ():
        if name not in known:
            raise CommandFailed(f"There is no check {name!r}. There are: {', '.join(known)}.", Exit.USAGE)
    return [known[name] for name in names] if names else CHECKS
