"""A server on stdio that ends, or sends what cannot be read on: one call fails at most, and the next finds another."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_wsgi.client import Client
from mcp_wsgi.exceptions import ClientError, RemoteProtocolError, ServerExitedError
from tests.patience import wait_until

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os
from mcp_wsgi import Server
from mcp_wsgi.stdio import serve_stdio

server = Server("ending")

@server.resource("count://now")
def now() -> str:
    return "now"

@server.tool
def pid() -> str:
    return str(os.getpid())

@server.tool
def end() -> str:
    os._exit(3)

@server.tool
def repeat(word: str, times: int) -> str:
    return word * times

serve_stdio(server)
"""


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    command = [sys.executable, "-c", PROGRAM]
    options = {"protocol_version": request.param, "max_message_size": 10_000, "cwd": str(ROOT)}
    with Client(command, **options) as client:
        yield client


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the exit status of a process, which comes when the machine finds the time for it."""
    monkeypatch.setattr("mcp_wsgi.transport.stdio._MOMENT", 15)


def pid_of(client: Client) -> int:
    return int(client.call_tool("pid").text)


def has_failed(client: Client) -> bool:
    connection = client._session.current
    return connection is not None and connection.transport.failed


def test_one_that_ends_in_a_call(client: Client) -> None:
    first = pid_of(client)
    with pytest.raises(ServerExitedError) as failure:
        client.call_tool("end")
    assert failure.value.returncode == 3
    assert pid_of(client) != first


def test_one_that_ends_while_nobody_asks(client: Client) -> None:
    first = pid_of(client)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: has_failed(client))
    assert pid_of(client) != first


def test_one_that_says_more_than_is_allowed(client: Client) -> None:
    first = pid_of(client)
    with pytest.raises(RemoteProtocolError, match="max_message_size"):
        client.call_tool("repeat", {"word": "0123456789", "times": 2_000})
    assert client.call_tool("repeat", {"word": "ab", "times": 2}).text == "abab"
    assert pid_of(client) != first


def test_who_listens_to_one_that_ends_is_told(client: Client) -> None:
    listener = client.listen(resources=["count://now"])
    assert listener.honoured == {"resourceSubscriptions": ["count://now"]}
    os.kill(pid_of(client), signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(ClientError):
        listener.next()
    assert time.monotonic() - start < 30
    assert listener.closed
    assert list(listener) == []
    listener.close()


def test_who_listens_is_told_too_where_another_call_finds_the_next_one(client: Client) -> None:
    listener = client.listen(resources=["count://now"])
    first = pid_of(client)
    with pytest.raises(ServerExitedError):
        client.call_tool("end")
    assert pid_of(client) != first
    with pytest.raises(ClientError):
        listener.next(30)
    with client.listen(resources=["count://now"]) as another:
        assert another.next(0.7) is None


def test_who_listens_is_told_when_the_server_is_forgotten(client: Client) -> None:
    listener = client.listen(resources=["count://now"])
    client.forget()
    with pytest.raises(ClientError):
        listener.next(30)
    assert pid_of(client)
