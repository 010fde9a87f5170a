"""Every message that a client gets on stdio is one of the protocol revision that it speaks."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Context, Server
from mcp_wsgi.protocol.versions import LATEST_VERSION, LEGACY_VERSIONS
from tests.modern import message
from tests.spec.validate import Revision, load_revision
from tests.stdio_door.client import Client, initialize, legacy, notice, serving

ANSWERS: dict[str, dict[str, Any]] = {
    "elicitation/create": {"action": "accept", "content": {"row": 1}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "42"}},
    "roots/list": {"roots": [{"uri": "file:///a", "name": "a"}]},
}
REQUESTS = {
    "elicitation/create": "ElicitRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "roots/list": "ListRootsRequest",
}


def a_server():
    server = Server("test", version="1")

    @server.tool
    def work(ctx: Context) -> str:
        """Report in every way."""
        ctx.report_progress(1, 2, "half")
        ctx.warning({"at": 1})
        return "done"

    @server.tool
    def ask(ctx: Context) -> str:
        """Ask in every way that the client knows."""
        if "elicitation" in ctx.client_capabilities:
            ctx.elicit("Which?", {"type": "object", "properties": {"row": {"type": "integer"}}})
        if "url" in ctx.client_capabilities.get("elicitation", {}):
            ctx.elicit_url("Pay", "https://example.com/pay")
        ctx.sample("What?", max_tokens=5)
        return ctx.list_roots()[0].uri

    @server.resource("docs://{name}")
    def doc(name: str) -> str:
        return name

    @server.prompt
    def greet() -> str:
        return "Hello"

    return server


def talk(client: Client, revision: Revision, request: dict[str, Any]) -> None:
    """Send a request and answer what comes, until it is answered; everything is checked."""
    client.send(request)
    while True:
        got = client.read()
        if "method" not in got:
            assert got["id"] == request["id"]
            revision.check_answer(request["method"], got)
            return
        if "id" not in got:
            revision.check_notification(got)
            continue
        revision.check("JSONRPCRequest", got)
        revision.check(REQUESTS[got["method"]], got)
        revision.check("ServerRequest", got)
        client.send({"jsonrpc": "2.0", "id": got["id"], "result": ANSWERS[got["method"]]})


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_a_legacy_client_gets_messages_of_its_revision(version):
    revision, server = load_revision(version), a_server()
    capabilities: dict[str, Any] = {"sampling": {}, "roots": {}}
    if revision.knows("ElicitRequest"):
        capabilities["elicitation"] = {"form": {}, "url": {}} if version == "2025-11-25" else {}
    with serving(server) as client:
        talk(client, revision, initialize(0, version=version, capabilities=capabilities))
        client.send(notice("notifications/initialized"))
        for method in ("ping", "tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            talk(client, revision, legacy(method, method))
        talk(client, revision, legacy(1, "logging/setLevel", level="debug"))
        talk(client, revision, legacy(2, "resources/subscribe", uri="docs://a"))
        talk(client, revision, legacy(3, "tools/call", name="work", _meta={"progressToken": 0}))
        talk(client, revision, legacy(4, "tools/call", name="ask"))
        server.notify_resource_updated("docs://a")
        server.notify_tools_changed()
        server.notify_prompts_changed()
        server.notify_resources_changed()
        for _ in range(4):
            revision.check_notification(client.read())
        talk(client, revision, legacy(5, "resources/unsubscribe", uri="docs://a"))
        talk(client, revision, legacy(6, "no/such"))
        client.write(b"bad\n")
        revision.check_answer("", client.read())


def test_a_modern_client_gets_messages_of_its_revision():
    revision, server = load_revision(LATEST_VERSION), a_server()
    with serving(server) as client:
        for method in ("server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            talk(client, revision, message(method, request_id=method))
        talk(client, revision, message("tools/call", progress_token=0, log_level="debug", name="work"))
        asking = {"sampling": {}, "roots": {}}
        talk(client, revision, message("tools/call", name="ask", capabilities=asking))
        talk(client, revision, message("tools/call", name="ask"))
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["docs://a"]}
        client.send(message("subscriptions/listen", request_id="l", notifications=wanted))
        revision.check_notification(client.read())
        server.notify_tools_changed()
        server.notify_resource_updated("docs://a")
        for _ in range(2):
            revision.check_notification(client.read())
        server.close()
        revision.check_notification(client.read())
        revision.check_answer("subscriptions/listen", client.read())
        client.write(b"bad\n")
        revision.check_answer("", client.read())
