"""Results are kept as long as the server says, dropped when it says so, and never shown to whom they do not belong.

2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.client.cache import ResultCache
from mcp_wsgi.protocol.meta import build_meta
from tests.client.examples import examples, load
from tests.client.mutations import mutated
from tests.clock import Clock

LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
METHODS = [*LISTS, "resources/read", "server/discover"]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(clock):
    return ResultCache(clock)


def a_result(ttl=1000, scope="public", **members):
    return {"resultType": "complete", "ttlMs": ttl, "cacheScope": scope, **members}


@pytest.mark.parametrize("method", METHODS)
def test_a_result_is_fresh_for_as_long_as_the_server_says(method, cache, clock):
    cache.put(method, {}, a_result(ttl=1500))
    clock.now += 1.4
    assert cache.get(method, {}) == a_result(ttl=1500)
    assert cache.get(method) == a_result(ttl=1500)
    clock.now += 0.1
    assert cache.get(method, {}) is None


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "completion/complete", "ping", "x/list"])
def test_only_methods_that_carry_hints_are_kept(method, cache):
    cache.put(method, {}, a_result())
    assert cache.get(method, {}) is None


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"tools": [], "cacheScope": "public"},
        a_result(ttl=0),
        a_result(ttl=-5),
        a_result(ttl="1000"),
        a_result(ttl=None),
        a_result(ttl=True),
        a_result(ttl=1.5),
        a_result(resultType="input_required"),
        a_result(resultType="task"),
        a_result(value=float("nan")),
        a_result(value=object()),
    ],
)
def test_what_is_not_complete_or_not_fresh_is_not_kept(result, cache):
    cache.put("tools/list", {}, result)
    assert cache.get("tools/list", {}) is None


def test_a_result_of_an_older_server_that_has_a_time_to_live_is_complete(cache):
    cache.put("tools/list", {}, {"tools": [], "ttlMs": 5.0})
    assert cache.get("tools/list", {}) == {"tools": [], "ttlMs": 5.0}


def test_a_time_to_live_of_any_size_ends_within_a_week(cache, clock):
    cache.put("tools/list", {}, a_result(ttl=10**400))
    clock.now += 7 * 24 * 3600 - 1
    assert cache.get("tools/list", {}) is not None
    clock.now += 1
    assert cache.get("tools/list", {}) is None


def test_a_stale_answer_takes_the_place_of_a_fresh_one(cache):
    cache.put("tools/list", {}, a_result(n=1))
    cache.put("tools/list", {}, a_result(n=2))
    assert cache.get("tools/list", {})["n"] == 2
    cache.put("tools/list", {}, a_result(ttl=0))
    assert cache.get("tools/list", {}) is None


def test_what_a_caller_does_with_a_result_changes_no_other(cache):
    mine = a_result(tools=[{"name": "a"}])
    cache.put("tools/list", {}, mine)
    mine["tools"].clear()
    cache.get("tools/list", {})["tools"][0]["name"] = "spoilt"
    assert cache.get("tools/list", {})["tools"] == [{"name": "a"}]


def test_what_is_nested_deeper_than_a_message_may_be_is_not_given(cache):
    value = []
    for _ in range(200):
        value = [value]
    cache.put("tools/list", {}, a_result(value=value))
    assert cache.get("tools/list", {}) is None


# What a result is kept under


def test_other_params_are_another_request(cache):
    cache.put("resources/read", {"uri": "a"}, a_result())
    cache.put("tools/list", {"cursor": "2"}, a_result())
    assert cache.get("resources/read", {"uri": "b"}) is None
    assert cache.get("tools/list", {}) is None
    assert cache.get("tools/list", {"cursor": "2"}) is not None


def test_neither_the_order_of_params_nor_a_missing_cursor_matters(cache):
    cache.put("resources/read", {"uri": "a", "x": {"b": [{"d": 1, "c": 2}], "a": 1}}, a_result())
    assert cache.get("resources/read", {"x": {"a": 1, "b": [{"c": 2, "d": 1}]}, "uri": "a"}) is not None
    cache.put("tools/list", None, a_result())
    assert cache.get("tools/list", {"cursor": None}) is not None


def test_values_that_python_takes_for_equal_are_not(cache):
    cache.put("tools/list", {"x": 1}, a_result())
    assert cache.get("tools/list", {"x": True}) is None
    assert cache.get("tools/list", {"x": "1"}) is None


def test_the_envelope_is_no_part_of_the_key_and_other_metadata_is(cache):
    envelope = build_meta(version="2026-07-28", capabilities={}, client_info={"name": "n", "version": "1"})
    cache.put("tools/list", {}, a_result())
    assert cache.get("tools/list", {"_meta": {**envelope, "progressToken": 1, "traceparent": "00"}}) is not None
    assert cache.get("tools/list", {"_meta": {**envelope, "com.example/tenant": "b"}}) is None


@pytest.mark.parametrize("params", [{"inputResponses": {}}, {"requestState": "s"}, {"requestState": None}])
def test_a_request_that_answers_questions_is_never_kept(params, cache):
    cache.put("resources/read", {"uri": "a"}, a_result())
    assert cache.get("resources/read", {"uri": "a", **params}) is None
    cache.put("resources/read", {"uri": "b", **params}, a_result())
    assert cache.get("resources/read", {"uri": "b"}) is None


@pytest.mark.parametrize("params", [{"x": object()}, {"x": float("inf")}, {"x": {1: 1, "a": 2}}])
def test_params_that_are_not_json_are_no_key(params, cache):
    cache.put("tools/list", params, a_result())
    assert cache.get("tools/list", params) is None


# Whose it is


@pytest.mark.parametrize("scope", ["private", None, "Public", 1])
def test_what_is_private_is_kept_for_one_user_and_never_for_several(scope, clock):
    alone, shared = ResultCache(clock), ResultCache(clock, shared=True)
    for cache in (alone, shared):
        cache.put("tools/list", {}, a_result(scope=scope))
    assert alone.get("tools/list", {}) is not None
    assert shared.get("tools/list", {}) is None


def test_what_is_public_is_kept_for_several_users(clock):
    cache = ResultCache(clock, shared=True)
    cache.put("tools/list", {}, a_result())
    assert cache.get("tools/list", {}) is not None


def test_the_pages_after_a_private_one_are_private(clock):
    cache = ResultCache(clock, shared=True)
    cache.put("tools/list", {}, a_result(scope="private", nextCursor="2"))
    cache.put("tools/list", {"cursor": "2"}, a_result(nextCursor="3"))
    cache.put("tools/list", {"cursor": "3"}, a_result())
    assert [cache.get("tools/list", {"cursor": cursor}) for cursor in (None, "2", "3")] == [None] * 3
    cache.put("prompts/list", {"cursor": "2"}, a_result())
    assert cache.get("prompts/list", {"cursor": "2"}) is not None


def test_a_private_answer_drops_the_public_one_before_it(clock):
    cache = ResultCache(clock, shared=True)
    cache.put("tools/list", {}, a_result())
    cache.put("tools/list", {}, a_result(scope="private"))
    assert cache.get("tools/list", {}) is None


def test_few_private_cursors_are_remembered(clock):
    cache = ResultCache(clock, shared=True, max_entries=3)
    for number in range(50):
        cache.put("tools/list", {}, a_result(scope="private", nextCursor=str(number)))
    assert len(cache._private) == 3


# What drops it


@pytest.mark.parametrize(
    ("change", "dropped"),
    [
        ("notifications/tools/list_changed", {"tools/list"}),
        ("notifications/prompts/list_changed", {"prompts/list"}),
        ("notifications/resources/list_changed", {"resources/list", "resources/templates/list"}),
        ("notifications/resources/updated", {"resources/read"}),
        ("notifications/progress", set()),
        ("x", set()),
    ],
)
def test_each_change_drops_what_it_is_about_with_all_pages(change, dropped, cache):
    for method in METHODS:
        cache.put(method, {}, a_result())
        cache.put(method, {"cursor": "2"}, a_result())
    cache.invalidate(change)
    for method in METHODS:
        for params in ({}, {"cursor": "2"}):
            assert (cache.get(method, params) is None) == (method in dropped)


@pytest.mark.parametrize(
    ("read", "updated", "dropped"),
    [
        ("file:///a", "file:///a", True),
        ("file:///a", "file:///a/b", True),
        ("file:///a/", "file:///a/b/c", True),
        ("file:///a", "file:///a#x", True),
        ("file:///a", "file:///a?x", True),
        ("file:///a", "file:///ab", False),
        ("file:///a/b", "file:///a", False),
        ("file:///a", "file:///b", False),
        ("file:///a", None, True),
    ],
)
def test_an_update_drops_the_resource_and_what_it_is_a_part_of(read, updated, dropped, cache):
    cache.put("resources/read", {"uri": read}, a_result())
    cache.invalidate("notifications/resources/updated", updated)
    assert (cache.get("resources/read", {"uri": read}) is None) == dropped


def test_methods_can_be_dropped_and_everything_cleared(cache):
    for method in METHODS:
        cache.put(method, {}, a_result())
    cache.drop("tools/list", "server/discover")
    assert [method for method in METHODS if cache.get(method, {}) is None] == ["tools/list", "server/discover"]
    cache.clear()
    assert all(cache.get(method, {}) is None for method in METHODS)


def test_an_answer_that_was_on_its_way_during_a_change_is_not_kept(cache):
    since = cache.moment()
    cache.put("tools/list", {}, a_result(), since=since)
    assert cache.get("tools/list", {}) is not None
    since = cache.moment()
    cache.invalidate("notifications/tools/list_changed")
    cache.put("tools/list", {}, a_result(), since=since)
    assert cache.get("tools/list", {}) is None
    cache.put("tools/list", {}, a_result(), since=cache.moment())
    assert cache.get("tools/list", {}) is not None


# How much is kept


def test_the_least_recently_used_results_go_first(clock):
    cache = ResultCache(clock, max_entries=3)
    for uri in "abc":
        cache.put("resources/read", {"uri": uri}, a_result())
    cache.get("resources/read", {"uri": "a"})
    cache.put("resources/read", {"uri": "d"}, a_result())
    assert [uri for uri in "abcd" if cache.get("resources/read", {"uri": uri})] == ["a", "c", "d"]


def test_the_bytes_that_are_kept_are_bounded(clock):
    cache = ResultCache(clock, max_bytes=3000)
    for uri in "abcd":
        cache.put("resources/read", {"uri": uri}, a_result(text="x" * 1000))
    assert [uri for uri in "abcd" if cache.get("resources/read", {"uri": uri})] == ["c", "d"]
    cache.put("resources/read", {"uri": "e"}, a_result(text="x" * 3000))
    assert [uri for uri in "abcde" if cache.get("resources/read", {"uri": uri})] == ["c", "d"]
    cache.clear()
    assert cache._size == 0


def test_many_threads_may_use_one_cache():
    cache = ResultCache(max_entries=5)
    faults = []

    def work(number):
        for step in range(200):
            uri = f"u{(number + step) % 9}"
            cache.put("resources/read", {"uri": uri}, a_result(uri=uri), since=cache.moment())
            found = cache.get("resources/read", {"uri": uri})
            if found is not None and found["uri"] != uri:
                faults.append(found)
            if step % 50 == 0:
                cache.invalidate("notifications/resources/updated", uri)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not faults
    assert len(cache._entries) <= 5
    assert cache._size == sum(len(entry.data) for entry in cache._entries.values())


@examples("ListToolsResult", "ListResourcesResult", "ReadResourceResult", "DiscoverResult")
def test_every_example_of_the_specification_is_kept_as_its_hints_say(path, cache):
    result = load(path)
    cache.put("resources/read", {}, result)
    assert cache.get("resources/read", {}) == (result if result["ttlMs"] > 0 else None)


@given(
    st.sampled_from(METHODS),
    mutated(st.just({"uri": "u", "cursor": "c", "_meta": {"progressToken": 1, "a": {"b": [1]}}})),
    mutated(st.just(a_result(nextCursor="c", contents=[{"uri": "u", "text": "t"}]))),
    st.booleans(),
)
def test_no_request_and_no_result_whatsoever_break_a_cache(method, params, result, shared):
    if not (isinstance(params, dict) and isinstance(result, dict)):
        return
    cache = ResultCache(shared=shared)
    cache.put(method, params, result)
    kept = cache.get(method, params)
    if kept is not None:
        assert kept == result
        assert not shared or result["cacheScope"] == "public"
