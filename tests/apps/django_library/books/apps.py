"""The app of books."""

from __future__ import annotations

from django.apps import AppConfig


class BooksConfig(AppConfig):
    """Name the app."""

    name = "tests.apps.django_library.books"
    label = "books"
