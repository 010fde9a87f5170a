"""Validate values against JSON Schemas: the only module that imports jsonschema.

No reference is ever fetched (SEP-2106), formats are annotations, and the dialects served are
2020-12 (also when none is declared), 2019-09, draft-07, draft-06 and draft-04.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any

from ..exceptions import ArgumentError, RegistrationError
from .reasons import LONGEST, json_type, shorten
from .schema_checks import REFERENCE_KEYWORDS, check_references, check_schema_bounds
from .subschemas import iter_schemas

__all__ = ["SUPPORTED_DIALECTS", "compile_validator"]

_DEFAULT = "https://json-schema.org/draft/2020-12/schema"
_VALIDATORS = {
    "json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "json-schema.org/draft-07/schema": "Draft7Validator",
    "json-schema.org/draft-06/schema": "Draft6Validator",
    "json-schema.org/draft-04/schema": "Draft4Validator",
}
#: How many errors are looked at to find the one that says most: a client can make millions.
_MOST = 20
#: How many references one check follows, at least and for each value it looks at: two that lead back to the whole would
#: double the work at each level.
_LEAST_REFERENCES, _REFERENCES_EACH = 10_000, 20
#: How deep in alternatives of alternatives errors are looked for.
_DEEPEST = 3
_WORDS = {
    "enum": "expected one of {}",
    "const": "expected {}",
    "minimum": "expected a number >= {}",
    "maximum": "expected a number <= {}",
    "exclusiveMinimum": "expected a number > {}",
    "exclusiveMaximum": "expected a number < {}",
    "multipleOf": "expected a multiple of {}",
    "minLength": "expected a string of length >= {}",
    "maxLength": "expected a string of length <= {}",
    "pattern": "expected a string matching {}",
    "minItems": "expected an array of length >= {}",
    "maxItems": "expected an array of length <= {}",
    "uniqueItems": "expected items that differ from each other",
    "minProperties": "expected an object with at least {} properties",
    "maxProperties": "expected an object with at most {} properties",
    "additionalProperties": "has properties that are not allowed",
    "unevaluatedProperties": "has properties that are not allowed",
    "additionalItems": "has items that are not allowed",
    "unevaluatedItems": "has items that are not allowed",
    "anyOf": "fits none of the alternatives",
    "oneOf": "does not fit exactly one of the alternatives",
    "not": "is of a kind that is not allowed",
    "contains": "has no item of the kind that is wanted",
}
#: The dialects that a schema may declare in ``$schema``.
SUPPORTED_DIALECTS = ("2020-12", "2019-09", "draft-07", "draft-06", "draft-04")


def compile_validator(schema: Any, *, what: str) -> Callable[[Any], None]:
    """Check a schema now and return the function that checks values against it.

    Args:
        schema: A JSON Schema: an object, ``True`` or ``False``.
        what: Whose schema it is, for the messages, for example ``"input schema of tool 'add'"``.

    Returns:
        A function of one value that raises ``ArgumentError`` with the path and a short reason.

    Raises:
        RegistrationError: The dialect is unknown, the schema is not valid in it, is too large,
            or has a reference that leads out of it.
    """
    try:
        check_schema_bounds(schema)
        name = _validator_name(schema)
        check_references(schema)
        _check_patterns(schema)
    except RegistrationError as error:
        raise RegistrationError(f"{what}: {error}") from None
    validator = _build(schema, name, what)
    # What a dynamic reference means depends on the way to it.
    memorable = not any("$dynamicRef" in each or "$recursiveRef" in each for each in iter_schemas(schema))

    def validate(value: Any) -> None:
        token = _CHECK.set(_Check(value, memorable=memorable))
        try:
            _validate(validator, value)
        finally:
            _CHECK.reset(token)

    return validate


def _validator_name(schema: Any) -> str:
    if not isinstance(schema, (dict, bool)):
        raise RegistrationError(f"A JSON Schema is an object, not {type(schema).__name__}")
    declared = schema.get("$schema", _DEFAULT) if isinstance(schema, dict) else _DEFAULT
    if isinstance(declared, str):
        key = re.sub(r"^https?://|#$", "", declared)
        if key in _VALIDATORS:
            return _VALIDATORS[key]
    raise RegistrationError(
        f"$schema {str(declared)[:LONGEST]!r} is not supported; supported are {', '.join(SUPPORTED_DIALECTS)}"
    )


def _check_patterns(schema: Any) -> None:
    patterns: list[str] = []
    for each in iter_schemas(schema):
        if isinstance(each.get("pattern"), str):
            patterns.append(each["pattern"])
        if isinstance(each.get("patternProperties"), dict):
            patterns.extend(each["patternProperties"])
    pattern = ""
    try:
        for pattern in patterns:
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise RegistrationError(f"The pattern {pattern[:LONGEST]!r} cannot be used: {error}") from None


def _build(schema: Any, name: str, what: str) -> Any:
    import jsonschema
    import referencing

    kind = _kind(name)
    try:
        kind.check_schema(schema)
    except jsonschema.exceptions.SchemaError as error:
        place = _path(error.absolute_path) or "the root"
        raise RegistrationError(f"{what}: not a valid schema at {place}: {_reason(error)}") from None
    if isinstance(schema, dict):
        # A reference to the root would take the dialect's own class there.
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    # A registry without a retrieval function: an unknown address is an error, never a request.
    return kind(schema, registry=referencing.Registry())


@cache
def _kind(name: str) -> Any:
    """Give a dialect's class, with the keywords replaced whose cost a client could drive up."""
    import jsonschema

    failure = jsonschema.exceptions.ValidationError

    def unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
        # jsonschema compares each item with each other where they cannot be sorted.
        if wanted and validator.is_type(instance, "array") and len(set(map(_text, instance))) < len(instance):
            yield failure("has equal items")

    def any_of(validator: Any, schemas: Any, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
        yield from alternatives(validator, schemas, instance)[0]

    def one_of(validator: Any, schemas: Any, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
        check = _CHECK.get()
        errors, fitting = alternatives(validator, schemas, instance)
        yield from errors
        if any(check.fits(validator, each, instance) for each in schemas[fitting + 1 :]):
            yield failure("fits several alternatives")

    def alternatives(validator: Any, schemas: Any, instance: Any) -> tuple[list[Any], int]:
        """Give the error that no schema fits, or the index of the first that does."""
        check = _CHECK.get()
        for index, each in enumerate(schemas):
            if check.fits(validator, each, instance):
                return [], index
        return [failure("fits no alternative", context=check.explain(validator, schemas, instance))], len(schemas)

    def counted(keyword: Any) -> Any:
        def follow(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
            # No generator: its frame would stand in the stack at each level.
            _CHECK.get().count()
            found: Iterator[Any] = keyword(validator, reference, instance, schema)
            return found

        return follow

    plain = getattr(jsonschema, name)
    keywords = {"uniqueItems": unique_items, "anyOf": any_of, "oneOf": one_of}
    keywords |= {key: counted(plain.VALIDATORS[key]) for key in REFERENCE_KEYWORDS if key in plain.VALIDATORS}
    extend: Any = jsonschema.validators.extend
    return extend(plain, keywords)


class _Check:
    """Hold what one check of a value has found out about alternatives.

    Where two of them refer to the whole again, as those of a tree do, each level would be looked at twice as often as
    the one above it: a body of a few hundred bytes would take hours.
    """

    __slots__ = ("_depth", "_known", "_memorable", "_most", "_references", "_value")

    def __init__(self, value: Any, *, memorable: bool) -> None:
        self._value = value
        self._memorable = memorable
        self._known: dict[tuple[int, int], bool] = {}
        self._depth = 0
        self._references = 0
        self._most = _LEAST_REFERENCES

    def count(self) -> None:
        """Count a reference that is followed.

        Raises:
            ArgumentError: There were too many.
        """
        self._references += 1
        if self._references == _LEAST_REFERENCES:
            self._most = _LEAST_REFERENCES + _REFERENCES_EACH * _size(self._value)
        if self._references > self._most:
            raise ArgumentError("", "checking this takes too long: the schema refers to itself too often")

    def fits(self, validator: Any, schema: Any, instance: Any) -> bool:
        """Say whether a value conforms to an alternative. Both live as long as the check, so their ids name them."""
        if not (self._memorable and isinstance(instance, (dict, list))):
            return bool(validator.evolve(schema=schema).is_valid(instance))
        key = (id(schema), id(instance))
        if key not in self._known:
            self._known[key] = validator.evolve(schema=schema).is_valid(instance)
        return self._known[key]

    def explain(self, validator: Any, schemas: Any, instance: Any) -> list[Any]:
        """Collect errors of alternatives that all do not fit, not too deep and not too many.

        jsonschema keeps all of them: a kilobyte of memory for each wrong item of an array.
        """
        if self._depth >= _DEEPEST:
            return []
        self._depth += 1
        try:
            return [
                error
                for index, each in enumerate(schemas)
                for error in islice(validator.descend(instance, each, schema_path=index), _MOST)
            ]
        finally:
            self._depth -= 1


_CHECK: ContextVar[_Check] = ContextVar("_CHECK")


def _size(value: Any) -> int:
    """Count the values in a JSON value, itself included."""
    count, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        count += 1
        if isinstance(each, (dict, list)):
            waiting.extend(each.values() if isinstance(each, dict) else each)
    return count


def _text(value: Any) -> str:
    """Write a JSON value so that equal ones have the same text: 1.0 is 1, and the order of members is none."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(inside) for key, inside in value.items()}
    return [_plain(inside) for inside in value] if isinstance(value, list) else value


def _validate(validator: Any, value: Any) -> None:
    import jsonschema
    import referencing.exceptions

    try:
        error = jsonschema.exceptions.best_match(islice(validator.iter_errors(value), _MOST))
    except RecursionError:
        raise ArgumentError("", "nested too deeply, or the schema refers to itself without end") from None
    except OverflowError:
        raise ArgumentError("", "a number is too large") from None
    except (referencing.exceptions.Unresolvable, referencing.exceptions.NoSuchResource):
        raise ArgumentError("", "the schema has a reference that cannot be resolved") from None
    if error is not None:
        path, reason = _path(error.absolute_path), _reason(error)
        if error.validator == "required":
            missing = next(name for name in error.validator_value if name not in error.instance)
            reason = f"missing required {'property' if path else 'argument'}"
            path = shorten(f"{path}.{missing}" if path else missing)
        raise ArgumentError(path, reason)


def _path(parts: Any) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".")[:LONGEST]


def _reason(error: Any) -> str:
    """Say what a keyword wanted. jsonschema's own message would repeat the whole value."""
    wanted = error.validator_value
    keyword = error.validator
    if keyword is None:
        return "no value is allowed here"
    if keyword == "type":
        kinds = wanted if isinstance(wanted, list) else [wanted]
        return f"expected {' or '.join(map(str, kinds))}, got {json_type(error.instance)}"
    shown = ", ".join(map(repr, wanted)) if isinstance(wanted, list) else repr(wanted)
    return shorten(_WORDS.get(keyword, f"does not conform to {keyword!r}").replace("{}", shorten(shown, 150)))
