"""Find the server that ``MODULE:SERVER`` names."""

from __future__ import annotations

import importlib
import operator
import sys
from typing import TYPE_CHECKING

from .exits import CommandFailed, Exit

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["load_server"]


def load_server(target: str) -> Server:
    """Import a module, the working directory included, and take the server out of it.

    Args:
        target: ``module:name`` of a server, or of a function that makes one; the name may have dots.

    Raises:
        CommandFailed: There is no such module or name, it is no server, or its own code failed.
    """
    from ..server import Server

    module_name, _, name = target.partition(":")
    if not (module_name and name):
        raise CommandFailed(
            f"{target!r} names no server: write MODULE:SERVER, for example shop.mcp:server.", Exit.USAGE
        )
    found: object = _import(module_name)
    try:
        found = operator.attrgetter(name)(found)
    except AttributeError:
        raise CommandFailed(
            f"The module {module_name!r} has no {name!r}. It has to name a Server, or a function that makes one.",
            Exit.USAGE,
        ) from None
    if callable(found) and not isinstance(found, Server):
        try:
            found = found()
        except Exception as error:
            raise CommandFailed(f"{target} failed to make a server: {_words(error)}", cause=error) from error
    if not isinstance(found, Server):
        raise CommandFailed(f"{target} is not an mcp_wsgi.Server, but {type(found).__name__}.", Exit.USAGE)
    return found


def _import(name: str) -> object:
    if "" not in sys.path:
        # As `python -m` does it: what is installed must not hide what one works on.
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise CommandFailed(
                f"There is no module {name!r} in this directory, nor one installed. "
                "Go to the directory that it is in, or install it.",
                Exit.USAGE,
                cause=error,
            ) from error
        raise CommandFailed(
            f"The module {name!r} needs {error.name!r}, which is not installed.", cause=error
        ) from error
    except Exception as error:
        raise CommandFailed(f"The module {name!r} failed: {_words(error)}", cause=error) from error


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
