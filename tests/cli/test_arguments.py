"""From words on the command line to the arguments of a tool."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.cli.arguments import needs_schema, pairs, read_arguments
from mcp_wsgi.cli.exits import CommandFailed, Exit

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "mapping": {"type": "object"},
        "nothing": {"type": "null"},
        "maybe": {"type": ["integer", "null"]},
        "text_or_number": {"type": ["number", "string"]},
        "any_of": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "referred": {"$ref": "#/$defs/Count"},
        "escaped": {"$ref": "#/$defs/a~1b~0c"},
        "circular": {"$ref": "#/properties/circular"},
        "lost": {"$ref": "#/$defs/none/at/all"},
        "remote": {"$ref": "https://example.com/schema"},
        "choice": {"enum": [1, 2.5, None]},
        "fixed": {"const": 7},
        "free": {},
        "odd": {"type": 5, "anyOf": 7},
        "strange": True,
    },
    "$defs": {"Count": {"type": "integer"}, "a/b~c": {"type": "boolean"}},
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("text=5", "5"),
        ("text=", ""),
        ("text=a=b", "a=b"),
        ("text=a:=b", "a:=b"),
        ("text=null", "null"),
        ("text=two\nlines", "two\nlines"),
        ("count=5", 5),
        ("count=-5", -5),
        ("count=5.0", 5),
        ("ratio=5", 5),
        ("ratio=0.5", 0.5),
        ("flag=true", True),
        ("flag=false", False),
        ('tags=["a"]', ["a"]),
        ('mapping={"a": 1}', {"a": 1}),
        ("nothing=null", None),
        ("maybe=null", None),
        ("maybe=3", 3),
        ("text_or_number=3", "3"),
        ("any_of=true", True),
        ("any_of=1", 1),
        ("referred=4", 4),
        ("escaped=true", True),
        ("circular=4", "4"),
        ("lost=4", "4"),
        ("remote=4", "4"),
        ("choice=2.5", 2.5),
        ("choice=null", None),
        ("fixed=7", 7),
        ("free=4", "4"),
        ("odd=4", "4"),
        ("strange=4", "4"),
        ("unknown=4", "4"),
        ("text:=5", 5),
        ("unknown:=[1]", [1]),
        ('{"text": "a"}', "a"),
    ],
)
def test_a_word_is_read_by_the_schema(word: str, value: Any) -> None:
    (found,) = read_arguments([word], SCHEMA).values()
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["count=five"], "The argument 'count' is of type integer; 'five' is none."),
        (["count=5.5"], "'5.5' is none"),
        (["count=true"], "'true' is none"),
        (["count=" + "[" * 100_000], "'[[["),
        (["flag=1"], "is of type boolean"),
        (["tags=a"], "is of type array; 'a' is none"),
        (["maybe=x"], "of type integer or null"),
        (["text"], "An argument is written name=value, name:=JSON or {...}, not 'text'."),
        (["=5"], "An argument is written"),
        (["text:=a"], "The argument 'text' cannot be read as JSON"),
        (["ratio:=NaN"], "NaN is no JSON"),
        (["{"], "The arguments cannot be read as JSON"),
        (["text=a", "text=b"], "The argument 'text' is given twice."),
        (["text=a", '{"text": "b"}'], "given twice"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(words: list[str], message: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        read_arguments(words, SCHEMA)
    assert message in caught.value.message
    assert len(caught.value.message) < 300
    assert caught.value.status is Exit.USAGE


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"count": 5}'))
    assert read_arguments(["-", "text=a"], {}) == {"count": 5, "text": "a"}
    monkeypatch.setattr("sys.stdin", io.StringIO("[5]"))
    with pytest.raises(CommandFailed, match="no JSON object"):
        read_arguments(["-"], {})


@pytest.mark.parametrize("schema", [{}, {"properties": 5}, {"properties": {"a": 5}}])
def test_without_a_usable_schema_all_is_text(schema: dict[str, Any]) -> None:
    assert read_arguments(["a=1"], schema) == {"a": "1"}


def test_the_schema_is_needed_for_plain_values_only() -> None:
    assert needs_schema(["a=1"])
    assert not needs_schema(["-", ' {"a": 1}'])
    assert not needs_schema([])


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text(), max_size=5))
def test_text_arrives_as_it_was_typed(arguments: dict[str, str]) -> None:
    words = [f"{name}={value}" for name, value in arguments.items()]
    schema = {"properties": {name: {"type": "string"} for name in arguments}}
    assert read_arguments(words, schema) == arguments
    assert pairs(words) == arguments


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(json_values)
def test_json_arrives_as_it_was_written(value: Any) -> None:
    assert read_arguments([f"a:={json.dumps(value)}"], {}) == {"a": value}
    assert read_arguments([json.dumps({"a": value})], {}) == {"a": value}


@pytest.mark.parametrize("word", ["a", "=a", ""])
def test_pairs_need_a_name_and_a_value(word: str) -> None:
    with pytest.raises(CommandFailed, match="An argument is written name=value"):
        pairs([word])


def test_pairs_are_given_once() -> None:
    with pytest.raises(CommandFailed, match="'a' is given twice"):
        pairs(["a=1", "a=2"])
