"""A program that does all that a careful author would not.

    python -m tests.stdio_door.program [ROLE] [NAME=SECONDS...]

It ends as slowly as its handlers and the machine do, but for the times that are given: ``SIGNAL_SECONDS`` and
``CANCEL_SECONDS`` of :mod:`mcp_wsgi.stdio.serving`.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
import warnings

from mcp_wsgi import Context, Server
from mcp_wsgi.stdio import serve_stdio, serving
from tests.stdio_door.client import LONG

print("A banner, printed before the server has the streams")

EARLY = sys.stdout
server = Server("program", version="1")


@server.tool
def shout() -> str:
    """Print in every way there is."""
    print("printed")
    print("printed to what was the output", file=EARLY, flush=True)
    sys.stdout.write("written")
    os.write(1, b"written to the descriptor\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    os.system("echo printed by a shell")
    return "said"


@server.tool
def listen() -> str:
    """Read in every way there is."""
    child = subprocess.run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"], stdout=subprocess.PIPE)
    return f"{child.stdout.decode().strip()} {sys.stdin.read()!r} {os.read(0, 10)!r}"


@server.tool
def fork(ctx: Context) -> str:
    """Leave a process behind that has all that this one has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the threads, which it does not need
        child = os.fork()
    if child:
        return str(child)
    ctx.report_progress(1)
    time.sleep(LONG)
    os._exit(0)


@server.tool
def wait(seconds: float, ctx: Context) -> str:
    """Wait, unless it is cancelled."""
    logging.warning("waiting")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ctx.cancelled:
            return "cancelled"
        time.sleep(0.01)
    return "done"


@server.tool
def hang() -> str:
    """Wait, whatever happens."""
    logging.warning("waiting")
    time.sleep(LONG)
    return "done"


@server.tool
def ask(ctx: Context) -> str:
    """Ask, and wait for an answer."""
    return str(ctx.list_roots())


@server.tool
def big(size: int) -> str:
    """Give a long text."""
    return "x" * size


@server.tool
async def later(text: str) -> str:
    """Give a text from a coroutine."""
    return text


def main(role: str, **seconds: float) -> None:
    """Serve, and say on the standard error what is left."""
    serving.SIGNAL_SECONDS = seconds.get("SIGNAL_SECONDS", LONG)
    serving.CANCEL_SECONDS = seconds.get("CANCEL_SECONDS", LONG)
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    if role == "own handler":
        import signal

        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
    if role == "thread":
        thread = threading.Thread(target=serve_stdio, args=(server,))
        thread.start()
        thread.join()
    else:
        serve_stdio(server, stop_seconds=LONG)
    # Those that asgiref makes for coroutines end when they are collected.
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("mcp_wsgi")]
    after = os.listdir("/proc/self/fd") if before else []
    print(f"left: {left} {len(after) - len(before)}", file=sys.stderr)
    if role == "afterwards":
        print("printed afterwards")


if __name__ == "__main__":
    role, *words = sys.argv[1:] or [""]
    main(role, **{name: float(value) for name, value in (word.split("=") for word in words)})
