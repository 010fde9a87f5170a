"""The URL patterns of the endpoint that the settings describe: ``path("", include("mcp_wsgi.django.urls"))``."""

from __future__ import annotations

import logging

from django.urls import URLPattern

from .conf import conf
from .views import Unavailable, mcp_urls, patterns

__all__ = ["app_name", "urlpatterns"]

logger = logging.getLogger("mcp_wsgi")


def _patterns() -> list[URLPattern]:
    try:
        return mcp_urls(conf.server, conf.path, auth=conf.auth, policy=conf.policy)
    except Exception:
        # Raised here, it would end `manage.py check` before that can say what is wrong.
        logger.exception("The setting MCP cannot be used; manage.py check says why")
        return patterns(Unavailable("mcp"), "mcp")


app_name = "mcp_wsgi"
urlpatterns = _patterns()
