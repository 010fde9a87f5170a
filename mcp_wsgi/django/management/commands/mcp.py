"""``manage.py mcp``: list what the MCP server has, and call a tool, without a client."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.http import HttpRequest

from ....exceptions import ConfigurationError
from ....http.messages import HTTPRequest
from ....protocol.meta import build_meta
from ....protocol.versions import MODERN_VERSIONS
from ....server import Server
from ...conf import conf

__all__ = ["Command"]

#: The member of a list's result, the capability behind it, its method, and what names an entry.
_KINDS = (
    ("tools", "tools", "tools/list", "name"),
    ("resources", "resources", "resources/list", "uri"),
    ("resourceTemplates", "resources", "resources/templates/list", "uriTemplate"),
    ("prompts", "prompts", "prompts/list", "name"),
)


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    """List what the MCP server of the settings has, or call one of its tools."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the subcommands."""
        commands = parser.add_subparsers(dest="command", required=True)
        listing = commands.add_parser("list", help="List tools, resources and prompts.")
        listing.add_argument("--json", action="store_true", help="Print their definitions as JSON.")
        call = commands.add_parser("call", help="Call a tool and print its result.")
        call.add_argument("tool")
        call.add_argument("arguments", nargs="?", default="{}", help="The arguments as a JSON object.")
        call.add_argument("--user", help="The name of the user who calls, by default nobody.")
        call.add_argument("--json", action="store_true", help="Print the whole result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        """Run a subcommand."""
        try:
            server = conf.server
        except ConfigurationError as error:
            raise CommandError(str(error)) from None
        if options["command"] == "list":
            self._list(server, as_json=options["json"])
        else:
            self._call(server, options)

    def _list(self, server: Server, *, as_json: bool) -> None:
        found = {
            member: list(_entries(server, method, member)) if capability in server.declared else []
            for member, capability, method, _ in _KINDS
        }
        if as_json:
            self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
            return
        for member, _, _, key in _KINDS:
            if found[member]:
                self.stdout.write(f"{member}:")
            for entry in found[member]:
                lines = entry.get("description", "").splitlines()
                self.stdout.write(f"  {entry[key]}" + (f"  {lines[0]}" if lines else ""))

    def _call(self, server: Server, options: dict[str, Any]) -> None:
        try:
            arguments = json.loads(options["arguments"])
        except ValueError as error:
            raise CommandError(f"The arguments are no JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise CommandError('The arguments must be a JSON object, such as \'{"name": "value"}\'')
        params = {"name": options["tool"], "arguments": arguments}
        result = _ask(server, "tools/call", params, user=options["user"], notify=self._report)
        if options["json"]:
            self.stdout.write(json.dumps(result, indent=2, ensure_ascii=False))
        elif result["resultType"] != "complete":
            raise CommandError("The tool asks its user a question; that needs a client")
        else:
            text = "\n".join(_shown(block) for block in result["content"])
            if result.get("isError"):
                raise CommandError(text)
            self.stdout.write(text)

    def _report(self, message: dict[str, Any]) -> None:
        params = message["params"]
        said = params.get("message", params.get("data", ""))
        of = f"/{params['total']:g}" if "total" in params else ""
        self.stderr.write(f"{params['progress']:g}{of} {said}".rstrip() if "progress" in params else str(said))


def _shown(block: dict[str, Any]) -> str:
    return str(block["text"]) if block["type"] == "text" else f"[{block['type']}]"


def _entries(server: Server, method: str, member: str) -> Iterator[dict[str, Any]]:
    params: dict[str, Any] = {}
    while True:
        result = _ask(server, method, params)
        yield from result[member]
        if result.get("nextCursor") is None:
            return
        params = {"cursor": result["nextCursor"]}


def _ask(
    server: Server, method: str, params: dict[str, Any], *, user: str | None = None, notify: Any = None
) -> dict[str, Any]:
    meta = build_meta(
        version=MODERN_VERSIONS[-1],
        capabilities={},
        client_info={"name": "manage.py", "version": "0"},
        log_level="info",
        progress_token=0,
    )
    message = {"jsonrpc": "2.0", "id": 0, "method": method, "params": {**params, "_meta": meta}}
    answer = server.handle_message(message, principal=user, notify=notify, request=_request(user))
    assert answer is not None  # noqa: S101 - for the type checker: a request is answered
    if "error" in answer:
        raise CommandError(answer["error"]["message"])
    result: dict[str, Any] = answer["result"]
    return result


def _request(user: str | None) -> HTTPRequest:
    """Make the request that handlers find, with a user as the middleware would set it."""
    request = HttpRequest()
    if apps.is_installed("django.contrib.auth"):
        request.user = _user(user)
    elif user is not None:
        raise CommandError("--user needs django.contrib.auth")
    return HTTPRequest("POST", [], lambda size: b"", raw=request)  # noqa: ARG005


def _user(name: str | None) -> Any:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import AnonymousUser

    if name is None:
        return AnonymousUser()
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        raise CommandError(f"There is no user {name!r}") from None
