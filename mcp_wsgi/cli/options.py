"""Types of options that several commands take."""

from __future__ import annotations

import argparse
import math

__all__ = ["header", "port_number", "seconds", "setting"]


def port_number(text: str) -> int:
    """Read the number of a port."""
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535")
    return int(text)


def seconds(text: str) -> float:
    """Read a time in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def header(text: str) -> tuple[str, str]:
    """Read ``Name: value``."""
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    # The value may be a secret, so it is not shown.
    if not colon or not name or not name.isascii() or any(char in name for char in ' \t"(),/;<=>?@[\\]{}'):
        raise argparse.ArgumentTypeError("a header is written 'Name: value'")
    if not (name.isprintable() and value.isprintable()):
        raise argparse.ArgumentTypeError(f"the header {name!r} holds a control character"[:120])
    return name, value


def setting(text: str) -> tuple[str, str]:
    """Read ``NAME=value``."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("an environment variable is written NAME=value")
    return name, value
