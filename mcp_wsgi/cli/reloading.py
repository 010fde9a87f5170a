"""Serve in a process that is started anew when a Python file changes."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from .exits import CommandFailed, Exit

__all__ = ["serve_reloading"]


def serve_reloading(arguments: argparse.Namespace) -> int:
    """Run ``serve`` without ``--reload`` again and again; one that fails is started anew after the next change.

    Raises:
        CommandFailed: The library that watches files is not installed.
    """
    try:
        watchfiles: Any = importlib.import_module("watchfiles")
    except ImportError:
        raise CommandFailed(
            "--reload needs the package watchfiles. Install it: pip install watchfiles", Exit.USAGE
        ) from None
    command = [sys.executable, "-m", "mcp_wsgi", "serve", arguments.target]
    command += ["--host", arguments.host, "--port", str(arguments.port or _free_port(arguments.host))]
    command += ["--path", arguments.path]
    for origin in arguments.allow_origin:
        command += ["--allow-origin", origin]
    watchfiles.run_process(
        Path.cwd(),
        target=_quote(command),
        target_type="command",
        watch_filter=watchfiles.PythonFilter(),
        callback=_tell,
    )
    return Exit.OK


def _quote(command: list[str]) -> str:
    import shlex

    return shlex.join(command)


def _tell(changes: set[tuple[Any, str]]) -> None:
    from .text import one_line

    names = sorted(Path(path).name for _, path in changes)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    print(f"Changed: {one_line(', '.join(names[:3]))}{more}. Starting anew.", flush=True)


def _free_port(host: str) -> int:
    """Choose a port that stays the same after a reload."""
    from .serving import listen_on

    with listen_on(host, 0) as chosen:
        port: int = chosen.getsockname()[1]
        return port
