"""The validator itself: it would be no use if it accepted everything."""

from __future__ import annotations

import contextlib

import pytest

from mcp_wsgi import Server
from mcp_wsgi.protocol.jsonrpc import notification, parse_message, request
from mcp_wsgi.protocol.meta import build_meta
from mcp_wsgi.server.drive import run_sync
from tests.spec.rich import build_server
from tests.spec.validate import REVISIONS, load_revision

MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}


def result(**members):
    return {"jsonrpc": "2.0", "id": 1, "result": members}


def error(code, **data):
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "m", "data": data}}


def refused(revision, method, message):
    with pytest.raises(AssertionError):
        load_revision(revision).check_answer(method, message)


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("tools/call", {}),
        ("tools/call", {"content": None}),
        ("tools/call", {"content": ["text"]}),
        ("tools/call", {"content": [{"type": "text"}]}),
        ("tools/call", {"content": [{"type": "image", "data": ""}]}),
        ("tools/call", {"content": [{"type": "unheard of", "data": ""}]}),
        ("tools/list", {"tools": [{"name": "a"}]}),
        ("tools/list", {"tools": [{"name": "a", "inputSchema": {"type": "array"}}]}),
        ("tools/list", {"tools": [], "nextCursor": None}),
        ("resources/list", {"resources": [{"uri": "x:y"}]}),
        ("resources/templates/list", {"resourceTemplates": [{"uri": "x:y", "name": "y"}]}),
        ("resources/read", {"contents": [{"uri": "x:y"}]}),
        ("prompts/list", {"prompts": [{}]}),
        ("prompts/get", {"messages": [{"role": "system", "content": {"type": "text", "text": ""}}]}),
        ("completion/complete", {"completion": {}}),
    ],
)
def test_an_invalid_result_is_noticed(revision, method, members):
    refused(revision, method, result(**(MODERN if revision == "2026-07-28" else {}), **members))


@pytest.mark.parametrize("revision", REVISIONS)
def test_content_that_a_revision_does_not_know_is_noticed(revision):
    audio = result(content=[{"type": "audio", "data": "", "mimeType": "audio/wav"}], resultType="complete")
    link = result(content=[{"type": "resource_link", "uri": "x:y", "name": "y"}], resultType="complete")
    for message, since in (audio, "2025-03-26"), (link, "2025-06-18"):
        if revision != "2026-07-28":
            del message["result"]["resultType"]
        if revision < since:
            refused(revision, "tools/call", message)
        else:
            load_revision(revision).check_answer("tools/call", message)


def test_what_modern_results_need_is_noticed():
    for missing in MODERN:
        members = {name: value for name, value in MODERN.items() if name != missing}
        with pytest.raises((AssertionError, KeyError)):
            load_revision("2026-07-28").check_answer("tools/list", result(tools=[], **members))
    refused("2026-07-28", "tools/call", result(resultType="partial", content=[]))
    refused("2026-07-28", "tools/call", result(resultType="input_required", inputRequests={"a": {"method": "x"}}))


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_a_result_type_for_a_legacy_client_is_noticed(revision):
    refused(revision, "tools/call", result(content=[], resultType="complete"))


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "m"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}},
        {"jsonrpc": "1.0", "id": 1, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": 1.5, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}, "method": "x"},
    ],
)
def test_an_invalid_error_is_noticed(revision, message):
    refused(revision, "ping", message)


def test_errors_without_their_data_are_noticed():
    refused("2026-07-28", "tools/list", error(-32022, supported=["2026-07-28"]))
    refused("2026-07-28", "tools/list", error(-32021, requiredCapabilities=["elicitation"]))


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "message",
    [
        notification("notifications/progress", {"progress": 1}),
        notification("notifications/progress", {"progressToken": 1, "progress": "1"}),
        notification("notifications/message", {"level": "loud", "data": 1}),
        notification("notifications/message", {"level": "info"}),
        {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}},
    ],
)
def test_an_invalid_notification_is_noticed(revision, message):
    with pytest.raises(AssertionError):
        load_revision(revision).check_notification(message)


@pytest.fixture(params=REVISIONS)
def wrapped(request, validated_server):
    return validated_server(build_server(), request.param)


@pytest.mark.parametrize("meta", [{}, build_meta(version="2026-07-28", capabilities={})])
def test_a_wrapped_server_answers_as_the_server_does(wrapped, meta):
    message = request(1, "tools/list", {"_meta": meta})
    answer = build_server().handle_message(message)
    assert wrapped.handle_message(message) == answer
    assert run_sync(wrapped.steps(wrapped.make_context(parse_message(message)))) == answer
    assert wrapped.name == "rich"


class Careless(Server):
    """Send a notification that is not valid, and ignore what comes of it."""

    def handle_message(self, message, *, notify=None, **options):
        with contextlib.suppress(AssertionError):
            notify(notification("notifications/progress", {"progress": 1}))
        return super().handle_message(message, **options)


def test_an_invalid_notification_of_a_wrapped_server_is_never_lost(validated_server):
    sent = []
    with pytest.raises(AssertionError, match="progressToken"):
        validated_server(Careless("x"), "2025-11-25").handle_message(request(1, "ping"), notify=sent.append)
    assert sent == []


def test_a_wrapped_server_checks_notifications_wherever_the_context_is_made(validated_server):
    wrapped = validated_server(Server("x"), "2025-11-25")
    sent = []
    parsed = parse_message(request(1, "x", {"_meta": {"progressToken": 1}}))
    wrapped.make_context(parsed, notify=sent.append).report_progress(1)
    assert sent == wrapped.notifications
    assert len(sent) == 1
