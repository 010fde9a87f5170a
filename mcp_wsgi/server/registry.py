"""Named things that can be added and removed while requests are served.

Every change builds a new :class:`View` and puts it in place with one assignment: a reader takes the view
once and never sees a half-made change, and needs no lock.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from ..exceptions import RegistrationError
from ..protocol.codec import encode_text

__all__ = ["Definition", "Page", "Registry", "View"]


class Definition(Protocol):
    """A thing that can be listed."""

    @property
    def visible(self) -> Callable[[Any], bool] | None: ...  # noqa: D102
    def to_wire(self, *, modern: bool) -> dict[str, Any]: ...  # noqa: D102


T = TypeVar("T", bound=Definition)


class Page(list[dict[str, Any]]):
    """Hold one page of definitions together with its JSON text, which is made once."""

    __slots__ = ("json",)

    def __init__(self, items: list[dict[str, Any]]) -> None:
        super().__init__(items)
        self.json = encode_text(items)


class View(Generic[T]):
    """Hold one state of a registry; nothing in it ever changes."""

    __slots__ = ("_pages", "has_filter", "items", "order")

    def __init__(self, items: Mapping[str, T], order: tuple[int, ...]) -> None:
        self.items = items
        #: One number for each item, growing: a cursor names the last item seen, so that removals before it
        #: do not shift the pages behind it.
        self.order = order
        self.has_filter = any(item.visible is not None for item in items.values())
        self._pages: dict[tuple[bool, int, int | None], Page] = {}

    def __iter__(self) -> Iterator[T]:
        return iter(self.items.values())

    def start(self, after: int) -> int:
        """Give the index of the first item behind the one with that number."""
        return bisect_right(self.order, after)

    def page(self, begin: int, size: int | None, *, modern: bool) -> Page:
        """Give the listed form of a range of items; the pages of a plain walk are made once for each era."""
        end = None if size is None else begin + size
        key = (modern, begin, end)
        page = self._pages.get(key)
        if page is None:
            items = list(self.items.values())[begin:end]
            page = Page([item.to_wire(modern=modern) for item in items])
            # A client may make up cursors: what it starts anywhere else is not kept, or it would fill the memory.
            if begin % (size or len(self.order) or 1) == 0:
                self._pages[key] = page
        return page


def _ignore() -> None:
    pass


class Registry(Generic[T]):
    """Hold definitions by key, in the order of registration."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._next = 0
        self.view: View[T] = View({}, ())
        #: Called after every change.
        self.on_change: Callable[[], None] = _ignore

    def add(self, key: str, item: T) -> None:
        """Add a definition.

        Raises:
            RegistrationError: The key is taken.
        """
        with self._lock:
            view = self.view
            if key in view.items:
                raise RegistrationError(f"There is already a {self._kind} {key!r}; remove it first")
            self._next += 1
            self.view = View({**view.items, key: item}, (*view.order, self._next))
        self.on_change()

    def remove(self, key: str) -> T:
        """Remove a definition and return it.

        Raises:
            KeyError: There is none with that key.
        """
        with self._lock:
            view = self.view
            if key not in view.items:
                raise KeyError(f"There is no {self._kind} {key!r}")
            items = dict(view.items)
            index = list(items).index(key)
            item = items.pop(key)
            self.view = View(items, view.order[:index] + view.order[index + 1 :])
        self.on_change()
        return item
