"""Serve the demo: on waitress where it is installed, else on the standard library's server."""

from __future__ import annotations

import importlib
import ipaddress
import logging
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from types import FrameType
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from ..http.auth import public
from ..http.origin import LOOPBACK_HOSTS, LOOPBACK_ORIGINS
from ..http.policy import HTTPPolicy
from ..wsgi import WSGIApp
from .library import Library
from .server import create_server

__all__ = ["demo_application", "is_loopback", "listen", "serve", "stopping_on_signals", "url_of"]

_THREADS = 8


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address.

    Raises:
        OSError: It cannot be had; :class:`socket.gaierror` where the host is no address or name.
    """
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address[:2], family=family)


def _address(listener: socket.socket) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0])


def is_loopback(listener: socket.socket) -> bool:
    """Say whether only this machine can reach the socket."""
    return _address(listener).is_loopback


def url_of(listener: socket.socket) -> str:
    """Give the URL of the endpoint behind the socket, as it is called from this machine."""
    address = _address(listener)
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    host = f"[{address}]" if address.version == 6 else str(address)
    return f"http://{host}:{listener.getsockname()[1]}/mcp"


@contextmanager
def demo_application(*, loopback: bool) -> Iterator[WSGIApp]:
    """Make the demo's application on a database in a temporary folder, which is removed at the end.

    Args:
        loopback: Whether only this machine can reach it: then only its own names and web pages are let in.
    """
    policy = HTTPPolicy()
    if loopback:
        policy = HTTPPolicy(allowed_hosts=LOOPBACK_HOSTS, allowed_origins=LOOPBACK_ORIGINS)
    with tempfile.TemporaryDirectory(prefix="mcp-wsgi-demo-", ignore_cleanup_errors=True) as folder:
        server = create_server(Library(Path(folder) / "library.sqlite"))
        yield WSGIApp(server, auth=public, policy=policy)


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, and the block end quietly then."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # nohup ignores SIGHUP for its command, and that has to last.
    before = {each: signal.signal(each, stop) for each in numbers if signal.getsignal(each) is not signal.SIG_IGN}
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def serve(application: Any, listener: socket.socket) -> None:
    """Serve a WSGI application until the process is told to stop."""
    try:
        waitress: Any = importlib.import_module("waitress")
    except ImportError:
        waitress = None
    # It warns of each request that waits a moment for a thread: nothing for a person to act on.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    if waitress is None:
        _serve_by_wsgiref(application, listener)
    else:
        with closing(waitress.create_server(application, sockets=[listener], threads=_THREADS)) as server:
            server.run()


class _QuietHandler(WSGIRequestHandler):
    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Write no line for each request."""


class _ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, listener: socket.socket) -> None:
        address = listener.getsockname()
        super().__init__(address[:2], _QuietHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        # WSGIServer's own server_bind() looks the name up, which can take long.
        self.server_name, self.server_port = str(address[0]), int(address[1])
        self.setup_environ()


def _serve_by_wsgiref(application: Any, listener: socket.socket) -> None:
    with _ThreadingServer(listener) as server:
        server.set_app(application)
        server.serve_forever()
