"""The installable app."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.utils.module_loading import autodiscover_modules

from ..http.shutdown import close_on_signals

__all__ = ["MCPConfig"]


class MCPConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """Discover the ``mcp.py`` modules of all apps, and check the settings."""

    name = "mcp_wsgi.django"
    label = "mcp_wsgi"
    verbose_name = "Model Context Protocol"

    def ready(self) -> None:
        """Begin, once all models are there."""
        from .checks import check_all
        from .conf import default_server

        checks.register(check_all)
        autodiscover_modules("mcp")
        # Views are made with the first request, in any thread; a signal handler is installed by the main one only.
        close_on_signals(default_server())
