"""Content of any revision becomes values; what cannot be read is kept as it came."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.client.content import (
    UnknownContent,
    read_annotations,
    read_content,
    read_icons,
    read_message,
    read_resource_contents,
)
from mcp_wsgi.client.wire import read_base64
from mcp_wsgi.protocol.types import (
    Annotations,
    Audio,
    EmbeddedResource,
    Icon,
    Image,
    Message,
    ResourceContents,
    ResourceLink,
    Text,
)
from tests.client.examples import examples, load
from tests.client.mutations import mutated

NOTES = Annotations(audience=("user",), priority=0.5, last_modified="2025-01-12T15:00:58Z")
BLOCKS = [
    Text("t", annotations=NOTES, meta={"a/b": 1}),
    Image(b"\x89PNG", annotations=NOTES),
    Audio(b"RIFF", "audio/ogg", meta={}),
    ResourceLink("x:y", "y", "Y", "why", "text/plain", 3, (Icon("https://x/i", "image/png", ("48x48",), "dark"),)),
    ResourceLink("x:y", ""),
    EmbeddedResource(ResourceContents("t", "x:text", "text/plain", {"a": 1}), annotations=NOTES),
    EmbeddedResource(ResourceContents(b"\0", "x:blob")),
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_what_is_written_is_read_back(block):
    assert read_content(block.to_wire()) == block


@examples("TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource")
def test_every_block_of_the_specification_is_read(path):
    raw = load(path)
    block = read_content(raw)
    assert not isinstance(block, UnknownContent)
    assert block.to_wire() == raw


@examples("TextResourceContents", "BlobResourceContents")
def test_all_resource_contents_of_the_specification_are_read(path):
    raw = load(path)
    assert read_resource_contents(raw).to_wire() == raw


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "text",
        {},
        {"type": 1},
        {"type": []},
        {"type": "tool_use", "id": "1", "name": "n", "input": {}},
        {"type": "text"},
        {"type": "text", "text": 1},
        {"type": "image", "data": "AA=="},
        {"type": "image", "mimeType": "image/png"},
        {"type": "image", "data": "!", "mimeType": "image/png"},
        {"type": "audio", "data": "A", "mimeType": "audio/wav"},
        {"type": "resource_link", "name": "n"},
        {"type": "resource_link", "uri": "x:y"},
        {"type": "resource"},
        {"type": "resource", "resource": {"text": "no uri"}},
        {"type": "resource", "resource": {"uri": "x:y"}},
        {"type": "resource", "resource": {"uri": "x:y", "blob": "?"}},
    ],
)
def test_what_is_unknown_or_malformed_is_kept_as_it_came(raw):
    block = read_content(raw)
    assert block == UnknownContent(raw)
    assert block.to_wire() is raw


def test_members_of_a_wrong_type_count_as_absent():
    block = read_content({"type": "text", "text": "t", "annotations": [], "_meta": 1, "x": 2})
    assert block == Text("t")
    link = read_content({"type": "resource_link", "uri": "u", "name": "n", "size": "3", "title": 1, "icons": {}})
    assert link == ResourceLink("u", "n")


def test_annotations_keep_what_can_be_used():
    raw = {"annotations": {"audience": ["user", "model", 1, []], "priority": True, "lastModified": 5}}
    assert read_annotations(raw) == Annotations(audience=("user",))
    assert read_annotations({"annotations": {"audience": "user", "priority": 1}}) == Annotations(priority=1)
    assert read_annotations({}) is None


def test_icons_without_a_source_are_left_out():
    raw = {"icons": [{"src": "s", "sizes": ["any", 1], "theme": "pink"}, {}, 1, {"src": 2}]}
    assert read_icons(raw) == (Icon("s", None, ("any",), None),)


def test_text_counts_where_a_resource_has_text_and_blob():
    assert read_resource_contents({"uri": "u", "text": "", "blob": "AA=="}) == ResourceContents("", "u")


def test_contents_without_a_uri_are_those_of_what_was_asked_for():
    assert read_resource_contents({"blob": "AA=="}) == ResourceContents(b"\0", "")
    assert read_resource_contents([]) == UnknownContent([])


def test_a_message_has_a_role_and_any_content():
    assert read_message({"role": "user", "content": {"type": "text", "text": "t"}}) == Message(Text("t"))
    odd = read_message({"role": "system", "content": "plain"})
    assert odd.role == "system"
    assert odd.to_wire() == {"role": "system", "content": "plain"}
    for raw in (None, {}, {"role": 1, "content": {}}):
        with pytest.raises(ValueError):
            read_message(raw)


@given(st.binary(max_size=80))
def test_base64_is_read_in_every_spelling_that_servers_use(data):
    assert read_base64(base64.b64encode(data).decode()) == data
    assert read_base64(base64.encodebytes(data).decode()) == data
    assert read_base64(base64.urlsafe_b64encode(data).decode()) == data
    assert read_base64(base64.b64encode(data).decode().rstrip("=")) == data


@pytest.mark.parametrize("text", [None, 1, b"AA==", "A", "AAAAA", "äö", "A*A=", "data:image/png;base64,AA=="])
def test_what_is_no_base64_is_not_guessed_at(text):
    assert read_base64(text) is None


@given(mutated(st.sampled_from([block.to_wire() for block in BLOCKS])))
def test_no_block_whatsoever_raises(raw):
    block = read_content(raw)
    if isinstance(block, UnknownContent):
        assert block.raw is raw
