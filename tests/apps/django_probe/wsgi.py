"""The probe as WSGI application."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.apps.django_probe.settings"
application = get_wsgi_application()
