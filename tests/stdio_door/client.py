"""A client's end of the streams, for a server that runs in a thread of the test."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mcp_wsgi import Server
from mcp_wsgi.stdio import serve_stdio

__all__ = ["LONG", "PATIENCE", "Client", "initialize", "legacy", "notice", "serving"]

#: The longest that anything may take here, in seconds.
PATIENCE = 20.0
#: Longer than that: what takes so long is not waited for.
LONG = 600.0

_END: Any = object()


def legacy(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    """Make a legacy request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notice(method: str, **params: Any) -> dict[str, Any]:
    """Make a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def initialize(
    request_id: Any = "init", *, version: str = "2025-11-25", capabilities: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Make the request that begins a handshake."""
    return legacy(
        request_id,
        "initialize",
        protocolVersion=version,
        capabilities=capabilities or {},
        clientInfo={"name": "legacy test", "version": "1"},
    )


class Client:
    """Write lines and read lines."""

    def __init__(self, to_server: int, from_server: int) -> None:
        self._to_server: int | None = to_server
        self._from_server = from_server
        self._lines: queue.Queue[Any] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError), os.fdopen(self._from_server, "rb") as file:
            for line in file:
                self._lines.put(line)
        self._lines.put(_END)

    def send(self, *messages: Any) -> None:
        """Write messages, each on its line, all at once."""
        self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def write(self, data: bytes) -> None:
        """Write bytes."""
        assert self._to_server is not None
        while data:
            data = data[os.write(self._to_server, data) :]

    def line(self, seconds: float = PATIENCE) -> bytes:
        """Return the next line as it came; fail if there is none in time."""
        line = self._lines.get(timeout=seconds)
        assert line is not _END, "the output has ended"
        assert line.endswith(b"\n")
        return line  # type: ignore[no-any-return]

    def read(self, seconds: float = PATIENCE) -> Any:
        """Return the next message."""
        return json.loads(self.line(seconds))

    def answers(self, count: int) -> dict[Any, Any]:
        """Read that many messages, all of them answers, and return them by their ids."""
        messages = [self.read() for _ in range(count)]
        return {message["id"]: message for message in messages}

    def ask(self, message: dict[str, Any]) -> Any:
        """Send a request and return the next message, which has to be its answer."""
        self.send(message)
        answer = self.read()
        assert answer.get("id") == message["id"], answer
        return answer

    def is_quiet(self) -> bool:
        """Say whether nothing comes while the server answers something else."""
        self.send(legacy("quiet?", "ping"))
        return bool(self.read() == {"jsonrpc": "2.0", "id": "quiet?", "result": {}})

    def handshake(self, **options: Any) -> Any:
        """Begin as a legacy client does; return the result of the handshake."""
        result = self.ask(initialize(**options))["result"]
        self.send(notice("notifications/initialized"))
        return result

    def end_input(self) -> None:
        """End what the server reads."""
        if self._to_server is not None:
            os.close(self._to_server)
            self._to_server = None

    def rest(self) -> list[Any]:
        """Read to the end of the output."""
        messages = []
        while (line := self._lines.get(timeout=PATIENCE)) is not _END:
            messages.append(json.loads(line))
        return messages

    def join(self) -> None:
        """Wait for the end of the output."""
        self._reader.join(PATIENCE)
        assert not self._reader.is_alive()


@contextmanager
def serving(server: Server, *, leaves_threads: bool = False, **options: Any) -> Iterator[Client]:
    """Serve in a thread until the block has ended; then nothing may be left of it."""
    options.setdefault("stop_seconds", PATIENCE)
    before = set(threading.enumerate())
    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()
    client = Client(client_out, client_in)

    def serve() -> None:
        with os.fdopen(server_in, "rb") as stdin, os.fdopen(server_out, "wb") as stdout:
            serve_stdio(server, stdin=stdin, stdout=stdout, **options)

    thread = threading.Thread(target=serve, name="test server", daemon=True)
    thread.start()
    try:
        yield client
    finally:
        client.end_input()
        thread.join(PATIENCE)
        client.join()
    assert not thread.is_alive()
    assert len(server.bus) == 0
    if not leaves_threads:
        # Those that asgiref makes for coroutines end when they are collected.
        left = [thread for thread in threading.enumerate() if thread.name.startswith("mcp_wsgi stdio")]
        assert set(left) <= before
