"""A server that was started again, or replaced by one of the other era, is found again by the client that knew it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import TransportError
from tests.interop.environments import CannotInstall
from tests.real_servers.catalogue import SERVERS
from tests.real_servers.installing import install
from tests.real_servers.running import running, values

# The first test installs what it needs, which takes as long as the network does.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

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


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_client_goes_on(first: str, second: str, tmp_path: Path) -> None:
    before, after = SERVERS[first], SERVERS[second]
    try:
        homes = install([before.environment, after.environment])
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    known = [values(server, homes[server.environment], tmp_path) for server in (before, after)]
    verdicts: dict[str, str] = {}
    with running(before, known[0], tmp_path / "first.txt") as url:
        assert isinstance(url, str)
        client = Client(url, verdicts=verdicts, timeout=30, probe_timeout=20)
        assert client.call_tool("repeat", {"word": "ab", "times": 2}).text == "abab"
        assert client.protocol_version == before.version
    with client:
        with pytest.raises(TransportError):
            client.call_tool("repeat", {"word": "ab", "times": 2})
        with running(after, known[1], tmp_path / "second.txt", urlsplit(url).port):
            assert client.call_tool("repeat", {"word": "ab", "times": 2}).text == "abab"
            # A server that still takes what was spoken before may go on with that.
            assert client.protocol_version in {after.version, before.version}
            assert verdicts == {url: client.protocol_version}
            client.close()
