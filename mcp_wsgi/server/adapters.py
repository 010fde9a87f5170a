"""Convert between JSON and one type hint: by msgspec, or by pydantic where its types are used.

pydantic is never imported here unless the program has imported it already.
"""

from __future__ import annotations

import collections.abc
import json
import sys
import types
import typing
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Union

import msgspec

from ..exceptions import ArgumentError, EncodeError, RegistrationError
from .hints import class_fields, strip_annotated, walk_hints
from .json_schema import simplify
from .reasons import HALF_CHARACTER, explain, shorten

__all__ = ["MsgspecAdapter", "PydanticAdapter", "adapt", "documentation"]


def adapt(hint: Any, *, what: str, for_input: bool) -> MsgspecAdapter | PydanticAdapter:
    """Choose how a hint is converted, and generate its schema.

    Raises:
        RegistrationError: The hint has no JSON form; the message says why, and starts with ``what``.
    """
    kind = PydanticAdapter if _involves_pydantic(hint) else MsgspecAdapter
    try:
        return kind(hint, for_input=for_input)
    except Exception as error:  # noqa: BLE001  both libraries raise whatever a user's class raises
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[-1] if isinstance(error, TypeError) else lines[0]
        raise RegistrationError(f"{what}: {shorten(reason, 400)}") from None


def documentation(metadata: Any) -> dict[str, Any]:
    """Give the schema keywords that one piece of ``Annotated`` metadata stands for."""
    if isinstance(metadata, str):
        return {"description": metadata}
    if isinstance(metadata, dict):
        return metadata
    text = getattr(metadata, "documentation", None)  # typing_extensions.Doc
    return {"description": text} if isinstance(text, str) else {}


#: Errors whose message is the text of an exception that a model's own validator raised.
_OWN_WORDS = frozenset({"value_error", "assertion_error"})


class MsgspecAdapter:
    """Convert a hint by msgspec."""

    def __init__(self, hint: Any, *, for_input: bool) -> None:
        self.hint = _rewrite(hint, for_input)
        schema = msgspec.json.schema(self.hint)
        _restore(schema, hint)
        self.schema = simplify(schema, for_input=for_input)
        # msgspec checks some rules only when it builds the type: that belongs to the registration.
        msgspec.json.Decoder(self.hint)

    def check(self, value: Any) -> Any:
        """Convert builtins of a result to the hint's type.

        Raises:
            EncodeError: They do not conform to the hint.
        """
        try:
            return msgspec.convert(value, self.hint, strict=True, str_keys=True)
        except msgspec.ValidationError as error:
            raise EncodeError(*explain(str(error), self.schema)) from None
        except (RecursionError, UnicodeError) as error:
            reason = HALF_CHARACTER if isinstance(error, UnicodeError) else "nested too deeply"
            raise EncodeError("", reason) from None


class PydanticAdapter:
    """Convert a hint by a pydantic ``TypeAdapter``."""

    def __init__(self, hint: Any, *, for_input: bool) -> None:
        import pydantic

        self._invalid = pydantic.ValidationError
        self.adapter: Any = pydantic.TypeAdapter(hint)
        schema = self.adapter.json_schema(mode="validation" if for_input else "serialization")
        self.schema = simplify(schema, for_input=for_input, name=getattr(hint, "__name__", ""))

    def load(self, value: Any, path: str) -> Any:
        """Convert an argument.

        It is read as JSON, because strict models take a string for a date or a list for a set
        only there.

        Raises:
            ArgumentError: It is not what the hint wants.
        """
        try:
            return self.adapter.validate_json(json.dumps(value))
        except self._invalid as error:
            raise ArgumentError(*_explain_pydantic(error, value, path)) from None
        except (RecursionError, TypeError, ValueError) as error:
            raise ArgumentError(path, f"cannot be read as JSON: {type(error).__name__}") from None

    def dump(self, value: Any) -> Any:
        """Convert a result to JSON builtins.

        Raises:
            EncodeError: It does not conform to the hint.
        """
        try:
            checked = self.adapter.validate_python(value)
            return self.adapter.dump_python(checked, mode="json", by_alias=True, warnings="error")
        except self._invalid as error:
            raise EncodeError(*_explain_pydantic(error, value, "", tell=False)) from None
        except (RecursionError, TypeError, ValueError) as error:
            # The text may come from the model's own code, and anything may be in it.
            raise EncodeError("", f"cannot be written as JSON: {type(error).__name__}") from None


def _explain_pydantic(error: Any, value: Any, path: str, *, tell: bool = True) -> tuple[str, str]:
    """Give the place and the reason; ``tell`` says whether a validator's own words may be part of it.

    They are written for whoever gives arguments. Of a result they may tell what is not for the client.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    *inside, last = first["loc"] or ("",)
    for part in inside:
        value, path = _step(value, part, path)
    if first["type"] == "missing":
        return shorten(f"{path}.{last}"), "missing required property"
    _, path = _step(value, last, path)
    message = first["msg"] if tell or first["type"] not in _OWN_WORDS else "is not valid"
    return shorten(path.removeprefix(".")), shorten(message[:1].lower() + message[1:])


def _step(value: Any, part: Any, path: str) -> tuple[Any, str]:
    """Go one level down, unless pydantic only names the union member that it tried."""
    if isinstance(value, dict) and part in value:
        return value[part], f"{path}.{part}"
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part], f"{path}[{part}]"
    return value, path


def _involves_pydantic(hint: Any) -> bool:
    if "pydantic" not in sys.modules:
        return False
    for each in walk_hints(hint):
        if any(
            type(metadata).__module__.startswith(("pydantic", "annotated_types"))
            or hasattr(metadata, "__get_pydantic_core_schema__")
            for metadata in strip_annotated(each)[1]
        ):
            return True
        if isinstance(each, type) and (
            hasattr(each, "__pydantic_core_schema__") or hasattr(each, "__get_pydantic_core_schema__")
        ):
            return True
    return False


#: What puts its first argument into a table by its hash. Python's hash of an integer is its remainder by a known prime:
#: a client could send integers that all meet in one place of the table, and each costs as much as there are.
_HASHED = (
    *(set, frozenset, collections.abc.Set, collections.abc.MutableSet),
    *(dict, collections.abc.Mapping, collections.abc.MutableMapping),
)
_HASHABLE_INT = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def _rewrite(hint: Any, for_input: bool) -> Any:
    """Say in msgspec's terms what it would ignore: texts, extra keywords and formats."""
    if hint is object:
        return Any
    if hint is datetime and for_input:
        # msgspec names the format only where an offset is required.
        return Annotated[hint, msgspec.Meta(extra_json_schema={"format": "date-time"})]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        result = _rewrite(hint.__origin__, for_input)
        for metadata in hint.__metadata__:
            if isinstance(metadata, msgspec.Meta):
                result = Annotated[result, metadata]
            elif keywords := dict(documentation(metadata)):
                result = Annotated[result, msgspec.Meta(extra_json_schema=keywords)]
        return result
    if origin is None or origin is typing.Literal or not arguments:
        return hint
    changed = tuple(each if each is ... else _rewrite(each, for_input) for each in arguments)
    if for_input and origin in _HASHED and changed[0] is int:
        changed = (_HASHABLE_INT, *changed[1:])
    if all(new is old for new, old in zip(changed, arguments, strict=True)):
        return hint
    if origin in (Union, types.UnionType):
        return Union[changed]  # noqa: UP007  built from a tuple
    if hasattr(hint, "copy_with"):
        return hint.copy_with(changed)
    return types.GenericAlias(origin, changed)


def _restore(schema: dict[str, Any], hint: Any) -> None:
    """Put back what msgspec drops: the declared order of enumerations, and texts on fields."""
    orders: dict[frozenset[Any], list[Any]] = {}
    for each in walk_hints(hint):
        values: list[Any] = []
        if typing.get_origin(each) is typing.Literal:
            values = list(typing.get_args(each))
        elif isinstance(each, type) and issubclass(each, Enum):
            values = [member.value for member in each]
        elif fields := class_fields(typing.get_origin(each) or each):
            _document(schema, typing.get_origin(each) or each, fields)
        if values:
            orders[_identity(values)] = values
    _reorder(schema, orders)


def _identity(values: list[Any]) -> frozenset[Any]:
    return frozenset((type(value), repr(value)) for value in values)


def _reorder(value: Any, orders: dict[frozenset[Any], list[Any]]) -> None:
    if isinstance(value, dict):
        if isinstance(values := value.get("enum"), list):
            value["enum"] = orders.get(_identity(values), values)
        for inside in value.values():
            _reorder(inside, orders)
    elif isinstance(value, list):
        for inside in value:
            _reorder(inside, orders)


def _document(schema: dict[str, Any], kind: type, fields: dict[str, Any]) -> None:
    definition = schema.get("$defs", {}).get(kind.__name__, {})
    properties = definition.get("properties", {})
    encoded = dict(
        zip(getattr(kind, "__struct_fields__", ()), getattr(kind, "__struct_encode_fields__", ()), strict=True)
    )
    for name, field_hint in fields.items():
        target = properties.get(encoded.get(name, name))
        for metadata in strip_annotated(field_hint)[1] if isinstance(target, dict) else ():
            target.update(documentation(metadata))
