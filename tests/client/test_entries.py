"""The entries of lists of all revisions become values, and one bad entry does not spoil a list."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.client.entries import (
    Listing,
    PromptArgument,
    PromptInfo,
    ResourceInfo,
    TemplateInfo,
    ToolInfo,
    read_list,
)
from mcp_wsgi.protocol.types import Annotations, Icon
from tests.client.examples import examples, load
from tests.client.mutations import mutated

TOOL = {
    "name": "add",
    "title": "Add",
    "description": "Add numbers",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"title": "Adder", "readOnlyHint": True},
    "icons": [{"src": "https://x/i.png"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"com.example/x": 1},
}
RESOURCE = {
    "uri": "file:///a",
    "name": "a",
    "title": "A",
    "description": "The first",
    "mimeType": "text/plain",
    "size": 3,
    "annotations": {"priority": 1},
    "icons": [],
    "_meta": {},
}
TEMPLATE = {"uriTemplate": "file:///{path}", "name": "files", "mimeType": "text/plain", "annotations": {"priority": 0}}
PROMPT = {
    "name": "review",
    "title": "Review",
    "arguments": [{"name": "code", "description": "The code", "required": True}, {"name": "language"}],
}
ENTRIES = [(ToolInfo, TOOL), (ResourceInfo, RESOURCE), (TemplateInfo, TEMPLATE), (PromptInfo, PROMPT)]


def test_a_tool_of_any_revision_is_read():
    tool = ToolInfo.from_wire(TOOL)
    assert (tool.name, tool.title, tool.description, tool.label) == ("add", "Add", "Add numbers", "Add")
    assert tool.input_schema == TOOL["inputSchema"]
    assert tool.output_schema == {"type": "object"}
    assert tool.annotations["readOnlyHint"] is True
    assert tool.icons == (Icon("https://x/i.png"),)
    assert tool.meta == {"com.example/x": 1}
    assert tool.raw is TOOL
    oldest = ToolInfo.from_wire({"name": "old", "inputSchema": {"type": "object"}})
    assert (oldest.title, oldest.output_schema, oldest.annotations, oldest.icons, oldest.meta) == (
        None,
        None,
        {},
        (),
        {},
    )


def test_the_title_of_the_annotations_is_what_2025_03_26_had():
    tool = ToolInfo.from_wire({"name": "n", "annotations": {"title": "Old"}, "inputSchema": {}})
    assert (tool.title, tool.label) == (None, "Old")
    assert ToolInfo.from_wire({"name": "n"}).label == "n"


def test_a_tool_without_an_input_schema_takes_any_object():
    assert ToolInfo.from_wire({"name": "n"}).input_schema == {"type": "object"}


def test_resources_and_templates_are_read():
    resource = ResourceInfo.from_wire(RESOURCE)
    assert (resource.uri, resource.mime_type, resource.size) == ("file:///a", "text/plain", 3)
    assert resource.annotations == Annotations(priority=1)
    assert resource.label == "A"
    template = TemplateInfo.from_wire(TEMPLATE)
    assert (template.uri_template, template.mime_type, template.label) == ("file:///{path}", "text/plain", "files")


@pytest.mark.parametrize(("size", "read"), [(0, 0), (3.0, 3), (3.5, None), (-1, None), ("3", None), (True, None)])
def test_a_size_is_a_count_of_bytes(size, read):
    assert ResourceInfo.from_wire({"uri": "u", "size": size}).size == read


def test_what_has_no_name_is_called_like_its_address():
    assert ResourceInfo.from_wire({"uri": "x:y"}).name == "x:y"
    assert TemplateInfo.from_wire({"uriTemplate": "x:{y}", "name": 1}).name == "x:{y}"


def test_a_prompt_is_read_with_its_arguments():
    prompt = PromptInfo.from_wire(PROMPT)
    code, language = prompt.arguments
    assert (code.name, code.description, code.required) == ("code", "The code", True)
    assert language == PromptArgument(name="language", raw={"name": "language"})
    assert PromptInfo.from_wire({"name": "n", "arguments": None}).arguments == ()


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (ToolInfo, None),
        (ToolInfo, {}),
        (ToolInfo, {"name": ""}),
        (ToolInfo, {"name": "n", "inputSchema": None}),
        (ToolInfo, {"name": "n", "inputSchema": True}),
        (ResourceInfo, {"name": "n"}),
        (ResourceInfo, {"uri": 1}),
        (TemplateInfo, {"uri": "x:y"}),
        (PromptInfo, []),
        (PromptInfo, {"name": "n", "arguments": [{"name": "a"}, {}]}),
        (PromptInfo, {"name": "n", "arguments": ["a"]}),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(kind, raw):
    with pytest.raises(ValueError):
        kind.from_wire(raw)


def test_such_entries_are_skipped_with_a_warning_each(caplog):
    assert [tool.name for tool in read_list([TOOL, None, {"name": "b"}, {}], ToolInfo)] == ["add", "b"]
    assert [record.name for record in caplog.records] == ["mcp_wsgi.client"] * 2
    assert caplog.messages == [
        "Skipped tool entry 1 of the server's list: It is null, not object",
        'Skipped tool entry 3 of the server\'s list: It has no "name"',
    ]


def test_many_bad_entries_make_few_warnings(caplog):
    assert read_list([1] * 1000, ResourceInfo) == []
    assert len(caplog.messages) == 21
    assert caplog.messages[-1] == "Skipped 980 more resource entries of the server's list"


@pytest.mark.parametrize("entries", [None, {}, "abc", 3, True])
def test_what_is_no_list_is_refused(entries):
    with pytest.raises(ValueError, match="not array"):
        read_list(entries, PromptInfo)


def test_a_listing_is_a_sequence_with_its_pages():
    pages = [{"tools": [TOOL], "nextCursor": "c"}]
    listing = Listing(read_list([TOOL], ToolInfo), "c", pages)
    assert [tool.name for tool in listing] == ["add"]
    assert (len(listing), listing.next_cursor, listing.raw) == (1, "c", pages)
    assert listing[0].name == "add"
    for same in (copy.copy(listing), copy.deepcopy(listing), pickle.loads(pickle.dumps(listing))):
        assert (same, same.next_cursor, same.raw) == (listing, "c", pages)
    assert (Listing(), Listing().next_cursor, Listing().raw) == ((), None, [])


def test_what_is_shown_of_a_value_leaves_the_raw_mapping_out():
    assert "execution" not in repr(ToolInfo.from_wire(TOOL))


@examples("Tool", "Resource")
def test_every_entry_of_the_specification_is_read(path):
    raw = load(path)
    kind = {"Tool": ToolInfo, "Resource": ResourceInfo}[path.parent.name]
    assert kind.from_wire(raw).name == raw["name"]


@given(st.sampled_from(ENTRIES).flatmap(lambda pair: st.tuples(st.just(pair[0]), mutated(st.just(pair[1])))))
def test_no_entry_whatsoever_raises_anything_but_a_value_error(drawn):
    kind, raw = drawn
    try:
        entry = kind.from_wire(raw)
    except ValueError:
        assert read_list([raw], kind) == []
    else:
        assert entry.raw is raw
        assert entry.name
        assert entry.label
