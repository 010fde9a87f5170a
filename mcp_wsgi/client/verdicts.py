"""What a process remembers of the servers that it has spoken with."""

from __future__ import annotations

__all__ = ["MAX_VERDICTS", "Verdicts"]

#: A program may speak with any number of servers; what it knew of one longest is forgotten, and that one asked again.
MAX_VERDICTS = 10_000


class Verdicts(dict[str, str]):
    """Map addresses to protocol versions, and hold no more than so many."""

    def __setitem__(self, address: str, version: str) -> None:
        super().__setitem__(address, version)
        # Another thread may do the same: the list is made at once, and what is gone is no error.
        if len(self) > MAX_VERDICTS:
            for oldest in list(self)[: len(self) - MAX_VERDICTS]:
                self.pop(oldest, None)
