"""The Django project under ASGI."""

from __future__ import annotations

from django.core.asgi import get_asgi_application

from tests.streaming.apps.django_project import set_up

__all__ = ["application"]

set_up()
application = get_asgi_application()
