"""Matching a URI to the parts of a template, in time that grows with the URI's length and no faster.

The URI becomes characters first, each escape sequence one character. Then one pass over the template keeps
the set of positions at which each part can end. A set of positions is an integer with one bit per position,
so a part costs a few operations on integers, whatever the URI: nothing is tried twice, and no way is missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["ESCAPED", "Literal", "Pairs", "Part", "Span", "Variable", "decode_uri", "match_parts"]

ESCAPED = "%"
"""Stands in a shape for every escaped and every non-ASCII character; no real percent sign stays in one."""

_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+|[^\x00-\x7f]+")
_STRAY = re.compile(r"%(?![0-9A-Fa-f]{2})|[\ud800-\udfff]")

Chars = frozenset[str]
Values = dict[str, "str | list[str]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable and its modifier: ``explode`` is ``*``, ``prefix`` the number behind ``:``."""

    name: str
    explode: bool = False
    prefix: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """Characters that stand in the URI as they are: their shape and their decoded text."""

    shape: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """An unnamed variable: a run of ``chars``, or several with ``separator`` between them when exploded."""

    variable: Variable
    chars: Chars
    separator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Named variables: one of ``leads``, then ``name=value`` with ``separator`` between them.

    ``variables`` is keyed by the shape and the text of the name.
    """

    variables: dict[tuple[str, str], Variable]
    leads: Chars
    separator: str
    values: Chars
    optional: bool


Part = Literal | Span | Pairs


def decode_uri(uri: str) -> tuple[str, str] | None:
    """Decode a URI once, one character for each escaped character.

    Args:
        uri: A URI, or a piece of one.

    Returns:
        Its shape (ASCII, ``ESCAPED`` for each character that was escaped or is not ASCII) and its text, of
        the same length. ``None`` when an escape is malformed or not UTF-8, or a surrogate stands alone.
    """
    if ESCAPED not in uri and uri.isascii():
        return uri, uri
    if _STRAY.search(uri):
        return None
    shape: list[str] = []
    text: list[str] = []
    last = 0
    for match in _ENCODED.finditer(uri):
        run = match[0]
        if run[0] == ESCAPED:
            try:
                run = bytes.fromhex(run.replace(ESCAPED, "")).decode()
            except UnicodeDecodeError:
                return None
        plain = uri[last : match.start()]
        last = match.end()
        shape += plain, ESCAPED * len(run)
        text += plain, run
    return "".join(shape) + uri[last:], "".join(text) + uri[last:]


def match_parts(parts: Sequence[Part], shape: str, text: str) -> Values | None:
    """Find the values of the variables in a decoded URI.

    Args:
        parts: The parts of a template.
        shape: The URI's shape, from ``decode_uri``.
        text: Its text.

    Returns:
        The values by name, in the template's order, or ``None`` when the URI does not match. Where it can be
        cut in several ways, the last variable gets the shortest part, then the one before it, and so on.
    """
    return _Match(shape, text).run(parts)


@dataclass(frozen=True, slots=True)
class _Run:
    """The rules of one part as position sets."""

    first: int
    body: int
    not_end: int
    limit: int
    optional: bool


class _Match:
    __slots__ = ("_masks", "shape", "size", "text")

    def __init__(self, shape: str, text: str) -> None:
        self.shape = shape
        self.text = text
        self.size = len(shape)
        self._masks: dict[Chars, int] = {}

    def run(self, parts: Sequence[Part]) -> Values | None:
        ends = [1]
        runs: list[_Run | int] = []
        for part in parts:
            if isinstance(part, Literal):
                runs.append(len(part.text))
                reached = self._after_literal(part, ends[-1])
            else:
                run = self._rules(part)
                runs.append(run)
                reached = _after_run(run, ends[-1])
            if not reached:
                return None
            ends.append(reached)
        if not ends[-1] >> self.size & 1:
            return None
        return self._values(parts, runs, ends)

    def _values(self, parts: Sequence[Part], runs: Sequence[_Run | int], ends: Sequence[int]) -> Values | None:
        cuts = [self.size]
        for run, starts in zip(reversed(runs), ends[-2::-1], strict=True):
            end = cuts[-1]
            cuts.append(end - run if isinstance(run, int) else _start_of_run(run, starts, end))
        cuts.reverse()
        values: Values = {}
        for part, start, end in zip(parts, cuts, cuts[1:], strict=False):
            if isinstance(part, Span):
                self._read_span(part, start, end, values)
            elif isinstance(part, Pairs) and not self._read_pairs(part, start, end, values):
                return None
        return values

    def _mask(self, chars: Chars) -> int:
        """Return the positions of certain characters."""
        mask = self._masks.get(chars)
        if mask is None:
            bits = self.shape[::-1].translate(_bits_of(chars))
            mask = self._masks[chars] = int(bits or "0", 2)
        return mask

    def _rules(self, part: Span | Pairs) -> _Run:
        if isinstance(part, Pairs):
            lead = self._mask(part.leads)
            body = self._mask(part.values | {"=", part.separator}) | lead
            return _Run(lead, body, 0, self.size, part.optional)
        body = first = self._mask(part.chars)
        not_end = 0
        if part.variable.explode:
            # A separator belongs to the list only between two of its values.
            separators = self._mask(frozenset(part.separator))
            body |= separators & (first >> 1)
            not_end = separators << 1
        return _Run(first, body, not_end, part.variable.prefix or self.size, optional=False)

    def _after_literal(self, part: Literal, starts: int) -> int:
        size = len(part.text)
        if not starts & (starts - 1):
            start = starts.bit_length() - 1
            return starts << size if self._stands_at(part, start) else 0
        bits = bytearray(b"0") * (self.size + 1)
        at = self.text.find(part.text)
        while at >= 0:
            if self.shape.startswith(part.shape, at):
                bits[self.size - at] = 0x31
            at = self.text.find(part.text, at + 1)
        return (int(bits, 2) & starts) << size

    def _stands_at(self, part: Literal, start: int) -> bool:
        return self.text.startswith(part.text, start) and self.shape.startswith(part.shape, start)

    def _cut(self, start: int, end: int, separator: str) -> Iterator[tuple[int, int]]:
        """Yield the pieces between real separators: an escaped one is part of a value."""
        while (stop := self.shape.find(separator, start, end)) >= 0:
            yield start, stop
            start = stop + 1
        yield start, end

    def _read_span(self, part: Span, start: int, end: int, values: Values) -> None:
        if part.variable.explode:
            pieces = self._cut(start, end, part.separator)
            values[part.variable.name] = [self.text[first:last] for first, last in pieces]
        else:
            values[part.variable.name] = self.text[start:end]

    def _read_pairs(self, part: Pairs, start: int, end: int, values: Values) -> bool:
        if start == end:
            return True
        found: Values = {}
        for first, last in self._cut(start + 1, end, part.separator):
            equals = self.shape.find("=", first, last)
            # RFC 6570, section 3.2.7: an empty path parameter has no `=`; section 3.2.8: a query one has it.
            if equals < 0 and part.separator != ";":
                return False
            stop = last if equals < 0 else equals
            variable = part.variables.get((self.shape[first:stop], self.text[first:stop]))
            value = self.text[stop + 1 : last]
            if variable is None or not part.values.issuperset(self.shape[stop + 1 : last]):
                return False
            if not _keep(variable, value, found):
                return False
        # In the template's order, whatever order the URI has.
        for variable in part.variables.values():
            if variable.name in found:
                values[variable.name] = found[variable.name]
        return part.optional or len(found) == len(part.variables)


def _keep(variable: Variable, value: str, found: Values) -> bool:
    held = found.get(variable.name)
    if isinstance(held, list):
        held.append(value)
    elif variable.explode:
        found[variable.name] = [value]
    elif held is not None or (variable.prefix is not None and len(value) > variable.prefix):
        return False
    else:
        found[variable.name] = value
    return True


@cache
def _bits_of(chars: Chars) -> str:
    return "".join("1" if chr(code) in chars else "0" for code in range(128))


def _after_run(run: _Run, starts: int) -> int:
    """Return where a run can end that starts at one of ``starts``."""
    reached = (starts & run.first) << 1
    if run.limit >= run.body.bit_length():
        # The carry of an addition runs to the end of a row of ones: one step for a run of any length.
        reached |= ((reached & run.body) + run.body) ^ run.body
    else:
        step = reached
        for _ in range(run.limit - 1):
            step = (step & run.body) << 1
            if not step:
                break
            reached |= step
    reached &= ~run.not_end
    return reached | starts if run.optional else reached


def _start_of_run(run: _Run, starts: int, end: int) -> int:
    """Return the last of ``starts`` from which a run can reach ``end``."""
    if run.optional and starts >> end & 1:
        return end
    below = (1 << end) - 1
    low = max((~run.body & below).bit_length(), end - run.limit)
    return ((starts & run.first & below) >> low << low).bit_length() - 1
