from __future__ import annotations

import pytest

from mcp_wsgi.protocol.types import (
    Annotations,
    Audio,
    Completion,
    EmbeddedResource,
    Icon,
    Image,
    Message,
    ResourceContents,
    ResourceLink,
    Text,
    ToolResult,
)

NOTES = Annotations(audience=("user", "assistant"), priority=0.0, last_modified="2025-01-12T15:00:58Z")
NOTES_WIRE = {"audience": ["user", "assistant"], "priority": 0.0, "lastModified": "2025-01-12T15:00:58Z"}


def test_annotations_leave_out_what_is_not_set():
    assert Annotations().to_wire() == {}
    assert Annotations(audience=()).to_wire() == {"audience": []}
    assert NOTES.to_wire() == NOTES_WIRE


def test_an_icon_needs_its_source_only():
    assert Icon("https://x/i.png").to_wire() == {"src": "https://x/i.png"}
    assert Icon("data:,", "image/png", ("48x48", "any"), "dark").to_wire() == {
        "src": "data:,",
        "mimeType": "image/png",
        "sizes": ["48x48", "any"],
        "theme": "dark",
    }


@pytest.mark.parametrize(
    ("content", "wire"),
    [
        (Text(""), {"type": "text", "text": ""}),
        (Image(b"\xfb\xff"), {"type": "image", "data": "+/8=", "mimeType": "image/png"}),
        (Image(b"", "image/gif"), {"type": "image", "data": "", "mimeType": "image/gif"}),
        (Audio(b"a"), {"type": "audio", "data": "YQ==", "mimeType": "audio/wav"}),
        (ResourceLink("x:y", "y"), {"type": "resource_link", "uri": "x:y", "name": "y"}),
        (
            ResourceLink("x:y", "y", "Y", "why", "text/plain", 0, (Icon("data:,"),)),
            {
                "type": "resource_link",
                "uri": "x:y",
                "name": "y",
                "title": "Y",
                "description": "why",
                "mimeType": "text/plain",
                "size": 0,
                "icons": [{"src": "data:,"}],
            },
        ),
        (
            EmbeddedResource(ResourceContents("t", "x:y")),
            {"type": "resource", "resource": {"uri": "x:y", "text": "t"}},
        ),
    ],
)
def test_content_is_written_as_the_schema_has_it(content, wire):
    """B128: bytes are in the standard Base64 alphabet, padded."""
    assert content.to_wire() == wire


@pytest.mark.parametrize(
    "make",
    [
        lambda **more: Text("t", **more),
        lambda **more: Image(b"", **more),
        lambda **more: Audio(b"", **more),
        lambda **more: ResourceLink("x:y", "y", **more),
        lambda **more: EmbeddedResource(ResourceContents("t", "x:y"), **more),
    ],
)
def test_all_content_takes_annotations_and_meta(make):
    assert make(annotations=NOTES, meta={"a": 1}).to_wire() == {
        **make().to_wire(),
        "annotations": NOTES_WIRE,
        "_meta": {"a": 1},
    }


def test_resource_contents_are_text_or_a_blob():
    assert ResourceContents("t", "x:y", "text/plain", {"a": 1}).to_wire() == {
        "uri": "x:y",
        "mimeType": "text/plain",
        "text": "t",
        "_meta": {"a": 1},
    }
    assert ResourceContents(b"\xff", "x:y").to_wire() == {"uri": "x:y", "blob": "/w=="}


def test_resource_contents_keep_their_own_uri_and_type():
    assert ResourceContents("").to_wire("x:y", "a/b") == {"uri": "x:y", "mimeType": "a/b", "text": ""}
    assert ResourceContents("", "x:z", "c/d").to_wire("x:y", "a/b") == {"uri": "x:z", "mimeType": "c/d", "text": ""}


def test_a_message_of_a_prompt_is_the_user_s_unless_it_says_otherwise():
    assert Message("hi").to_wire() == {"role": "user", "content": {"type": "text", "text": "hi"}}
    assert Message(Image(b""), "assistant").to_wire() == {"role": "assistant", "content": Image(b"").to_wire()}


def test_results_are_empty_by_default():
    result = ToolResult()
    assert (result.content, result.structured, result.is_error, result.meta) == (None, None, False, None)
    completion = Completion(["a"])
    assert (completion.values, completion.total, completion.has_more) == (["a"], None, None)


@pytest.mark.parametrize(
    "value", [Text("a"), Icon("a"), Annotations(), ResourceContents(b""), Message("a"), ToolResult()]
)
def test_values_do_not_change(value):
    name = type(value).__slots__[0] if type(value).__slots__ else "text"
    with pytest.raises(AttributeError):
        setattr(value, name, None)
