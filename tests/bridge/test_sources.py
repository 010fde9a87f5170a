"""What connect_servers is given: targets, mappings with options, configurations of hosts."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import ConfigurationError, Server
from mcp_wsgi.bridge.sources import Source, check_options, read_sources
from mcp_wsgi.client import Client

URL = "https://example.com/mcp"


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    return None


def test_what_a_client_takes_is_a_server() -> None:
    targets = [URL, ["npx", "-y", "thing"], ("uvx", "thing"), Server("s"), answer, Client(URL)]
    assert read_sources(targets) == [Source(target=target) for target in targets]


def test_a_mapping_has_options() -> None:
    (source,) = read_sources(
        [
            {
                "url": URL,
                "id": "shop",
                "prefix": True,
                "include": ["a", "b"],
                "exclude": ("b",),
                "questions": False,
                "headers": {"X-Key": "k"},
                "timeout": 5,
            }
        ]
    )
    assert source == Source(
        target=URL,
        name="shop",
        prefix=True,
        include=frozenset({"a", "b"}),
        exclude=frozenset({"b"}),
        questions=False,
        options={"headers": {"X-Key": "k"}, "timeout": 5},
    )
    assert [name for name in "abc" if source.wants(name)] == ["a"]


@pytest.mark.parametrize(
    ("entry", "target"),
    [
        ({"command": "npx", "args": ["-y", "thing"]}, ["npx", "-y", "thing"]),
        ({"command": "npx"}, ["npx"]),
        ({"command": ["npx", "-y"], "args": ("thing",)}, ["npx", "-y", "thing"]),
        ({"target": answer}, answer),
        ({"url": URL, "command": None}, URL),
    ],
)
def test_a_mapping_names_its_server_in_one_of_three_ways(entry: dict[str, Any], target: Any) -> None:
    assert read_sources([entry])[0].target == target


CONFIGURATION = {
    "mcpServers": {
        "files": {
            "command": "npx",
            "args": ["-y", "files"],
            "env": {"A": "1"},
            "alwaysAllow": ["read"],
            "timeout": 60000,
        },
        "web": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer t"}, "env": {"unused": "x"}},
        "old": {"serverUrl": URL, "args": []},
        "other": {"httpUrl": URL, "disabled": False},
        "off": {"command": "x", "disabled": True},
    }
}


@pytest.mark.parametrize(
    "given", [CONFIGURATION, [CONFIGURATION], {"servers": CONFIGURATION["mcpServers"]}], ids=["alone", "list", "vscode"]
)
def test_a_host_s_configuration_is_read_and_its_own_members_are_not(given: Any) -> None:
    if isinstance(given, dict):
        given = {**given, "inputs": []}
    CONFIGURATION["mcpServers"]["old"].pop("args", None)
    assert read_sources(given) == [
        Source(target=["npx", "-y", "files"], name="files", options={"env": {"A": "1"}}),
        Source(target=URL, name="web", options={"headers": {"Authorization": "Bearer t"}}),
        Source(target=URL, name="old"),
        Source(target=URL, name="other"),
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (URL, "as a list, not as str"),
        (b"x", "as a list, not as bytes"),
        (None, "as a list, not as NoneType"),
        ({"url": URL}, "goes into a list"),
        ({"mcpServers": {"a": URL}}, "'a' is configured by a mapping"),
        ({"mcpServers": {"a": {}}}, "exactly one of url, command, target"),
        ([{}], "exactly one"),
        ([{"url": URL, "command": "x"}], "exactly one"),
        ([{"url": URL, "args": ["x"]}], '"args" belong to a "command"'),
        ([{"command": "x", "args": "y"}], '"args" is a list of strings'),
        ([{"command": "x", "args": [1]}], '"args" is a list of strings'),
        ([{"command": "x", "args": 5}], '"args" is a list of strings'),
        ([{"url": URL, "header": {}}], "Unknown options of a server: header; known are: "),
        ([{"url": URL, 5: {}}], "Unknown options of a server: 5;"),
        ([{"url": URL, "id": 5}], '"id" of a server is str, not int'),
        ([{"url": URL, "prefix": "shop"}], '"prefix" of a server is bool'),
        ([{"url": URL, "questions": "no"}], '"questions" of a server is bool'),
        ([{"url": URL, "include": "a"}], '"include" is a list of names'),
        ([{"url": URL, "exclude": 5}], '"exclude" is a list of names'),
        ([{"url": URL, "exclude": [5]}], '"exclude" is a list of names'),
        ([{"target": Client(URL), "timeout": 5}], "A client has its own timeout"),
    ],
)
def test_what_names_no_server_is_refused_with_the_reason(given: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_sources(given)
    assert reason in str(caught.value)


def test_options_of_all_clients_are_checked() -> None:
    check_options({"timeout": 5, "headers": {}})
    with pytest.raises(ConfigurationError, match="Unknown options of a client: header, retries"):
        check_options({"timeout": 5, "retries": 1, "header": {}})


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (URL, "example.com"),
        ("http://", "server"),
        (["/usr/bin/thing", "x"], "thing"),
        (["C:\\bin\\thing.exe"], "thing.exe"),
        (Server("shop"), "shop"),
        (answer, "answer"),
        (object(), "server"),
        (Client(URL), Client(URL).address),
    ],
)
def test_a_server_that_never_said_its_name_is_called_by_where_it_is(target: Any, name: str) -> None:
    assert Source(target=target).fallback_name == name


def test_a_source_shows_no_secrets() -> None:
    source = read_sources([{"url": "https://user:secret@example.com", "headers": {"Authorization": "secret"}}])[0]
    assert "secret" not in repr(source)
