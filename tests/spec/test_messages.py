"""Every message that a server sends is valid in the schema of the revision that it speaks."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from mcp_wsgi import Server
from mcp_wsgi.protocol.jsonrpc import notification, request
from mcp_wsgi.protocol.meta import LOG_LEVEL, build_meta
from mcp_wsgi.protocol.versions import LATEST_VERSION, LEGACY_VERSIONS
from tests.spec.rich import CONTENT, build_server
from tests.spec.validate import REVISIONS, ValidatedServer, load_revision

ALL = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
FORM = {"action": "accept", "content": {"name": "Ada", "age": 36, "newsletter": True, "size": "m"}}


class Step(NamedTuple):
    """One request, and how it ends: with a result, an ``isError`` result, or an error code."""

    method: str
    params: dict[str, Any] = {}
    outcome: Any = "result"
    since: str = "2024-11-05"

    def __repr__(self) -> str:
        what = next((str(self.params[key]) for key in ("name", "uri", "cursor", "level") if key in self.params), "")
        return f"{self.method} {what}".strip()


def tool(name, outcome="result", since="2024-11-05", **arguments):
    return Step("tools/call", {"name": name, "arguments": arguments}, outcome, since)


def complete(ref, name, value="x", **more):
    return Step("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}, **more})


REVIEW = {"type": "ref/prompt", "name": "review"}
SHARED = [
    Step("tools/list", {"cursor": "bad"}, -32602),
    Step("resources/list", {"cursor": ""}, -32602),
    Step("resources/templates/list", {"cursor": 5}, -32602),
    Step("prompts/list", {"cursor": "cHJvbXB0cw=="}, -32602),
    tool("add", a=1, b=2.5),
    tool("add", "isError", a="x"),
    tool("add", "isError"),
    tool("weather", place=None),
    tool("numbers"),
    tool("nothing"),
    *(tool("anything", value=value) for value in ({"a": 1}, [1], "x", 5, True, None)),
    tool("full"),
    tool("refuses", "isError"),
    tool("breaks", "isError"),
    tool("not_json", "isError"),
    tool("protocol_error", -31999),
    tool("surrogate"),
    tool("work", steps=3),
    tool("mapped", region="eu"),
    tool("mapped", "isError", region=5),
    tool("absent", -32602),
    Step("tools/call", {}, -32602),
    Step("tools/call", {"name": "add", "arguments": []}, -32602),
    *(tool(f"{how}_{kind}", since=since) for kind, (_, since) in CONTENT.items() for how in ("give", "mix")),
    *(
        Step("resources/read", {"uri": uri})
        for uri in ("docs://intro", "docs://blob", "docs://several", "docs://json", "files://a%20b")
    ),
    Step("resources/read", {"uri": "docs://broken"}, -32603),
    Step("resources/read", {}, -32602),
    Step("prompts/get", {"name": "review", "arguments": {"code": "x"}}),
    Step("prompts/get", {"name": "review"}, -32602),
    Step("prompts/get", {"name": "review", "arguments": {"code": 5}}, -32602),
    Step("prompts/get", {"name": "plain"}),
    Step("prompts/get", {"name": "prompt_breaks"}, -32602),
    Step("prompts/get", {"name": "absent"}, -32602),
    *(Step("prompts/get", {"name": f"show_{kind}"}, "result", since) for kind, (_, since) in CONTENT.items()),
    complete(REVIEW, "language", context={"arguments": {"code": "x"}}),
    complete(REVIEW, "code"),
    complete({"type": "ref/resource", "uri": "files://{name}"}, "name"),
    Step("completion/complete", {"ref": {"type": "ref/prompt", "name": "absent"}, "argument": {}}, -32602),
    Step("absent/method", {}, -32601),
    Step("", {}, -32600),
    Step("tools/list", {"_meta": {"progressToken": 1.5}}, -32602),
]
LEGACY = [
    *SHARED,
    Step("ping"),
    Step("logging/setLevel", {"level": "warning"}),
    Step("logging/setLevel", {"level": "loud"}, -32602),
    Step("resources/read", {"uri": "docs://gone"}, -32002),
    Step("resources/read", {"uri": "absent://x"}, -32002),
    Step("initialize", {}, -32602),
    Step("server/discover", {}, -32601),
    tool("ask_form", "isError"),
    Step("prompts/get", {"name": "prompt_asks"}, -32602),
    Step("resources/read", {"uri": "docs://asks"}, -32602),
]
MODERN = [
    *SHARED,
    Step("server/discover"),
    Step("resources/read", {"uri": "docs://gone"}, -32602),
    Step("resources/read", {"uri": "absent://x"}, -32602),
    *(Step(method, {}, -32601) for method in ("ping", "initialize", "logging/setLevel", "resources/subscribe")),
    tool("poll", "input_required"),
    Step("tools/call", {"name": "ask_form", "requestState": "forged"}, -32602),
    Step("tools/call", {"name": "ask_form", "requestState": 5}, -32602),
    Step("tools/call", {"name": "ask_form", "inputResponses": []}, -32602),
]


def outcome_of(answer):
    if "error" in answer:
        return answer["error"]["code"]
    result = answer["result"]
    if result.get("isError"):
        return "isError"
    return "result" if result.get("resultType", "complete") == "complete" else result["resultType"]


class Session:
    """Send requests of one revision to a server whose every message is validated."""

    def __init__(self, revision, server=None, **declared):
        self.revision = revision
        self.modern = revision == LATEST_VERSION
        self.server = ValidatedServer(server or build_server(), revision)
        self.capabilities = declared
        self.notes: list[dict[str, Any]] = []
        self.meta: dict[str, Any] = {"progressToken": 0}

    def send(self, method, params=None, request_id="r", **options):
        params = dict(params or {})
        meta = dict(self.meta)
        if self.modern:
            meta = build_meta(version=self.revision, capabilities=self.capabilities, extra=meta)
            meta.setdefault(LOG_LEVEL, "info")
        params["_meta"] = {**meta, **params.get("_meta", {})}
        answer = self.server.handle_message(
            request(request_id, method, params), notify=self.notes.append, principal="somebody", **options
        )
        assert answer is not None
        assert answer["id"] == request_id
        return answer

    def initialize(self):
        params = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        answer = self.send("initialize", params, 0)
        assert answer["result"]["protocolVersion"] == self.revision
        assert self.server.handle_message(notification("notifications/initialized")) is None


@pytest.fixture(params=REVISIONS)
def session(request):
    session = Session(request.param)
    if not session.modern:
        session.initialize()
    return session


def plan_of(revision):
    steps = MODERN if revision == LATEST_VERSION else LEGACY
    return [step for step in steps if step.since <= revision]


@pytest.mark.parametrize("request_id", [0, "r"])
@pytest.mark.parametrize(
    ("revision", "step"), [pytest.param(rev, step, id=f"{rev}: {step!r}") for rev in REVISIONS for step in plan_of(rev)]
)
def test_every_answer_is_valid(revision, step, request_id, shared):
    answer = shared(revision).send(step.method, step.params, request_id)
    assert outcome_of(answer) == step.outcome


@pytest.fixture(scope="module")
def shared():
    sessions: dict[str, Session] = {}

    def get(revision):
        if revision not in sessions:
            sessions[revision] = Session(revision, **ALL)
        return sessions[revision]

    return get


def test_content_kinds_are_left_out_where_their_revision_does_not_know_them():
    for kind, definition in ("audio", "AudioContent"), ("link", "ResourceLink"):
        since = CONTENT[kind][1]
        assert [load_revision(version).knows(definition) for version in REVISIONS] == [
            version >= since for version in REVISIONS
        ]


@pytest.mark.parametrize(
    ("method", "member", "least"),
    [
        ("tools/list", "tools", 20),
        ("resources/list", "resources", 7),
        ("resources/templates/list", "resourceTemplates", 3),
        ("prompts/list", "prompts", 10),
    ],
)
def test_every_page_of_every_list_is_valid(session, method, member, least):
    found, cursor, pages = [], {}, 0
    while True:
        result = session.send(method, cursor)["result"]
        found += [repr(entry) for entry in result[member]]
        pages += 1
        if "nextCursor" not in result:
            break
        cursor = {"cursor": result["nextCursor"]}
    assert len(found) == len(set(found)) >= least
    assert pages == (len(found) + 1) // 2
    whole = Session(session.revision, build_server(page_size=None)).send(method)["result"]
    assert [repr(entry) for entry in whole[member]] == found


def test_progress_is_valid_and_logs_are_sent_where_they_are_asked_for(session):
    session.send("tools/call", {"name": "work", "arguments": {"steps": 3}})
    methods = [note["method"] for note in session.notes]
    assert methods.count("notifications/progress") == 3
    assert methods.count("notifications/message") == (3 if session.modern else 0)
    assert session.server.notifications == session.notes


def test_initialize_is_valid_with_and_without_anything_to_say():
    for revision in LEGACY_VERSIONS:
        for server in build_server(), Server("bare"):
            Session(revision, server).initialize()


def test_discover_is_valid_with_and_without_anything_to_say():
    for server in build_server(), build_server(legacy=False), Server("bare"):
        Session(LATEST_VERSION, server).send("server/discover")


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_bare_server_has_no_other_methods(revision):
    session = Session(revision, Server("bare"))
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "completion/complete"):
        assert outcome_of(session.send(method)) == -32601


MALFORMED = [
    [],
    [{"jsonrpc": "2.0", "id": 1, "method": "ping"}],
    5,
    None,
    {},
    {"jsonrpc": "2.0", "id": None, "method": "ping"},
    {"jsonrpc": "1.0", "id": 1, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
]


@pytest.mark.parametrize("message", MALFORMED, ids=repr)
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_answer_to_a_malformed_message_is_valid(revision, message, validated_server):
    answer = validated_server(build_server(), revision).handle_message(message)
    assert answer["error"]["code"] in (-32600, -32602)


def test_an_unserved_version_is_answered_with_a_valid_error():
    session = Session(LATEST_VERSION)
    meta = build_meta(version="1900-01-01", capabilities={})
    assert outcome_of(session.send("tools/list", {"_meta": meta})) == -32022
    legacy = ValidatedServer(build_server(legacy=False), LATEST_VERSION)
    assert outcome_of(legacy.handle_message(request(1, "ping"))) == -32022


@pytest.mark.parametrize(
    "meta", [{"io.modelcontextprotocol/clientCapabilities": []}, {"io.modelcontextprotocol/clientInfo": {}}]
)
def test_a_bad_envelope_is_answered_with_a_valid_error(meta):
    assert outcome_of(Session(LATEST_VERSION).send("tools/list", {"_meta": meta})) == -32602


# Multi-round-trip requests: 2026-07-28, basic/patterns/mrtr

SAMPLED = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}}
URL = {"action": "accept"}
ROUNDS = [
    ("tools/call", {"name": "ask_form"}, [{"elicit-1": FORM}]),
    ("tools/call", {"name": "ask_form"}, [{"elicit-1": {"action": "decline"}}]),
    ("tools/call", {"name": "ask_url"}, [{"elicit-url-1": URL}]),
    ("tools/call", {"name": "ask_model"}, [{"sample-1": SAMPLED}]),
    ("tools/call", {"name": "ask_roots"}, [{"roots-1": {"roots": [{"uri": "file:///a", "name": "a"}]}}]),
    (
        "tools/call",
        {"name": "ask_twice"},
        [{"elicit-1": {"action": "accept", "content": {"x": "a"}}}, {"second": {"action": "cancel"}}],
    ),
    ("tools/call", {"name": "own_round"}, [{"who": FORM, "where": {"roots": []}}]),
    ("tools/call", {"name": "poll"}, [{}]),
    ("prompts/get", {"name": "prompt_asks"}, [{"elicit-1": FORM}]),
    ("resources/read", {"uri": "docs://asks"}, [{"elicit-url-1": URL}]),
]


@pytest.mark.parametrize(("method", "params", "rounds"), ROUNDS, ids=lambda value: str(value)[:40])
def test_every_round_of_a_question_is_valid(method, params, rounds):
    session = Session(LATEST_VERSION, **ALL)
    answer = session.send(method, params)
    for responses in rounds:
        assert outcome_of(answer) == "input_required"
        asked = answer["result"].get("inputRequests", {})
        assert asked.keys() == responses.keys()
        state = answer["result"]["requestState"]
        answer = session.send(method, {**params, "inputResponses": responses, "requestState": state})
    assert outcome_of(answer) == "result"


@pytest.mark.parametrize("name", ["ask_form", "ask_url", "ask_model", "ask_roots", "own_round"])
def test_a_question_that_the_client_cannot_answer_is_a_valid_error(name):
    answer = Session(LATEST_VERSION).send("tools/call", {"name": name})
    assert outcome_of(answer) == -32021


def test_a_malformed_answer_to_a_question_is_a_valid_error():
    session = Session(LATEST_VERSION, **ALL)
    state = session.send("tools/call", {"name": "ask_form"})["result"]["requestState"]
    for response in ({"action": "maybe"}, {"action": "accept", "content": {"age": 5}}, 5):
        params = {"name": "ask_form", "inputResponses": {"elicit-1": response}, "requestState": state}
        assert outcome_of(session.send("tools/call", params)) == -32602
