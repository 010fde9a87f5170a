"""A small HTTP server on the loopback interface, for the servers that tests play."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["answer", "serving"]


@contextmanager
def serving(handle: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[int]:
    """Give each request to a function, in a thread of its connection; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_POST(self) -> None:
            with suppress(OSError):  # the client may have gone
                handle(self)

        do_GET = do_DELETE = do_POST

        def log_message(self, *args: object) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        # All of a test's threads may connect at once: a connection beyond this is only made a second later.
        request_queue_size = 128

    server = Listener(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "", **headers: str) -> None:
    """Send a whole answer; a header's name is written with underscores."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    if kind:
        handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
