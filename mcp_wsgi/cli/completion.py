"""Completion in shells: ``mcp-wsgi --print-completion bash``."""

from __future__ import annotations

import argparse
from typing import Any

from .exits import CommandFailed, Exit

__all__ = ["FILES", "add_option"]

#: What shtab calls FILE: without it, that a shell completes names of files is not known before it is loaded.
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints what a shell has to load."""
    parser.add_argument(
        "--print-completion",
        action=_Print,
        choices=("bash", "zsh", "tcsh"),
        help="print completion for a shell (needs shtab), and exit",
    )


class _Print(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *others: Any) -> None:
        """Print, and end the program."""
        shell = others[1]
        try:
            import shtab
        except ImportError:
            raise CommandFailed(
                "--print-completion needs the package shtab. Install it: pip install shtab", Exit.USAGE
            ) from None
        print(shtab.complete(parser, shell=shell))
        parser.exit()
