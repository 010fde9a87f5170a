"""Media types: field reports B01, B02, B05 and RFC 9110, section 12.5.1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.http.content import accepts_only_events, media_type_problem


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json;",
        "application/json ; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json; charset=utf8",
        "application/json; charset=utf-8; charset=UTF-8",
        "application/json; version=1; =; ;;",
        " application/json\t",
    ],
)
def test_json_in_utf_8_is_served(content_type: str) -> None:
    assert media_type_problem(content_type) is None


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "json",
        "text/plain",
        "text/plain; a=application/json",
        "application/jsonp",
        "application/json-rpc",
        "application/vnd.x+json",
        "application/json, application/json",
        "application/json\xa0",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
    ],
)
def test_any_other_type_is_refused(content_type: str) -> None:
    assert "application/json" in (media_type_problem(content_type) or "")


@pytest.mark.parametrize(
    "parameters",
    ["charset=utf-16", "charset=", "CHARSET=latin-1", "charset=utf-16; charset=utf-8", "charset=utf-8; charset=utf-16"],
)
def test_any_other_charset_is_refused_also_where_a_second_one_is_right(parameters: str) -> None:
    assert "charset" in (media_type_problem(f"application/json; {parameters}") or "")


def test_a_missing_type_is_refused_with_what_to_do() -> None:
    assert media_type_problem(None) == "the Content-Type header is missing; send application/json"


@given(st.text())
def test_what_a_browser_sends_without_asking_is_never_served(text: str) -> None:
    # Fetch, "CORS-safelisted request-header": the three types that need no preflight.
    for kind in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded"):
        assert media_type_problem(f"{kind};{text}") is not None


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "*/*",
        "application/json",
        "APPLICATION/JSON",
        "application/*;q=0.8",
        "text/html",
        "application/json, text/event-stream",
        "text/event-stream, */*;q=0.1",
        "text/event-stream;q=0",
        "text/*",
    ],
)
def test_json_is_the_answer_for_almost_any_accept_header(accept: str | None) -> None:
    assert accepts_only_events(accept) is False


@pytest.mark.parametrize(
    "accept",
    [
        "text/event-stream",
        "Text/Event-Stream ; q=1",
        "text/event-stream;q=0.001",
        "text/event-stream, text/html",
        "text/event-stream, application/json;q=0",
        "text/event-stream, */*;Q=0.000",
    ],
)
def test_an_event_stream_is_the_answer_where_nothing_else_is_taken(accept: str) -> None:
    assert accepts_only_events(accept) is True


@given(st.text())
def test_any_header_text_has_an_answer(text: str) -> None:
    assert accepts_only_events(text) in (True, False)
    assert media_type_problem(text) is None or isinstance(media_type_problem(text), str)
