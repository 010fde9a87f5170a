"""Who a client on the standard streams is: whoever may start this process."""

from __future__ import annotations

import os

__all__ = ["process_user"]


def process_user() -> str:
    """Give the name of the user whose process this is; the number where it has no name, as in some containers."""
    if not hasattr(os, "geteuid"):  # pragma: no cover - Windows
        import getpass

        return getpass.getuser()
    import pwd

    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
