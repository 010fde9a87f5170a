"""The official conformance suite finds nothing wanting in the client, apart from authorization, which is not its."""

from __future__ import annotations

import os

import pytest

from tests.conformance.run import measure_client
from tests.conformance.suite import Score
from tests.interop.environments import CannotInstall

# The first run installs the suite, which takes as long as the network does.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

REQUIRED = {
    "2026-07-28": {
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
    },
    "2025-11-25": {"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"},
}
UNSCORED = {"2026-07-28": {"json-schema-2020-12-preservation"}, "2025-11-25": set()}
# The suite lists the methods that this revision no longer has, and skips them for want of a request.
SKIPPED = {"http-standard-headers"}


@pytest.fixture(scope="module", params=REQUIRED)
def revision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def score(revision: str) -> Score:
    try:
        return measure_client(revision)
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


def test_every_required_scenario_passes(score: Score, revision: str) -> None:
    assert [verdict for verdict in score.required if not verdict.passed] == []
    assert {verdict.scenario for verdict in score.required} == REQUIRED[revision]


def test_the_unscored_scenario_of_schemas_passes_in_full(score: Score, revision: str) -> None:
    assert [verdict for verdict in score.unscored if not verdict.passed_in_full] == []
    assert {verdict.scenario for verdict in score.unscored} == UNSCORED[revision]


def test_nothing_is_warned_of_and_only_removed_methods_are_skipped(score: Score) -> None:
    assert {verdict.scenario: verdict.warnings for verdict in score.required if verdict.warnings} == {}
    assert {verdict.scenario for verdict in score.required if verdict.skipped} <= SKIPPED
    skipped = [text for verdict in score.required for text in verdict.skipped]
    assert all("initialize" in text for text in skipped), skipped


def test_the_client_prints_no_traceback(score: Score) -> None:
    assert "Traceback" not in score.log, score.log
