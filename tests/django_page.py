"""Run the examples of the page about Django, as the project that it describes: ``-m tests.django_page PAGE FOLDER``.

It needs a process of its own, since a process has one set of settings only. What the page leaves to its reader is
made here: a project with users, and an app of books with its models. Then

- a block that begins with the name of a file is the rest of that file; ``[...,`` stands for what the file has already;
- any other block runs once Django is set up, in order and in one namespace, as does one for a file that was there
  before, since that is of another project;
- the test cases of the page run at the end.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import types
import unittest
from pathlib import Path
from typing import Any

from tests.test_docs import ROOT, python_blocks

__all__ = ["main"]

_FILE = re.compile(r"# (?P<name>[\w/]+\.py)\n")
_REST = re.compile(r"^(\w+) = \[\.\.\., ", re.M)

_SETTINGS = """
from tests.apps.django_library.settings import *

ROOT_URLCONF = "urls"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"]
MCP = {}
"""


def make_project(folder: Path) -> dict[str, str]:
    """Give the files of a project that does not know of MCP yet."""
    models = ROOT / "tests" / "apps" / "django_library" / "books" / "models.py"
    return {
        "settings.py": _SETTINGS,
        "urls.py": "from django.urls import include, path\n\nurlpatterns = []\n",
        "books/__init__.py": "",
        "books/models.py": models.read_text(),
    }


def split(page: Path, files: dict[str, str]) -> list[tuple[int, str]]:
    """Add the blocks of a page that are files to those; give the others, each with the line before it."""
    others: list[tuple[int, str]] = []
    seen: set[str] = set()
    for line, code in python_blocks(page):
        found = _FILE.match(code)
        if found is None or found["name"] in seen:
            others.append((line, code))
        else:
            seen.add(found["name"])
            files[found["name"]] = files.get(found["name"], "") + _REST.sub(r"\1 = [*\1, ", code)
    return others


def main(page: Path, folder: Path) -> None:
    """Run a page in an empty folder; raise what an example raises, and exit where a test fails."""
    files = make_project(folder)
    others = split(page, files)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    sys.path.insert(0, str(folder))
    os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
    import django
    from django.core.management import call_command
    from django.test.utils import get_runner

    django.setup()
    call_command("check", "--fail-level", "WARNING")
    for name in files:
        importlib.import_module(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    namespace = types.ModuleType("examples")
    sys.modules[namespace.__name__] = namespace
    for line, code in others:
        exec(compile("\n" * line + code, str(page), "exec", dont_inherit=True), namespace.__dict__)
    run_tests(get_runner(django.conf.settings)(verbosity=0, interactive=False), namespace)


def run_tests(runner: Any, namespace: types.ModuleType) -> None:
    """Run the test cases of the page, of which there is one at least."""
    runner.setup_test_environment()
    databases = runner.setup_databases()
    result = runner.run_suite(unittest.defaultTestLoader.loadTestsFromModule(namespace))
    runner.teardown_databases(databases)
    runner.teardown_test_environment()
    if not result.testsRun or not result.wasSuccessful():
        raise SystemExit("The tests of the page fail, or there are none")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
