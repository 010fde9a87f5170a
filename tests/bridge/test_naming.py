"""Names of servers and tools: unique, stable, and such as models take."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.bridge.naming import Named, model_names, server_id, unique_names


def tools(*names: str) -> list[Named]:
    return [Named(*name.split("/"), prefix=False) for name in names]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("weather", "weather"),
        ("Weather Service 2", "Weather-Service-2"),
        ("@scope/pkg", "scope-pkg"),
        ("api.example.com", "api-example-com"),
        ("天気", "server"),
        ("", "server"),
        ("x" * 40, "x" * 32),
        ("-_-a-_-", "a"),
    ],
)
def test_an_id_is_made_of_letters_digits_and_dashes(text: str, expected: str) -> None:
    assert server_id(text, ()) == expected


def test_a_second_server_of_a_name_gets_a_number() -> None:
    assert server_id("a", {"a"}) == "a-2"
    assert server_id("a", {"a", "a-2"}) == "a-3"
    assert server_id("x" * 32, {"x" * 32}) == "x" * 30 + "-2"


def test_names_that_differ_stay() -> None:
    assert unique_names(tools("a/search", "b/fetch")) == ["search", "fetch"]


def test_all_that_are_called_the_same_get_their_server_s_id() -> None:
    assert unique_names(tools("a/search", "b/fetch", "b/search")) == ["a__search", "fetch", "b__search"]


def test_an_id_can_be_asked_for() -> None:
    assert unique_names([Named("a", "search", True), Named("b", "search", False)]) == ["a__search", "search"]


def test_a_name_that_reads_like_an_id_and_a_name_gets_its_id_too() -> None:
    given = tools("a/search", "b/search", "c/a__search")
    assert unique_names(given) == ["a__search", "b__search", "c__a__search"]


def test_a_name_that_begins_with_another_server_s_id_gets_its_own_too() -> None:
    assert unique_names(tools("evil/github__create", "github/list")) == ["evil__github__create", "list"]
    assert unique_names(tools("evil/github__create"), ["github"]) == ["evil__github__create"]
    assert unique_names(tools("github/github__create", "evil/a__b"), ["evil"]) == ["github__create", "a__b"]


def test_an_id_holds_no_separator() -> None:
    assert server_id("github__create", ()) == "github_create"
    assert server_id("a_____b", ()) == "a_b"


def test_what_still_reads_the_same_is_numbered() -> None:
    given = [Named("a", "b__c", True), Named("a__b", "c", True)]
    assert unique_names(given) == ["a__b__c", "a__b__c-2"]


def test_long_names_are_cut_where_the_id_needs_room_and_still_differ() -> None:
    one, two = "x" * 126 + "1", "x" * 126 + "2"
    names = unique_names(tools(f"a/{one}", f"b/{one}", f"a/{two}", f"b/{two}"))
    assert len(set(names)) == 4
    assert all(len(name) <= 128 and name[1:4] == "__x" for name in names)


NAMES = st.text(alphabet="ab_.é", min_size=1, max_size=5)


@given(st.lists(st.tuples(NAMES, NAMES, st.booleans()), max_size=8, unique_by=lambda each: each[:2]))
def test_names_are_always_unique_and_as_many_as_the_tools(entries: list[tuple[str, str, bool]]) -> None:
    given = [Named(*entry) for entry in entries]
    names = unique_names(given)
    assert len(set(names)) == len(names) == len(given)
    for tool, name in zip(given, names, strict=True):
        assert name == tool.tool or name.startswith(f"{tool.server}__{tool.tool}")


# For models


def test_a_name_that_models_take_stays() -> None:
    names = ["get_weather", "a-B-9", "x" * 64]
    assert model_names(names) == names


def test_other_characters_become_underscores() -> None:
    assert model_names(["files.read", "日本", "", "a b"]) == ["files_read", "__", "tool", "a_b"]


def test_what_is_too_long_keeps_a_difference() -> None:
    one, two = model_names(["x" * 70 + "1", "x" * 70 + "2"])
    assert one != two
    assert len(one) == len(two) == 64


def test_a_name_that_is_fit_comes_before_one_that_is_made_fit() -> None:
    dot, fit, slash = model_names(["files.read", "files_read", "files/read"])
    assert fit == "files_read"
    assert dot != slash
    assert all(re.fullmatch("files_read_[0-9a-f]{8}", name) for name in (dot, slash))


def test_of_tools_that_are_called_the_same_the_first_keeps_its_name() -> None:
    first, second, third = model_names(["search"] * 3)
    assert first == "search"
    assert re.fullmatch("search_[0-9a-f]{8}", second)
    assert third == f"{second}-2"


@given(st.lists(st.text(max_size=70), max_size=8))
def test_names_for_models_are_always_fit_and_unique(names: list[str]) -> None:
    found = model_names(names)
    assert len(found) == len(set(found)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in found)
