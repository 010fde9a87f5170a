"""The auth argument of every door, and what an auth function may refuse with."""

from __future__ import annotations

import pytest

from mcp_wsgi import AuthenticationError, ConfigurationError, public
from mcp_wsgi.http.auth import check_auth


def test_public_is_written_down_and_reads_as_itself() -> None:
    assert check_auth(public) is public
    assert repr(public) == "public"


def test_a_function_is_an_auth() -> None:
    def who(request: object) -> str:
        return "ann"

    assert check_auth(who) is who


@pytest.mark.parametrize("auth", [None, True, "public", 5])
def test_anything_else_is_refused_with_the_choices(auth: object) -> None:
    with pytest.raises(ConfigurationError, match=r"auth=public .* auth=function"):
        check_auth(auth)


def test_an_authentication_error_asks_for_a_bearer_token_by_default() -> None:
    error = AuthenticationError()
    assert (error.message, error.status, error.challenge) == ("Authentication is required", 401, "Bearer")


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_an_authentication_error_has_a_status_of_a_refusal(status: int) -> None:
    assert AuthenticationError("no", status=status).status == status


@pytest.mark.parametrize("status", [200, 302, 399, 499, 600, 0, -1, "401"])
def test_no_other_status_can_be_refused_with(status: int) -> None:
    with pytest.raises(ValueError, match="4xx or 5xx"):
        AuthenticationError("no", status=status)


@pytest.mark.parametrize("challenge", ["Bearer\r\nSet-Cookie: a=b", "Bearer\x00", 'Bearer error="é"', "Bearer\ud800"])
def test_a_challenge_that_no_header_can_carry_is_refused_where_it_is_made(challenge: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        AuthenticationError(challenge=challenge)
