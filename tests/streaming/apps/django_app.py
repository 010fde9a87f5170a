"""The Django project under WSGI."""

from __future__ import annotations

from django.core.wsgi import get_wsgi_application

from tests.streaming.apps.django_project import set_up

__all__ = ["application"]

set_up()
application = get_wsgi_application()
