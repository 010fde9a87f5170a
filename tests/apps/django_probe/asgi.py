"""The probe as ASGI application."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.apps.django_probe.settings"
application = get_asgi_application()
