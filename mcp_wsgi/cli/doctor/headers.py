"""What headers say against what the body says: a proxy sees the one, the server executes the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...protocol.versions import LATEST_LEGACY_VERSION, LATEST_VERSION
from .clients import CLAUDE, MODERN, PROXIES
from .findings import Check, Opinion, broken, check, fine, note, some
from .patient import UNKNOWN_TOOL, Change, Patient

__all__ = ["CHECKS"]

CHECKS: list[Check] = []

_CALL = {"name": UNKNOWN_TOOL, "arguments": {}}


@dataclass(frozen=True, kw_only=True)
class _Variation:
    """Headers that do not belong to the body, and how grave it is to serve them."""

    id: str
    title: str
    change: Change
    method: str = "server/discover"
    grave: bool = True
    #: What to add where it is refused.
    aside: str = ""


_VARIATIONS = (
    _Variation(
        id="version-mismatch",
        title="a version header that is not the body's",
        change={"MCP-Protocol-Version": LATEST_LEGACY_VERSION},
        aside=f" So it has to be, although {CLAUDE} were reported to send it.",
    ),
    _Variation(id="version-missing", title="no version header", change={"MCP-Protocol-Version": None}),
    _Variation(id="method-mismatch", title="Mcp-Method names another method", change={"Mcp-Method": "tools/list"}),
    _Variation(id="method-missing", title="no Mcp-Method header", change={"Mcp-Method": None}),
    _Variation(
        id="name-mismatch",
        title="Mcp-Name names another tool",
        change={"Mcp-Name": "mcp-wsgi-doctor/other-tool"},
        method="tools/call",
    ),
    _Variation(id="name-missing", title="no Mcp-Name header", change={"Mcp-Name": None}, method="tools/call"),
    _Variation(
        id="version-repeated",
        title="the version header twice, the same value",
        change={"MCP-Protocol-Version": [LATEST_VERSION, LATEST_VERSION]},
        grave=False,
    ),
    _Variation(
        id="version-twice",
        title="the version header twice, two values",
        change={"MCP-Protocol-Version": [LATEST_VERSION, LATEST_LEGACY_VERSION]},
    ),
    _Variation(
        id="method-twice",
        title="Mcp-Method twice, two values",
        change={"Mcp-Method": ["server/discover", "tools/list"]},
    ),
    _Variation(
        id="name-twice",
        title="Mcp-Name twice, two values",
        change={"Mcp-Name": [UNKNOWN_TOOL, "mcp-wsgi-doctor/other-tool"]},
        method="tools/call",
    ),
)


def _look(variation: _Variation) -> Callable[[Patient], Opinion]:
    def look(patient: Patient) -> Opinion:
        params = _CALL if variation.method == "tools/call" else None
        answer = patient.send(patient.modern_request(variation.method, params, variation.change))
        change = "Compare the headers with the body, and answer 400 and -32020 where they differ."
        if answer.code == -32020:
            if answer.status == 400:
                return fine(f"It is refused with 400 and -32020.{variation.aside}")
            return note(f"It is refused with -32020, but with HTTP {answer.status} in place of 400.")
        # That the tool does not exist is only known after the headers were let pass.
        served = answer.result is not None or (params is not None and answer.code in (-32602, -32601))
        if not served and answer.status in (400, 404, 405):
            return note("It is refused, but not with -32020, so a client cannot see why.", change)
        if not served:
            return some("It is neither served nor refused as it should be.", change, MODERN)
        if variation.grave:
            return broken("It is served, so what a proxy let pass is not what the server executes.", change, PROXIES)
        return note("It is served; a proxy may take another of the lines than the server.", change)

    return look


CHECKS += [Check(id=f"header-{each.id}", title=each.title, era="modern", look=_look(each)) for each in _VARIATIONS]


@check(CHECKS, "version-unknown", "a version that no server has", era="modern")
def _unknown_version(patient: Patient) -> Opinion:
    answer = patient.send(patient.modern_request("server/discover", version="2099-01-01"))
    change = "Answer 400 and -32022, with data.supported and data.requested."
    if answer.code != -32022:
        return some("There is no error -32022, so a client cannot choose another version.", change, "newer clients")
    if answer.supported is None:
        return some("The error -32022 does not say which versions are served.", change, "newer clients")
    if answer.status != 400:
        return note(f"The status is {answer.status}, where 400 is asked for.", change)
    return fine("It is refused with -32022, naming what is served.")


@check(CHECKS, "envelope-missing", "a request of 2026-07-28 without its _meta", era="modern")
def _no_envelope(patient: Patient) -> Opinion:
    message = patient.modern_message("server/discover")
    del message["params"]["_meta"]
    what = "server/discover with the headers of 2026-07-28 and no _meta"
    answer = patient.send(patient.modern_request("server/discover", body=message, what=what))
    if answer.status == 400 and answer.code is not None:
        return fine(f"It is refused with 400 and {answer.code}.")
    if answer.result is not None:
        return note("It is served, although it does not say what its client can do.", "Answer 400 and -32602.")
    return note("It is refused, but not with 400 and a JSON-RPC error.", "Answer 400 and -32602.")
