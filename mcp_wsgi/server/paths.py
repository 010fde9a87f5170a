"""Joining a path that a client named to a directory that it must not leave."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ..exceptions import InvalidParamsError

__all__ = ["MAX_PATH_LENGTH", "safe_join"]

MAX_PATH_LENGTH = 4096
"""The most characters a client may name; ``PATH_MAX`` of Linux."""

_DRIVE = re.compile(r"[A-Za-z]:")
# With any extension, in any case, and with the superscript digits, Windows opens a device.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:[.:].*)?", re.I | re.S)


def safe_join(base: str | os.PathLike[str], *parts: str) -> str:
    """Join a path named by a client to a directory, and make sure that it stays inside.

    The same paths are refused on every system, so that a server behaves on Windows as it did in its tests.
    The path need not exist. Whoever can make symbolic links inside the directory can still change them
    between this check and the use of the path.

    Args:
        base: The directory, which the caller trusts.
        parts: Relative paths with ``/`` between their segments, for example the values of a URI template,
            percent-decoded.

    Returns:
        The absolute path with all symbolic links resolved, the directory itself or below it.

    Raises:
        InvalidParamsError: A part is not text, is empty, absolute or too long, holds ``..``, a backslash,
            NUL, a drive letter or a name that Windows changes or keeps for a device, or a link leads outside.
            The message never names a path of the server.
    """
    for part in parts:
        _check(part)
    if not parts or sum(map(len, parts)) > MAX_PATH_LENGTH:
        raise _refused(f"name one of 1 to {MAX_PATH_LENGTH} characters")
    root = os.path.realpath(base)
    path = _resolve(os.path.join(root, *(segment for part in parts for segment in part.split("/") if segment)))
    if not _inside(root, path):
        raise _refused("it leads outside the directory")
    return path


def _check(part: object) -> None:
    if not isinstance(part, str):
        raise _refused("it must be a string")
    if not part:
        raise _refused("it must not be empty")
    if part[0] == "/":
        raise _refused("it must be relative, without a leading slash")
    if "\\" in part:
        raise _refused("it must not hold a backslash; write / between its segments")
    if "\0" in part:
        raise _refused("it must not hold a NUL character")
    _check_segments(part.split("/"))


def _check_segments(segments: Sequence[str]) -> None:
    for segment in segments:
        if segment == "..":
            raise _refused("it must not hold a segment '..'")
        if _DRIVE.match(segment):
            raise _refused("it must not hold a drive letter")
        if _DEVICE.fullmatch(segment):
            raise _refused("it must not hold a device name of Windows")
        # Windows drops them, so that `.. ` would become `..`.
        if segment != "." and segment[-1:] in (".", " "):
            raise _refused("no segment of it may end with a dot or space")


def _resolve(path: str) -> str:
    """Follow all links of a path of which the last segments may not exist yet."""
    try:
        return os.path.realpath(path, strict=True)
    except FileNotFoundError:
        # Without strict, the part that does not exist is kept as it is; links in front of it are followed.
        return os.path.realpath(path)
    except (OSError, ValueError):
        # A loop of links, a file used as a directory, no permission, a name too long or not encodable.
        raise _refused("it cannot be looked up") from None


def _inside(root: str, path: str) -> bool:
    try:
        return os.path.commonpath((root, path)) == os.path.commonpath((root,))
    except ValueError:  # pragma: no cover - Windows only: another drive
        return False


def _refused(reason: str) -> InvalidParamsError:
    return InvalidParamsError(f"The path is refused: {reason}")
