from __future__ import annotations

import pytest

from mcp_wsgi.protocol.versions import (
    LATEST_LEGACY_VERSION,
    LATEST_VERSION,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    is_legacy_version,
    negotiate_legacy,
)


def test_the_versions_are_in_the_order_of_their_dates_and_of_one_era():
    everything = [*LEGACY_VERSIONS, *MODERN_VERSIONS]
    assert everything == sorted(set(everything))
    assert (LATEST_LEGACY_VERSION, LATEST_VERSION) == ("2025-11-25", "2026-07-28")


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_a_known_legacy_version_is_answered_with_itself(version):
    assert is_legacy_version(version)
    assert negotiate_legacy(version) == version


@pytest.mark.parametrize("version", ["2026-07-28", "2030-01-01", "1.0", "", "2025-11-25 ", "2025-11-25,2025-11-25"])
def test_another_version_is_answered_with_the_newest_legacy_one(version):
    """B73; 2025-11-25, basic/lifecycle, Version Negotiation."""
    assert not is_legacy_version(version)
    assert negotiate_legacy(version) == "2025-11-25"
