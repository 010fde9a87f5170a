"""Settings of the probe: what may stand in the way of a stream does."""

from __future__ import annotations

from tests.apps.django_library.settings import *  # noqa: F403

ROOT_URLCONF = "tests.apps.django_probe.urls"
MIDDLEWARE = [
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "tests.apps.django_probe.middleware.sync_only",
]
