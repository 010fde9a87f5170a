"""A client's handlers answer what a server asks, and a handler that fails tells the server nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import ConfigurationError, MCPError, Message, Text, elicit_request, elicit_url_request, sample_request
from mcp_wsgi.client.answers import Answers
from mcp_wsgi.client.asked import ElicitAnswer, ElicitQuestion, SampleQuestion
from mcp_wsgi.client.content import UnknownContent
from mcp_wsgi.protocol.versions import LEGACY_VERSIONS
from mcp_wsgi.server.questions import check_shape
from tests.client.examples import examples, load
from tests.client.mutations import mutated
from tests.spec.validate import load_revision, spec_folder

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}},
    "required": ["name"],
}
ASK = elicit_request("Who?", FORM)
GO = elicit_url_request("Pay", "https://example.com/pay")
SAMPLE = sample_request("Say hello", max_tokens=10)
ROOTS = {"method": "roots/list"}


def check(definition, result):
    """Compare a result with the schemas, where they are."""
    for version in ("2025-11-25", "2026-07-28"):
        load_revision(version).check(definition, result)


@pytest.fixture
def schemas():
    spec_folder()


def refused(answers, request):
    with pytest.raises(MCPError) as caught:
        answers.answer(request)
    return caught.value


# What is declared


def test_capabilities_are_declared_exactly_when_there_is_a_handler():
    assert Answers().capabilities("2026-07-28") == {}
    every = Answers(lambda question: None, lambda question: None, [])
    both = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
    assert every.capabilities("2026-07-28") == every.capabilities("2025-11-25") == both
    older = {"elicitation": {}, "sampling": {}, "roots": {}}
    assert [every.capabilities(version) for version in LEGACY_VERSIONS[:3]] == [older] * 3
    assert Answers(roots=list).capabilities("2026-07-28") == {"roots": {}}


def test_tools_in_sampling_are_declared_where_the_handler_heeds_them():
    answers = Answers(sample=lambda question: "x", sample_tools=True)
    assert answers.capabilities("2026-07-28") == {"sampling": {"tools": {}}}
    assert answers.capabilities("2025-06-18") == {"sampling": {}}


@pytest.mark.parametrize("version", [*LEGACY_VERSIONS, "2026-07-28"])
def test_what_is_declared_is_valid_in_each_revision(version, schemas):
    every = Answers(lambda question: None, lambda question: None, [], sample_tools=True)
    load_revision(version).check("ClientCapabilities", every.capabilities(version))


def test_only_what_has_a_handler_can_be_answered():
    answers = Answers(elicit=lambda question: None)
    assert answers.can_answer("elicitation/create")
    assert not answers.can_answer("sampling/createMessage")
    assert not answers.can_answer("roots/list")
    assert not answers.can_answer("tools/list")
    for request in (SAMPLE, ROOTS, {"method": "x\n" * 90}, {"method": []}, {}):
        error = refused(answers, request)
        assert error.code == -32601
        assert error.message.isprintable()


async def a_coroutine(question):
    return {}


@pytest.mark.parametrize(
    "options",
    [
        {"elicit": {}},
        {"elicit": a_coroutine},
        {"sample": "text"},
        {"roots": "/tmp"},
        {"roots": {"uri": "file:///a"}},
        {"roots": 3},
        {"roots": [3]},
        {"roots": [{}]},
        {"roots": ["https://example.com"]},
        {"roots": [{"uri": 3}]},
    ],
)
def test_handlers_that_cannot_work_are_refused_when_the_client_is_made(options):
    with pytest.raises(ConfigurationError):
        Answers(**options)


# Elicitation


def test_a_mapping_accepts_and_defaults_are_filled_in(schemas):
    asked = []

    def elicit(question):
        asked.append(question)
        return {"name": "Ada"}

    result = Answers(elicit).answer(ASK)
    assert result == {"action": "accept", "content": {"name": "Ada", "age": 30}}
    check("ElicitResult", result)
    check_shape("q", "elicitation/create", "form", result)
    (question,) = asked
    assert (question.message, question.mode, question.schema, question.url) == ("Who?", "form", FORM, None)
    assert question.raw is ASK["params"]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (None, {"action": "decline"}),
        (ElicitAnswer("decline"), {"action": "decline"}),
        (ElicitAnswer("cancel", {"name": "dropped"}), {"action": "cancel"}),
        (ElicitAnswer("accept", {"name": "Ada"}), {"action": "accept", "content": {"name": "Ada", "age": 30}}),
        ({"action": "decline"}, {"action": "decline"}),
        ({"action": "accept", "content": {"name": "A"}}, {"action": "accept", "content": {"name": "A", "age": 30}}),
    ],
)
def test_what_a_handler_may_return_for_a_form(answer, result, schemas):
    assert Answers(lambda question: answer).answer(ASK) == result
    check("ElicitResult", result)


def test_a_form_with_a_field_called_action_is_answered_with_content():
    ask = elicit_request("What?", {"type": "object", "properties": {"action": {"type": "string"}}})
    result = Answers(lambda question: {"action": "decline"}).answer(ask)
    assert result == {"action": "accept", "content": {"action": "decline"}}


def test_a_form_without_required_fields_is_accepted_by_its_defaults():
    ask = elicit_request("Sure?", {"type": "object", "properties": {"sure": {"type": "boolean", "default": True}}})
    for answer in ({}, ElicitAnswer("accept")):
        assert Answers(lambda question, answer=answer: answer).answer(ask)["content"] == {"sure": True}


def test_an_address_is_accepted_without_content(schemas):
    asked = []

    def elicit(question):
        asked.append(question)
        return {"ignored": 1}

    legacy = {"method": GO["method"], "params": {**GO["params"], "elicitationId": "e1"}}
    result = Answers(elicit).answer(legacy)
    assert result == {"action": "accept"}
    check("ElicitResult", result)
    assert (asked[0].mode, asked[0].url, asked[0].elicitation_id) == ("url", "https://example.com/pay", "e1")
    assert Answers(lambda question: None).answer(GO) == {"action": "decline"}


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"message": 1},
        {"message": "m"},
        {"message": "m", "requestedSchema": []},
        {"message": "m", "mode": "form"},
        {"message": "m", "mode": "url"},
        {"message": "m", "mode": "url", "url": ""},
        {"message": "m", "mode": "voice"},
        {"message": "m", "mode": None},
    ],
)
def test_a_question_that_cannot_be_asked_is_the_servers_fault(params):
    error = refused(Answers(lambda question: pytest.fail("asked")), {"method": "elicitation/create", "params": params})
    assert error.code == -32602


# Sampling


def test_a_sampling_request_reaches_the_handler_in_full():
    asked = []
    params = {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "a"}},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}, {"type": "tool_use", "id": "1"}]},
        ],
        "maxTokens": 5,
        "systemPrompt": "s",
        "temperature": 0.5,
        "stopSequences": ["x", 1],
        "includeContext": "none",
        "modelPreferences": {"hints": [{"name": "n"}]},
        "metadata": {"k": 1},
    }

    def sample(question):
        asked.append(question)
        return "hello"

    Answers(sample=sample).answer({"method": "sampling/createMessage", "params": params})
    (question,) = asked
    assert [message.text for message in question.messages] == ["a", "b"]
    assert question.messages[1].content[1] == UnknownContent({"type": "tool_use", "id": "1"})
    assert (question.max_tokens, question.system_prompt, question.temperature) == (5, "s", 0.5)
    assert (question.stop_sequences, question.include_context) == (("x",), "none")
    assert (question.model_preferences, question.metadata) == ({"hints": [{"name": "n"}]}, {"k": 1})
    assert (question.tools, question.tool_choice, question.raw) == ((), None, params)


HELLO = {"type": "text", "text": "hello"}


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        ("hello", HELLO),
        ({"content": "hello"}, HELLO),
        ({"content": HELLO, "model": "m", "role": "assistant", "stopReason": "endTurn"}, HELLO),
        ({"content": Text("hello")}, HELLO),
        ({"content": ["hello", Text("hello"), HELLO]}, [HELLO] * 3),
        ({"content": (HELLO,), "_meta": {}}, [HELLO]),
    ],
)
def test_what_a_handler_may_return_for_a_sampling_request(answer, content, schemas):
    result = Answers(sample=lambda question: answer).answer(SAMPLE)
    given = answer if isinstance(answer, dict) else {}
    assert result == {"role": "assistant", "model": "unspecified", **given, "content": content}
    check("CreateMessageResult", result)
    check_shape("q", "sampling/createMessage", None, result)


def test_a_sampling_request_can_be_rejected():
    assert refused(Answers(sample=lambda question: None), SAMPLE).code == -1


def test_tools_are_refused_by_a_client_that_does_not_declare_them():
    request = sample_request([Message("x")], tools=[{"name": "t"}, 1], tool_choice={"mode": "auto"})
    assert refused(Answers(sample=lambda question: "x"), request).code == -32602
    asked = []
    Answers(sample=lambda question: asked.append(question) or "x", sample_tools=True).answer(request)
    assert (asked[0].tools, asked[0].tool_choice) == (({"name": "t"},), {"mode": "auto"})


@pytest.mark.parametrize(
    "params",
    [
        None,
        {"messages": []},
        {"maxTokens": 1},
        {"messages": {}, "maxTokens": 1},
        {"messages": [{}], "maxTokens": 1},
        {"messages": ["x"], "maxTokens": 1},
    ],
)
def test_a_sampling_request_that_cannot_be_read_is_the_servers_fault(params):
    error = refused(Answers(sample=lambda question: "x"), {"method": "sampling/createMessage", "params": params})
    assert error.code == -32602


# Roots


def test_roots_are_paths_uris_or_mappings(tmp_path, schemas):
    given = [tmp_path, str(tmp_path / "a b"), "file:///srv", {"uri": "file:///etc", "name": "Etc", "_meta": {}, "x": 1}]
    result = Answers(roots=given).answer(ROOTS)
    assert result == {
        "roots": [
            {"uri": tmp_path.as_uri()},
            {"uri": (tmp_path / "a b").as_uri()},
            {"uri": "file:///srv"},
            {"uri": "file:///etc", "name": "Etc", "_meta": {}},
        ]
    }
    check("ListRootsResult", result)
    check_shape("q", "roots/list", None, result)


def test_a_relative_path_is_one_of_the_working_directory():
    assert Answers(roots=["."]).answer(ROOTS)["roots"] == [{"uri": Path.cwd().as_uri()}]


def test_a_function_gives_the_roots_each_time():
    calls = iter([["file:///a"], []])
    answers = Answers(roots=lambda: next(calls))
    assert answers.answer({**ROOTS, "params": {"_meta": {}}}) == {"roots": [{"uri": "file:///a"}]}
    assert answers.answer(ROOTS) == {"roots": []}


def test_the_answers_are_not_changed_by_what_a_caller_does_with_them():
    answers = Answers(roots=["file:///a"])
    answers.answer(ROOTS)["roots"][0]["uri"] = "spoilt"
    assert answers.answer(ROOTS) == {"roots": [{"uri": "file:///a"}]}


# Handlers that fail


def fail(*args):
    raise KeyError("secret")


@pytest.mark.parametrize(
    ("answers", "request_", "said"),
    [
        (Answers(elicit=fail), ASK, "secret"),
        (Answers(sample=fail), SAMPLE, "secret"),
        (Answers(roots=fail), ROOTS, "secret"),
        (Answers(roots=lambda: ["https://x"]), ROOTS, "must start with file://"),
        (Answers(roots=lambda: "/tmp"), ROOTS, "roots are a list"),
        (Answers(elicit=lambda question: {"name": 3}), ASK, "name: expected string, got number"),
        (Answers(elicit=lambda question: {}), ASK, "name: missing required property"),
        (Answers(elicit=lambda question: "Ada"), ASK, "not str"),
        (Answers(elicit=lambda question: {"action": "yes"}), ASK, "accept, decline, cancel"),
        (Answers(elicit=lambda question: {"action": "accept", "content": []}), ASK, "not list"),
        (Answers(elicit=lambda question: {"name": "x", "more": float("nan")}), ASK, "more: expected a finite number"),
        (Answers(sample=lambda question: 3), SAMPLE, "not int"),
        (Answers(sample=lambda question: {}), SAMPLE, '"content"'),
        (Answers(sample=lambda question: {"content": {"text": "x"}}), SAMPLE, '"content"'),
        (Answers(sample=lambda question: {"content": "x", "role": "system"}), SAMPLE, '"role"'),
        (Answers(sample=lambda question: {"content": "x", "model": None}), SAMPLE, '"model"'),
        (Answers(sample=lambda question: {"content": "x", "y": object()}), SAMPLE, "is not JSON"),
    ],
)
def test_a_handler_that_fails_is_logged_and_the_server_learns_nothing(answers, request_, said, caplog):
    error = refused(answers, request_)
    assert (error.code, error.message, error.data) == (-32603, "The client could not answer", None)
    assert said in str(error.__cause__)
    assert said in caplog.text
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_an_error_that_a_handler_raises_for_the_server_passes_as_it_is(caplog):
    own = MCPError(-31000, "Not now", {"a": 1})

    def elicit(question):
        raise own

    assert refused(Answers(elicit), ASK) is own
    assert not caplog.records


# What the specification shows


@examples("ElicitRequest", "CreateMessageRequest", "ListRootsRequest")
def test_every_question_of_the_specification_is_answered(path):
    question = load(path)
    answers = Answers(lambda asked: ElicitAnswer("cancel"), lambda asked: "x", [], sample_tools=True)
    assert answers.answer(question)


@examples("ElicitRequestFormParams", "ElicitRequestURLParams")
def test_every_elicitation_of_the_specification_is_read(path):
    params = load(path)
    question = ElicitQuestion.from_wire(params)
    assert question.schema == params.get("requestedSchema", {})
    assert question.url == params.get("url")


@examples("CreateMessageRequestParams")
def test_every_sampling_request_of_the_specification_is_read(path):
    params = load(path)
    question = SampleQuestion.from_wire(params)
    assert question.max_tokens == params["maxTokens"]
    assert [message.raw for message in question.messages] == params["messages"]


@given(mutated(st.sampled_from([ASK, GO, SAMPLE, ROOTS])))
def test_no_question_whatsoever_raises_anything_but_an_error_for_the_server(question):
    if not isinstance(question, dict):
        return
    answers = Answers(lambda asked: {"name": "Ada"}, lambda asked: "x", ["file:///a"], sample_tools=True)
    try:
        result = answers.answer(question)
    except MCPError as error:
        result = {"error": error.message}
    assert json.dumps(result)
