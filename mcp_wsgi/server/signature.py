"""Compile a function's signature, once, into an input schema and the binding of arguments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Optional

import msgspec

from ..exceptions import ArgumentError, EncodeError, RegistrationError
from .adapters import MsgspecAdapter, PydanticAdapter, adapt, documentation
from .hints import evaluate, is_coroutine_callable, read_signature, strip_annotated, union_members
from .json_schema import drop_null, hoist_definitions
from .reasons import HALF_CHARACTER, admitted_types, explain, json_type
from .returns import to_builtins

__all__ = ["Parameters", "compile_parameters"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_EMPTY = inspect.Parameter.empty
_REFUSED = {
    inspect.Parameter.VAR_POSITIONAL: "*{} takes arguments that have no name; name each one",
    inspect.Parameter.VAR_KEYWORD: "**{} takes arguments that no schema describes; name each one",
    inspect.Parameter.POSITIONAL_ONLY: "{!r} is positional-only, and arguments come by name; remove the '/'",
}


class Parameters:
    """Hold what a call of a function needs, prepared at registration.

    Attributes:
        schema: The JSON Schema of the arguments: an object, its properties in declared order.
        context_parameter: The parameter that takes the context; it is never in the schema.
        is_async: The call may give something to await.
        names: The names of the arguments, in declared order.
        bind: Turn a call's JSON arguments into keyword arguments. Absent optional arguments are
            left out, so that the function's own defaults count; unknown ones are ignored.
            Raises ``ArgumentError`` with the path and the reason.
    """

    __slots__ = ("bind", "context_parameter", "is_async", "names", "schema")

    def __init__(
        self,
        *,
        schema: dict[str, Any],
        context_parameter: str | None,
        is_async: bool,
        names: tuple[str, ...],
        bind: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self.schema = schema
        self.context_parameter = context_parameter
        self.is_async = is_async
        self.names = names
        self.bind = bind


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parameter:
    name: str
    hint: Any
    default: Any
    adapter: MsgspecAdapter | PydanticAdapter
    schema: dict[str, Any]

    @property
    def required(self) -> bool:
        return self.default is _EMPTY


def compile_parameters(
    function: Callable[..., Any],
    *,
    context_type: type,
    descriptions: Mapping[str, str] | None = None,
    coerce_json_strings: bool = False,
) -> Parameters:
    """Compile the signature of a function, method, partial or callable object.

    Args:
        function: What is called.
        context_type: The parameter annotated with it, or a subclass, takes the context.
        descriptions: Texts for parameters whose annotation has none, from the docstring.
        coerce_json_strings: Read a string as JSON where the parameter takes no string.

    Raises:
        RegistrationError: A parameter cannot come from JSON by name; the message names it.
    """
    context: str | None = None
    compiled: list[_Parameter] = []
    fallback = {context_type.__name__: context_type}
    for name, parameter in read_signature(function).parameters.items():
        what = f"Parameter {name!r}"
        annotation = Any if parameter.annotation is _EMPTY else parameter.annotation
        if parameter.kind in _REFUSED:
            raise RegistrationError(f"Parameter {_REFUSED[parameter.kind].format(name)}")
        hint = evaluate(annotation, function, what, fallback)
        if _takes_context(hint, context_type):
            if context is not None:
                raise RegistrationError(f"Parameters {context!r} and {name!r} both take the context; keep one")
            context = name
        else:
            compiled.append(_compile(name, hint, parameter.default, (descriptions or {}).get(name)))
    schema = _object_schema(compiled)
    bind = _binder(compiled, schema)
    if coerce_json_strings:
        bind = _coercing(bind, compiled, schema)
    return Parameters(
        schema=schema,
        context_parameter=context,
        is_async=is_coroutine_callable(function),
        names=tuple(each.name for each in compiled),
        bind=bind,
    )


def _takes_context(hint: Any, context_type: type) -> bool:
    for member in union_members(strip_annotated(hint)[0]):
        plain = strip_annotated(member)[0]
        kind = getattr(plain, "__origin__", plain)
        if isinstance(kind, type) and issubclass(kind, context_type):
            return True
    return False


def _compile(name: str, hint: Any, default: Any, description: str | None) -> _Parameter:
    if type(default).__module__.startswith("pydantic.") and type(default).__name__ == "FieldInfo":
        raise RegistrationError(
            f"Parameter {name!r} has pydantic's Field as its default; "
            "write Annotated[..., Field(...)] and the default itself"
        )
    if default is None:
        hint = _optional(hint)
    adapter = adapt(hint, what=f"Parameter {name!r}", for_input=True)
    schema = dict(adapter.schema)
    if default is None:
        schema = drop_null(schema)
    elif default is not _EMPTY:
        try:
            schema["default"] = to_builtins(default)
        except EncodeError:
            schema.pop("default", None)
    explained = False
    for metadata in _metadata(hint):
        schema.update(documentation(metadata))
        explained = explained or "description" in documentation(metadata)
        explained = explained or bool(getattr(metadata, "description", None))
    if description and not explained:
        schema["description"] = description
    return _Parameter(name=name, hint=hint, default=default, adapter=adapter, schema=schema)


def _optional(hint: Any) -> Any:
    """Let a parameter whose default is None take null, whether or not its annotation says so."""
    plain, metadata = strip_annotated(hint)
    if type(None) in union_members(plain) or plain in (Any, object):
        return hint
    # A union needs hashable members, and a mapping of keywords is not.
    outside = tuple(each for each in metadata if isinstance(each, dict))
    for each in metadata:
        if not isinstance(each, dict):
            plain = Annotated[plain, each]
    plain = Optional[plain]  # noqa: UP045  a hint may be anything that typing takes
    for each in outside:
        plain = Annotated[plain, each]
    return plain


def _metadata(hint: Any) -> list[Any]:
    """Collect what ``Annotated`` says of the parameter itself, also inside of ``| None``."""
    plain, found = strip_annotated(hint)
    members = [each for each in union_members(plain) if each is not type(None)]
    inside = strip_annotated(members[0])[1] if len(members) == 1 else ()
    return [*inside, *found]


def _object_schema(parameters: list[_Parameter]) -> dict[str, Any]:
    properties, definitions = hoist_definitions({each.name: each.schema for each in parameters})
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [each.name for each in parameters if each.required]:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return schema


def _binder(parameters: list[_Parameter], schema: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    # Fields have names of their own: a parameter may be called what a Struct cannot have.
    fields: list[Any] = []
    for index, each in enumerate(parameters):
        hint = each.adapter.hint if isinstance(each.adapter, MsgspecAdapter) else Any
        fields.append((f"f{index}", hint) if each.required else (f"f{index}", hint, msgspec.UNSET))
    kind = msgspec.defstruct(
        "Arguments",
        fields,
        rename={f"f{index}": each.name for index, each in enumerate(parameters)},
        kw_only=True,
        gc=False,
    )
    names = tuple(each.name for each in parameters)
    loaders = [(each.name, each.adapter.load) for each in parameters if isinstance(each.adapter, PydanticAdapter)]
    plain = not loaders and all(each.required for each in parameters)
    convert, unset, values, invalid = (
        msgspec.convert,
        msgspec.UNSET,
        msgspec.structs.astuple,
        msgspec.ValidationError,
    )

    def bind(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = convert(arguments, kind, strict=True, str_keys=True)
        except (invalid, RecursionError, UnicodeError) as error:
            bound = _convert_again(arguments, kind, error, schema)
        pairs = zip(names, values(bound))  # noqa: B905 - of one length by construction, and this is the hot path
        if plain:
            return dict(pairs)
        result = {name: value for name, value in pairs if value is not unset}
        for name, load in loaders:
            if name in result:
                result[name] = load(result[name], name)
        return result

    return bind


def _convert_again(arguments: Any, kind: type, error: Exception, schema: dict[str, Any]) -> Any:
    """Try once more with 1.0 as 1: to JSON Schema both are the same integer."""
    try:
        plain = _integers(arguments)
        if plain is not arguments:
            return msgspec.convert(plain, kind, strict=True, str_keys=True)
    except (msgspec.ValidationError, RecursionError, UnicodeError) as second:
        error = second
    if isinstance(error, RecursionError):
        raise ArgumentError("", "nested too deeply") from None
    if isinstance(error, UnicodeError):
        raise ArgumentError(_surrogate_argument(arguments), HALF_CHARACTER) from None
    raise ArgumentError(*explain(str(error), schema)) from None


def _surrogate_argument(arguments: dict[str, Any]) -> str:
    for name, value in arguments.items():
        if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            return name
    return ""


def _integers(value: Any) -> Any:
    """Copy a JSON value with whole floats as integers, or give back the value that has none."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        changed = {key: _integers(inside) for key, inside in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    if isinstance(value, list):
        items = [_integers(inside) for inside in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _coercing(
    bind: Callable[[dict[str, Any]], dict[str, Any]], parameters: list[_Parameter], schema: dict[str, Any]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    admitted: dict[str, frozenset[str]] = {}
    for each in parameters:
        kinds = admitted_types(schema["properties"][each.name], schema)
        if "string" not in kinds:
            takes_null = type(None) in union_members(strip_annotated(each.hint)[0])
            admitted[each.name] = kinds | {"null"} if takes_null else kinds

    def bind_coerced(arguments: dict[str, Any]) -> dict[str, Any]:
        changed = {
            name: _parse(value, admitted[name])
            for name, value in arguments.items()
            if isinstance(value, str) and name in admitted
        }
        return bind(arguments | changed if changed else arguments)

    return bind_coerced


def _parse(text: str, admitted: frozenset[str]) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text
    kind = json_type(value)
    whole = isinstance(value, float) and value.is_integer()
    fits = kind in admitted or (kind == "integer" and "number" in admitted) or (whole and "integer" in admitted)
    return value if fits else text
