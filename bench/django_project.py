"""A Django project of one view, with the middleware of every new project; also for a peer without this package."""

from __future__ import annotations

import secrets
from typing import Any

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.urls import path

__all__ = ["application"]

_APPS = ("auth", "contenttypes", "sessions", "messages")
_MIDDLEWARE = (
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
)


def application(view: Any) -> WSGIHandler:
    """Make the project's WSGI application, with the view at the endpoint's path."""
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        INSTALLED_APPS=[f"django.contrib.{name}" for name in _APPS],
        MIDDLEWARE=list(_MIDDLEWARE),
        ROOT_URLCONF=(path("mcp", view),),
        SECRET_KEY=secrets.token_hex(32),
    )
    django.setup(set_prefix=False)
    return WSGIHandler()
