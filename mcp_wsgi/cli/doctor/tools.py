"""The list of tools, which is what every client asks for: it is read, and no tool is called."""

from __future__ import annotations

import re
from typing import Any

from ...server.reasons import shorten
from ..text import one_line
from .clients import COPILOT_CLI, CURSOR, EVERYBODY
from .findings import Check, Opinion, broken, check, fine, note, skipped, some, worst
from .patient import Patient

__all__ = ["CHECKS"]

CHECKS: list[Check] = []

_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,128}")


def _list(patient: Patient, era: str) -> Any:
    make = patient.modern_request if era == "modern" else patient.legacy_request
    return patient.send(make("tools/list", {}))


@check(CHECKS, "tools-list", "tools/list, in each era")
def _tools(patient: Patient) -> Opinion:
    opinions = []
    for era in patient.eras:
        answer = _list(patient, era)
        if answer.result is not None and isinstance(answer.result.get("tools"), list):
            opinions.append(fine(f"{len(answer.result['tools'])} tools are listed."))
        elif answer.code == -32601:
            opinions.append(note("The server has no tools."))
        else:
            opinions.append(patient.seen(broken(f"The tools cannot be listed ({era}).", "See what came.", EVERYBODY)))
    return worst(opinions)


def _found(patient: Patient) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    result = _list(patient, patient.eras[0]).result
    tools = result.get("tools") if result is not None else None
    if result is None or not isinstance(tools, list):
        return None
    return result, [tool for tool in tools if isinstance(tool, dict)]


@check(CHECKS, "tools-schemas", "the names and schemas of tools")
def _schemas(patient: Patient) -> Opinion:
    found = _found(patient)
    if found is None or not found[1]:
        return skipped("There are no tools.")
    return worst(_schema(tool) for tool in found[1])


def _schema(tool: dict[str, Any]) -> Opinion:
    name, schema = tool.get("name"), tool.get("inputSchema")
    shown = shorten(one_line(str(name)), 60)
    if not isinstance(name, str) or not name:
        return broken("A tool has no name.", "Name it.", EVERYBODY)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return broken(f"The inputSchema of {shown} is not of type object.", 'Give it "type": "object".', EVERYBODY)
    if not _NAME.fullmatch(name):
        return some(
            f"The name {shown} has other characters than A-Z a-z 0-9 _ - . /", "Rename it.", "clients that check"
        )
    if any(char in name for char in "./"):
        return note(f"The name {shown} has a dot or slash, which {COPILOT_CLI} were reported not to take.")
    properties = schema.get("properties")
    if isinstance(properties, dict) and any(_is_union(each) for each in properties.values()):
        return note(f"An argument of {shown} may be of several types, which {CURSOR} were reported not to check well.")
    return fine("Each has a name and a schema that clients take.")


def _is_union(schema: Any) -> bool:
    return isinstance(schema, dict) and isinstance(schema.get("type"), list)


@check(CHECKS, "tools-pages", "the pages of the list")
def _pages(patient: Patient) -> Opinion:
    found = _found(patient)
    if found is None:
        return skipped("There are no tools.")
    if "nextCursor" not in found[0]:
        return fine("The list is on one page.")
    cursor = found[0]["nextCursor"]
    if not isinstance(cursor, str) or not cursor:
        return some(
            f"The last page says nextCursor {cursor!r}, so clients ask on for ever, or fail."[:200],
            "Leave nextCursor out at the end.",
            CURSOR,
        )
    return note(f"The list has several pages; {COPILOT_CLI} were reported to read the first one only.")
