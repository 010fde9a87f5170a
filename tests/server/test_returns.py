# Older spellings of hints, implicit optionals and mutable defaults are what some of this is about.
# ruff: noqa: UP007, UP045
from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import timeit
import uuid
from collections.abc import Awaitable, Coroutine
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict, Union

import jsonschema
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import EncodeError, RegistrationError
from mcp_wsgi.server.json_schema import is_object_schema, wrap_output
from mcp_wsgi.server.returns import compile_returns, to_builtins

from .test_json_schema import JSON


class Image:
    pass


class Photo(Image):
    pass


class Color(enum.Enum):
    RED = "r"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Item:
    price: float
    note: str | None = None


class Node(msgspec.Struct):
    value: int
    next: Node | None = None


class Tagged(msgspec.Struct, tag=True, rename="camel"):
    unit_price: int


class Options(TypedDict, total=False):
    limit: int


class Point(NamedTuple):
    x: int
    y: int


class Model(pydantic.BaseModel):
    count: int
    ratio: float = 1.0
    when: dt.date | None = pydantic.Field(None, alias="on")


class FakeScalar:
    """Has what numpy's scalars have."""

    dtype = "int64"

    def item(self):
        return 7


class FakeArray:
    dtype = "float64"

    def __init__(self, *items):
        self.items = list(items)

    def tolist(self):
        return self.items


def compiled(hint):
    return compile_returns(hint, content_types=(Image,))


def refusal(hint, value):
    with pytest.raises(EncodeError) as caught:
        compiled(hint).to_json(value)
    return caught.value.path, caught.value.reason


# What has a schema


@pytest.mark.parametrize(
    "hint",
    [
        None,
        type(None),
        str,
        Any,
        object,
        Optional[str],
        Annotated[str, "text"],
        Image,
        Photo,
        Optional[Image],
        list[Image],
        list[str | Image],
        list[str | Image | None],
        Union[str, list[Image]],
        Union[dict[str, int], Image],
        Union[int, Any],
        tuple[str, Image],
        tuple[Image, ...],
        list,
        list[Any],
    ],
)
def test_text_and_content_have_no_schema(hint):
    assert compiled(hint).schema is None
    assert compiled(hint).to_json({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, {"type": "integer"}),
        (bool, {"type": "boolean"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (str | int, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}),
        (Annotated[int, "The sum"], {"type": "integer", "description": "The sum"}),
        (Annotated[int, {"x-unit": "EUR"}], {"type": "integer", "x-unit": "EUR"}),
        (NewType("UserId", int), {"type": "integer"}),
        (Options, {"type": "object", "properties": {"limit": {"type": "integer"}}}),
    ],
)
def test_structured_results_have_a_schema(hint, schema):
    assert compiled(hint).schema == schema


@pytest.mark.parametrize("hint", [Item, Node, Tagged, Options, Model, dict[str, int], dict])
def test_objects_say_so_at_the_root(hint):
    assert is_object_schema(compiled(hint).schema)


def returns_int() -> int: ...
def returns_nothing(): ...
async def returns_later() -> Item: ...
def returns_awaitable() -> Awaitable[int]: ...
def returns_coroutine() -> Coroutine[Any, Any, int]: ...


class Callable_:
    def __call__(self) -> int: ...


@pytest.mark.parametrize(
    "function", [returns_int, returns_awaitable, returns_coroutine, Callable_(), Callable_().__call__]
)
def test_the_annotation_of_a_function_is_read(function):
    assert compiled(function).schema == {"type": "integer"}


def test_an_async_function_returns_what_it_says():
    assert is_object_schema(compiled(returns_later).schema)
    assert compiled(returns_nothing).schema is None


def test_an_unresolvable_return_annotation_is_refused():
    def function() -> Nowhere: ...  # noqa: F821

    with pytest.raises(RegistrationError, match=r"return value of .*'Nowhere'"):
        compiled(function)


@pytest.mark.parametrize("hint", [complex, Union[Item, Node], type])
def test_an_annotation_without_json_form_is_refused(hint):
    with pytest.raises(RegistrationError, match="return annotation"):
        compiled(hint)


# Results conform


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int, 5, 5),
        (int, Level.LOW, 1),
        (int, FakeScalar(), 7),
        (float, 1.5, 1.5),
        (float, 1, 1),
        (bool, True, True),
        (bool, False, False),
        (Item, Item(1.5), {"price": 1.5, "note": None}),
        (Item, {"price": 1, "more": [1]}, {"price": 1, "more": [1]}),
        (list[Item], [Item(1)], [{"price": 1, "note": None}]),
        (Node, Node(1, Node(2)), {"value": 1, "next": {"value": 2, "next": None}}),
        (Tagged, Tagged(3), {"type": "Tagged", "unitPrice": 3}),
        (Color, Color.RED, "r"),
        (Point, Point(1, 2), [1, 2]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (set[int], {1}, [1]),
        (set[int], [1, 1], [1]),
        (dt.datetime, dt.datetime(2026, 1, 2), "2026-01-02T00:00:00"),
        (decimal.Decimal, decimal.Decimal("1.50"), "1.50"),
        (list[float], FakeArray(1.0, 2.0), [1.0, 2.0]),
        (bytes, b"hi", "aGk="),
        (int | None, None, None),
        (Model, Model(count=1, on=dt.date(2026, 1, 2)), {"count": 1, "ratio": 1.0, "on": "2026-01-02"}),
        (list[Model], [{"count": 1}], [{"count": 1, "ratio": 1.0, "on": None}]),
    ],
)
def test_results_conform_to_their_schema(hint, value, expected):
    returns = compiled(hint)
    result = returns.to_json(value)
    assert result == expected
    assert type(result) is type(expected)
    jsonschema.Draft202012Validator(returns.schema).validate(result)
    jsonschema.Draft202012Validator(wrap_output(returns.schema)).validate({"result": result})


@pytest.mark.parametrize(
    ("hint", "value", "path", "reason"),
    [
        (int, "x", "", "expected integer, got string"),
        (int, True, "", "expected integer, got boolean"),
        (int, None, "", "expected integer, got null"),
        (float, math.nan, "", "nan is not a JSON number"),
        (float, "x", "", "expected number, got string"),
        (bool, 1, "", "expected boolean, got integer"),
        (list[Item], [Item(1), Item("x")], "[1].price", "expected number, got string"),
        (list[Item], [Item(math.inf)], "[0].price", "inf is not a JSON number"),
        (Item, {"price": 1, "m": {"n": math.nan}}, "m.n", "nan is not a JSON number"),
        (Item, {}, "price", "missing required argument"),
        (Literal["a"], "b", "", "expected one of 'a'"),
        (Literal["a"], "\ud800", "", "text with half of a surrogate pair, which is no character"),
        (decimal.Decimal, decimal.Decimal("NaN"), "", "NaN is not a JSON number"),
        (Model, {"count": "x"}, "count", None),
        (Model, Model(count=1, ratio=math.inf), "ratio", "inf is not a JSON number"),
        (Model, Model.model_construct(count="x"), "", None),
    ],
)
def test_results_that_do_not_conform_are_refused(hint, value, path, reason):
    found = refusal(hint, value)
    assert found[0] == path
    assert reason is None or found[1] == reason
    assert len(found[1]) <= 200


def test_an_integer_that_python_would_not_write_is_refused():
    assert refusal(int, 10**5000) == ("", "integer is too large")
    assert refusal(Any, {"a": [10**5000]}) == ("a[0]", "integer is too large")


def test_too_much_nesting_for_the_hint_is_refused():
    value = None
    for _ in range(150_000):
        value = {"value": 1, "next": value}
    with pytest.raises(EncodeError, match="nested"):
        compiled(Node).to_json(value)
    while value is not None:  # so that freeing it does not nest either
        value = value.pop("next")


# Values without a schema


class Text(str):
    def __str__(self):
        return "other"


class Number(int):
    pass


class Ratio(float):
    pass


@dataclasses.dataclass
class Box:
    inside: Any


class StructBox(msgspec.Struct):
    inside: Any


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("a\ud800\u2028", "a\ud800\u2028"),
        ("NaN", "NaN"),
        ([Box("-Infinity"), "x"], [{"inside": "-Infinity"}, "x"]),
        (Box(Item(1.0)), {"inside": {"price": 1.0, "note": None}}),
        (Box(Model(count=1)), {"inside": {"count": 1, "ratio": 1.0, "on": None}}),
        ([Level.LOW, Color.RED], [1, "r"]),
        ([Text("a"), Number(3), Ratio(0.5)], ["a", 3, 0.5]),
        ({1: 2, uuid.UUID(int=0): 3, Color.RED: 4}, {"1": 2, "00000000-0000-0000-0000-000000000000": 3, "r": 4}),
        (dt.timedelta(days=1), "P1D"),
        ([decimal.Decimal("0.1"), b"a", bytearray(b"a")], ["0.1", "YQ==", "YQ=="]),
        ((1, (2,)), [1, [2]]),
        (frozenset([1]), [1]),
        (collections.deque([1]), [1]),
        (range(3), [0, 1, 2]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        (collections.ChainMap({"a": 1}), {"a": 1}),
        ([FakeScalar(), FakeArray(1, 2)], [7, [1, 2]]),
        (2**70, 2**70),
        (["NaN", decimal.Decimal("1e9999")], ["NaN", "1E+9999"]),
    ],
)
def test_values_become_builtins(value, expected):
    result = to_builtins(value)
    assert result == expected
    assert json.loads(json.dumps(result, allow_nan=False)) == result


class Silent:
    pass


class Wrong(enum.Enum):
    NAN = math.nan


class Broken:
    dtype = "x"

    def tolist(self):
        raise LookupError("secret")


CYCLE: list[Any] = []
CYCLE.append({"a": CYCLE})


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (math.nan, "", "nan is not a JSON number"),
        ({"m": math.nan}, "m", "nan is not a JSON number"),
        ({"a": [1, {"b": -math.inf}]}, "a[1].b", "-inf is not a JSON number"),
        ([decimal.Decimal("NaN")], "[0]", "NaN is not a JSON number"),
        ([decimal.Decimal("sNaN")], "[0]", "sNaN is not a JSON number"),
        ([decimal.Decimal("NaN12")], "[0]", "NaN12 is not a JSON number"),
        ([decimal.Decimal("-Infinity")], "[0]", "-Infinity is not a JSON number"),
        ({1: {math.nan}}, "1[0]", "nan is not a JSON number"),
        ([Wrong.NAN], "[0]", "nan is not a JSON number"),
        (Box([math.nan]), "inside[0]", "nan is not a JSON number"),
        ({"s": StructBox(math.nan)}, "s.inside", "nan is not a JSON number"),
        ([FakeArray(1.0, math.nan)], "[0][1]", "nan is not a JSON number"),
        ([Model(count=1, ratio=math.nan)], "[0].ratio", "nan is not a JSON number"),
        ([1, Silent()], "[1]", "cannot be written as JSON: cannot write Silent as JSON"),
        ([dt.date(2026, 1, 1), Silent()], "[1]", "cannot be written as JSON: cannot write Silent as JSON"),
        (Broken(), "", "cannot be written as JSON: LookupError"),
        ({"a": {(1, 2): 3}}, "a", "has a key of type tuple; keys are strings"),
        ({None: 3}, "", "has a key of type NoneType; keys are strings"),
        ({True: 3}, "", "has a key of type bool; keys are strings"),
        (CYCLE, "", "nested deeper than 200 levels, or contains itself"),
        (iter([1]), "", "cannot be written as JSON: cannot write list_iterator as JSON"),
    ],
)
def test_what_json_cannot_carry_is_refused_by_place(value, path, reason):
    with pytest.raises(EncodeError) as caught:
        to_builtins(value)
    assert (caught.value.path, caught.value.reason) == (path, reason)


def test_a_value_that_no_place_explains_is_refused_too():
    class Fickle:
        """Fails the first time only."""

        dtype = "x"
        calls = 0

        def tolist(self):
            self.calls += 1
            if self.calls == 1:
                raise LookupError
            return 1

    with pytest.raises(EncodeError, match=r"^cannot be written as JSON: LookupError"):
        to_builtins(Fickle())


def test_nothing_is_shared_with_the_handler():
    value = {"a": [1]}
    to_builtins(value)["a"].append(2)
    assert value == {"a": [1]}


@given(JSON)
def test_json_stays_as_it_is(value):
    assert to_builtins(value) == value


ODD = st.recursive(
    JSON
    | st.floats()
    | st.decimals()
    | st.binary()
    | st.datetimes()
    | st.uuids()
    | st.just(Silent())
    | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner) | inner.map(Box),
    max_leaves=10,
)


@given(
    ODD, st.sampled_from([int, float, bool, Item, list[Item], Node, Any, dict[str, float], Model, set[int], str | int])
)
def test_encoding_is_total_and_strict(value, hint):
    returns = compiled(hint)
    try:
        result = returns.to_json(value)
    except EncodeError:
        return
    json.dumps(result, allow_nan=False)
    if returns.schema is not None:
        jsonschema.Draft202012Validator(returns.schema).validate(result)


def test_an_integer_is_fast():
    to_json = compiled(int).to_json
    assert min(timeit.repeat(lambda: to_json(5), number=2000, repeat=5)) / 2000 < 5e-6


# What a handler's own code says stays out of the reason


class Leaky:
    def model_dump(self, **options):
        raise TypeError("pw=hunter2")


def test_the_text_of_a_values_own_exception_is_not_told():
    with pytest.raises(EncodeError) as caught:
        to_builtins(Leaky())
    assert "hunter2" not in str(caught.value)


def test_the_words_of_a_models_own_validator_are_not_told_of_a_result():
    pydantic = pytest.importorskip("pydantic")

    class Secretive(pydantic.BaseModel):
        name: str

        @pydantic.field_validator("name")
        @classmethod
        def check(cls, value):
            raise ValueError("pw=hunter2")

    with pytest.raises(EncodeError) as caught:
        compiled(Secretive).to_json({"name": "x"})
    assert "hunter2" not in str(caught.value)
    assert caught.value.path == "name"


def test_a_class_that_is_no_part_of_a_result_leaves_the_schema_alone():
    class Pause:
        pass

    assert compile_returns(int | Pause, ignored=(Pause,)).schema == {"type": "integer"}
    assert compile_returns(int | str | Pause, ignored=(Pause,)).schema == compile_returns(int | str).schema
    assert compile_returns(Pause, ignored=(Pause,)).schema is None
