from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.exceptions import InvalidParamsError
from mcp_wsgi.server.paths import MAX_PATH_LENGTH, safe_join


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A directory with files, links inside and outside, and a secret beside it."""
    top = tmp_path_factory.mktemp("tree").resolve()
    base = top / "base"
    (base / "sub").mkdir(parents=True)
    (base / "sub" / "a.txt").write_text("a")
    (top / "secret").mkdir()
    (top / "base-secret").mkdir()
    links = {
        "in": "sub",
        "out": "../secret",
        "gone": "../nothing",
        "loop": "loop",
        "far": str(top / "secret"),
    }
    try:
        for name, target in links.items():
            (base / name).symlink_to(target)
    except OSError:
        pytest.skip("no symbolic links here")
    return base


def test_parts_are_joined_below_the_base(tree):
    assert safe_join(tree, "sub/a.txt") == str(tree / "sub" / "a.txt")
    assert safe_join(str(tree), "sub", "a.txt") == str(tree / "sub" / "a.txt")
    assert safe_join(tree, "./sub//a.txt") == str(tree / "sub" / "a.txt")
    assert safe_join(tree, ".") == str(tree)
    assert safe_join(tree, "sub/") == str(tree / "sub")


def test_what_does_not_exist_yet_may_be_named(tree):
    assert safe_join(tree, "new/été.txt") == str(tree / "new" / "été.txt")


def test_ordinary_names_with_odd_characters_are_fine(tree):
    for name in ["..a", "a..b", ".env", "conf", "com", "console.log", "12:30.log", "~", "%2e%2e", "nul-1"]:
        assert safe_join(tree, name) == str(tree / name)


def test_links_that_stay_inside_are_followed(tree):
    assert safe_join(tree, "in/a.txt") == str(tree / "sub" / "a.txt")


def test_the_base_may_be_a_link_or_relative(tree, tmp_path, monkeypatch):
    link = tmp_path / "link"
    link.symlink_to(tree)
    assert safe_join(link, "sub") == str(tree / "sub")
    monkeypatch.chdir(tree.parent)
    assert safe_join("base", "sub") == str(tree / "sub")


@pytest.mark.parametrize(
    "parts",
    [
        ["out/x"], ["out"], ["far"], ["gone"], ["loop"], ["loop/x"], ["sub/a.txt/x"],
        [".."], ["../base-secret"], ["sub/../.."], ["sub/../sub"], ["sub", ".."], ["in/../../secret"],
        ["/etc/passwd"], ["//host/share"], ["sub", "/etc"], ["C:/x"], ["c:x"], ["sub/C:"], ["sub\\a"],
        ["..\\x"], ["a\0b"], [""], ["sub", ""], [], ["\ud800"],
        ["con"], ["NUL"], ["nul.txt"], ["Com1.tar.gz"], ["lpt9"], ["LPT²"], ["aux .x"], ["sub/PRN"],
        ["CONIN$"], ["nul:"], [".. "], ["..."], ["a."], ["a "], [" "], ["sub/.. /x"],
        ["x" * 300], ["a/" * MAX_PATH_LENGTH], [5], [None], [["a"]], [b"sub"],
    ],
    ids=lambda parts: ascii(parts)[:30],
)  # fmt: skip
def test_paths_that_could_lead_outside_are_refused_without_naming_the_base(tree, parts):
    with pytest.raises(InvalidParamsError) as caught:
        safe_join(tree, *parts)
    assert caught.value.message.startswith("The path is refused: ")
    assert str(tree.parent) not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


segments = st.sampled_from(
    [
        "..",
        ".",
        "",
        "sub",
        "in",
        "out",
        "gone",
        "far",
        "loop",
        "a.txt",
        "C:",
        "\\",
        "base-secret",
        "secret",
        "nul",
    ]
)
names = st.lists(segments | st.text(max_size=4), max_size=6).map("/".join) | st.text(max_size=10)


@given(st.lists(names, max_size=3))
def test_whatever_is_returned_is_inside_the_real_base(tree, parts):
    try:
        path = safe_join(tree, *parts)
    except InvalidParamsError:
        return
    assert os.path.isabs(path)
    assert Path(os.path.realpath(path)) == Path(path)
    assert Path(path) == tree or tree in Path(path).parents
