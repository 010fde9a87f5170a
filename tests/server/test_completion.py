"""Completion of prompt arguments and template variables (2026-07-28, server/utilities/completion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mcp_wsgi import Completion, Context, RegistrationError, Server

from .wire import ERAS, error_of, result_of


def serve(function: Any) -> Server:
    server = Server("s")
    server.prompt(name="p")(lambda city="", country="": "")
    server.resource("r://{city}", name="r")(lambda city: "")
    server.resource("r://all", name="r")(lambda: "")
    server.completion("p", "city")(function)
    server.completion("r://{city}", "city")(function)
    return server


def params(value: Any = "", name: Any = "city", ref: Any = None, **more: Any) -> dict[str, Any]:
    return {"ref": ref or {"type": "ref/prompt", "name": "p"}, "argument": {"name": name, "value": value}, **more}


def complete(server: Server, *args: Any, era: str = "modern", **more: Any) -> dict[str, Any]:
    completion: dict[str, Any] = result_of(
        server, "completion/complete", params(*args, **more), era=era, principal="ada"
    )["completion"]
    return completion


@ERAS
@pytest.mark.parametrize("ref", [{"type": "ref/prompt", "name": "p"}, {"type": "ref/resource", "uri": "r://{city}"}])
def test_values_come_from_the_registered_function(era: str, ref: dict[str, Any]) -> None:
    server = serve(lambda value: [city for city in ("Bern", "Bonn", "Rome") if city.startswith(value)])
    assert complete(server, "B", ref=ref, era=era) == {"values": ["Bern", "Bonn"]}


def one(value: str) -> list[str]:
    return [value]


def two(value: str, arguments: Mapping[str, str]) -> list[str]:
    return [value, *arguments.values()]


def with_context(value: str, arguments: Mapping[str, str], ctx: Context) -> list[str]:
    return [value, *arguments.values(), str(ctx.principal)]


def only_context(value: str, *, ctx: Context) -> list[str]:
    return [value, str(ctx.principal)]


def context_first(ctx: Context, value: str) -> list[str]:
    return [value, str(ctx.principal)]


def with_option(value: str, *, suffix: str = "!") -> list[str]:
    return [value + suffix]


async def awaited(value: str) -> list[str]:
    return [value]


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (one, ["x"]),
        (two, ["x", "CH"]),
        (with_context, ["x", "CH", "ada"]),
        (only_context, ["x", "ada"]),
        (with_option, ["x!"]),
        (awaited, ["x"]),
    ],
)
def test_a_function_takes_the_text_and_what_else_it_asks_for(function: Any, values: list[str]) -> None:
    assert complete(serve(function), "x", context={"arguments": {"country": "CH"}})["values"] == values


def nothing() -> list[str]:
    return []


def three(a: str, b: str, c: str) -> list[str]:
    return []


@pytest.mark.parametrize("function", [nothing, three, 5, "city", None])
def test_a_function_of_another_shape_is_refused_at_registration(function: Any) -> None:
    with pytest.raises(RegistrationError):
        Server("s").completion("p", "city")(function)


def test_the_context_may_stand_first() -> None:
    assert complete(serve(context_first), "x")["values"] == ["x", "ada"]


def test_an_argument_has_one_completion() -> None:
    server = serve(one)
    with pytest.raises(RegistrationError, match="already a completion of 'city' for 'p'"):
        server.completion("p", "city")(one)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], {"values": []}),
        (None, {"values": []}),
        ("Bern", {"values": ["Bern"]}),
        (("a", 5), {"values": ["a", "5"]}),
        ((each for each in "ab"), {"values": ["a", "b"]}),
        ([str(n) for n in range(100)], {"values": [str(n) for n in range(100)]}),
        ([str(n) for n in range(101)], {"values": [str(n) for n in range(100)], "total": 101, "hasMore": True}),
        (Completion(["a"], total=1), {"values": ["a"], "total": 1}),
        (Completion(["a"], total=7), {"values": ["a"], "total": 7, "hasMore": True}),
        (Completion(["a"], has_more=True), {"values": ["a"], "total": 1, "hasMore": True}),
        (Completion(["a"], total=7, has_more=False), {"values": ["a"], "total": 7}),
    ],
)
def test_at_most_100_values_with_their_total_where_there_are_more(found: Any, expected: dict[str, Any]) -> None:
    assert complete(serve(lambda value: found)) == expected


@ERAS
def test_an_argument_without_a_function_has_no_values(era: str) -> None:
    assert complete(serve(one), name="country", era=era) == {"values": []}
    assert complete(serve(one), ref={"type": "ref/resource", "uri": "r://all"}, era=era) == {"values": []}


@ERAS
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"ref": None}, '"params.ref"'),
        ({"ref": "p"}, '"params.ref"'),
        ({"ref": []}, '"params.ref"'),
        ({"ref": {}}, '"params.ref"'),
        ({"ref": {"type": "ref/other"}}, '"params.ref"'),
        ({"ref": {"type": "ref/prompt"}}, '"params.ref"'),
        ({"ref": {"type": "ref/prompt", "name": "nope"}}, "nope"),
        ({"ref": {"type": "ref/prompt", "name": 5}}, '"params.ref"'),
        ({"ref": {"type": "ref/prompt", "name": ["p"]}}, '"params.ref"'),
        ({"ref": {"type": "ref/resource", "name": "p"}}, '"params.ref"'),
        ({"ref": {"type": "ref/resource", "uri": "r://nope"}}, "r://nope"),
        ({"ref": {"type": "ref/resource", "uri": {}}}, '"params.ref"'),
        ({"argument": None}, '"params.argument"'),
        ({"argument": "city"}, '"params.argument"'),
        ({"argument": {}}, '"params.argument"'),
        ({"argument": {"name": "city"}}, '"params.argument"'),
        ({"argument": {"name": 5, "value": ""}}, '"params.argument"'),
        ({"argument": {"name": "city", "value": None}}, '"params.argument"'),
        ({"context": {"arguments": []}}, '"params.context.arguments"'),
        ({"context": {"arguments": {"country": 5}}}, '"params.context.arguments"'),
    ],
)
def test_ill_typed_and_unknown_references_are_invalid(era: str, bad: dict[str, Any], named: str) -> None:
    error = error_of(serve(one), "completion/complete", {**params(), **bad}, era=era)
    assert error["code"] == -32602
    assert named in error["message"]


@ERAS
@pytest.mark.parametrize("context", [None, {}, {"arguments": None}, {"arguments": {}}, "ignored"])
def test_other_arguments_are_optional(era: str, context: Any) -> None:
    assert complete(serve(two), "x", context=context, era=era) == {"values": ["x"]}


def test_a_completion_that_gives_no_texts_is_an_internal_error() -> None:
    assert error_of(serve(lambda value: 5), "completion/complete", params())["code"] == -32603
