"""HTTP as values."""

from __future__ import annotations

from mcp_wsgi.http.messages import BodyError, HTTPRequest, HTTPResponse


def test_a_request_gives_the_lines_of_a_header_in_any_case_of_its_name() -> None:
    request = HTTPRequest("POST", [("accept", "a"), ("x", "1"), ("accept", "b")], lambda size: b"")
    assert request.get_all("Accept") == ["a", "b"]
    assert request.get_all("X") == ["1"]
    assert request.get_all("y") == []


def test_a_request_knows_no_length_and_nothing_of_its_door_unless_it_is_told() -> None:
    request = HTTPRequest("POST", [], lambda size: b"")
    assert (request.content_length, request.raw) == (None, None)
    request = HTTPRequest("POST", [], lambda size: b"", content_length=0, raw="environ")
    assert (request.content_length, request.raw) == (0, "environ")


def test_a_response_has_no_body_by_default() -> None:
    assert HTTPResponse(204, []).body == b""


def test_a_body_error_says_its_status_and_reason() -> None:
    error = BodyError(411, "why")
    assert (error.status, error.reason, error.args) == (411, "why", (411, "why"))


def test_one_value_is_read_by_its_name_in_any_case():
    request = HTTPRequest("POST", [("authorization", "a"), ("twice", "1"), ("twice", "2")], lambda size: b"")
    assert request.header("Authorization") == "a"
    assert request.header("absent") is None
    assert request.header("twice") is None
