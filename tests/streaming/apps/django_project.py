"""A Django project with the endpoint as its URLs, middleware that compresses, and a database."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from tests.streaming.apps.tools import DATABASE, POLICY, make_server, wait_while

__all__ = ["set_up", "urlpatterns"]

urlpatterns: list[Any] = []


def set_up() -> None:
    """Configure Django, once in a process."""
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATABASE)}},
        MIDDLEWARE=["django.middleware.gzip.GZipMiddleware", "django.middleware.common.CommonMiddleware"],
        ROOT_URLCONF=__name__,
        SECRET_KEY="only for tests",
        USE_TZ=True,
    )
    from django.db import connection

    from mcp_wsgi import Context, public
    from mcp_wsgi.django import mcp_urls

    server = make_server()

    @server.tool
    def query_models(ctx: Context, times: int = 5, hold: bool = False) -> int:
        """Use Django's connection while the stream runs, or until its client has gone."""
        with connection.cursor() as cursor:
            for step in range(times):
                cursor.execute("SELECT * FROM sqlite_master")
                ctx.report_progress(step + 1, times)
            wait_while(hold, ctx)
        return times

    urlpatterns.extend(mcp_urls(server, auth=public, policy=POLICY))
