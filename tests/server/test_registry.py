"""Registries: every change is a new view, put in place at once."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcp_wsgi import RegistrationError
from mcp_wsgi.server.registry import Registry


class Thing:
    def __init__(self, name: str, visible: Any = None) -> None:
        self.name = name
        self.visible = visible
        self.written = 0

    def to_wire(self, *, modern: bool) -> dict[str, Any]:
        self.written += 1
        return {"name": self.name, "modern": modern}


def filled(count: int) -> tuple[Registry[Thing], list[Thing]]:
    registry: Registry[Thing] = Registry("thing")
    things = [Thing(f"t{number}") for number in range(count)]
    for thing in things:
        registry.add(thing.name, thing)
    return registry, things


def test_things_stay_in_the_order_of_registration() -> None:
    registry, things = filled(3)
    assert list(registry.view) == things
    registry.remove("t0")
    registry.add("t0", things[0])
    assert [each.name for each in registry.view] == ["t1", "t2", "t0"]


def test_a_taken_key_is_refused_and_changes_nothing() -> None:
    registry, _ = filled(1)
    view = registry.view
    with pytest.raises(RegistrationError, match="already a thing 't0'; remove it first"):
        registry.add("t0", Thing("other"))
    assert registry.view is view


def test_removing_gives_the_thing_back_and_names_a_missing_one() -> None:
    registry, things = filled(1)
    assert registry.remove("t0") is things[0]
    with pytest.raises(KeyError, match="There is no thing 't0'"):
        registry.remove("t0")


def test_a_view_never_changes() -> None:
    registry, things = filled(2)
    view = registry.view
    registry.remove("t0")
    registry.add("t9", Thing("t9"))
    assert list(view) == things
    assert view.order == (1, 2)


def test_a_view_knows_whether_anything_in_it_is_filtered() -> None:
    registry, _ = filled(1)
    assert registry.view.has_filter is False
    registry.add("hidden", Thing("hidden", visible=lambda context: False))
    assert registry.view.has_filter is True


def test_a_number_is_never_given_twice() -> None:
    """A cursor would else skip what was added after a removal."""
    registry, _ = filled(3)
    registry.remove("t2")
    registry.add("t3", Thing("t3"))
    assert registry.view.order == (1, 2, 4)
    assert [registry.view.start(after) for after in (0, 1, 2, 3, 4, 99)] == [0, 1, 2, 2, 3, 3]


def test_a_page_is_written_once_for_each_era() -> None:
    registry, things = filled(3)
    pages = [registry.view.page(begin, 2, modern=modern) for _ in range(5) for begin in (0, 2) for modern in (0, 1)]
    assert [len(page) for page in pages[:4]] == [2, 2, 1, 1]
    assert {thing.written for thing in things} == {2}
    assert registry.view.page(0, None, modern=True) is registry.view.page(0, None, modern=True)


@pytest.mark.parametrize("size", [None, 3])
def test_made_up_cursors_do_not_fill_the_memory(size: int | None) -> None:
    registry, _ = filled(90)
    view = registry.view
    for begin in range(91):
        assert len(view.page(begin, size, modern=True)) == min(90 - begin, size or 90)
    assert len(view._pages) <= 31


def test_readers_never_see_a_half_made_change() -> None:
    registry, _ = filled(50)
    stop = threading.Event()
    problems: list[object] = []

    def change() -> None:
        number = 50
        while not stop.is_set():
            registry.add(f"t{number}", Thing(f"t{number}"))
            registry.remove(f"t{number - 50}")
            number += 1

    def read() -> None:
        for _ in range(300):
            view = registry.view
            names = [each.name for each in view]
            numbers = [int(name[1:]) for name in names]
            if len(view.order) != len(names) or numbers != list(range(numbers[0], numbers[0] + len(names))):
                problems.append(names)
            if len(view.page(0, None, modern=True)) != len(names):
                problems.append(view)

    writer = threading.Thread(target=change)
    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in (writer, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    writer.join()
    assert problems == []


def test_concurrent_registration_loses_nothing() -> None:
    registry: Registry[Thing] = Registry("thing")

    def add(start: int) -> None:
        for number in range(start, start + 100):
            registry.add(str(number), Thing(str(number)))

    threads = [threading.Thread(target=add, args=(100 * index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry.view.items) == 400
    assert list(registry.view.order) == list(range(1, 401))
