"""The servers that other tests run on do what those tests rely on, and differ only as is known."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.patience import wait_until
from tests.raw import Connection, chunked, exchange, request
from tests.servers import KINDS, NotStarted, Running, available, serve

pytestmark = pytest.mark.servers

ECHO = "tests.apps.echo:application"
PREFORKING = [kind for kind in KINDS if kind.startswith(("gunicorn", "uwsgi"))]


def installed(kind: str) -> str:
    if not available(kind):
        pytest.skip(f"{kind} is not installed")
    return kind


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    with serve(installed(request.param), ECHO) as running:
        yield running


def test_a_server_answers(server: Running) -> None:
    answer = exchange(server, request("GET", "/"))
    assert (answer.status, answer.json()) == (200, "hello")


def test_a_body_with_a_length_arrives(server: Running) -> None:
    answer = exchange(server, request("POST", "/body", [("Content-Length", "5")], b"hello"))
    assert answer.json()["body"] == "hello"


def test_a_chunked_body_arrives_in_the_way_of_each_server(server: Running) -> None:
    data = request("POST", "/body", [("Transfer-Encoding", "chunked")], chunked([b"hello", b" world"]))
    answer = exchange(server, data).json()
    expected = {
        "waitress": {"length": "11", "terminated": True, "body": "hello world"},
        "uwsgi": {"length": None, "terminated": None, "body": "hello world"},
        "wsgiref": {"length": None, "terminated": None, "body": ""},
    }
    assert answer == expected.get(server.kind, {"length": None, "terminated": True, "body": "hello world"})


def test_repeated_headers_are_joined_by_commas(server: Running) -> None:
    answer = exchange(server, request("GET", "/environ", [("Mcp-Method", "a"), ("mcp-method", "b")]))
    assert answer.json()["HTTP_MCP_METHOD"].replace(", ", ",") == "a,b"


def test_an_underscore_passes_for_a_hyphen_on_some_servers(server: Running) -> None:
    answer = exchange(server, request("GET", "/environ", [("Mcp_Method", "a")]))
    expected = "a" if server.kind in ("uwsgi", "wsgiref") else None
    assert answer.json().get("HTTP_MCP_METHOD") == expected


def test_a_stream_arrives_piece_by_piece_and_its_end_is_noticed(server: Running) -> None:
    with Connection(server) as connection:
        connection.send(request("GET", "/stream"))
        start = connection.receive_head()
        # wsgiref speaks HTTP/1.0, where the end of the connection ends the body.
        assert start.header("transfer-encoding") == (None if server.kind == "wsgiref" else "chunked")
        pieces = connection.pieces(start)
        assert next(pieces) == b"0\n"
    server.wait_for_log("stream closed")


@pytest.mark.parametrize("kind", PREFORKING)
def test_every_worker_takes_part(kind: str) -> None:
    with serve(installed(kind), ECHO, workers=2) as server:
        seen: set[int] = set()

        def are_two() -> bool:
            seen.add(exchange(server, request("GET", "/pid")).json())
            return len(seen) == 2

        wait_until(are_two, 60)
        server.assert_clean()


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_is_in_the_log_and_nothing_answers_after_the_end(kind: str) -> None:
    with serve(installed(kind), ECHO) as server, Connection(server) as connection:
        connection.send(request("GET", "/fail"))
        server.wait_for_log("failed as asked")
        with pytest.raises(AssertionError):
            server.assert_clean()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port), timeout=5).close()


@pytest.mark.parametrize("kind", ["gunicorn-gthread", "uwsgi", "waitress"])
def test_an_application_that_cannot_be_loaded_is_reported(kind: str) -> None:
    with pytest.raises(NotStarted) as failure, serve(installed(kind), "tests.absent_module:app"):
        pass
    assert "No module named 'tests.absent_module'" in failure.value.log


def test_the_environment_reaches_the_application() -> None:
    with serve("wsgiref", "tests.apps.echo:application", env={"HTTP_FROM_ENV": "yes"}) as server:
        assert exchange(server, request("GET", "/environ")).json()["HTTP_FROM_ENV"] == "yes"
