from __future__ import annotations

import pytest

from tests.spec.validate import spec_folder, validated_server

__all__ = ["validated_server"]


@pytest.fixture(autouse=True)
def _specification():
    """Skip every test here, with the reason, where the specification is absent."""
    spec_folder()
