"""URI templates (RFC 6570): checked at registration, expanded by uritemplate, matched in reverse."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ..exceptions import RegistrationError
from .uri_matching import ESCAPED, Literal, Pairs, Part, Span, Variable, decode_uri, match_parts

__all__ = ["MAX_URI_LENGTH", "UriTemplate"]

MAX_URI_LENGTH = 8192
"""A longer URI matches no template (RFC 9110, section 4.1, asks servers to take 8,000 octets)."""

_RESERVED = ":/?#[]@!$&'()*+,;="
_SIMPLE = frozenset(string.ascii_letters + string.digits + "-._~" + ESCAPED)
_ANY = _SIMPLE | frozenset(_RESERVED)
# What RFC 3986, section 3.4, lets stand in a query, without `&`, `+` (a space to some) and `,` (lists).
_QUERY_VALUE = _SIMPLE | frozenset(":@/?!$'()*;=")

_TRIPLET = re.compile(r"(%[0-9A-Fa-f]{2})")
_NAME = re.compile(r"(?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})+")
_MODIFIED = re.compile(r"([^:*]*)(?:(\*)|:([1-9][0-9]{0,3}))?")
_BAD_LITERAL = re.compile(r'[\x00-\x20"<>\\^`|\x7f]')
_SEPARATORS = {"": ",", "+": ",", "#": ",", ".": ".", "/": "/", ";": ";", "?": "&", "&": "&"}


class UriTemplate:
    """A URI template that can be expanded and matched.

    Every variable must be there for a URI to match, except those of ``{?...}`` and ``{&...}``, which may come
    in any order and are named by ``optional``. A variable without its name in the URI is never empty. Where a
    URI can be cut in several ways, the last variable gets the shortest part. ``{+...}`` ends where a ``;``,
    query or fragment expression behind it starts. Raw characters outside ASCII match like their escapes.

    Args:
        template: The template, for example ``users://{id}{?fields*}``.

    Raises:
        RegistrationError: The template breaks RFC 6570, or no URI could be matched to it reliably.
    """

    __slots__ = ("_by_name", "_expansion", "_parts", "_prefix", "optional", "template", "variables")

    def __init__(self, template: str) -> None:
        parser = _Parser(template)
        self.template = template
        self.variables: tuple[str, ...] = tuple(parser.by_name)
        self.optional: tuple[str, ...] = tuple(
            name for name, (_, operator) in parser.by_name.items() if operator in ("?", "&")
        )
        self._parts = tuple(parser.parts)
        self._by_name = parser.by_name
        self._expansion = "".join(parser.expansion)
        first = self._parts[0] if self._parts else None
        self._prefix = first.shape.partition(ESCAPED)[0] if isinstance(first, Literal) else ""

    def __repr__(self) -> str:
        return f"UriTemplate({self.template!r})"

    def match(self, uri: str) -> dict[str, str | list[str]] | None:
        """Find the values that expand to a URI (RFC 6570, section 1.4).

        Args:
            uri: The URI, byte for byte as the client sent it.

        Returns:
            The values by name, percent-decoded once: a list for an exploded variable, else a string.
            ``None`` when the URI does not match, is longer than ``MAX_URI_LENGTH``, or holds an escape that
            is malformed or not UTF-8.
        """
        if len(uri) > MAX_URI_LENGTH or not uri.startswith(self._prefix):
            return None
        decoded = decode_uri(uri)
        return None if decoded is None else match_parts(self._parts, *decoded)

    def expand(self, /, **values: Any) -> str:
        """Put values into the template (RFC 6570, section 3).

        Args:
            values: Strings, numbers, and lists or mappings of them. What is missing or ``None`` expands to
                nothing.

        Returns:
            The URI.

        Raises:
            ValueError: A value has no variable, cannot stand in a URI, or is a list or mapping where the
                template takes a prefix.
        """
        from uritemplate import URITemplate

        ready: dict[str, Any] = {}
        for name, value in values.items():
            known = self._by_name.get(name)
            if known is None:
                raise ValueError(f"The URI template {self.template!r} has no variable {name!r}")
            prepared = _prepare(value, *known)
            if prepared is not None:
                ready[name] = prepared
        return URITemplate(self._expansion).expand(ready)


def _prepare(value: Any, variable: Variable, operator: str) -> Any:
    """Return a value as the library takes it: text, a list of text or of pairs, ``None`` if undefined."""
    if value is None:
        return None
    if isinstance(value, (list, tuple, Mapping)):
        if variable.prefix is not None:
            raise ValueError(f"The variable {variable.name!r} takes a prefix, so its value must be text")
        if isinstance(value, Mapping):
            pairs = [(key, item) for key, item in value.items() if item is not None]
            return [(_text(key, variable, operator), _text(item, variable, operator)) for key, item in pairs] or None
        return [_text(item, variable, operator) for item in value if item is not None] or None
    return _text(value, variable, operator)


def _text(value: Any, variable: Variable, operator: str) -> str:
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"The variable {variable.name!r} cannot hold a value of type {type(value).__name__}")
    text = str(value)[: variable.prefix]
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"The variable {variable.name!r} holds a lone surrogate") from None
    if operator not in ("+", "#"):
        return text
    # Section 3.2.3: triplets stay as they are. The library leaves such a value wholly unencoded, so it gets a
    # finished one.
    pieces = _TRIPLET.split(text)
    return "".join(piece if index % 2 else quote(piece, safe=_RESERVED) for index, piece in enumerate(pieces))


class _Parser:
    """Cut a template into the parts that matching needs and the text that expansion needs."""

    def __init__(self, template: str) -> None:
        self.template = template
        self.parts: list[Part] = []
        self.by_name: dict[str, tuple[Variable, str]] = {}
        self.expansion: list[str] = []
        self._keys: set[tuple[str, str]] = set()
        if len(template) > MAX_URI_LENGTH:
            raise self._error(f"is longer than {MAX_URI_LENGTH} characters")
        for index, piece in enumerate(re.split(r"\{([^{}]*)\}", template)):
            if index % 2:
                self._expression(piece)
            elif piece:
                self._text(piece)
        self._narrow()

    def _error(self, reason: str) -> RegistrationError:
        return RegistrationError(f"The URI template {self.template[:200]!r} {reason}")

    def _last(self) -> Part | None:
        return self.parts[-1] if self.parts else None

    def _text(self, piece: str) -> None:
        if "{" in piece or "}" in piece:
            raise self._error("has unbalanced braces")
        if bad := _BAD_LITERAL.search(piece):
            raise self._error(f"holds {bad[0]!r}, which must be percent-encoded in a URI")
        decoded = decode_uri(piece)
        if decoded is None:
            raise self._error("holds a lone surrogate, or a percent sign that starts no UTF-8 escape")
        if not piece.startswith("#"):
            self._refuse_after_query()
        self._literal(*decoded)
        self.expansion.append(quote(piece, safe=_RESERVED + "%"))

    def _refuse_after_query(self) -> None:
        last = self._last()
        if isinstance(last, Pairs) and last.optional:
            raise self._error("has more behind its query; only {&...} or a fragment may follow one")

    def _literal(self, shape: str, text: str) -> None:
        last = self._last()
        if isinstance(last, Literal):
            self.parts[-1] = Literal(shape=last.shape + shape, text=last.text + text)
        else:
            self.parts.append(Literal(shape=shape, text=text))

    def _expression(self, body: str) -> None:
        operator = body[:1] if body[:1] in _SEPARATORS else ""
        variables = {}
        for spec in body[len(operator) :].split(","):
            key, variable = self._variable(spec)
            variables[key] = variable
            self.by_name[variable.name] = variable, operator
        # Without the prefix modifiers: values are cut before they are encoded, which the library does not.
        names = ",".join(variable.name + "*" * variable.explode for variable in variables.values())
        self.expansion.append(f"{{{operator}{names}}}")
        if operator in ("?", "&"):
            self._query(operator, variables)
            return
        if operator != "#":
            self._refuse_after_query()
        if operator == ";":
            self._path_parameters(variables)
        else:
            self._spans(operator, list(variables.values()))

    def _variable(self, spec: str) -> tuple[tuple[str, str], Variable]:
        match = _MODIFIED.fullmatch(spec)
        if match is None:
            raise self._error(f"has a bad modifier in {spec!r}; write name, name*, or name:1 to name:9999")
        name, explode, prefix = match.groups()
        key = decode_uri(name)
        if key is None or not _NAME.fullmatch(name) or "." in (name[0], name[-1]) or ".." in name:
            raise self._error(f"has a bad operator or variable name in {spec!r}")
        if key in self._keys:
            raise self._error(f"names the variable {name!r} twice")
        self._keys.add(key)
        return key, Variable(name=name, explode=bool(explode), prefix=int(prefix) if prefix else None)

    def _query(self, operator: str, variables: dict[tuple[str, str], Variable]) -> None:
        leads = frozenset(operator)
        last = self._last()
        if isinstance(last, Pairs) and last.optional:
            if operator == "?":
                raise self._error("starts its query twice; continue it with {&...}")
            leads |= last.leads
            variables = {**last.variables, **variables}
            self.parts.pop()
        self.parts.append(Pairs(variables=variables, leads=leads, separator="&", values=_QUERY_VALUE, optional=True))

    def _path_parameters(self, variables: dict[tuple[str, str], Variable]) -> None:
        last = self._last()
        if isinstance(last, Pairs):
            raise self._error("has path parameters in two expressions side by side; write {;a,b}")
        self.parts.append(
            Pairs(variables=variables, leads=frozenset(";"), separator=";", values=_SIMPLE, optional=False)
        )

    def _spans(self, operator: str, variables: list[Variable]) -> None:
        separator = _SEPARATORS[operator]
        chars = _ANY if operator in ("+", "#") else _SIMPLE
        if operator in ("#", ".", "/"):
            self._literal(operator, operator)
        for index, variable in enumerate(variables):
            if index:
                self._literal(separator, separator)
            self._check_start(variable, separator)
            own = chars - {separator} if variable.explode else chars
            self.parts.append(Span(variable=variable, chars=own, separator=separator))

    def _check_start(self, variable: Variable, separator: str) -> None:
        """Refuse two variables with nothing between them, or two lists with only their own separator."""
        last = self._last()
        if isinstance(last, Literal):
            before = self.parts[-2] if len(self.parts) > 1 else None
            unclear = (
                isinstance(before, Span)
                and (before.variable.explode and variable.explode)
                and last.shape == separator == before.separator
            )
        else:
            unclear = last is not None
        if unclear:
            raise self._error(f"leaves open where {variable.name!r} starts; put text in front of it")

    def _narrow(self) -> None:
        """Keep ``{+...}`` out of what is behind it: RFC 3986, section 3, cuts a URI at the first ? and #."""
        taken: set[str] = set()
        for index in range(len(self.parts) - 1, -1, -1):
            part = self.parts[index]
            if isinstance(part, Pairs):
                taken |= part.leads
            elif isinstance(part, Literal):
                taken |= {"#"} & set(part.shape)
            else:
                chars = part.chars - taken
                self.parts[index] = Span(variable=part.variable, chars=chars, separator=part.separator)
