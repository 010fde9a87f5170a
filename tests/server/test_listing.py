"""Lists: pages, cursors, filters, caching hints, and what they cost."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import Context, Server
from mcp_wsgi.protocol.codec import decode
from mcp_wsgi.server.encoding import encode_message

from .wire import ERAS, error_of, request, result_of

LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
EACH_LIST = pytest.mark.parametrize("method", LISTS)


def add(server: Server, number: int, **options: Any) -> None:
    server.tool(name=f"t{number}", **options)(lambda: number)
    server.prompt(name=f"t{number}", **options)(lambda: "x")
    server.resource(f"r://t{number}", name="r", **options)(lambda: "x")
    server.resource(f"r{number}://{{x}}", name="r", **options)(lambda x: x)


def fill(count: int, **options: Any) -> Server:
    server = Server("s", **options)
    for number in range(count):
        add(server, number)
    return server


def page(server: Server, method: str, cursor: Any = None, **options: Any) -> tuple[list[str], str | None]:
    result = result_of(server, method, {} if cursor is None else {"cursor": cursor}, **options)
    member, key = LISTS[method]
    return [each[key] for each in result[member]], result.get("nextCursor")


def walk(server: Server, method: str, **options: Any) -> list[str]:
    seen, cursor = page(server, method, **options)
    while cursor is not None:
        more, cursor = page(server, method, cursor, **options)
        seen += more
    return seen


@ERAS
@EACH_LIST
def test_everything_is_on_one_page_by_default(era: str, method: str) -> None:
    """B86: several hosts ignore cursors."""
    names, cursor = page(fill(250), method, era=era)
    assert len(names) == 250
    assert cursor is None


@ERAS
@EACH_LIST
@pytest.mark.parametrize(("count", "size", "pages"), [(5, 2, 3), (4, 2, 2), (1, 1, 1), (3, 100, 1)])
def test_pages_follow_each_other_to_the_end(era: str, method: str, count: int, size: int, pages: int) -> None:
    """2026-07-28, server/utilities/pagination: the last page has no ``nextCursor``, neither null nor empty."""
    server = fill(count, page_size=size)
    seen: list[str] = []
    cursor = None
    for index in range(pages):
        names, cursor = page(server, method, cursor, era=era)
        assert (cursor is None) is (index == pages - 1)
        assert cursor != ""
        seen += names
    assert len(seen) == len(set(seen)) == count
    assert seen == page(fill(count), method)[0]


@EACH_LIST
def test_a_list_has_the_order_of_registration_every_time(method: str) -> None:
    """2026-07-28, server/tools: "Servers SHOULD return tools in a deterministic order"."""
    one, other = fill(30), fill(30)
    assert page(one, method) == page(one, method, era="legacy") == page(other, method)
    assert page(one, method)[0] == sorted(
        page(one, method)[0], key=lambda name: int("".join(filter(str.isdigit, name)))
    )


@EACH_LIST
@pytest.mark.parametrize("other", LISTS)
def test_a_cursor_belongs_to_its_method(method: str, other: str) -> None:
    server = fill(3, page_size=1)
    _, cursor = page(server, method)
    if other == method:
        assert len(page(server, other, cursor)[0]) == 1
    else:
        assert error_of(server, other, {"cursor": cursor})["code"] == -32602


def b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@ERAS
@EACH_LIST
@pytest.mark.parametrize(
    "cursor",
    ["", "x", "ab=c", 5, [], {}, True, "\ud800", "é", b64("nope 1"), b64("1"), b64("tools/list"), b64("tools/list x")]
    + [b64(f"tools/list {number}") for number in ("-1", "1.5", "٣", "1" * 13, "")],
)
def test_a_cursor_that_was_not_given_out_is_an_invalid_parameter(era: str, method: str, cursor: Any) -> None:
    """2026-07-28, server/utilities/pagination, Error Handling; an empty string is a cursor like any other."""
    error = error_of(fill(1), method, {"cursor": cursor}, era=era)
    assert error["code"] == -32602
    assert "cursor" in error["message"]


@given(st.data())
def test_a_tampered_cursor_is_refused_or_is_just_another_place(data: st.DataObject) -> None:
    server = fill(4, page_size=2)
    _, cursor = page(server, "tools/list")
    assert cursor is not None
    index = data.draw(st.integers(0, len(cursor) - 1))
    changed = cursor[:index] + data.draw(st.characters()) + cursor[index + 1 :]
    answer = server.handle_message(request("tools/list", {"cursor": changed}))
    assert answer is not None
    assert "result" in answer or answer["error"]["code"] == -32602


@given(
    size=st.integers(1, 4),
    changes=st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=25),
)
def test_changes_between_pages_neither_repeat_nor_skip_what_stays(size: int, changes: list[tuple[bool, int]]) -> None:
    server = Server("s", page_size=size)
    for number in range(8):
        server.tool(name=f"t{number}")(lambda: 1)
    stayed = {f"t{number}" for number in range(8)}
    known = set(stayed)
    fresh = iter(range(100, 200))
    seen, cursor = page(server, "tools/list")
    pending = list(changes)
    while cursor is not None:
        for adds, which in [pending.pop() for _ in range(min(3, len(pending)))]:
            if adds:
                name = f"t{next(fresh)}"
                server.tool(name=name)(lambda: 1)
                known.add(name)
            elif known:
                name = sorted(known)[which % len(known)]
                server.remove_tool(name)
                known.discard(name)
                stayed.discard(name)
        more, cursor = page(server, "tools/list", cursor)
        seen += more
    assert len(seen) == len(set(seen))
    assert stayed <= set(seen)


# Filters


def by_principal(context: Context) -> bool:
    return context.principal == "admin"


def filtered(**options: Any) -> Server:
    server = Server("s", **options)
    for number in range(4):
        add(server, number, visible=by_principal if number % 2 else None)
    return server


@ERAS
@EACH_LIST
@pytest.mark.parametrize("size", [None, 1, 3])
def test_a_list_holds_what_exists_for_the_caller(era: str, method: str, size: int | None) -> None:
    server = filtered(page_size=size)
    assert len(walk(server, method, era=era, principal="admin")) == 4
    assert len(walk(server, method, era=era)) == 2
    assert len(walk(server, method, era=era, principal="other")) == 2


@ERAS
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "t1"}),
        ("prompts/get", {"name": "t1"}),
        ("resources/read", {"uri": "r://t1"}),
        ("resources/read", {"uri": "r1://x"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "t1"}, "argument": {"name": "x", "value": ""}},
        ),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "r1://{x}"}, "argument": {"name": "x", "value": ""}},
        ),
    ],
)
def test_what_is_hidden_is_not_there_by_name_either(era: str, method: str, params: dict[str, Any]) -> None:
    server = filtered()
    server.completion("t0", "x")(lambda value: [])
    result_of(server, method, params, era=era, principal="admin")
    hidden = error_of(server, method, params, era=era)
    missing = error_of(Server("s"), method, params, era=era)
    if method != "completion/complete":
        assert hidden == missing


# Caching hints


@EACH_LIST
def test_caching_hints_are_on_modern_lists_only(method: str) -> None:
    """SEP-2549."""
    server = fill(1, ttl_ms=5000)
    result = result_of(server, method)
    assert (result["ttlMs"], result["cacheScope"]) == (5000, "public")
    assert not {"ttlMs", "cacheScope"} & set(result_of(server, method, era="legacy"))


@EACH_LIST
def test_a_list_that_anything_filters_is_private(method: str) -> None:
    """B85."""
    assert result_of(filtered(), method)["cacheScope"] == "private"
    assert result_of(fill(1), method, principal="admin")["cacheScope"] == "private"


@pytest.mark.parametrize(
    ("method", "params"),
    [("tools/call", {"name": "t0"}), ("prompts/get", {"name": "t0"})],
)
def test_results_of_calls_and_prompts_carry_no_hints(method: str, params: dict[str, Any]) -> None:
    assert not {"ttlMs", "cacheScope"} & set(result_of(fill(1), method, params))


def test_what_was_read_has_the_hints_of_its_resource() -> None:
    server = Server("s", ttl_ms=7)
    server.resource("r://a", name="a", ttl_ms=60_000)(lambda: "x")
    server.resource("r://b", name="b")(lambda: "x")

    @server.resource("r://c")
    def depends(context: Context) -> str:
        return str(context.principal)

    server.resource("r://d", name="d", visible=lambda context: True)(lambda: "x")
    hints = {}
    for name in "abcd":
        result = result_of(server, "resources/read", {"uri": f"r://{name}"})
        hints[name] = (result["ttlMs"], result["cacheScope"])
    assert hints == {"a": (60_000, "public"), "b": (7, "public"), "c": (7, "private"), "d": (7, "private")}
    read = result_of(server, "resources/read", {"uri": "r://a"}, principal="ada")
    assert read["cacheScope"] == "private"


# Cost


def cost(server: Server, era: str) -> float:
    message = request("tools/list", era=era)
    best = float("inf")
    for _ in range(30):
        begin = time.perf_counter()
        answer = server.handle_message(message)
        assert answer is not None
        encode_message(answer)
        best = min(best, time.perf_counter() - begin)
    return best


@ERAS
def test_a_long_list_costs_little_more_than_a_short_one(era: str) -> None:
    """A list of 1,000 tools is made once, not in every request (issue 2, Must show 6)."""
    short, long = fill(10), fill(1000)
    assert len(decode(encode_message(long.handle_message(request("tools/list", era=era))))["result"]["tools"]) == 1000  # type: ignore[arg-type]
    # Copying the text is all that grows; the bound leaves room for a busy machine.
    assert cost(long, era) < 5 * cost(short, era) + 100e-6


@EACH_LIST
def test_pages_tell_nothing_of_what_is_hidden(method: str) -> None:
    server = Server("s", page_size=2)
    for number in range(9):
        add(server, number, visible=lambda ctx, number=number: ctx.principal == "root" or number in (3, 6, 7))
    assert page(server, method, principal="ann")[0] == [walk(server, method, principal="root")[n] for n in (3, 6)]
    assert len(walk(server, method, principal="ann")) == 3
    for number in (3, 6, 7):
        server.remove_tool(f"t{number}")
        server.remove_prompt(f"t{number}")
        server.remove_resource(f"r://t{number}")
        server.remove_resource(f"r{number}://{{x}}")
    assert page(server, method, principal="ann") == ([], None)
