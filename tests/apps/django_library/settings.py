"""Settings of the library."""

from __future__ import annotations

import os

SECRET_KEY = os.environ.get("LIBRARY_SECRET_KEY", "only for development")
DEBUG = bool(os.environ.get("LIBRARY_DEBUG"))
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "tests.apps.django_library.urls"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "mcp_wsgi.django",
    "tests.apps.django_library.books",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("LIBRARY_DATABASE", ":memory:"),
        "ATOMIC_REQUESTS": True,
        "OPTIONS": {"timeout": 20},
    }
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

MCP = {
    "NAME": "library",
    "VERSION": "1.2",
    "INSTRUCTIONS": "Look a book up before you lend it.",
    "AUTH": "tests.apps.django_library.books.keys.api_key",
    "ALLOWED_ORIGINS": ["https://inspector.example"],
    "KEEP_ALIVE": float(os.environ.get("LIBRARY_KEEP_ALIVE", "15")),
}
