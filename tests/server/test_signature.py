# Older spellings of hints, implicit optionals and mutable defaults are what some of this is about.
# ruff: noqa: B006, B008, RUF013, UP006, UP007, UP035, UP045
from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import pathlib
import subprocess
import sys
import timeit
import typing
import uuid
from collections.abc import Callable
from typing import Annotated, Any, List, Literal, NamedTuple, NewType, Optional, TypedDict, Union

import jsonschema
import msgspec
import pydantic
import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import ArgumentError, RegistrationError
from mcp_wsgi.server import signature

from .test_json_schema import JSON


class Context:
    pass


class Special(Context):
    pass


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"


@dataclasses.dataclass
class Item:
    price: Annotated[int, "in cents"]
    note: str | None = None


class Node(msgspec.Struct):
    value: int
    next: Node | None = None


class Renamed(msgspec.Struct, rename="camel"):
    unit_price: Annotated[int, "in cents"]


class Options(TypedDict, total=False):
    limit: Annotated[int, "at most"]


class Needs(TypedDict):
    name: typing_extensions.Required[Annotated[str, "whose"]]
    color: typing_extensions.NotRequired[Annotated[Color, "which"]]


class Tree(msgspec.Struct):
    color: Optional[Color]
    below: list[Tree] = []


class Point(NamedTuple):
    x: int
    y: int = 0


class Model(pydantic.BaseModel):
    count: int = pydantic.Field(ge=1, description="How many")
    tags: list[str] = []
    sub: Model | None = None


class Strict(pydantic.BaseModel, strict=True):
    day: dt.date


@pydantic.dataclasses.dataclass
class PydanticData:
    a: int


@dataclasses.dataclass
class Holder:
    model: list[Model]


ROOT = pathlib.Path(__file__).parents[2]
UserId = NewType("UserId", int)


def compile_parameters(function, **options):
    return signature.compile_parameters(function, context_type=Context, **options)


def refusal(function, arguments, **options):
    with pytest.raises(ArgumentError) as caught:
        compile_parameters(function, **options).bind(arguments)
    return caught.value.path, caught.value.reason


def of_type(hint, default=None, **options):
    """Compile a function with one parameter ``a`` of a hint."""

    def function(a): ...

    function.__annotations__ = {"a": hint}
    return compile_parameters(function, **options)


# The schema


def test_the_schema_is_the_smallest_one_in_declared_order():
    def find(
        status: Literal["open", "closed", "all"],
        color: Color,
        where: Item | None,
        limit: int = 10,
        name: str | None = None,
        item: Item | None = None,
        order: Literal["up", "down"] = "down",
        tone: Color = Color.BLUE,
        size: int | str | None = None,
    ): ...

    item = {
        "type": "object",
        "properties": {"price": {"type": "integer", "description": "in cents"}, "note": {"type": "string"}},
        "required": ["price"],
    }
    schema = compile_parameters(find).schema
    assert schema == {
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": ["open", "closed", "all"]},
            "color": {"type": "string", "enum": ["r", "b"]},
            "where": {"anyOf": [item, {"type": "null"}]},
            "limit": {"type": "integer", "default": 10},
            "name": {"type": "string"},
            "item": item,
            "order": {"type": "string", "enum": ["up", "down"], "default": "down"},
            "tone": {"type": "string", "enum": ["r", "b"], "default": "b"},
            "size": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["status", "color", "where"],
    }
    assert list(schema["properties"]) == list(compile_parameters(find).names)


def test_no_parameters_is_an_object_still():
    compiled = compile_parameters(lambda: None)
    assert compiled.schema == {"type": "object", "properties": {}}
    assert compiled.names == ()
    assert compiled.bind({"dummy": 1}) == {}


def test_unannotated_is_any_json_value():
    compiled = compile_parameters(lambda a, b=object(): None)
    assert compiled.schema == {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    assert compiled.bind({"a": [1.0, {"x": None}]}) == {"a": [1.0, {"x": None}]}
    assert of_type(object).schema["properties"]["a"] == {}


def test_recursive_types_keep_their_reference():
    schema = compile_parameters(lambda: None).schema
    schema = of_type(Optional[Node]).schema
    assert schema["properties"]["a"] == {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}
    assert schema["$defs"]["Node"]["properties"]["next"] == {"$ref": "#/$defs/Node"}
    jsonschema.Draft202012Validator.check_schema(schema)


def test_descriptions_come_from_the_annotation_then_the_docstring():
    def function(
        a: Annotated[str, "from the text"],
        b: Annotated[str, msgspec.Meta(description="from the meta")],
        c: Annotated[str, pydantic.Field(description="from the field")],
        d: str,
        e: Item,
        f: Annotated[str, "inside"] | None = None,
        g: list[Annotated[int, "cents"]] | None = None,
        h: Annotated[Item, "over the class's"] = None,
        i: Options = {},
        j: Renamed = None,
        k: List[Annotated[int, "cents"]] = (),
    ): ...

    told = dict.fromkeys("abcdefgh", "from the docstring")
    properties = compile_parameters(function, descriptions=told).schema["properties"]
    assert [properties[name]["description"] for name in "abcdefh"] == [
        "from the text",
        "from the meta",
        "from the field",
        "from the docstring",
        "from the docstring",
        "inside",
        "over the class's",
    ]
    assert properties["g"] == {
        "type": "array",
        "items": {"type": "integer", "description": "cents"},
        "description": "from the docstring",
    }
    assert properties["k"]["items"] == {"type": "integer", "description": "cents"}
    assert properties["i"]["properties"]["limit"] == {"type": "integer", "description": "at most"}
    assert properties["i"]["default"] == {}
    assert properties["j"]["properties"]["unitPrice"]["description"] == "in cents"


def test_texts_on_required_and_optional_keys_are_found():
    assert of_type(Needs).schema["properties"]["a"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "whose"},
            "color": {"type": "string", "enum": ["r", "b"], "description": "which"},
        },
        "required": ["name"],
    }


def test_a_class_whose_hints_fail_is_refused_by_name():
    @dataclasses.dataclass
    class Bad:
        x: Nowhere  # noqa: F821

    with pytest.raises(RegistrationError, match=r"Parameter 'a'.*Nowhere"):
        of_type(Bad)


def test_typing_extensions_doc_is_a_description():
    assert of_type(Annotated[int, typing_extensions.Doc("text")]).schema["properties"]["a"] == {
        "type": "integer",
        "description": "text",
    }


def test_a_mapping_in_annotated_adds_keywords():
    def function(
        region: Annotated[str, {"x-mcp-header": "Region"}],
        zone: Annotated[str, {"x-mcp-header": "Zone", "minLength": 2}] = None,
        amount: Annotated[int, pydantic.Field(ge=1), {"x-mcp-header": "Amount"}] = 3,
        flat: Annotated[int, {"x-a": 1}, 5, "text"] = None,
    ): ...

    assert compile_parameters(function).schema["properties"] == {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "zone": {"type": "string", "x-mcp-header": "Zone", "minLength": 2},
        "amount": {"type": "integer", "minimum": 1, "x-mcp-header": "Amount", "default": 3},
        "flat": {"type": "integer", "x-a": 1, "description": "text"},
    }


def test_a_title_somebody_wrote_is_kept():
    hint = Annotated[int, msgspec.Meta(title="Net amount")]
    assert of_type(hint).schema["properties"]["a"]["title"] == "Net amount"


# Which callables


class Shop:
    def method(self, a: int) -> int:
        return a

    @staticmethod
    def static(a: int) -> int:
        return a

    @classmethod
    def of_class(cls, a: int) -> int:
        return a

    def __call__(self, a: int) -> int:
        return a


class AsyncShop:
    async def __call__(self, a: int) -> int:
        return a


def plain(a: int, b: str = "x") -> int:
    return a


async def coroutine(a: int) -> int:
    return a


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


ASYNC = [coroutine, functools.partial(coroutine), decorated(coroutine), AsyncShop(), functools.partial(AsyncShop())]
SYNC = [Shop().method, Shop.static, Shop().of_class, Shop(), Shop.__dict__["static"], decorated(Shop().method)]


@pytest.mark.parametrize("function", [*SYNC, *ASYNC, functools.partial(plain, b="y"), decorated(decorated(coroutine))])
def test_every_kind_of_callable_is_understood(function):
    compiled = compile_parameters(function)
    assert compiled.names == ("a",)
    assert compiled.bind({"a": 1}) == {"a": 1}
    assert compiled.schema["properties"]["a"] == {"type": "integer"}


@pytest.mark.parametrize("function", ASYNC)
def test_async_is_seen_through_every_layer(function):
    assert compile_parameters(function).is_async


@pytest.mark.parametrize("function", [*SYNC, Shop])
def test_sync_is_not_async(function):
    assert not compile_parameters(function).is_async


def test_a_marked_callable_is_async():
    asgiref = pytest.importorskip("asgiref.sync")

    def work(a: int) -> int:
        return a

    assert compile_parameters(asgiref.sync_to_async(work)).is_async


def test_a_class_is_called_like_a_function():
    assert compile_parameters(Item).bind({"price": 1}) == {"price": 1}


def test_layers_are_followed_only_so_far():
    function = plain
    for _ in range(60):
        function = decorated(function)
    assert compile_parameters(function).names == ("a", "b")


def test_without_pydantic_nothing_asks_for_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "pydantic")
    assert compile_parameters(plain).bind({"a": 1}) == {"a": 1}
    assert "pydantic" not in sys.modules


def test_partial_arguments_vanish():
    assert compile_parameters(functools.partial(plain, 1)).names == ("b",)
    assert compile_parameters(functools.partial(functools.partial(plain, b="q"), a=1)).names == ()


def test_local_types_resolve_through_the_closure():
    @dataclasses.dataclass
    class Local:
        x: int

    def function(a: Local):
        return Local(a.x)

    assert compile_parameters(function).bind({"a": {"x": 1}}) == {"a": Local(1)}


def test_a_closure_cell_without_a_value_is_skipped():
    def function(a: int):
        return later

    assert compile_parameters(function).names == ("a",)
    later = 1


def test_an_unresolvable_name_is_named():
    def function(a: Nowhere): ...  # noqa: F821

    with pytest.raises(RegistrationError, match=r"'a' of .*function: the name 'Nowhere'"):
        compile_parameters(function)


@pytest.mark.parametrize("text", ["int[", "datetime.nothing"])
def test_an_annotation_that_is_none_is_refused(text):
    def function(a): ...

    function.__annotations__ = {"a": text}
    with pytest.raises(RegistrationError, match="'a' of"):
        compile_parameters(function)


def star(*args): ...
def stars(**kwargs): ...
def positional(a, /): ...
def unbound(self, a): ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (star, r"\*args"),
        (stars, r"\*\*kwargs"),
        (positional, "'a' is positional-only"),
        (unbound, "bound method"),
        (Shop.method, "Shop.method is a method without its object"),
        (3, "no signature"),
    ],
)
def test_a_signature_that_cannot_take_names_is_refused(function, message):
    with pytest.raises(RegistrationError, match=message):
        compile_parameters(function)


@pytest.mark.parametrize(
    "hint", [complex, type, Callable[[int], int], Union[Item, Node], set[Item] | list[int], "list['Nowhere']", "3"]
)
def test_a_type_without_json_form_is_refused_by_name(hint):
    with pytest.raises(RegistrationError, match="Parameter 'a'"):
        of_type(hint)


def test_pydantic_reasons_reach_the_registration_error():
    @pydantic.dataclasses.dataclass
    class Fine:
        a: int

    with pytest.raises(RegistrationError, match="Parameter 'a'"):
        of_type(Union[Fine, Node])


def test_a_field_as_default_is_refused():
    def function(a: int = pydantic.Field(3)): ...

    with pytest.raises(RegistrationError, match="write Annotated"):
        compile_parameters(function)


# The context


@pytest.mark.parametrize(
    "hint",
    [
        Context,
        Special,
        "Context",
        Optional[Context],
        "Special | None",
        Annotated[Context, "x"],
        Optional[Annotated[Context, 1]],
    ],
)
def test_the_context_is_found_by_annotation_and_not_in_the_schema(hint):
    def function(a: int, whatever=None): ...

    function.__annotations__["whatever"] = hint
    compiled = compile_parameters(function)
    assert compiled.context_parameter == "whatever"
    assert compiled.names == ("a",)
    assert "whatever" not in compiled.schema["properties"]


def test_a_context_imported_for_type_checking_only_is_found():
    namespace = {}
    exec("def function(ctx: 'Context', a: 'int'): ...", namespace)
    compiled = compile_parameters(namespace["function"])
    assert (compiled.context_parameter, compiled.names) == ("ctx", ("a",))


def test_no_context_is_fine_and_two_are_not():
    assert compile_parameters(plain).context_parameter is None

    def function(a: Context, b: Special): ...

    with pytest.raises(RegistrationError, match="'a' and 'b'"):
        compile_parameters(function)


# Binding


def test_absent_arguments_leave_the_function_its_own_defaults():
    shared = []

    def function(a: int, b: list[int] = shared, c: str | None = None): ...

    compiled = compile_parameters(function)
    assert compiled.bind({"a": 1}) == {"a": 1}
    assert compiled.bind({"a": 1, "b": [2], "c": None, "dummy": 1}) == {"a": 1, "b": [2], "c": None}


def test_an_absent_model_is_left_out():
    def function(a: Model = None, b: Model | None = Model(count=1)): ...

    compiled = compile_parameters(function)
    assert compiled.schema["properties"]["b"]["default"] == {"count": 1, "tags": [], "sub": None}
    assert compiled.bind({}) == {}
    assert compiled.bind({"a": None, "b": {"count": 2}}) == {"a": None, "b": Model(count=2)}


def test_null_is_taken_only_where_the_hint_or_the_default_is_none():
    def function(a: int = 1, b: int = None): ...

    assert compile_parameters(function).bind({"b": None}) == {"b": None}
    assert refusal(function, {"a": None}) == ("a", "expected integer, got null")


def test_names_that_no_struct_could_have_are_bound():
    def function(__struct_fields__: int, self_: int, *, class_: int, f0: int): ...

    arguments = {"__struct_fields__": 1, "self_": 2, "class_": 3, "f0": 4}
    assert compile_parameters(function).bind(arguments) == arguments


CASES = [
    (Literal["x", "y"], "x", "x"),
    (Color, "r", Color.RED),
    (dt.datetime, "2026-01-02T03:04:05", dt.datetime(2026, 1, 2, 3, 4, 5)),
    (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
    (uuid.UUID, str(uuid.UUID(int=1)), uuid.UUID(int=1)),
    (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
    (bytes, "aGk=", b"hi"),
    (Options, {"limit": 1}, {"limit": 1}),
    (Item, {"price": 1}, Item(1)),
    (Node, {"value": 1, "next": {"value": 2}}, Node(1, Node(2))),
    (Renamed, {"unitPrice": 1}, Renamed(1)),
    (Point, [1, 2], Point(1, 2)),
    (Union[int, str, list[int]], [1], [1]),
    (dict[int, str], {"1": "x"}, {1: "x"}),
    (set[int], [1, 2], {1, 2}),
    (tuple[int, ...], [1, 2], (1, 2)),
    (Any, {"a": None}, {"a": None}),
    (UserId, 1, 1),
    (float, 1, 1.0),
    (int, 1.0, 1),
    (int, 2**70, 2**70),
    (list[Item], [{"price": 2.0}], [Item(2)]),
    (Model, {"count": 1}, Model(count=1)),
    (list[Model] | None, [{"count": 1, "sub": {"count": 2}}], [Model(count=1, sub=Model(count=2))]),
    (Strict, {"day": "2026-01-02"}, Strict(day=dt.date(2026, 1, 2))),
    (PydanticData, {"a": 1}, PydanticData(1)),
    (Holder, {"model": [{"count": 1}]}, Holder([Model(count=1)])),
    (Annotated[int, pydantic.Field(ge=1)], 1, 1),
]


@pytest.mark.parametrize(("hint", "value", "expected"), CASES)
def test_json_becomes_what_the_hint_says(hint, value, expected):
    compiled = of_type(hint)
    jsonschema.Draft202012Validator(compiled.schema).validate({"a": value})
    bound = compiled.bind({"a": value})["a"]
    assert bound == expected
    assert type(bound) is type(expected)


def test_attrs_classes_are_understood():
    attrs = pytest.importorskip("attrs")

    @attrs.define
    class Thing:
        x: int

    compiled = of_type(Thing)
    assert compiled.schema["properties"]["a"]["properties"] == {"x": {"type": "integer"}}
    assert compiled.bind({"a": {"x": 1}}) == {"a": Thing(1)}


@pytest.mark.parametrize(
    ("hint", "value", "path", "reason"),
    [
        (int, "x", "a", "expected integer, got string"),
        (int, True, "a", "expected integer, got boolean"),
        (int, 1.5, "a", "expected integer, got number"),
        (list[int], "[1]", "a", "expected array, got string"),
        (list[Item], [{"price": 1}, {"price": "x"}], "a[1].price", "expected integer, got string"),
        (list[Item], [{"price": 1.0}, {"price": "x"}], "a[1].price", "expected integer, got string"),
        (list[Item], [{}], "a[0].price", "missing required property"),
        (Item | None, 5, "a", "expected object or null, got integer"),
        (Color, "q", "a", "expected one of 'r', 'b'"),
        (list[Color], ["r", "q"], "a[1]", "expected one of 'r', 'b'"),
        (Tree, {"color": "r", "below": [{"color": "q"}]}, "a.below[0].color", "expected one of 'r', 'b'"),
        (dict[str, Color], {"k": "q"}, "a[...]", "expected one of 'r', 'b'"),
        (tuple[int, Color], [1, "q"], "a[1]", "expected one of 'r', 'b'"),
        (Node, {"value": 1, "next": {"value": "x"}}, "a.next.value", "expected integer, got string"),
        (dict[int, int], {"x": 1}, "a", "a key: expected integer, got string"),
        (Annotated[int, msgspec.Meta(ge=3)], 1, "a", "expected integer >= 3"),
        (Annotated[str, msgspec.Meta(pattern="^b$")], "a", "a", "expected string matching regex '^b$'"),
        (dt.datetime, "soon", "a", "invalid RFC3339 encoded datetime"),
        (bytes, "!", "a", "invalid base64 encoded string"),
        (Model, {}, "a.count", "missing required property"),
        (Model, {"count": 0}, "a.count", "input should be greater than or equal to 1"),
        (list[Model], [{"count": 1, "tags": [1]}], "a[0].tags[0]", "input should be a valid string"),
        (Model | int, {"count": "x"}, "a.count", None),
        (int, "\ud800", "a", "text with half of a surrogate pair, which is no character"),
        (Color, "\ud800", "a", "text with half of a surrogate pair, which is no character"),
        (Model, "\ud800", "a", None),
    ],
)
def test_the_refusal_names_path_and_what_was_wanted(hint, value, path, reason):
    with pytest.raises(ArgumentError) as caught:
        of_type(hint).bind({"a": value})
    assert caught.value.path == path
    assert reason is None or caught.value.reason == reason
    assert len(caught.value.reason) <= 200


def test_a_missing_argument_is_named():
    assert refusal(plain, {}) == ("a", "missing required argument")


def test_unknown_members_are_refused_only_where_the_class_says_so():
    class Closed(msgspec.Struct, forbid_unknown_fields=True):
        x: int = 0

    with pytest.raises(ArgumentError, match=r"a\.y: unknown property"):
        of_type(Closed).bind({"a": {"y": 1}})


def test_a_validator_of_the_class_is_heard():
    @dataclasses.dataclass
    class Even:
        x: int

        def __post_init__(self):
            if self.x % 2:
                raise ValueError("must be even")

    with pytest.raises(ArgumentError, match="a: must be even"):
        of_type(Even).bind({"a": {"x": 1}})


def nested(depth):
    value = None
    for _ in range(depth):
        value = {"value": 1, "next": value, "count": 1, "sub": value}
    return value


@pytest.mark.parametrize("hint", [Node, Model])
def test_too_much_nesting_is_an_argument_error(hint):
    with pytest.raises(ArgumentError):
        of_type(hint).bind({"a": nested(100_000)})


# Strings that are JSON


@pytest.mark.parametrize(
    ("hint", "text", "expected"),
    [
        (list[int], "[1,2]", [1, 2]),
        (Options, "{}", {}),
        (int, "5", 5),
        (int, "5.0", 5),
        (float, "5", 5.0),
        (bool, "true", True),
        (Optional[int], "null", None),
        (Literal[1, 2], "2", 2),
        (Node, '{"value": 1}', Node(1)),
        (Union[str, list[int]], "[1]", "[1]"),
        (str, "5", "5"),
        (Literal["5", 5], "5", "5"),
        (Annotated[Any, {"const": 5}], "5", 5),
        (Any, "5", "5"),
        (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
    ],
)
def test_json_in_a_string_is_read_only_where_no_string_is_taken(hint, text, expected):
    assert of_type(hint, coerce_json_strings=True).bind({"a": text}) == {"a": expected}


@pytest.mark.parametrize("text", ["x", "[", '"5"', "NaN", "{}", "1e999", "[" * 100_000, ""])
def test_other_strings_are_refused_as_they_are(text):
    with pytest.raises(ArgumentError, match="a: expected integer, got string"):
        of_type(int, coerce_json_strings=True).bind({"a": text})


def test_half_a_character_is_never_read():
    with pytest.raises(ArgumentError, match="a: text with half"):
        of_type(int, coerce_json_strings=True).bind({"a": "\ud800"})
    with pytest.raises(ArgumentError, match="a: text with half"):
        of_type(int).bind({"z": "fine", "a": "\ud800"})
    with pytest.raises(ArgumentError, match=r"^text with half"):
        of_type(int).bind({"\ud800": 1, "a": 1})


def test_an_optional_parameter_may_be_null_in_a_string():
    def function(a: int | None = None, b: int = 1): ...

    compiled = compile_parameters(function, coerce_json_strings=True)
    assert compiled.bind({"a": "null"}) == {"a": None}
    assert compiled.bind({"b": 2}) == {"b": 2}
    with pytest.raises(ArgumentError):
        compiled.bind({"b": "null"})


def test_without_the_option_nothing_is_read():
    with pytest.raises(ArgumentError, match="expected integer, got string"):
        of_type(int).bind({"a": "5"})


# Properties

HINTS = [case[0] for case in CASES]
TYPED = {str(hint): of_type(hint) for hint in HINTS}
#: Where the schema is wider than the hint: a format that is only an annotation, keys that are
#: numbers, Base64.
WIDER = {str(hint) for hint in (dt.datetime, dt.date, uuid.UUID, decimal.Decimal, bytes, dict[int, str], Strict)}


@given(st.sampled_from(sorted(TYPED)), JSON | st.fixed_dictionaries({"a": JSON}) | st.dictionaries(st.text(), JSON))
def test_binding_is_total(name, arguments):
    try:
        bound = TYPED[name].bind(arguments)
    except ArgumentError:
        return
    assert set(bound) == {"a"}


NEAR = st.one_of(
    JSON, st.sampled_from([case[1] for case in CASES]), st.lists(st.integers() | st.floats(-9, 9), max_size=3)
)


@given(st.sampled_from(sorted(set(TYPED) - WIDER)), NEAR)
def test_whatever_the_schema_accepts_is_bound(name, value):
    compiled = TYPED[name]
    if jsonschema.Draft202012Validator(compiled.schema).is_valid({"a": value}):
        assert "a" in compiled.bind({"a": value})


@given(st.sampled_from(sorted(TYPED)), JSON | st.text())
def test_reading_strings_is_total_too(name, value):
    compiled = of_type(dict(zip(map(str, HINTS), HINTS, strict=True))[name], coerce_json_strings=True)
    with contextlib.suppress(ArgumentError):
        compiled.bind({"a": value})


def test_binding_two_integers_is_fast():
    def add(a: int, b: int) -> int: ...

    bind, arguments = compile_parameters(add).bind, {"a": 1, "b": 2}
    best = min(timeit.repeat(lambda: bind(arguments), number=2000, repeat=5)) / 2000
    assert best < 20e-6  # about 1.3 µs; the margin is for a machine under load


def test_nothing_heavy_is_imported():
    code = (
        "import sys; from mcp_wsgi.server.signature import compile_parameters as c\n"
        "from mcp_wsgi.server import returns, validation, docstrings\n"
        "def f(a: 'int | None' = None) -> int: ...\n"
        "c(f, context_type=type('C', (), {})).bind({'a': 1}); returns.compile_returns(f).to_json(1)\n"
        "print({'pydantic', 'jsonschema', 'docstring_parser', 'asyncio'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout == "set()\n"


@pytest.mark.parametrize("hint", [set[int], frozenset[int], dict[int, str], typing.Mapping[int, str]])
def test_integers_that_are_hashed_have_64_bits(hint):
    """A client could send integers that all have one hash, and each would cost as much as there are before it."""

    def tool(values): ...

    tool.__annotations__ = {"values": hint}
    compiled = signature.compile_parameters(tool, context_type=Context)
    huge = 2**61 - 1 << 10
    value = [huge] if typing.get_origin(hint) in (set, frozenset) else {str(huge): "x"}
    with pytest.raises(ArgumentError):
        compiled.bind({"values": value})
    small = [5] if typing.get_origin(hint) in (set, frozenset) else {"5": "x"}
    assert 5 in compiled.bind({"values": small})["values"]
