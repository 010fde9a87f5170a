"""The headers of a request, with a token that no list of processes shows."""

from __future__ import annotations

import argparse
import os

from .exits import CommandFailed, Exit

__all__ = ["request_headers"]


def request_headers(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Give the headers of the options ``--header`` and ``--bearer-env``.

    Raises:
        CommandFailed: The environment has no such variable, or it cannot be a token.
    """
    headers: list[tuple[str, str]] = list(arguments.header)
    name = arguments.bearer_env
    if name is None:
        return headers
    token = os.environ.get(name, "").strip()
    if not token:
        # It is not named: who mistakes the option gives it the token itself.
        raise CommandFailed(
            "--bearer-env takes the name of an environment variable, and this one is not set.", Exit.USAGE
        )
    if not (token.isascii() and token.isprintable()):
        raise CommandFailed(f"What {name!r} holds is no bearer token.", Exit.USAGE)
    return [*headers, ("Authorization", f"Bearer {token}")]
