"""The environment of a server's process: what it inherits, and what is added."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..exceptions import ConfigurationError

__all__ = ["INHERITED", "build_environment", "check_environment"]

#: What a server inherits of this process's environment, besides ``LC_*``: where it is, who runs it, which language. The
#: rest may hold secrets that are none of its business.
INHERITED = frozenset(
    (
        *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
        # Windows
        *("ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH"),
        *("LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA"),
        *("PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT", "USERDOMAIN"),
        *("USERNAME", "USERPROFILE", "WINDIR"),
    )
)


def build_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Build the environment of a server: a safe part of this process's own, and what is added.

    Args:
        extra: What to add; it wins.
    """
    environment = {
        name: value for name, value in os.environ.items() if name.upper() in INHERITED or name.startswith("LC_")
    }
    environment.update(extra or {})
    return environment


def check_environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """Refuse what cannot be added to an environment.

    Raises:
        ConfigurationError: A name or value is no string, or holds what no environment can.
    """
    checked: dict[Any, Any] = dict(env or {})
    for name, value in checked.items():
        if not (isinstance(name, str) and isinstance(value, str) and name) or "\0" in name + value or "=" in name:
            raise ConfigurationError("env maps names without '=' to values, both strings without NUL")
    return checked
