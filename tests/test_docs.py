"""The documentation's examples run, and what has to be in it is in it.

Every Python block of a page runs, in order and in one namespace. A block with `>>>` is compared with what it says it
prints; any other just runs, and checks itself with `assert`. There is no way to leave a block out: what cannot run
here is not written as Python (a configuration is `ini` or `nginx`, a command `console`, a picture `text`).
The page about Django runs as the project that it describes (tests/django_page.py).
"""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import mcp_wsgi
from mcp_wsgi import ErrorCode, HTTPPolicy, Server
from mcp_wsgi.protocol.versions import LEGACY_VERSIONS, MODERN_VERSIONS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
#: What the examples of a page need beside the package.
NEEDED = {"asgi": ["fastapi"], "flask": ["flask", "flask_login"], "django": ["django"]}

_BLOCK = re.compile(r"^(?P<fence>```+) *(?:python|\{code-block\} python)\n(?P<code>.*?)^(?P=fence) *$", re.M | re.S)
_OPTION = re.compile(r"^:[\w-]+:.*$", re.M)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def python_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """Give the Python blocks of a page, each with the number of the line before it."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        yield text.count("\n", 0, block.start("code")), _OPTION.sub("", block["code"])


def run_page(page: Path) -> None:
    """Run the Python blocks of a page; fail where one raises or prints something else than it says."""
    # Classes of the page look their annotations up in its module.
    module = types.ModuleType(f"examples_of_{page.stem.replace('-', '_')}")
    sys.modules[module.__name__] = module
    try:
        for line, code in python_blocks(page):
            if ">>> " in code:
                _run_doctest(page, line, code, module.__dict__)
            else:
                exec(compile("\n" * line + code, str(page), "exec", dont_inherit=True), module.__dict__)
    finally:
        del sys.modules[module.__name__]


def _run_doctest(page: Path, line: int, code: str, namespace: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), line)
    test.globs = namespace
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=_FLAGS, verbose=False)
    runner.run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    for library in NEEDED.get(page.stem, ()):
        pytest.importorskip(library)
    if page.stem == "django":
        ran = run_django_page(page, tmp_path)
        assert ran.returncode == 0, ran.stderr
    else:
        run_page(page)


def run_django_page(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "tests.django_page", str(page), str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize(
    "page",
    [
        *("quickstart", "tools", "resources-and-prompts", "context", "streaming", "http-policy"),
        *("wsgi", "asgi", "flask", "django", "errors", "integrate", "client", "bridge", "stdio"),
    ],
)
def test_a_page_about_code_has_code(page: str) -> None:
    assert list(python_blocks(DOCS / f"{page}.md"))


def test_an_example_that_is_wrong_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```python\nx = 1\n```\n\n```python\n>>> x\n2\n```\n")
    with pytest.raises(AssertionError, match="line 8"):
        run_page(page)
    page.write_text("```{code-block} python\n:caption: a.py\nraise KeyError(1)\n```\n")
    with pytest.raises(KeyError):
        run_page(page)


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("# books/mcp.py\nfrom .models import Loaf\n", "Loaf"),
        ("raise KeyError(1)\n", "line 8"),
        ("from django.test import TestCase\n\nclass T(TestCase):\n    def test(self):\n        assert 0\n", "FAIL:"),
    ],
    ids=["in a file", "in a block", "in a test"],
)
def test_an_example_of_django_that_is_wrong_is_found(tmp_path: Path, block: str, problem: str) -> None:
    pytest.importorskip("django")
    page = tmp_path / "django.md"
    settings = '# settings.py\nINSTALLED_APPS = [..., "mcp_wsgi.django", "books"]'
    page.write_text(f"# A\n\n```python\n{settings}\n```\n\n```python\n{block}```\n")
    ran = run_django_page(page, tmp_path)
    assert ran.returncode == 1
    assert problem in ran.stderr


def text_of(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", [each.name for each in dataclasses.fields(HTTPPolicy) if each.init])
def test_every_option_of_the_policy_is_documented(option: str) -> None:
    assert f"`{option}`" in text_of("http-policy")


@pytest.mark.parametrize("name", mcp_wsgi.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^ *(\.\. auto\w+:: )?mcp_wsgi\.{name}$|\bmcp_wsgi\.{name}\b", text_of("reference"), re.M)


@pytest.mark.parametrize("module", ["client", "bridge", "stdio"])
def test_every_name_of_what_calls_is_in_the_reference(module: str) -> None:
    names = importlib.import_module(f"mcp_wsgi.{module}").__all__
    assert [name for name in names if f"mcp_wsgi.{module}.{name}\n" not in text_of("reference")] == []


DOORS = {"wsgi": ["WSGIApp", "WSGIMiddleware"], "asgi": ["ASGIApp", "ASGIMiddleware"], "flask": None, "django": None}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_has_a_page_and_is_in_the_reference(door: str) -> None:
    names = DOORS[door]
    if names is None:
        pytest.importorskip(door)
        names = importlib.import_module(f"mcp_wsgi.{door}").__all__
    reference = text_of("reference")
    assert [name for name in names if f"mcp_wsgi.{door}.{name}\n" not in reference] == []
    assert [name for name in names if name not in text_of(door) and name != "MCPView"] == []
    assert f"\n{door}\n" in text_of("index")


@pytest.mark.parametrize("name", [name for name in vars(Server) if name.startswith("notify_")] + ["close"])
def test_everything_about_changes_is_documented(name: str) -> None:
    assert f"server.{name}(" in text_of("streaming")
    assert re.search(rf":members:.*\b{name}\b", text_of("reference"))


@pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)
def test_every_error_code_is_documented(code: ErrorCode) -> None:
    assert f"{code.value}" in text_of("errors")


@pytest.mark.parametrize("version", [*LEGACY_VERSIONS, *MODERN_VERSIONS])
def test_every_protocol_version_is_documented(version: str) -> None:
    assert version in text_of("versions")
