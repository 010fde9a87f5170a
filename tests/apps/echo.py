"""A plain WSGI application that shows what a server made of a request."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["application"]

_PLAIN = (str, bool, int)
_SHOWN = ("CONTENT_", "HTTP_", "PATH_INFO", "QUERY_STRING", "REQUEST_", "SCRIPT_NAME", "SERVER_", "wsgi.")


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
    """Answer with the part of the request that the path names."""
    path = environ["PATH_INFO"]
    if path == "/stream":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return _stream(environ)
    views: dict[str, Callable[[WSGIEnvironment], object]] = {
        "/": lambda environ: "hello",
        "/environ": _environ,
        "/body": _body,
        "/pid": lambda environ: os.getpid(),
        "/fail": _fail,
    }
    body = json.dumps(views[path](environ)).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return iter([body])


def _environ(environ: WSGIEnvironment) -> dict[str, object]:
    """Only what the server made of the request: wsgiref adds the process's whole environment."""
    shown = (key for key in environ if key.startswith(_SHOWN))
    return {key: environ[key] for key in shown if isinstance(environ[key], _PLAIN)}


def _body(environ: WSGIEnvironment) -> dict[str, object]:
    """Read by the length if there is one, and to the end only where the server promises an end.

    uWSGI leaves a chunked body out of wsgi.input; it is only to be had from its own module, which exists
    in no other process.
    """
    length = environ.get("CONTENT_LENGTH") or None
    stream = environ["wsgi.input"]
    data = b""
    if length is not None:
        data = stream.read(int(length))
    elif environ.get("wsgi.input_terminated"):
        data = stream.read()
    elif environ.get("HTTP_TRANSFER_ENCODING") and (uwsgi := sys.modules.get("uwsgi")):
        data = b"".join(iter(uwsgi.chunked_read, b""))
    return {
        "length": length,
        "terminated": environ.get("wsgi.input_terminated"),
        "body": data.decode("latin-1"),
    }


def _fail(environ: WSGIEnvironment) -> object:
    raise RuntimeError("failed as asked")


def _stream(environ: WSGIEnvironment) -> Iterator[bytes]:
    try:
        for number in range(100):
            yield b"%d\n" % number
            time.sleep(0.05)
    finally:
        environ["wsgi.errors"].write("stream closed\n")
        environ["wsgi.errors"].flush()
