"""Each module says what it exports: all of it, sorted, and with a docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import pytest

import mcp_wsgi
from tests.test_imports import IMPORTS, MODULES, PROGRAM, layer_of

NAMES = sorted(name for name in MODULES if not name.endswith("__main__"))


def exported(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", ()))


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
    names = exported(importlib.import_module(name))
    assert names == sorted(set(names), key=kind)


@pytest.mark.parametrize("name", NAMES)
def test_all_is_complete_and_true(name: str) -> None:
    module = importlib.import_module(name)
    names = exported(module)
    assert [missing for missing in names if not hasattr(module, missing)] == []
    # A module without __all__ exports nothing, and then has nothing public.
    assert sorted((defined(name) | taken(name)) - set(names)) == []


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
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), name
    assert [item for item in exported(module) if not documented(getattr(module, item))] == []


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
