"""The settings of the app: ``MCP = {"AUTH": ..., "ALLOWED_ORIGINS": [...], ...}``, as typed properties."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from ..exceptions import ConfigurationError
from ..http.auth import Auth, check_auth, public
from ..http.policy import HTTPPolicy
from ..server import Server

__all__ = ["KEYS", "POLICY_KEYS", "Settings", "conf", "default_server"]

#: The options of the policy, by their setting.
POLICY_KEYS: Mapping[str, str] = {
    field.name.upper(): field.name for field in dataclasses.fields(HTTPPolicy) if field.init
}
_OWN_KEYS = ("SERVER", "AUTH", "PATH", "NAME", "VERSION", "INSTRUCTIONS")
KEYS = frozenset({*_OWN_KEYS, *POLICY_KEYS})


class Settings:
    """Read ``settings.MCP``, anew each time, so that tests may override it."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The setting as it is written."""
        values = getattr(settings, "MCP", {})
        if not isinstance(values, Mapping):
            raise ConfigurationError("The setting MCP must be a dictionary")
        return values

    def _text(self, key: str, default: str) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise ConfigurationError(f'MCP["{key}"] must be a string')
        return value

    def _object(self, key: str) -> Any:
        value = self.values.get(key)
        if not isinstance(value, str):
            return value
        try:
            return import_string(value)
        except ImportError as error:
            raise ConfigurationError(f'MCP["{key}"] cannot be imported: {error}') from error

    @property
    def server(self) -> Server:
        """``SERVER``: a server, or the dotted path of one; by default the one that apps register on."""
        found = self._object("SERVER")
        if found is None:
            return default_server()
        if not isinstance(found, Server):
            raise ConfigurationError(f'MCP["SERVER"] must name a mcp_wsgi.Server, not {found!r}')
        return found

    @property
    def auth(self) -> Auth:
        """``AUTH``: ``"public"``, or the dotted path of a function of the request; there is no default."""
        if self.values.get("AUTH") == "public":
            return public
        return check_auth(self._object("AUTH"))

    @property
    def path(self) -> str:
        """``PATH``: where the endpoint is below the ``include()``; by default ``"mcp"``."""
        return self._text("PATH", "mcp")

    @property
    def name(self) -> str:
        """``NAME``: that of the default server; by default the project's."""
        return self._text("NAME", str(getattr(settings, "ROOT_URLCONF", "")).partition(".")[0] or "django")

    @property
    def version(self) -> str:
        """``VERSION``: that of the default server."""
        return self._text("VERSION", "0")

    @property
    def instructions(self) -> str | None:
        """``INSTRUCTIONS``: what the default server tells the model about itself."""
        return self._text("INSTRUCTIONS", "") or None

    @property
    def policy(self) -> HTTPPolicy:
        """The options of :class:`~mcp_wsgi.HTTPPolicy`, in capitals."""
        values = self.values
        return HTTPPolicy(**{option: values[key] for key, option in POLICY_KEYS.items() if key in values})


conf = Settings()


@functools.lru_cache(maxsize=1)
def default_server() -> Server:
    """Give the server that the ``mcp.py`` modules of apps register on; it is made when it is first asked for."""
    return Server(conf.name, version=conf.version, instructions=conf.instructions)
