"""The official conformance suite finds nothing wanting in the fixture, whichever door serves it."""

from __future__ import annotations

import os

import pytest

from tests.conformance.run import measure_server
from tests.conformance.serve import DOORS
from tests.conformance.suite import Score
from tests.interop.environments import CannotInstall

# The first run installs the suite, which takes as long as the network does.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

# This scenario answers a question before the server has asked it, without a requestState. Here an answer counts
# only for a question that was asked, so the server asks; the suite would rather see it take the answer.
EXPECTED_WARNINGS = {"input-required-result-ignore-extra-params"}


@pytest.fixture(scope="module", params=DOORS)
def score(request: pytest.FixtureRequest) -> Score:
    try:
        return measure_server(request.param, "2026-07-28")
    except CannotInstall as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


def test_every_required_scenario_passes(score: Score) -> None:
    assert [verdict for verdict in score.required if not verdict.passed] == []
    assert len(score.required) == 37


def test_the_unscored_scenarios_of_headers_and_schemas_pass_in_full(score: Score) -> None:
    assert [verdict for verdict in score.unscored if not verdict.passed_in_full] == []
    assert len(score.unscored) == 3


def test_no_other_warning_is_given(score: Score) -> None:
    assert {verdict.scenario for verdict in score.required if not verdict.passed_in_full} == EXPECTED_WARNINGS


def test_the_server_prints_no_traceback(score: Score) -> None:
    assert "Traceback" not in score.log, score.log
