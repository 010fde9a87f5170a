"""A real nginx in front of a server, as it is commonly configured: buffering on, gzip on."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.raw import Address
from tests.servers import reserved_port

__all__ = ["NGINX", "proxied"]

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

_CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_min_length 1;
    gzip_proxied any;
    gzip_types application/json text/event-stream;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://{host}:{upstream};
            proxy_http_version 1.1;
            proxy_set_header Host $host;
        }}
    }}
}}
"""


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """Where nginx listens."""

    host: str
    port: int


@contextmanager
def proxied(server: Address) -> Iterator[Proxy]:
    """Run nginx in front of a server for as long as the block lasts."""
    assert NGINX is not None
    with tempfile.TemporaryDirectory(prefix="mcp-wsgi-nginx-") as folder, reserved_port() as port:
        config = Path(folder) / "nginx.conf"
        config.write_text(_CONFIG.format(folder=folder, port=port, host=server.host, upstream=server.port))
        process = subprocess.Popen([NGINX, "-p", folder, "-e", f"{folder}/error.log", "-c", str(config)])
        try:
            _wait(process, port, Path(folder) / "error.log")
            yield Proxy(host="127.0.0.1", port=port)
        finally:
            process.terminate()
            process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        time.sleep(0.02)
    raise AssertionError(f"nginx did not start: {log.read_text() if log.exists() else ''}")
