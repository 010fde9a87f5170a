"""What requests knows, kept: headers, authentication, cookies, proxies, TLS; redirections, followed at home."""

from __future__ import annotations

import base64
import gzip
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPDigestAuth

from mcp_wsgi.exceptions import (
    ClientClosedError,
    ClientError,
    ConfigurationError,
    HTTPStatusError,
    RequestCancelledError,
    RequestTimeoutError,
    TransportError,
    UnauthorizedError,
)
from mcp_wsgi.transport import Deadline, Exchange
from mcp_wsgi.transport.http import HTTPTransport
from mcp_wsgi.transport.http_faults import explain
from mcp_wsgi.transport.http_wire import Wire
from mcp_wsgi.transport.watch import Watch
from tests.modern import message
from tests.transport.scripted import (
    Got,
    Peer,
    Scripted,
    json_answer,
    legacy,
    no_leaks,
    plain,
    result,
    scripted,
)

DIGEST = 'Digest realm="r", nonce="n", qop="auth"'
CALL = message("tools/list")


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("NETRC", os.devnull)


def ask(url: str, *requests_: dict[str, Any], timeout: float = 30.0, **options: Any) -> dict[str, Any]:
    transport = HTTPTransport(url, **options)
    try:
        for each in requests_ or (CALL,):
            answer = transport.request(each, Exchange(Deadline(timeout)))
        return answer
    finally:
        transport.close()


def echo(got: Got, peer: Peer) -> None:
    peer.send(json_answer(result(got.id)))


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


# Headers


def test_headers_of_the_caller_are_added_and_those_of_the_protocol_stay(caplog):
    given = {
        "X-Mine": "1",
        "Authorization": "Bearer t",
        "User-Agent": "me",
        "accept": "text/html",
        "Content-Type": "text/plain",
        "MCP-Protocol-Version": "1",
        "mcp-method": "x",
        "Mcp-Session-Id": "s",
        "Last-Event-ID": "1",
        "Content-Length": "5",
        "Transfer-Encoding": "chunked",
    }
    with scripted(echo) as server:
        ask(server.url, headers=given)
    headers = server.requests[0].headers
    assert (headers["x-mine"], headers["authorization"], headers["user-agent"]) == ("1", "Bearer t", "me")
    assert headers["content-type"] == "application/json"
    assert headers["accept"] == "application/json, text/event-stream"
    assert (headers["mcp-protocol-version"], headers["mcp-method"]) == ("2026-07-28", "tools/list")
    assert not {"mcp-session-id", "last-event-id", "transfer-encoding"} & set(headers)
    assert "is not sent" in caplog.text


@pytest.mark.parametrize("headers", [{"X": "a\r\nb"}, {"X": " a"}, {"X": 5}])
def test_a_header_that_cannot_be_sent_is_refused_at_once(headers):
    with pytest.raises(ConfigurationError, match="cannot be asked"):
        HTTPTransport("http://127.0.0.1/mcp", headers=headers)


def test_the_address_holds_no_secret():
    transport = HTTPTransport("https://user:pass@Example.com:8443/mcp?key=secret#part")
    assert transport.address == "https://Example.com:8443/mcp"
    transport.close()


# Authentication


@pytest.mark.parametrize(
    ("options", "user", "wanted"),
    [
        ({"auth": ("a", "b")}, "", basic("a", "b")),
        ({}, "us%65r:p%40ss@", basic("user", "p@ss")),
        ({"headers": {"Authorization": "Bearer t"}}, "user:pass@", "Bearer t"),
        ({"headers": {"Authorization": "Bearer t"}}, "", "Bearer t"),
        ({"headers": {"Authorization": "Bearer t"}, "auth": ("a", "b")}, "", basic("a", "b")),
        ({}, "", basic("of", "netrc")),
    ],
)
def test_who_calls_is_said_by_auth_then_headers_then_url_then_netrc(options, user, wanted, tmp_path, monkeypatch):
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1 login of password netrc\n")
    monkeypatch.setenv("NETRC", str(file))
    with scripted(echo) as server:
        ask(server.url.replace("://", f"://{user}"), **options)
    assert server.requests[0].headers["authorization"] == wanted


def test_a_session_that_does_not_trust_the_environment_reads_no_netrc(tmp_path, monkeypatch):
    file = tmp_path / "netrc"
    file.write_text("default login of password netrc\n")
    monkeypatch.setenv("NETRC", str(file))
    with scripted(echo) as server, requests.Session() as session:
        session.trust_env = False
        ask(server.url, session=session)
    assert "authorization" not in server.requests[0].headers


def test_an_auth_object_sees_each_request_as_it_is_sent():
    seen: list[Any] = []

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        seen.append((request.method, request.body, request.headers["Mcp-Method"]))
        request.headers["X-Signature"] = str(len(seen))
        return request

    with scripted(echo) as server:
        ask(server.url, CALL, message("ping"), auth=sign)
    assert [got.headers["x-signature"] for got in server.requests] == ["1", "2"]
    assert seen == [("POST", got.body, got.json()["method"]) for got in server.requests]


def test_an_auth_object_that_cannot_reach_its_own_server_is_said_without_its_words():
    def fail(request: requests.PreparedRequest) -> requests.PreparedRequest:
        raise requests.ConnectionError("https://token.example/?secret=1")

    with scripted(echo) as server, pytest.raises(TransportError, match=r"authentication failed \(ConnectionError\)$"):
        ask(server.url, auth=fail)


def test_digest_authentication_sends_again_over_the_same_connection():
    def script(got: Got, peer: Peer) -> None:
        if "authorization" in got.headers:
            peer.send(json_answer(result(got.id), headers={"Set-Cookie": "a=b"}))
        else:
            peer.send(plain(401, b"", headers={"WWW-Authenticate": 'Digest realm="r", nonce="n", qop="auth"'}))

    with scripted(script) as server:
        assert "result" in ask(server.url, CALL, CALL, auth=HTTPDigestAuth("u", "p"))
    assert [("authorization" in got.headers, got.json() == CALL) for got in server.requests] == [
        (False, True),
        (True, True),
        (True, True),
    ]
    assert server.requests[2].headers["cookie"] == "a=b"
    assert server.connections == 1


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"", "identity"),
        (b"no", "identity"),
        (b"x" * 300_000, "identity"),
        (gzip.compress(b" " * 10**8), "gzip"),
        (b"x", "br"),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_authentication_reads_little_of_a_refusal(body, encoding, known):
    def script(got, peer):
        if known and "authorization" in got.headers:
            peer.send(json_answer(result(got.id)))
        else:
            peer.send(plain(401, body, "text/plain", {"Content-Encoding": encoding, "WWW-Authenticate": DIGEST}))

    with scripted(script) as server:
        tracemalloc.start()
        try:
            if known:
                assert "result" in ask(server.url, CALL, auth=HTTPDigestAuth("u", "p"))
            else:
                with pytest.raises(UnauthorizedError) as caught:
                    ask(server.url, CALL, auth=HTTPDigestAuth("u", "p"))
                assert (caught.value.excerpt == "no") == (body == b"no")
            assert tracemalloc.get_traced_memory()[1] < 4_000_000
        finally:
            tracemalloc.stop()


def test_what_a_server_repeats_of_the_request_is_left_out_of_errors():
    def script(got: Got, peer: Peer) -> None:
        said = f"{got.path}: the token {got.headers['authorization'].split()[1]} of {got.headers['x-api-key']} is wrong"
        peer.send(plain(403, said.encode(), "text/plain"))

    headers = {"Authorization": "Bearer s3cret-token", "X-Api-Key": "s3cret-key"}
    with scripted(script) as server, pytest.raises(UnauthorizedError) as caught:
        ask(f"{server.url}?key=s3cret", CALL, headers=headers)
    assert caught.value.excerpt == "/mcp?...: the token ... of ... is wrong"


def test_a_server_cannot_set_cookies_without_end():
    def script(got, peer):
        number = got.json()["params"]["n"]
        size = 20_000 if number == "big" else 1
        peer.send(json_answer(result(got.id), headers={"Set-Cookie": f"c{number}={'x' * size}"}))

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        for number in ["big", *range(150), "last"]:
            transport.request(legacy(n=number), Exchange(Deadline(30)))
        transport.close()
    sent = [got.headers.get("cookie", "").count("=") for got in server.requests]
    assert sent[:3] == [0, 0, 1]
    assert max(sent) == 100
    assert sent[-1] == 49


def test_a_session_gives_its_settings_cookies_and_hooks_and_stays_open():
    hooked: list[int] = []
    with scripted(echo) as server, requests.Session() as session:
        session.headers["X-Session"] = "1"
        session.cookies.set("kept", "yes")
        session.auth = ("s", "t")
        session.hooks["response"].append(lambda response, **_: hooked.append(response.status_code))
        ask(server.url, session=session)
        session.cookies.clear()
        session.headers["Cookie"] = "mine=1"
        ask(server.url, session=session)
    first, second = server.requests
    assert (first.headers["x-session"], first.headers["cookie"]) == ("1", "kept=yes")
    assert first.headers["authorization"] == basic("s", "t")
    assert second.headers["cookie"] == "mine=1"
    assert hooked == [200, 200]


def test_a_hook_that_fails_leaves_no_connection_behind():
    def fail(response: requests.Response, **_: Any) -> None:
        raise LookupError("mine")

    with scripted(echo) as server, requests.Session() as session, no_leaks():
        session.hooks["response"].append(fail)
        with pytest.raises(LookupError, match="mine"):
            ask(server.url, session=session)


def test_a_session_with_an_adapter_of_its_own_is_asked_by_it():
    class Mine(HTTPAdapter):
        pass

    def script(got: Got, peer: Peer) -> None:
        if got.json()["method"] == "slow":
            peer.wait_for_end()
        else:
            echo(got, peer)

    with scripted(script) as server, requests.Session() as session, no_leaks():
        session.mount(server.origin, Mine())
        assert "result" in ask(server.url, session=session)
        with pytest.raises(RequestTimeoutError):
            ask(server.url, message("slow"), session=session, timeout=0.2)
        session.close()


class FromMemory(requests.adapters.BaseAdapter):
    """What test libraries mount: answers that came from no socket."""

    def send(self, request: Any, **options: Any) -> requests.Response:
        from io import BytesIO

        import urllib3

        body = BytesIO(b'{"jsonrpc":"2.0","id":1,"result":{}}')
        raw = urllib3.HTTPResponse(body, {"Content-Type": "application/json"}, 200, preload_content=False)
        return HTTPAdapter().build_response(request, raw)

    def close(self) -> None:
        pass


def test_answers_from_no_socket_are_read():
    with requests.Session() as session:
        session.mount("http://", FromMemory())
        assert "result" in ask("http://nowhere.test/mcp", session=session)


# Redirections


def to(location: str, status: int = 307) -> bytes:
    return plain(status, b"moved", "text/plain", {"Location": location})


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/mcp/", "/mcp/"),
        ("/other?a=b#c", "/other?a=b"),
        ("{origin}/mcp/", "/mcp/"),
        ("there", "/there"),
        ("//user:pass@{host}/mcp/", "/mcp/"),
        ("http://inner:8080/mcp/", "/mcp/?key=1"),
        ("https://{host}/mcp/", "/mcp/?key=1"),
    ],
)
def test_a_redirection_on_the_same_origin_is_followed_and_remembered(status, location, path, monkeypatch):
    monkeypatch.setattr("mcp_wsgi.transport.http_answer._REST_SECONDS", 30.0)

    def script(got: Got, peer: Peer) -> None:
        if got.path == "/mcp?key=1":
            where = location.format(origin=server.origin, host=server.origin.partition("//")[2])
            peer.send(to(where, status))
        else:
            echo(got, peer)

    with scripted(script) as server:
        ask(server.url + "?key=1", CALL, CALL, headers={"Authorization": "Bearer t"})
    assert [got.path for got in server.requests] == ["/mcp?key=1", path, path]
    assert {got.body for got in server.requests} == {server.requests[0].body}
    assert {(got.method, got.headers["authorization"]) for got in server.requests} == {("POST", "Bearer t")}
    assert server.connections == 1


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "/mcp/"),
        (302, "/mcp/"),
        (303, "/mcp/"),
        (307, "http://elsewhere/?token=secret"),
        (308, "https://{host}/other"),
        (307, "http://127.0.0.1:1/mcp2"),
        (307, "file:///mcp/"),
        (307, "http://[/mcp"),
        (307, None),
    ],
)
def test_any_other_redirection_is_an_error_that_names_the_status(status, location):
    def script(got: Got, peer: Peer) -> None:
        where = None if location is None else location.format(host=server.origin.partition("//")[2])
        peer.send(plain(status, b"") if where is None else to(where, status))

    with scripted(script) as server, pytest.raises(TransportError, match=str(status)) as caught:
        ask(server.url)
    assert "secret" not in str(caught.value)
    assert len(server.requests) == 1


def test_a_circle_of_redirections_is_left():
    def script(got: Got, peer: Peer) -> None:
        peer.send(to({"/mcp": "/mcp/", "/mcp/": "/mcp"}[got.path]))

    with scripted(script) as server, pytest.raises(TransportError, match="more than 3 times"):
        ask(server.url)
    assert len(server.requests) == 4


@pytest.mark.parametrize(("status", "content_type"), [(200, "text/html"), (404, "application/json")])
def test_a_redirection_to_what_is_no_answer_is_not_remembered(status, content_type):
    def script(got: Got, peer: Peer) -> None:
        if len(server.requests) == 1:
            peer.send(to("/login"))
        elif got.path == "/login":
            peer.send(plain(status, b"<html>", content_type))
        else:
            echo(got, peer)

    with scripted(script) as server:
        transport = HTTPTransport(server.url)
        with pytest.raises(ClientError):
            transport.request(CALL, Exchange(Deadline(30)))
        assert "result" in transport.request(CALL, Exchange(Deadline(30)))
        transport.close()


def test_only_so_many_redirections_are_remembered():
    def script(got: Got, peer: Peer) -> None:
        peer.send(to(f"{got.path}/") if not got.path.endswith("/") else plain(202))

    with scripted(script) as server:
        wire = Wire(server.url)
        for _ in range(2):
            for number in range(20):
                watch = Watch(Deadline(30), 30)
                wire.send("POST", b"{}", [], watch, f"{server.origin}/{number}").finish()
        wire.close()
    assert len(server.requests) == 2 * 20 + 20 + 4


# Proxies and TLS


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch):
    real = socket.getaddrinfo
    # Not every system knows the last of them by itself.
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **options: real("127.0.0.1", *args, **options))
    with scripted(echo) as server, scripted(echo) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        assert "result" in ask("http://service.test/mcp")
        for host in ("127.0.0.1", "localhost", "sub.localhost"):
            assert "result" in ask(f"http://{host}:{server.port}/mcp")
    assert [got.path for got in proxy.requests] == ["http://service.test/mcp"]
    assert len(server.requests) == 3


def test_a_proxy_of_the_session_is_used_for_this_machine_too():
    with scripted(echo) as proxy, requests.Session() as session:
        session.proxies["http"] = proxy.origin
        ask("http://127.0.0.1:9/mcp", session=session)
    assert [got.path for got in proxy.requests] == ["http://127.0.0.1:9/mcp"]


def test_a_proxy_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://user:secret@127.0.0.1:9")
    with pytest.raises(TransportError, match=r"the proxy, it refused") as caught:
        ask("http://service.test/mcp")
    assert "secret" not in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    """Make a certificate for this machine, its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    key = file.with_name("key.pem")
    names = "subjectAltName=IP:127.0.0.1,DNS:service.test"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    where = ["-keyout", str(key), "-out", str(file), "-subj", "/CN=test", "-addext", names]
    subprocess.run(["openssl", "req", "-x509", *kind, *where], check=True, capture_output=True, timeout=60)
    file.write_text(file.read_text() + key.read_text())
    return file


def over_tls(certificate: Path, script: Any = echo) -> Any:
    """Speak TLS from the first byte of a connection, or from behind a CONNECT."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def begin(peer: Peer) -> None:
        try:
            peer.sock = context.wrap_socket(peer.sock, server_side=True)
        except OSError:
            peer.closed = True

    def behind(got: Got, peer: Peer) -> None:
        if got.method == "CONNECT":
            peer.send(b"HTTP/1.1 200 Connected\r\n\r\n")
            begin(peer)
        else:
            script(got, peer)

    return begin, behind


def test_tls_is_verified_and_can_be_told_whom_to_trust(certificate):
    begin, behind = over_tls(certificate)
    with scripted(behind, begin) as server, no_leaks():
        url = server.url.replace("http:", "https:")
        with pytest.raises(TransportError, match="certificate is not trusted"):
            ask(url)
        assert "result" in ask(url, CALL, CALL, verify=str(certificate))
        with pytest.warns(Warning, match="Unverified"):
            assert "result" in ask(url, verify=False)
        with pytest.raises(TransportError, match="TLS failed"):
            ask(f"https://127.0.0.1:{plain_port(server)}/mcp")


def plain_port(server: Scripted) -> int:
    """Give the port of a server that does not speak TLS."""

    def serve() -> None:
        sock, _ = listener.accept()
        with sock, listener:
            sock.recv(1000)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve).start()
    port: int = listener.getsockname()[1]
    return port


def test_a_certificate_that_is_not_there_is_said(tmp_path):
    with pytest.raises(TransportError):
        ask("https://127.0.0.1:9/mcp", verify=str(tmp_path / "nothing"))


def test_a_proxy_tunnels_tls(certificate, monkeypatch):
    _, behind = over_tls(certificate)
    with scripted(behind) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.origin)
        assert "result" in ask("https://service.test/mcp", CALL, CALL, verify=str(certificate))
    assert [got.method for got in proxy.requests] == ["CONNECT", "POST", "POST"]


def test_a_proxy_that_refuses_to_tunnel_is_said(monkeypatch):
    with scripted(lambda got, peer: peer.send(plain(407))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.origin)
        with pytest.raises(TransportError, match=r"the proxy, it refused to connect \(407\)"):
            ask("https://service.test/mcp")


@pytest.mark.parametrize("kind", ["tls handshake", "tls answer", "tunnel"])
@pytest.mark.parametrize("how", ["time", "cancel", "close", "connect time"])
def test_a_wait_under_tls_ends_too(kind, how, certificate, monkeypatch):
    if (kind, how) == ("tls answer", "connect time"):
        return
    begin, behind = over_tls(certificate, lambda got, peer: peer.wait_for_end())
    script, start = {
        "tls handshake": (behind, Peer.wait_for_end),
        "tls answer": (behind, begin),
        "tunnel": (lambda got, peer: peer.wait_for_end(), None),
    }[kind]
    with scripted(script, start) as server, no_leaks():
        if kind == "tunnel":
            monkeypatch.setenv("HTTPS_PROXY", server.origin)
        host = "service.test" if kind == "tunnel" else f"127.0.0.1:{server.port}"
        options = {"connect_timeout": 0.3} if how == "connect time" else {}
        transport = HTTPTransport(f"https://{host}/mcp", verify=str(certificate), **options)
        exchange = Exchange(Deadline(0.3 if how == "time" else 20))
        ways = {"cancel": exchange.cancel, "close": transport.close}
        timer = threading.Timer(0.3, ways.get(how, lambda: None))
        timer.start()
        begun = time.monotonic()
        kinds = {"cancel": RequestCancelledError, "close": ClientClosedError, "time": RequestTimeoutError}
        with pytest.raises(kinds.get(how, TransportError)):
            transport.request(CALL, exchange)
        assert time.monotonic() - begun < 15
        timer.join()
        transport.close()


# What goes wrong


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n"]
)
def test_what_is_no_http_is_said_to_be_none(answer):
    def script(got: Got, peer: Peer) -> None:
        peer.send(answer)
        peer.close()

    with scripted(script) as server, pytest.raises(TransportError, match="not HTTP"):
        ask(server.url)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (http.client.IncompleteRead(b""), "answer was complete"),
        (TimeoutError(), "in time"),
        (OSError(113, "No route to host"), "No route to host"),
        (requests.RequestException("url?secret"), r"failed \(RequestException\)"),
        (ValueError("url?secret"), r"failed \(ValueError\)"),
    ],
)
def test_each_failure_is_said_in_words_of_our_own(error, said):
    found = explain(error, Watch(Deadline(None), 1), "http://x/mcp")
    assert type(found) is TransportError
    assert str(found).startswith("http://x/mcp: ")
    with pytest.raises(TransportError, match=said):
        raise found
    assert "secret" not in str(found)


def test_a_body_that_is_not_wanted_does_not_spoil_the_pool(monkeypatch):
    answers = [
        plain(202),
        plain(204),
        plain(200, b'{"jsonrpc":"2.0","id":1}', "application/json"),
        plain(200, b"x" * 30_000),
        plain(200, b"x" * 200_000),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n:hi\n\r\n",
    ]

    def script(got: Got, peer: Peer) -> None:
        peer.send(answers[got.json()["params"]["n"]])

    with scripted(script) as server, no_leaks():
        transport = HTTPTransport(server.url)
        for number in range(len(answers)):
            # Whether a body comes in time is no question here, but for the last, which has no end.
            patience = 30.0 if number < len(answers) - 1 else 0.02
            monkeypatch.setattr("mcp_wsgi.transport.http_answer._REST_SECONDS", patience)
            transport.post({"jsonrpc": "2.0", "method": "x", "params": {"n": number}}, Deadline(30))
        transport.post({"jsonrpc": "2.0", "method": "x", "params": {"n": 0}}, Deadline(30))
        transport.close()
    assert server.connections == 3


@pytest.mark.parametrize(("status", "kind"), [(400, HTTPStatusError), (401, UnauthorizedError), (500, HTTPStatusError)])
def test_a_notification_that_is_refused_is_an_error(status, kind):
    with scripted(lambda got, peer: peer.send(plain(status, b"no", "text/plain"))) as server:
        transport = HTTPTransport(server.url)
        with pytest.raises(kind, match=str(status)):
            transport.post(legacy("notifications/initialized"), Deadline(30))
        transport.close()


def test_a_refusal_whose_reason_does_not_come_is_not_waited_for():
    def script(got: Got, peer: Peer) -> None:
        peer.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\nwho")
        peer.wait_for_end()

    with scripted(script) as server, no_leaks():
        begun = time.monotonic()
        with pytest.raises(UnauthorizedError) as caught:
            ask(server.url, timeout=30)
        assert caught.value.excerpt == "who"
        assert time.monotonic() - begun < 20
