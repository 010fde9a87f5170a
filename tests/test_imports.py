"""What is imported when, and by whom (docs/architecture.md, Layers).

Every import statement of the package is looked at, lazy ones and those for type checkers included; and every module is
imported by itself, as a user may do.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "mcp_wsgi"

FILES = sorted((ROOT / PACKAGE).rglob("*.py"))
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}

# Lowest first: a layer may import itself and what is before it. A module of no layer is a door, or above the doors.
LAYERS = ("errors", "exceptions", "protocol", "server", "http", "aio")
#: The other way up, to where messages are sent from.
CALLING = ("errors", "exceptions", "protocol", "server", "transport", "client", "bridge")
PROGRAM = ("cli", "__main__", "demo")
#: The doors of frameworks, and the doors that they are built on.
BUILT_ON = {"flask": {"wsgi"}, "django": {"asgi", "wsgi"}}

#: Loaded only where they are needed, because they are slow to import or not everybody's.
HEAVY = (
    *("requests", "jsonschema", "referencing", "pydantic", "werkzeug", "flask", "django", "asgiref", "itsdangerous"),
    *("docstring_parser", "uritemplate", "asyncio", "gevent", "annotated_types", "attr", "rich", "rest_framework"),
)
#: The modules that are themselves imported lazily, or run on a loop, and what they load then.
LAZY_MODULES = {
    "mcp_wsgi.server.coroutines": {"asgiref", "asyncio"},
    "mcp_wsgi.aio.drive": {"asyncio"},
    "mcp_wsgi.aio.streams": {"asyncio"},
    "mcp_wsgi.asgi": {"asyncio"},
}
#: The transports over HTTP, which a client imports when it is given a URL.
OVER_HTTP = {
    name
    for name in MODULES
    if name.startswith(tuple(f"mcp_wsgi.transport.{part}" for part in ("http", "sse", "watch")))
}
#: What the door of a framework may load; most of it is loaded by the framework, which differs between its releases.
LOADED_BY_FRAMEWORKS = {
    "flask": {"flask", "werkzeug", "itsdangerous", "asgiref", "asyncio", "rich"},
    "django": {"django", "asgiref", "asyncio"},
}
#: The modules that read Django's settings when they are imported.
CONFIGURED = {"mcp_wsgi.django.urls"}

#: The libraries of the layers, and the only modules that may import them (in a function, unless said otherwise).
LIBRARIES = {
    "msgspec": {
        "mcp_wsgi.protocol.codec",
        "mcp_wsgi.protocol.jsonrpc",
        "mcp_wsgi.protocol.meta",
        "mcp_wsgi.server.*",
        "mcp_wsgi.demo.*",
    },
    "requests": {
        *OVER_HTTP,
        "mcp_wsgi.client.client",
        "mcp_wsgi.client.targets",
    },  # in the client for type checkers only
    "urllib3": OVER_HTTP,
    "jsonschema": {"mcp_wsgi.server.validation"},
    "referencing": {"mcp_wsgi.server.validation"},
    "itsdangerous": {"mcp_wsgi.server.state"},
    "asgiref": {"mcp_wsgi.server.coroutines", "mcp_wsgi.django.*"},
    "django": {"mcp_wsgi.django", "mcp_wsgi.django.*"},
    "rest_framework": {"mcp_wsgi.django.auth"},
    "flask": {"mcp_wsgi.flask"},
    "werkzeug": {"mcp_wsgi.flask"},
    "gevent": {"mcp_wsgi.server.coroutines"},
    "docstring_parser": {"mcp_wsgi.server.docstrings"},
    "uritemplate": {"mcp_wsgi.server.uri_template"},
    "pydantic": {"mcp_wsgi.server.*"},
    "uwsgi": {"mcp_wsgi.wsgi"},
    "typing_extensions": {"mcp_wsgi.server.server"},  # for type checkers only
}
#: Those that may be imported at the top of a module, and where: "*" is wherever they may be imported at all.
EAGER = {("msgspec", "*"), ("django", "*"), ("flask", "*"), ("werkzeug", "*")}
EAGER |= {(library, name) for name in OVER_HTTP for library in ("requests", "urllib3")}
EAGER |= {
    ("asgiref", f"mcp_wsgi.{module}")
    for module in ("server.coroutines", "django.bodies", "django.threads", "django.views")
}
#: The modules that know the event loop, and whether they load it; the others run the same with it and without it.
LOOPS = {
    "mcp_wsgi.aio.drive": True,
    "mcp_wsgi.aio.streams": True,
    "mcp_wsgi.asgi": True,
    "mcp_wsgi.django.threads": True,
    "mcp_wsgi.server.coroutines": True,
    "mcp_wsgi.http.shutdown": False,
}


@dataclass(frozen=True, kw_only=True)
class Import:
    """A module that a module imports, or a name from it; `eager`: when it is itself imported."""

    importer: str
    target: str
    name: str
    eager: bool
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target}"


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def walk(node: ast.AST, *, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        inside = lazy or is_for_type_checkers(child) or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield child, inside
        yield from walk(child, lazy=inside)


def imports_of(name: str, path: Path) -> Iterator[Import]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, lazy in walk(ast.parse(path.read_text())):
        found: list[tuple[str, str]] = []
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            # "from . import x" may name a module or a member.
            found = [
                (f"{base}.{alias.name}", "") if f"{base}.{alias.name}" in MODULES else (base, alias.name)
                for alias in node.names
            ]
        for target, member in found:
            yield Import(importer=name, target=target, name=member, eager=not lazy, line=getattr(node, "lineno", 0))


IMPORTS = [found for name, path in MODULES.items() for found in imports_of(name, path)]
OWN = [found for found in IMPORTS if found.target.split(".")[0] == PACKAGE]
STDLIB = {*sys.stdlib_module_names, "_typeshed", "annotationlib"}  # the last is new in 3.14
FOREIGN = [found for found in IMPORTS if found.target.split(".")[0] not in {PACKAGE, *STDLIB}]


def layer_of(module: str) -> str:
    """Give the part below the package: a layer, a part of the program, or a door; empty for the package itself."""
    return module.removeprefix(PACKAGE).lstrip(".").split(".")[0]


def is_door(module: str) -> bool:
    return layer_of(module) not in ("", *LAYERS, *CALLING, *PROGRAM)


def matches(module: str, patterns: set[str]) -> bool:
    return any(module == pattern or (pattern.endswith("*") and module.startswith(pattern[:-1])) for pattern in patterns)


def test_the_walk_sees_what_is_there() -> None:
    assert {"mcp_wsgi", "mcp_wsgi.wsgi", "mcp_wsgi.server.server", "mcp_wsgi.django.views"} <= set(MODULES)
    assert any(found.target == "mcp_wsgi.server.coroutines" and not found.eager for found in OWN)
    assert any(found.target == "msgspec" and found.eager for found in FOREIGN)
    assert {layer_of(name) for name in MODULES if is_door(name)} == {"wsgi", "asgi", "flask", "django", "stdio"}
    assert not is_door("mcp_wsgi.http.endpoint")


@pytest.mark.parametrize("layers", [LAYERS, CALLING], ids=["to the doors", "to the callers"])
def test_a_layer_imports_only_itself_and_what_is_below_it(layers: tuple[str, ...]) -> None:
    wrong = [
        str(found)
        for found in OWN
        if (layer := layer_of(found.importer)) in layers
        and layer_of(found.target) not in layers[: layers.index(layer) + 1]
    ]
    assert wrong == []


def test_what_serves_and_what_calls_know_nothing_of_each_other() -> None:
    serving = {"http", "aio", "wsgi", "asgi", "flask", "django", "stdio"}
    calling = {"transport", "client", "bridge"}
    wrong = [
        str(found)
        for found in OWN
        if {layer_of(found.importer), layer_of(found.target)} & serving
        and {layer_of(found.importer), layer_of(found.target)} & calling
    ]
    assert wrong == []


def test_only_the_program_imports_a_door_and_a_framework_the_doors_that_it_is_built_on() -> None:
    wrong = [
        str(found)
        for found in OWN
        if (is_door(found.target) or layer_of(found.target) in PROGRAM)
        and layer_of(found.importer) not in PROGRAM
        and layer_of(found.target) not in {layer_of(found.importer), *BUILT_ON.get(layer_of(found.importer), ())}
    ]
    assert wrong == []


def test_a_door_imports_nothing_through_the_package_itself() -> None:
    # It would load every name of the package for one, and in a circle.
    assert [str(found) for found in OWN if found.target == PACKAGE and layer_of(found.importer) not in PROGRAM] == []


def test_the_pure_layers_import_no_library_but_the_one_that_reads_and_writes_json() -> None:
    pure = [found for found in FOREIGN if layer_of(found.importer) in ("", "errors", "exceptions", "protocol", "http")]
    assert [str(found) for found in pure if found.target != "msgspec"] == []


def test_each_library_has_its_only_importers() -> None:
    wrong = [
        str(found)
        for found in FOREIGN
        if layer_of(found.importer) not in PROGRAM
        and not matches(found.importer, LIBRARIES.get(found.target.split(".")[0], set()))
    ]
    assert wrong == []


def test_libraries_are_imported_where_they_are_needed() -> None:
    wrong = [
        str(found)
        for found in FOREIGN
        if found.eager and not {(found.target.split(".")[0], where) for where in ("*", found.importer)} & EAGER
    ]
    assert wrong == []


def test_only_what_runs_on_an_event_loop_knows_one() -> None:
    assert {found.importer: found.eager for found in IMPORTS if found.target.split(".")[0] == "asyncio"} == LOOPS


# In a fresh interpreter

# Whatever is imported of a package, the package itself comes first: so a fork of an interpreter that has imported only
# that is as fresh as a new one, and much quicker.
PROBE = """
import importlib, json, os, sys
names, heavy, configured = map(json.loads, sys.argv[1:])
importlib.import_module(names[0])
for name in names:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        if name in configured:
            os.environ["DJANGO_SETTINGS_MODULE"] = "tests.apps.django_library.settings"
            importlib.import_module("django").setup()
        importlib.import_module(name)
        print(json.dumps([name, [module for module in heavy if module in sys.modules]]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def is_installed(layer: str) -> bool:
    return layer not in BUILT_ON or importlib.util.find_spec(layer) is not None


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """Import each module by itself, and say what heavy libraries that loads."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    names = [name for name in sorted(MODULES) if not name.endswith("__main__") and is_installed(layer_of(name))]
    assert names[0] == PACKAGE
    environ = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    probe = subprocess.run(
        [sys.executable, "-S", "-c", PROBE, *(json.dumps(list(each)) for each in (names, HEAVY, CONFIGURED))],
        cwd=ROOT,
        env={**environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    found = {name: set(heavy) for name, heavy in map(json.loads, probe.stdout.splitlines())}
    assert found.keys() == set(names), probe.stderr
    assert probe.stderr == ""
    return found


def test_each_module_can_be_imported_first_and_loads_nothing_heavy(loaded: dict[str, set[str]]) -> None:
    assert loaded["mcp_wsgi.transport.http"] == {"requests"}
    assert all(loaded[name] <= {"requests"} for name in OVER_HTTP)
    others = {name: heavy for name, heavy in loaded.items() if layer_of(name) not in BUILT_ON and name not in OVER_HTTP}
    assert {name: heavy for name, heavy in others.items() if heavy} == LAZY_MODULES


@pytest.mark.parametrize("framework", LOADED_BY_FRAMEWORKS)
def test_the_door_of_a_framework_loads_that_framework_only(loaded: dict[str, set[str]], framework: str) -> None:
    if not is_installed(framework):
        pytest.skip(f"{framework} is not installed")
    modules = {name: heavy for name, heavy in loaded.items() if layer_of(name) == framework}
    assert all(framework in heavy for heavy in modules.values())
    more = {name: heavy - LOADED_BY_FRAMEWORKS[framework] for name, heavy in modules.items()}
    assert {name: heavy for name, heavy in more.items() if heavy} == {}
