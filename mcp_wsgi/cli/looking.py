"""The commands that look at a server: ``inspect`` and ``list``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .exits import CommandFailed, Exit
from .remote import Session, add_remote_parser, session_of
from .showing import signature
from .text import first_line, on_its_line

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["add_parsers"]

#: The kinds of lists: the capability behind each, how its list is asked for, and its columns.
KINDS = ("tools", "resources", "templates", "prompts")
_CAPABILITY = {"tools": "tools", "resources": "resources", "templates": "resources", "prompts": "prompts"}
_COLUMNS = {
    "tools": ("tool", "arguments", "what it does"),
    "resources": ("resource", "name", "type", "what it is"),
    "templates": ("template", "name", "type", "what it is"),
    "prompts": ("prompt", "arguments", "what it is for"),
}


def add_parsers(commands: Any, *, with_url: bool) -> None:
    """Add the commands."""
    inspect = add_remote_parser(
        commands,
        "inspect",
        with_url=with_url,
        help="show what a server is, speaks and offers",
        description="Show what a server is, which version of the protocol it speaks, and what it offers.",
    )
    inspect.set_defaults(run=_inspect)
    listing = add_remote_parser(
        commands,
        "list",
        with_url=with_url,
        words="[KIND ...]",
        help="list tools, resources, templates and prompts",
        description="List what a server offers. In plain text the columns are separated by tabs; of several kinds the "
        "first column is the kind.",
    )
    listing.add_argument("words", nargs="*", default=[], metavar="KIND", help=f"of {', '.join(KINDS)} (default: all)")
    listing.set_defaults(run=_list)


def _fetcher(client: Client, kind: str) -> Callable[[], Sequence[Any]]:
    fetchers: dict[str, Callable[[], Sequence[Any]]] = {
        "tools": client.list_tools,
        "resources": client.list_resources,
        "templates": client.list_resource_templates,
        "prompts": client.list_prompts,
    }
    return fetchers[kind]


def _fetch(client: Client, kind: str) -> Sequence[Any] | None:
    """Fetch a list; ``None`` where the server does not have any."""
    from ..exceptions import MethodNotFoundError

    if _CAPABILITY[kind] not in client.capabilities:
        return None
    try:
        return _fetcher(client, kind)()
    except MethodNotFoundError:
        return None


def _row(kind: str, entry: Any) -> tuple[str, ...]:
    text = first_line(entry.description) or first_line(entry.title)
    if kind == "tools":
        return entry.name, signature(entry.input_schema), text
    if kind == "prompts":
        names = (each.name if each.required else f"[{each.name}]" for each in entry.arguments)
        return entry.name, ", ".join(names), text
    uri = entry.uri if kind == "resources" else entry.uri_template
    return uri, entry.name, entry.mime_type or "", text


def _list(arguments: argparse.Namespace) -> int:
    wanted = list(dict.fromkeys(arguments.words)) or list(KINDS)
    with session_of(arguments) as session:
        for kind in wanted:
            if kind not in KINDS:
                raise CommandFailed(f"There is no kind {kind!r}. There are: {', '.join(KINDS)}.", Exit.USAGE)
        found = {kind: _fetch(session.client, kind) for kind in wanted}
        if session.output.json:
            session.output.document({kind: [entry.raw for entry in entries or ()] for kind, entries in found.items()})
            return Exit.OK
        _print_lists(session, found, named=len(wanted) > 1)
    return Exit.OK


def _print_lists(session: Session, found: dict[str, Sequence[Any] | None], *, named: bool) -> None:
    output = session.output
    for kind, entries in found.items():
        rows = [_row(kind, entry) for entry in entries or ()]
        if output.is_plain and named:
            rows = [(kind, *row) for row in rows]
        if rows:
            output.table(kind.capitalize(), _COLUMNS[kind], rows)
        elif not named:
            output.note(f"The server has no {kind}.")
    if named and not any(found.values()):
        output.note("The server offers nothing.")


def _inspect(arguments: argparse.Namespace) -> int:
    with session_of(arguments) as session:
        client = session.client
        found = {kind: _fetch(client, kind) for kind in KINDS}
        discovery = client.discover()
        if session.output.json:
            session.output.document(
                {
                    "address": client.address,
                    "era": client.era,
                    "protocolVersion": client.protocol_version,
                    "supportedVersions": list(discovery.supported_versions),
                    "serverInfo": client.server_info,
                    "capabilities": client.capabilities,
                    "instructions": client.instructions,
                    "offers": {
                        kind: None if entries is None else [_row(kind, entry)[0] for entry in entries]
                        for kind, entries in found.items()
                    },
                }
            )
            return Exit.OK
        session.output.fields(_described(session, found))
    return Exit.OK


def _described(session: Session, found: dict[str, Sequence[Any] | None]) -> list[tuple[str, str]]:
    client = session.client
    info = client.server_info
    name = str(info.get("name") or "does not say who it is")
    title = info.get("title")
    identity = " ".join(str(part) for part in (name, info.get("version")) if part)
    pairs = [
        ("Server", f"{title} ({identity})" if isinstance(title, str) and title != name else identity),
        ("Command" if client.address.startswith("stdio:") else "Address", session.name),
        ("Speaks", f"{client.protocol_version}, {_era(client)}"),
        ("Can do", ", ".join(_abilities(client.capabilities)) or "nothing"),
    ]
    for kind, entries in found.items():
        if entries is not None:
            names = [on_its_line(_row(kind, entry)[0]) for entry in entries]
            pairs.append((kind.capitalize(), "\n".join(names) or "none"))
    if client.instructions:
        pairs.append(("For models", client.instructions.strip()))
    return pairs


def _era(client: Client) -> str:
    return "no handshake (modern)" if client.era == "modern" else "with a handshake (legacy)"


def _abilities(capabilities: dict[str, Any]) -> list[str]:
    """Name the capabilities, each with what is switched on in it."""
    named = []
    for name, settings in capabilities.items():
        on = [key for key, value in settings.items() if value is not False] if isinstance(settings, dict) else []
        named.append(f"{name} ({', '.join(map(str, on))})" if on else name)
    return named
