"""Each module says what it exports: all of it, sorted, and with a docstring."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

import mcp_wsgi
from tests.test_imports import IMPORTS, MODULES, PROGRAM, ROOT, layer_of

NAMES = sorted(name for name in MODULES if not name.endswith("__main__"))


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is to be known of a module once it is imported."""

    exported: list[str]
    absent: list[str]
    documented: bool
    undocumented: list[str]


def facts_of(module: ModuleType) -> Facts:
    exported = list(getattr(module, "__all__", ()))
    present = [item for item in exported if hasattr(module, item)]
    return Facts(
        exported=exported,
        absent=[item for item in exported if item not in present],
        documented=bool((module.__doc__ or "").strip()),
        undocumented=[item for item in present if not documented(getattr(module, item))],
    )


# Some of Django's modules read its settings when they are imported, and a process has only one set of settings.
CONFIGURED = """
import importlib, json, sys
from dataclasses import asdict

import django
from tests.test_exports import facts_of

django.setup()
print(json.dumps({name: asdict(facts_of(importlib.import_module(name))) for name in sys.argv[1:]}))
"""


@functools.cache
def facts_of_the_django_door() -> dict[str, Facts]:
    probe = subprocess.run(
        [sys.executable, "-c", CONFIGURED, *(name for name in NAMES if layer_of(name) == "django")],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.apps.django_library.settings"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=100,
        check=True,
    )
    return {name: Facts(**facts) for name, facts in json.loads(probe.stdout).items()}


def facts(name: str) -> Facts:
    layer = layer_of(name)
    if layer in ("flask", "django") and importlib.util.find_spec(layer) is None:
        pytest.skip(f"{layer} is not installed")
    if layer == "django":
        return facts_of_the_django_door()[name]
    return facts_of(importlib.import_module(name))


def tree_of(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text())


def defined(name: str) -> set[str]:
    """Give the public functions and classes of a module; the program's own modules export what others take."""
    if layer_of(name) in PROGRAM:
        return set()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in tree_of(name).body if isinstance(node, kinds) and not node.name.startswith("_")}


def taken(name: str) -> set[str]:
    """Give the names that other modules of the package import from a module."""
    names = {found.name for found in IMPORTS if found.target == name and found.name}
    return {item for item in names if f"{name}.{item}" not in MODULES and item != "__version__"}


def kind(name: str) -> tuple[int, str]:
    """Sort as ruff does (RUF022): constants, classes, then the rest."""
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", name) and len(name) > 1:
        return 0, name
    return (1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("name", NAMES)
def test_all_is_sorted_and_says_no_name_twice(name: str) -> None:
    exported = facts(name).exported
    assert exported == sorted(set(exported), key=kind)


@pytest.mark.parametrize("name", NAMES)
def test_all_is_complete_and_true(name: str) -> None:
    found = facts(name)
    assert found.absent == []
    # A module without __all__ exports nothing, and then has nothing public.
    assert sorted((defined(name) | taken(name)) - set(found.exported)) == []


def test_the_package_exports_what_it_imports() -> None:
    imported = {
        alias.asname or alias.name
        for node in tree_of("mcp_wsgi").body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert imported == set(mcp_wsgi.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_each_module_and_public_name_has_a_docstring(name: str) -> None:
    found = facts(name)
    assert found.documented
    assert found.undocumented == []


def documented(item: Any) -> bool:
    """Data is documented by a comment above it or by its name; functions, classes and their members by themselves."""
    if not (inspect.isclass(item) or inspect.isroutine(item)) or not str(item.__module__).startswith("mcp_wsgi"):
        return True
    if not (item.__doc__ or "").strip():
        return False
    if not inspect.isclass(item) or issubclass(item, tuple) or getattr(item, "_is_protocol", False):
        return True
    members = {key: value for key, value in vars(item).items() if not key.startswith("_")}
    return all(
        (value.__doc__ or "").strip()
        for value in members.values()
        if inspect.isroutine(value) or isinstance(value, (property, classmethod, staticmethod))
    )
