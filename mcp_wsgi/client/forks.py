"""What a client begins anew in a forked process: there its threads are gone, and what they had locked stays locked."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

__all__ = ["begin_anew_after_fork"]


class _Anew(Protocol):
    def begin_anew(self) -> None:
        """Begin anew."""


_known: weakref.WeakSet[_Anew] = weakref.WeakSet()


def begin_anew_after_fork(part: _Anew) -> None:
    """Call the part's ``begin_anew`` in each forked process."""
    _known.add(part)


def _after_fork() -> None:
    for part in list(_known):
        part.begin_anew()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
