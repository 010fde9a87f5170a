"""What a server says of itself in both eras."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Context, Icon, Server
from mcp_wsgi.protocol.meta import SERVER_INFO
from mcp_wsgi.protocol.versions import LEGACY_VERSIONS

from .wire import ERAS, error_of, result_of

HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}


def declared(server: Server, era: str, **options: Any) -> dict[str, Any]:
    method, params = ("initialize", HELLO) if era == "legacy" else ("server/discover", {})
    capabilities: dict[str, Any] = result_of(server, method, params, era=era, **options)["capabilities"]
    return capabilities


def add_tool(server: Server) -> None:
    server.tool(name="t")(lambda: 1)


def add_resource(server: Server) -> None:
    server.resource("r://a", name="a")(lambda: "")


def add_template(server: Server) -> None:
    server.resource("r://{a}", name="a")(lambda a: "")


def add_prompt(server: Server) -> None:
    server.prompt(name="p")(lambda a="": "")


def add_completion(server: Server) -> None:
    server.completion("p", "a")(lambda value: [])


@ERAS
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), {}),
        ((add_tool,), {"tools": {}}),
        ((add_resource,), {"resources": {}}),
        ((add_template,), {"resources": {}}),
        ((add_prompt,), {"prompts": {}}),
        ((add_prompt, add_completion), {"prompts": {}, "completions": {}}),
        ((add_tool, add_resource, add_prompt), {"tools": {}, "resources": {}, "prompts": {}}),
    ],
)
def test_exactly_what_is_registered_is_declared(era: str, parts: Any, expected: dict[str, Any]) -> None:
    """B132, B133: no ``listChanged`` and no ``subscribe`` that nothing would deliver."""
    server = Server("s")
    for part in parts:
        part(server)
    assert declared(server, era) == expected


def test_logging_is_declared_where_something_can_be_sent() -> None:
    """2026-07-28, server/utilities/logging, Capabilities."""
    assert declared(Server("s"), "modern", notify=print) == {"logging": {}}


@ERAS
def test_extensions_are_declared_with_their_settings(era: str) -> None:
    server = Server("s", extensions={"example.com/x": {"a": 1}})
    assert declared(server, era) == {"extensions": {"example.com/x": {"a": 1}}}


@ERAS
def test_a_capability_whose_things_are_all_hidden_is_not_declared(era: str) -> None:
    """B50b: what this caller finds, not what the instance has."""

    def visible(context: Context) -> bool:
        return context.principal == "admin"

    server = Server("s")
    server.tool(name="t", visible=visible)(lambda: 1)
    server.resource("r://{a}", name="a", visible=visible)(lambda a: "")
    server.prompt(name="p", visible=visible)(lambda: "")
    assert declared(server, era) == {}
    assert declared(server, era, principal="admin") == {"tools": {}, "resources": {}, "prompts": {}}
    add_resource(server)
    assert declared(server, era) == {"resources": {}}


@ERAS
def test_a_capability_stays_when_everything_is_removed(era: str) -> None:
    server = Server("s")
    add_tool(server)
    server.remove_tool("t")
    assert declared(server, era) == {"tools": {}}


def test_discovery_names_the_versions_and_the_instructions() -> None:
    """2026-07-28, server/discover."""
    server = Server("shop", version="1.0", instructions="Ask for orders.", ttl_ms=10)
    assert result_of(server, "server/discover") == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "capabilities": {},
        "instructions": "Ask for orders.",
        "ttlMs": 10,
        "cacheScope": "public",
        "_meta": {SERVER_INFO: {"name": "shop", "version": "1.0"}},
    }
    assert "instructions" not in result_of(Server("s"), "server/discover")


def test_discovery_is_private_as_soon_as_anything_filters() -> None:
    server = Server("s")
    server.prompt(name="p", visible=lambda context: True)(lambda: "")
    assert result_of(server, "server/discover")["cacheScope"] == "private"
    assert result_of(Server("s"), "server/discover", principal="ada")["cacheScope"] == "private"


def test_a_server_without_legacy_clients_names_modern_versions_only() -> None:
    server = Server("s", legacy=False)
    assert result_of(server, "server/discover")["supportedVersions"] == ["2026-07-28"]


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list", "server/discover"])
@pytest.mark.parametrize("version", ["2025-11-25", 5, None])
def test_a_server_without_legacy_clients_refuses_them_with_its_versions(method: str, version: Any) -> None:
    error = error_of(Server("s", legacy=False), method, {"protocolVersion": version}, era="legacy")
    assert error["code"] == -32022
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_a_known_legacy_version_is_agreed_to(version: str) -> None:
    """2025-11-25, basic/lifecycle, Version Negotiation."""
    result = result_of(Server("s"), "initialize", {**HELLO, "protocolVersion": version}, era="legacy")
    assert result["protocolVersion"] == version


@pytest.mark.parametrize("version", ["2026-07-28", "2030-01-01", "1.0", "", "\ud800"])
def test_any_other_version_is_answered_with_our_newest_legacy_one(version: str) -> None:
    """B73."""
    result = result_of(Server("s"), "initialize", {**HELLO, "protocolVersion": version}, era="legacy")
    assert result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {**HELLO, "protocolVersion": 5},
        {**HELLO, "protocolVersion": None},
        {**HELLO, "protocolVersion": ["2025-11-25"]},
        {**HELLO, "capabilities": []},
        {**HELLO, "capabilities": None},
        {**HELLO, "clientInfo": "c"},
    ],
)
def test_an_ill_typed_initialize_is_refused(params: dict[str, Any]) -> None:
    error = error_of(Server("s"), "initialize", params, era="legacy")
    assert error["code"] == -32602
    assert "params." in error["message"]


def test_initialize_tells_who_answers_and_makes_no_session() -> None:
    """B27: any worker can go on."""
    server = Server("shop", version="1.0", instructions="Ask.")
    assert result_of(server, "initialize", HELLO, era="legacy") == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "shop", "version": "1.0"},
        "instructions": "Ask.",
    }
    assert "instructions" not in result_of(Server("s"), "initialize", HELLO, era="legacy")


def test_an_initialize_with_modern_metadata_is_a_modern_request() -> None:
    """2026-07-28: the era is the request's own."""
    assert error_of(Server("s"), "initialize", HELLO)["code"] == -32601


def test_the_identity_holds_all_that_was_given() -> None:
    icon = Icon("https://example.com/i.png", "image/png", ["48x48"], "dark")
    server = Server(
        "shop", version="2", title="Shop", description="Sells", website_url="https://example.com", icons=[icon]
    )
    expected = {
        "name": "shop",
        "version": "2",
        "title": "Shop",
        "description": "Sells",
        "websiteUrl": "https://example.com",
        "icons": [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}],
    }
    assert result_of(server, "server/discover")["_meta"] == {SERVER_INFO: expected}
    assert result_of(server, "initialize", HELLO, era="legacy")["serverInfo"] == expected
