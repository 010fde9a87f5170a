"""Valid values of the wire, changed at one place or several: what servers of all kinds could send."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tests.strategies import json_values

__all__ = ["mutated"]

_odd = st.sampled_from([None, True, 0, -1, 1.5, "", "x", [], {}, [{}], [None], {"type": 1}, float("inf"), 10**400])


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in inside for place in _places(below, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn, valid: st.SearchStrategy[Any]) -> Any:
    """Draw a valid value and change some of its places."""
    value = copy.deepcopy(draw(valid))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in _places([value]) if place]))
        holder: Any = [value]
        for key in way:
            holder = holder[key]
        if way and draw(st.booleans()) and isinstance(holder, dict):
            del holder[last]
        elif way:
            holder[last] = copy.deepcopy(draw(_odd | json_values))
        else:
            value = copy.deepcopy(draw(_odd | json_values))
    return value
