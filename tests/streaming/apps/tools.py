"""Tools that report, wait, and say what the process holds."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from mcp_wsgi import Context, HTTPPolicy, Server
from tests.apps import handshake

__all__ = ["DATABASE", "POLICY", "make_server", "wait_while"]

#: A gone client is noticed within a second; the other limits come from the test.
POLICY = HTTPPolicy(
    keep_alive=float(os.environ.get("TEST_KEEP_ALIVE", "1")),
    max_listens=int(os.environ["TEST_MAX_LISTENS"]) if "TEST_MAX_LISTENS" in os.environ else None,
    listen_lifetime=float(os.environ["TEST_LIFETIME"]) if "TEST_LIFETIME" in os.environ else None,
)
DATABASE = Path(tempfile.gettempdir()) / f"mcp-wsgi-streaming-{os.environ.get('TEST_DATABASE', 'none')}.sqlite"
_PATIENCE = 30.0


def make_server() -> Server:
    """Make a server with all tools."""
    server = Server("streaming")
    handshake.add_to(server)
    _add_reporting(server)
    _add_waiting(server)
    _add_state(server)
    return server


def _add_reporting(server: Server) -> None:
    @server.tool
    def report(ctx: Context, times: int = 10, seconds: float = 2.0) -> int:
        """Report with the time of each report."""
        for step in range(times):
            ctx.report_progress(step + 1, times, repr(time.time()))
            time.sleep(seconds / times)
        return times

    @server.tool
    async def report_async(ctx: Context, times: int = 10, seconds: float = 2.0) -> int:
        """Do the same on a loop."""
        for step in range(times):
            ctx.report_progress(step + 1, times, repr(time.time()))
            await asyncio.sleep(seconds / times)
        return times

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    def nap(ctx: Context, seconds: float) -> str:
        """Sleep in sync code."""
        time.sleep(seconds)
        return "rested"


def _add_waiting(server: Server) -> None:
    @server.tool
    def wait(ctx: Context, key: str, reports: bool = False) -> str:
        """Wait until the client has gone, and print when that was seen."""
        start = time.monotonic()
        step = 0
        while not ctx.cancelled and time.monotonic() - start < _PATIENCE:
            step += 1
            if reports:
                ctx.report_progress(step)
            time.sleep(0.02)
        print(f"cancelled {key} {ctx.cancelled} {time.time()}", flush=True)
        return "nobody reads this"

    @server.tool
    async def wait_async(ctx: Context, key: str, reports: bool = False) -> str:
        """Do the same on a loop."""
        start = time.monotonic()
        step = 0
        try:
            while not ctx.cancelled and time.monotonic() - start < _PATIENCE:
                step += 1
                if reports:
                    ctx.report_progress(step)
                await asyncio.sleep(0.02)
        finally:
            # Also where this process stood still for so long that the handler was cancelled before it could look.
            print(f"cancelled {key} {ctx.cancelled} {time.time()}", flush=True)
        return "nobody reads this"


def wait_while(hold: bool, ctx: Context) -> None:
    """Wait until the client has gone, if that is wanted."""
    start = time.monotonic()
    while hold and not ctx.cancelled and time.monotonic() - start < _PATIENCE:
        time.sleep(0.02)


def _add_state(server: Server) -> None:
    @server.tool
    def state() -> dict[str, Any]:
        """Say what the process that answers holds."""
        return {"pid": os.getpid(), "threads": threading.active_count(), "listens": len(server.bus)}

    @server.tool
    def change() -> str:
        """Tell listeners that the tools changed, and say when that began."""
        start = time.time()
        server.notify_tools_changed()
        return repr(start)

    @server.tool
    def query(ctx: Context, times: int = 5, hold: bool = False) -> int:
        """Use a database while the stream runs, or until its client has gone."""
        with sqlite3.connect(DATABASE) as connection:
            for step in range(times):
                connection.execute("SELECT * FROM sqlite_master").fetchall()
                ctx.report_progress(step + 1, times)
            wait_while(hold, ctx)
        connection.close()
        return times
