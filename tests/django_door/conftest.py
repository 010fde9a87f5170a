"""The library's settings for this process, and its database for those tests that want it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

if importlib.util.find_spec("django") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    import django
    from django.conf import settings

    if not settings.configured:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.apps.django_library.settings")
        django.setup()


@pytest.fixture(scope="session")
def _databases() -> Iterator[None]:
    from django.test.utils import setup_databases, teardown_databases

    made = setup_databases(verbosity=0, interactive=False)
    yield
    teardown_databases(made, verbosity=0)


@pytest.fixture
def database(_databases: None) -> Iterator[None]:
    """Give a test a database that is empty again afterwards; nothing is in a transaction."""
    from django.core.management import call_command
    from django.db import connections

    yield
    call_command("flush", interactive=False, verbosity=0)
    connections.close_all()


@pytest.fixture
def site() -> Iterator[Any]:
    """Serve other URLs, with other settings: site(patterns or a module's name, DEBUG=True)."""
    from django.test import override_settings

    active: list[Any] = []

    def use(urls: Any = "tests.apps.django_probe.urls", **options: Any) -> None:
        if not isinstance(urls, str):
            module = ModuleType("urls of a test")
            module.urlpatterns = urls  # type: ignore[attr-defined]
            urls = module
        active.append(override_settings(ROOT_URLCONF=urls, **options))
        active[-1].enable()

    yield use
    for override in reversed(active):
        override.disable()
