"""The doctor's own HTTP, against servers that send whatever bytes a test wants."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from types import SimpleNamespace

import pytest

from mcp_wsgi.cli import main
from mcp_wsgi.cli.doctor.patient import Patient, describe
from mcp_wsgi.cli.doctor.raw import Answer, NoAnswer, Sent, Wire, _Reader, chunked
from mcp_wsgi.cli.doctor.sessions import end_sessions

PING = Sent(what="ping", method="POST", path="/mcp", headers=[("Content-Length", "2")], body=b"{}")
#: The longest that anything may take here, in seconds.
PATIENCE = 20.0


@contextmanager
def answering(
    *pieces: bytes, pause: float = 0.0, held: bool = False, context: ssl.SSLContext | None = None
) -> Iterator[tuple[int, list[bytes]]]:
    """Answer each connection with these bytes; give the port, and what each connection sent.

    No connection waits for another one. Each lasts until its client ends it: only then a held one ends at all, and what
    is sent on any other is not lost to a reset.
    """
    received: list[bytes] = []

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(PATIENCE)
            with suppress(OSError):
                connection = context.wrap_socket(self.request, server_side=True) if context else self.request
                with connection:
                    received.append(connection.recv(65536))
                    for piece in pieces:
                        connection.sendall(piece)
                        time.sleep(pause)
                    if not held:
                        connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1], received
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def having_said(said: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Let the next connection be one on which the server has said this already, and says no more; give its end.

    The clock stands still: a deadline passes only while something is waited for, however slow the machine is.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs, monkeypatch.context() as patch:
        patch.setattr("socket.create_connection", lambda *_, timeout: (ours.settimeout(timeout), ours)[1])
        patch.setattr("mcp_wsgi.cli.doctor.raw.time", SimpleNamespace(monotonic=lambda: 0.0))
        theirs.sendall(said)
        yield theirs


def send(port: int, sent: Sent = PING, *, timeout: float = PATIENCE) -> Answer:
    return Wire(f"http://127.0.0.1:{port}/mcp", timeout=timeout, headers=[("User-Agent", "test")]).send(sent)


def test_bytes_go_out_as_they_are_given() -> None:
    sent = Sent(
        what="", method="POST", path="/a?b", headers=[("X", "1"), ("X", "2"), ("user-agent", "mine")], body=b"{}"
    )
    with answering(b"HTTP/1.1 204 No\r\n\r\n") as (port, received):
        assert send(port, sent).status == 204
    head = f"POST /a?b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: 1\r\nX: 2\r\nuser-agent: mine\r\nConnection: close"
    assert received[0].decode() == f"{head}\r\n\r\n{{}}"


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n", b'{"a"', b": 1}extra"], b'{"a": 1}'),
        ([b"HTTP/1.1 200 OK\r\n\r\n{", b"}"], b"{}"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"x" * 70)], b"x" * 70),
        ([b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", b"1"], b"1"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"], b"{}"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"], b"{}"),
    ],
    ids=["length", "to the end", "chunks", "after 100", "cut short", "false length"],
)
def test_bodies_are_read_however_they_are_framed(pieces: list[bytes], body: bytes) -> None:
    with answering(*pieces, pause=0.02) as (port, _):
        answer = send(port)
    assert (answer.status, answer.body) == (200, body)


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([], "closed the connection without an answer"),
        ([b"HTTP/1.1 200"], "sent no HTTP"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "sent no HTTP"),
        ([b"HTTP/1.1 OK\r\n\r\n"], "sent no HTTP"),
        ([b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000], "sent no HTTP"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], "sent broken chunks"),
    ],
    ids=["nothing", "half a line", "another protocol", "no status", "endless headers", "broken chunks"],
)
def test_what_is_no_answer_is_named(pieces: list[bytes], reason: str) -> None:
    with answering(*pieces) as (port, _), pytest.raises(NoAnswer, match=reason) as caught:
        send(port)
    assert caught.value.connected


def test_an_answer_that_does_not_end_is_left_at_the_deadline() -> None:
    # It goes on for much longer than the test may take.
    with (
        answering(b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * 9_000, pause=0.02) as (port, _),
        pytest.raises(NoAnswer, match="did not answer in time"),
    ):
        send(port, timeout=0.3)


def test_a_body_without_bound_is_read_up_to_one() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 1024 * 1024] * 6) as (port, _):
        assert len(send(port).body) <= 4 * 1024 * 1024


EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; a=b\r\n\r\n"
ANSWER = b'data: {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}\n\n'


def test_a_stream_is_read_no_further_than_the_answer() -> None:
    note = b': hello\n\ndata: {"method": "notifications/message"}\n\ndata: no JSON\n\n'
    with answering(EVENTS, note, ANSWER, held=True) as (port, _):
        answer = send(port, timeout=PATIENCE / 2)
    assert answer.result == {"a": 1}
    assert answer.seconds < PATIENCE / 2


def test_a_stream_without_an_answer_is_left_with_what_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with having_said(EVENTS + b"data: 1\n\n", monkeypatch):
        answer = send(1, timeout=0.1)
    assert (answer.messages, answer.message, answer.result, answer.code) == ((1,), {}, None, None)


def test_a_stream_that_says_nothing_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with having_said(EVENTS + b":\n\n", monkeypatch), pytest.raises(NoAnswer, match="in time"):
        send(1, timeout=0.1)


def test_a_stream_with_an_event_without_end_is_left() -> None:
    with answering(EVENTS, b"data: ", *[b"x" * 1024 * 1024] * 5) as (port, _):
        assert send(port).messages == ()


def test_of_a_head_and_of_a_get_of_a_stream_only_the_head_is_read() -> None:
    with answering(EVENTS, held=True) as (port, _):
        for sent in (
            Sent(what="", method="HEAD", path="/mcp"),
            Sent(what="", method="GET", path="/mcp", head_only=True),
        ):
            answer = send(port, sent)
            assert (answer.media_type, answer.has_body) == ("text/event-stream", False)


def test_a_server_that_does_not_read_is_named() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        big = Sent(what="", method="POST", path="/", body=b"x" * 50_000_000)
        with pytest.raises(NoAnswer, match="does not read"):
            send(listener.getsockname()[1], big, timeout=0.5)


def test_a_server_that_does_not_accept_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_: object, **__: object) -> socket.socket:
        raise TimeoutError

    monkeypatch.setattr("socket.create_connection", wait)
    with pytest.raises(NoAnswer, match="does not accept connections") as caught:
        send(1)
    assert not caught.value.connected


def test_a_server_that_drops_the_connection_is_named() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with listener, pytest.raises(NoAnswer, match="closed the connection without an answer"):
        send(listener.getsockname()[1])
    thread.join()


def test_a_server_that_drips_is_left_at_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"x")
        reader = _Reader(ours, time.monotonic())
        with pytest.raises(NoAnswer, match="in time"):
            reader.more()


def test_sessions_of_a_server_that_has_gone_are_left() -> None:
    wire = Wire("http://127.0.0.1:1/mcp")
    patient = Patient(wire=wire, path=wire.path, sessions=["a", "b"])
    end_sessions(patient)
    assert patient.answers == []


def test_a_server_that_answers_before_it_has_read_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(what="", method="POST", path="/", body=b"x" * 5_000_000)
    with having_said(b"HTTP/1.1 413 Too big\r\nContent-Length: 0\r\n\r\n", monkeypatch) as theirs:
        # Sending fails from now on. Over a network the system may throw the answer away with the connection.
        theirs.shutdown(socket.SHUT_RD)
        assert send(1, sent).status == 413


@pytest.mark.parametrize("url", ["mcp", "ftp://a/", "http:///mcp", "http://a:b/"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        Wire(url)


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://a", "a", "/"),
        ("https://a/mcp?b=c", "a", "/mcp?b=c"),
        ("http://[::1]:8000/mcp", "[::1]:8000", "/mcp"),
        ("http://A:80/mcp/", "a:80", "/mcp/"),
    ],
)
def test_a_url_is_taken_apart(url: str, authority: str, path: str) -> None:
    wire = Wire(url)
    assert (wire.authority, wire.path) == (authority, path)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("tls")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=DNS:localhost"]
    try:
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs openssl")
    return folder


def tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def test_https_is_spoken(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    with answering(b"HTTP/1.1 204 No\r\n\r\n", context=tls(certificate)) as (port, _):
        assert Wire(f"https://localhost:{port}/mcp").send(PING).status == 204


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    with (
        answering(b"HTTP/1.1 204 No\r\n\r\n", context=tls(certificate)) as (port, _),
        pytest.raises(NoAnswer, match="has a certificate that is refused: self-signed") as caught,
    ):
        Wire(f"https://localhost:{port}/mcp").send(PING)
    assert not caught.value.connected


def test_a_server_without_tls_is_named() -> None:
    with answering(b"HTTP/1.1 400 Bad\r\n\r\n") as (port, _), pytest.raises(NoAnswer, match="does not speak TLS"):
        Wire(f"https://127.0.0.1:{port}/mcp").send(PING)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (NoAnswer("did not answer in time"), "nothing: the server did not answer in time"),
        (Answer(status=204, has_body=False), "HTTP 204"),
        (Answer(status=202), "HTTP 202, no body"),
        (Answer(status=307, headers=[("location", "/x\x1b")], has_body=False), "HTTP 307, to /x\\x1b"),
        (Answer(status=307, has_body=False), "HTTP 307, to nowhere"),
        (Answer(status=200, body=b"a\x07\n b" + b"c" * 200), 'HTTP 200, "a\\x07 b' + "c" * 70 + '..."'),
        (
            Answer(
                status=400, headers=[("content-type", "A/b; c")], messages=[{"error": {"code": "x\n", "message": 5}}]
            ),
            'HTTP 400, a/b, error x, ""',
        ),
        (Answer(status=200, messages=[{"error": 5}]), "HTTP 200, no body"),
    ],
)
def test_an_answer_is_described_in_one_harmless_line(answer: Answer | NoAnswer, told: str) -> None:
    assert describe(answer) == told


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    given, send = set(), Wire.send

    def noted(wire: Wire, sent: Sent) -> Answer:
        given.add(wire.timeout)
        return send(wire, sent)

    monkeypatch.setattr(Wire, "send", noted)
    with answering(held=True) as (port, _):
        assert main(["doctor", f"http://127.0.0.1:{port}/mcp", "--timeout", "0.2"]) == 3
    assert given == {0.2}


def test_a_server_that_stops_to_answer_is_left_after_a_few_requests(capsys: pytest.CaptureFixture[str]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}).encode()
    good = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for number in range(3):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                if number:  # the probe is not answered either
                    connection.sendall(good)
        listener.close()

    thread = threading.Thread(target=serve)
    thread.start()
    port = listener.getsockname()[1]
    assert main(["doctor", f"http://127.0.0.1:{port}/mcp", "--timeout", "20", "--json"]) == 1
    thread.join()
    findings = json.loads(capsys.readouterr().out)["findings"]
    broken = [each for each in findings if each["verdict"] == "broken"]
    assert len(broken) == 3
    # A connection that comes just before the end is closed, a later one is refused.
    assert all(each["came"].startswith("nothing: ") for each in broken), broken
    assert findings[-1]["says"] == "The server has stopped to answer, or answers too slowly."


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n",
    ],
)
def test_numbers_that_are_none_are_no_accident(head: bytes) -> None:
    with answering(head + b"\r\n{}") as (port, _), suppress(NoAnswer):
        assert send(port).body == b"{}"


@pytest.mark.parametrize(
    "odd",
    [b"5", b"[]", b'"x"', b'{"code": [], "message": {}, "data": []}', b'{"code": -32022, "data": {"supported": 5}}'],
)
def test_errors_of_any_form_are_read(odd: bytes) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "error": %b}' % odd
    with answering(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + body) as (port, _):
        answer = send(port)
        assert answer.error_text == ""
        assert answer.supported is None
        assert main(["doctor", f"http://127.0.0.1:{port}/mcp"]) == 1


def test_what_all_answers_together_hold_is_bounded() -> None:
    body = b"x" * (3 * 1024 * 1024)
    with answering(b"HTTP/1.1 200 OK\r\n\r\n" + body) as (port, _):
        patient = Patient(wire=Wire(f"http://127.0.0.1:{port}/mcp"), path="/mcp")
        for _ in range(8):
            assert len(patient.send(PING).body) == len(body)
            patient.trace.clear()
        assert sum(len(answer.body) for _, answer in patient.answers) == len(body)
