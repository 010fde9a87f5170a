"""Results and notifications of all revisions become values; only what cannot be used at all is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.client.results import (
    CallResult,
    Change,
    CompletionResult,
    Discovery,
    InputRequiredResult,
    LogMessage,
    Progress,
    PromptInfo,
    PromptResult,
    ReadResult,
    ResourceInfo,
    TemplateInfo,
    ToolInfo,
    UnknownContent,
    read_list,
    result_type,
)
from mcp_wsgi.client.wire import json_type
from mcp_wsgi.protocol.types import Message, ResourceContents, Text
from mcp_wsgi.server.reasons import shown
from tests.client.examples import examples, load
from tests.client.mutations import mutated

TEXT = {"type": "text", "text": "one"}
CALL = {
    "resultType": "complete",
    "content": [TEXT, {"type": "new"}, {"type": "text", "text": "two"}],
    "structuredContent": {"a": [1]},
    "isError": False,
    "_meta": {"x": 1},
}
READ = {
    "contents": [{"uri": "u", "text": "t"}, {"uri": "v", "blob": "AA=="}],
    "ttlMs": 5,
    "cacheScope": "public",
    "_meta": {"x": 1},
}
PROMPT = {"description": "d", "messages": [{"role": "assistant", "content": TEXT}], "_meta": {}}
COMPLETION = {"completion": {"values": ["a", "b"], "total": 7, "hasMore": True}}
QUESTION = {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {}}}
INPUT = {"resultType": "input_required", "inputRequests": {"q": QUESTION}, "requestState": "s"}
DISCOVER = {
    "supportedVersions": ["2026-07-28", "2027-01-01"],
    "capabilities": {"tools": {}},
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "1"}},
    "instructions": "i",
}
INITIALIZE = {
    "protocolVersion": "2024-11-05",
    "capabilities": {},
    "serverInfo": {"name": "n", "version": "1"},
    "instructions": "i",
}
PROGRESS = {"progressToken": 1, "progress": 1, "total": 2.5, "message": "m"}
LOG = {"level": "info", "data": {"a": 1}, "logger": "l"}
CHANGE = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "u"}}
VALUES = [
    (CallResult, CALL),
    (ReadResult, READ),
    (PromptResult, PROMPT),
    (CompletionResult, COMPLETION),
    (InputRequiredResult, INPUT),
    (Discovery, DISCOVER),
    (Discovery, INITIALIZE),
    (Progress, PROGRESS),
    (LogMessage, LOG),
    (Change, CHANGE),
]


def test_a_result_without_a_type_is_complete():
    assert result_type({}) == "complete"
    assert result_type(INPUT) == "input_required"
    assert result_type({"resultType": "task"}) == "task"
    assert result_type({"resultType": None}) == ""


def test_a_call_gives_content_text_and_a_structured_value():
    result = CallResult.from_wire(CALL)
    assert result.content == (Text("one"), UnknownContent({"type": "new"}), Text("two"))
    assert result.text == "one\ntwo"
    assert (result.structured, result.has_structured, result.is_error, result.meta) == (
        {"a": [1]},
        True,
        False,
        {"x": 1},
    )
    assert result.raw is CALL


def test_null_is_a_structured_value_and_not_the_absence_of_one():
    assert CallResult.from_wire({"content": [], "structuredContent": None}).has_structured
    assert not CallResult.from_wire({"content": []}).has_structured


def test_content_may_be_left_out_and_an_error_is_only_true():
    result = CallResult.from_wire({"isError": True})
    assert (result.content, result.text, result.is_error) == ((), "", True)
    assert not CallResult.from_wire({"isError": "yes"}).is_error


def test_a_list_that_is_null_is_empty_as_go_writes_it():
    assert CallResult.from_wire({"content": None}).content == ()
    assert ReadResult.from_wire({"contents": None}).contents == ()
    assert PromptResult.from_wire({"messages": None}).messages == ()
    assert CompletionResult.from_wire({"completion": {"values": None}}).values == ()


def test_a_resource_with_one_content_has_text_or_data():
    text = ReadResult.from_wire({"contents": [{"uri": "u", "text": "t"}]})
    assert (text.text, text.data, text.ttl_ms, text.cache_scope) == ("t", "t", None, None)
    blob = ReadResult.from_wire({"contents": [{"uri": "u", "blob": "AA=="}]})
    assert blob.data == b"\0"
    with pytest.raises(ValueError, match="binary"):
        _ = blob.text


def test_a_resource_with_other_than_one_content_has_no_data():
    several = ReadResult.from_wire(READ)
    assert several.contents == (ResourceContents("t", "u"), ResourceContents(b"\0", "v"))
    assert (several.ttl_ms, several.cache_scope, several.meta) == (5, "public", {"x": 1})
    with pytest.raises(ValueError, match="2 contents"):
        _ = several.data
    broken = ReadResult.from_wire({"contents": [{"uri": "u", "blob": "!"}]})
    assert broken.contents == (UnknownContent({"uri": "u", "blob": "!"}),)
    with pytest.raises(ValueError, match="could not be read"):
        _ = broken.text


@pytest.mark.parametrize(("ttl", "read"), [(-5, 0), (0, 0), (1.0, 1), ("5", None), (None, None), (True, None)])
def test_a_time_to_live_is_never_negative(ttl, read):
    result = ReadResult.from_wire({"contents": [], "ttlMs": ttl, "cacheScope": "secret"})
    assert (result.ttl_ms, result.cache_scope) == (read, None)


def test_a_prompt_gives_its_messages(caplog):
    result = PromptResult.from_wire({**PROMPT, "messages": [*PROMPT["messages"], {"content": TEXT}]})
    assert result.messages == (Message(Text("one"), "assistant"),)
    assert result.description == "d"
    assert caplog.messages == ['Skipped message entry 1 of the server\'s list: It has no "role"']


def test_a_completion_gives_its_values():
    result = CompletionResult.from_wire(COMPLETION)
    assert (result.values, result.total, result.has_more) == (("a", "b"), 7, True)
    least = CompletionResult.from_wire({"completion": {"values": ["a", 1, None]}})
    assert (least.values, least.total, least.has_more) == (("a",), None, False)


def test_questions_and_state_are_kept_as_they_came():
    result = InputRequiredResult.from_wire(INPUT)
    assert result.requests == {"q": QUESTION}
    assert result.requests["q"] is QUESTION
    assert result.state == "s"
    assert InputRequiredResult.from_wire({"requestState": ""}).requests == {}
    assert InputRequiredResult.from_wire({"inputRequests": {}}).state is None


def test_both_eras_say_who_the_server_is():
    modern, legacy = Discovery.from_wire(DISCOVER), Discovery.from_wire(INITIALIZE)
    assert modern.supported_versions == ("2026-07-28", "2027-01-01")
    assert legacy.supported_versions == ("2024-11-05",)
    assert modern.server_info == legacy.server_info == {"name": "n", "version": "1"}
    assert modern.instructions == legacy.instructions == "i"
    assert (modern.capabilities, legacy.capabilities) == ({"tools": {}}, {})
    anonymous = Discovery.from_wire({"supportedVersions": ["2026-07-28", 1], "capabilities": []})
    assert anonymous.supported_versions == ("2026-07-28",)
    assert (anonymous.server_info, anonymous.capabilities, anonymous.instructions) == ({}, {}, None)


def test_progress_logs_and_changes_are_read():
    progress = Progress.from_wire(PROGRESS)
    assert (progress.progress, progress.total, progress.message) == (1, 2.5, "m")
    log = LogMessage.from_wire(LOG)
    assert (log.level, log.data, log.logger) == ("info", {"a": 1}, "l")
    change = Change.from_wire(CHANGE)
    assert (change.method, change.uri) == ("notifications/resources/updated", "u")
    assert Change.from_wire({"method": "notifications/tools/list_changed"}).uri is None


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        *((kind, raw) for kind, _ in VALUES for raw in (None, [], "x")),
        (CallResult, {"content": "text"}),
        (CallResult, {"content": {}}),
        (ReadResult, {}),
        (ReadResult, {"contents": {}}),
        (PromptResult, {}),
        (CompletionResult, {}),
        (CompletionResult, {"completion": []}),
        (CompletionResult, {"completion": {"values": "a"}}),
        (InputRequiredResult, {"resultType": "input_required"}),
        (InputRequiredResult, {"requestState": 1}),
        (InputRequiredResult, {"inputRequests": []}),
        (InputRequiredResult, {"inputRequests": {"q": 1}}),
        (InputRequiredResult, {"inputRequests": {"q": {"params": {}}}}),
        (Discovery, {}),
        (Discovery, {"supportedVersions": []}),
        (Discovery, {"supportedVersions": "2026-07-28"}),
        (Discovery, {"protocolVersion": 1}),
        (Progress, {}),
        (Progress, {"progress": True}),
        (LogMessage, {"data": 1}),
        (Change, {"params": {}}),
    ],
)
def test_what_cannot_be_used_is_refused(kind, raw):
    with pytest.raises(ValueError):
        kind.from_wire(raw)


def test_what_is_told_of_foreign_text_is_one_short_printable_line():
    with pytest.raises(ValueError) as caught:
        InputRequiredResult.from_wire({"inputRequests": {"a\n\x1b[31m\u2028é\ud800" + "x" * 500: None}})
    message = str(caught.value)
    assert message.isprintable()
    assert message.isascii()
    assert len(message) < 150
    assert shown("a\nb") == "'a\\nb'"


def test_the_json_types_are_named():
    values = [None, True, 1, 1.5, "s", [], {}]
    assert [json_type(value) for value in values] == [
        *("null", "boolean", "number", "number", "string", "array", "object")
    ]


READERS = {
    "CallToolResult": CallResult,
    "ReadResourceResult": ReadResult,
    "GetPromptResult": PromptResult,
    "CompleteResult": CompletionResult,
    "InputRequiredResult": InputRequiredResult,
    "DiscoverResult": Discovery,
    "ProgressNotificationParams": Progress,
    "LoggingMessageNotificationParams": LogMessage,
    "ProgressNotification": Change,
    "ToolListChangedNotification": Change,
    "PromptListChangedNotification": Change,
    "ResourceListChangedNotification": Change,
    "ResourceUpdatedNotification": Change,
}
LISTS = {
    "ListToolsResult": ("tools", ToolInfo),
    "ListResourcesResult": ("resources", ResourceInfo),
    "ListResourceTemplatesResult": ("resourceTemplates", TemplateInfo),
    "ListPromptsResult": ("prompts", PromptInfo),
}


@examples(*READERS, *(f"{name}Response" for name in READERS if name.endswith("Result")))
def test_every_example_of_the_specification_is_read(path, caplog):
    raw = load(path)
    raw = raw.get("result", raw)
    value = READERS[path.parent.name.removesuffix("Response")].from_wire(raw)
    assert value.raw is raw
    assert "UnknownContent" not in repr(value)
    assert not caplog.messages


@examples(*LISTS, *(f"{name}Response" for name in LISTS))
def test_every_list_of_the_specification_is_read_whole(path):
    raw = load(path)
    raw = raw.get("result", raw)
    member, kind = LISTS[path.parent.name.removesuffix("Response")]
    assert [entry.raw for entry in read_list(raw[member], kind)] == raw[member]


@given(st.sampled_from(VALUES).flatmap(lambda pair: st.tuples(st.just(pair[0]), mutated(st.just(pair[1])))))
def test_no_result_whatsoever_raises_anything_but_a_value_error(drawn):
    kind, raw = drawn
    try:
        value = kind.from_wire(raw)
    except ValueError as error:
        value, said = None, str(error)
    else:
        said = ""
        assert value.raw is raw
        assert repr(value)
    assert said.isprintable()
