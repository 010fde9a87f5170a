"""What tools, resources and prompts have in common."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from mcp_wsgi import Annotations, Icon, RegistrationError
from mcp_wsgi.server.describe import (
    check_function,
    check_name,
    check_visible,
    check_wire,
    describe,
    docstring_of,
    name_of,
)


def documented(a: int) -> int:
    """Say something."""
    return a


class Handler:
    """Say it of the class."""

    func = 5

    def __call__(self) -> None: ...

    def method(self) -> None:
        """Say it of the method."""


class Documented(Handler):
    def __call__(self) -> None:
        """Say it of the call."""


@pytest.mark.parametrize(
    ("function", "name", "text"),
    [
        (documented, "documented", "Say something."),
        (functools.partial(documented, 1), "documented", "Say something."),
        (functools.partial(functools.partial(documented), 1), "documented", "Say something."),
        (functools.lru_cache(documented), "documented", "Say something."),
        (Handler().method, "method", "Say it of the method."),
        (Handler, "Handler", "Say it of the class."),
        (lambda: 1, None, None),
        (Documented(), None, "Say it of the call."),
        (functools.partial(Documented()), None, "Say it of the call."),
    ],
)
def test_name_and_text_come_from_what_is_called(function: Any, name: str | None, text: str | None) -> None:
    assert docstring_of(function) == text
    if name is None:
        with pytest.raises(RegistrationError, match="pass name="):
            name_of(function)
    else:
        assert name_of(function) == name


def test_only_what_is_set_is_written() -> None:
    assert describe() == {}
    assert describe(title="", description="", icons=[], meta={}) == {"title": "", "icons": [], "_meta": {}}
    assert describe(annotations=Annotations(priority=1), icons=[Icon("i")]) == {
        "annotations": {"priority": 1},
        "icons": [{"src": "i"}],
    }


def test_checks_pass_what_is_right() -> None:
    assert check_name("tool", "a b") == "a b"
    check_function("tool", print)
    assert check_visible(None) is None
    check_wire("tool", "t", {"title": "T", "x": [1]})


def test_checks_say_what_is_wrong() -> None:
    with pytest.raises(RegistrationError, match="The tool 't' needs text as its title, not 5"):
        check_wire("tool", "t", {"title": 5})
    with pytest.raises(RegistrationError, match="The tool 't' cannot be listed: NaN"):
        check_wire("tool", "t", {"x": float("nan")})


@pytest.mark.parametrize(("answer", "shown"), [(True, True), (False, False), (None, False), ("yes", True), ([], False)])
def test_a_filter_decides_by_what_is_true(answer: object, shown: bool) -> None:
    decide = check_visible(lambda context: answer)
    assert decide is not None
    assert decide(None) is shown


def test_a_filter_that_gives_something_to_await_shows_nothing() -> None:
    """Awaitables are true: a hidden tool would be everybody's, with a warning in the log at most."""

    async def is_admin(context: object) -> bool:
        return False

    decide = check_visible(lambda context: is_admin(context))
    assert decide is not None
    with pytest.raises(TypeError, match="something to await"):
        decide(None)
