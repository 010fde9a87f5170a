"""Names: of servers, of tools that several servers have, and as the interfaces of language models take them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

__all__ = ["Named", "model_names", "server_id", "unique_names"]

#: Between the id of a server and the name of its tool.
SEPARATOR = "__"
#: The longest name of a tool that a server takes.
LONGEST = 128
#: What both OpenAI and Anthropic take: 1 to 64 of these characters.
LONGEST_FOR_MODELS = 64
_NOT_FOR_MODELS = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_ID = 32
_DIGEST = 8


class Named(NamedTuple):
    """Hold what the name of a tool is made of; ``prefix`` says that it begins with the server's id in any case."""

    server: str
    tool: str
    prefix: bool


def server_id(text: str, taken: Collection[str]) -> str:
    """Make the id of a server: letters, digits, ``_`` and ``-``, at most 32 of them, no other server's.

    Args:
        text: What it is called.
        taken: The ids of other servers.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text)
    # One underscore at most: what is before the first separator of a name is always the whole id.
    plain = re.sub("__+", "_", plain).strip("-_")[:_LONGEST_ID].rstrip("-_") or "server"
    return _free(plain, taken, _LONGEST_ID)


def unique_names(tools: Sequence[Named], servers: Iterable[str] = ()) -> list[str]:
    """Give each tool a name of its own: its own name where no other tool is called so, else with its server's id.

    All of those that are called the same get the id: which of them came first says nothing about which is meant. So do
    those whose names begin with the id of another server: they would read like that one's.

    Args:
        tools: The tools.
        servers: Ids of further servers, which have no tools, or are down.
    """
    ids = {*servers, *(tool.server for tool in tools)}
    prefixed = [tool.prefix or _names_another(tool, ids) for tool in tools]
    while True:
        names = [_full(tool) if with_id else tool.tool for tool, with_id in zip(tools, prefixed, strict=True)]
        counts = Counter(names)
        again = [with_id or counts[name] > 1 for name, with_id in zip(names, prefixed, strict=True)]
        if again == prefixed:
            return _distinct(names)
        prefixed = again


def _names_another(tool: Named, ids: Collection[str]) -> bool:
    begins, separator, _ = tool.tool.partition(SEPARATOR)
    return bool(separator) and begins in ids and begins != tool.server


def _full(tool: Named) -> str:
    return _fit(f"{tool.server}{SEPARATOR}{tool.tool}", LONGEST)


def _distinct(names: Iterable[str]) -> list[str]:
    """Number what is still called the same: the id and the name of another tool may read like both of this one's."""
    found: dict[str, None] = {}
    for name in names:
        found[_free(name, found, LONGEST)] = None
    return list(found)


def _free(name: str, taken: Collection[str], longest: int) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name[: longest - len(str(number)) - 1]}-{number}"
    return free


def _fit(name: str, longest: int) -> str:
    """Shorten a name so that what was cut off still makes a difference."""
    return name if len(name) <= longest else f"{name[: longest - _DIGEST - 1]}_{_digest(name)}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def model_names(names: Iterable[str]) -> list[str]:
    """Give each tool a name as models' interfaces take it: 1 to 64 letters, digits, ``_`` and ``-``, each only once.

    A name that is fit already stays. What another one becomes depends on nothing but itself, unless that is taken.
    """
    names = list(names)
    fit = {name for name in names if 0 < len(name) <= LONGEST_FOR_MODELS and not _NOT_FOR_MODELS.search(name)}
    kept: set[str] = set()
    taken = set(fit)
    found: list[str] = []
    for name in names:
        if name in fit and name not in kept:
            kept.add(name)
            found.append(name)
            continue
        plain = _fit(_NOT_FOR_MODELS.sub("_", name) or "tool", LONGEST_FOR_MODELS)
        if plain in taken:
            plain = f"{plain[: LONGEST_FOR_MODELS - _DIGEST - 1]}_{_digest(name)}"
        plain = _free(plain, taken, LONGEST_FOR_MODELS)
        taken.add(plain)
        found.append(plain)
    return found
