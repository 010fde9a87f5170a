"""A server that was started again, or replaced by one of the other era, is found again by the client that knew it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import TransportError
from tests.interop.environments import CannotInstall
from tests.real_servers.catalogue import SERVERS, RealServer
from tests.real_servers.installing import install
from tests.real_servers.running import running, values
from tests.servers import reserved_port

# The first test installs what it needs, which takes as long as the network does.
pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform != "linux", reason="the Node among the packages is one for Linux"),
]

PAIRS = [
    # Sessions are lost: Python says so with 404, TypeScript with 400.
    ("mcp-1.30.0-http", "mcp-1.30.0-http"),
    ("typescript-1.32.2-http", "typescript-1.32.2-http"),
    ("typescript-1.32.2-http-stateless", "typescript-1.32.2-http"),
    # The era changes, or it is one of two that both still work.
    ("mcp-2.3.0-http", "mcp-1.30.0-http"),
    ("mcp-1.30.0-http", "mcp-2.3.0-http"),
    ("mcp-1.30.0-http", "typescript-2.4.0-http-modern-only"),
    ("typescript-2.4.0-http", "typescript-1.32.2-http"),
    ("typescript-2.4.0-http", "mcp-1.30.0-http-stateless"),
]


# Those that say when their tools change.
TELLING = [
    ("typescript-1.32.2-http", "typescript-1.32.2-http"),
    ("typescript-2.4.0-http", "typescript-1.32.2-http"),
    ("mcp-2.3.0-http", "mcp-2.3.0-http"),
]


@pytest.fixture
def port() -> Iterator[int]:
    """Keep a port for both servers, also while neither of them runs."""
    with reserved_port() as number:
        yield number


def prepare(names: tuple[str, str], folder: Path) -> list[tuple[RealServer, dict[str, str], Path]]:
    """Install two servers, and say of each what is needed to run it."""
    servers = [SERVERS[name] for name in names]
    try:
        homes = install(server.environment for server in servers)
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    prepared = [(server, values(server, homes[server.environment], folder)) for server in servers]
    return [(*each, folder / f"{place}.txt") for place, each in enumerate(prepared)]


@pytest.mark.parametrize("names", PAIRS, ids=" then ".join)
def test_calls_go_on(names: tuple[str, str], port: int, tmp_path: Path) -> None:
    first, second = prepare(names, tmp_path)
    verdicts: dict[str, str] = {}
    with running(*first, port) as url:
        assert isinstance(url, str)
        client = Client(url, verdicts=verdicts, timeout=60, probe_timeout=60)
        assert client.call_tool("repeat", {"word": "ab", "times": 2}).text == "abab"
        assert client.protocol_version == first[0].version
    with client:
        with pytest.raises(TransportError):
            client.call_tool("repeat", {"word": "ab", "times": 2})
        with running(*second, port):
            assert client.call_tool("repeat", {"word": "ab", "times": 2}).text == "abab"
            # A server that still takes what was spoken before may go on with that.
            assert client.protocol_version in {first[0].version, second[0].version}
            assert verdicts == {url: client.protocol_version}
            client.close()


@pytest.mark.parametrize("names", TELLING, ids=" then ".join)
def test_who_listens_is_told_and_can_listen_again(names: tuple[str, str], port: int, tmp_path: Path) -> None:
    first, second = prepare(names, tmp_path)
    with running(*first, port) as url:
        assert isinstance(url, str)
        client = Client(url, verdicts={}, timeout=60, probe_timeout=60)
        listener = client.listen(tools_list_changed=True)
        client.call_tool("announce")
        assert listener.next(60) is not None
    with client, running(*second, port):
        with pytest.raises(TransportError):
            listener.next(120)
        with client.listen(tools_list_changed=True) as listener:
            client.call_tool("announce")
            assert listener.next(60) is not None
        client.close()
