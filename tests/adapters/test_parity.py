"""Every door answers the same raw request with the same answer: status, body, and the headers that matter.

What a door cannot see alike is a header that came in several lines: an environ joins them. A door that sees lines
refuses at least what the others refuse.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_wsgi.protocol.codec import encode
from tests.adapters.doors import DOORS, SEES_LINES, Answer, Client, RawRequest, missing
from tests.adapters.raw_requests import ORIGIN, POLICY, REQUESTS, make_server
from tests.raw_table import ROWS, Row
from tests.strategies import messages, modern_requests, mutated_headers, mutated_messages

OTHERS = [door for door in DOORS if door != "wsgi"]
#: What a client goes by; dates, lengths of streams and the like are the server's or the framework's.
MATTERS = re.compile(
    "content-type|content-length|allow|vary|www-authenticate|retry-after|cache-control|x-accel-buffering"
    "|x-content-type-options|location|access-control-.*"
)
_FAILURE = re.compile(rb"\(id [0-9a-f]{8}\)")
#: What a stream says where nothing else is to be said for a while: how often, is a question of time.
_COMMENT = re.compile(rb"^:\n\n", re.MULTILINE)


class Clients:
    """The clients of all doors, each made when it is first used."""

    def __init__(self) -> None:
        self._made: dict[str, Client] = {}

    def __getitem__(self, door: str) -> Client:
        if door not in self._made:
            self._made[door] = DOORS[door](make_server(), POLICY)
        return self._made[door]


@pytest.fixture(scope="module")
def clients() -> Clients:
    return Clients()


@pytest.fixture(scope="module", params=OTHERS)
def door(request: pytest.FixtureRequest) -> str:
    if missing(request.param):
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def comparable(answer: Answer) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Take what must be alike: a failure's id is random, Vary is a set, and no body may have a length or none."""
    headers = [(name.lower(), value) for name, value in answer.headers if MATTERS.fullmatch(name.lower())]
    # Middleware of Django's that looks at cookies says so.
    headers = [(name, _sorted(value) if name == "vary" else value) for name, value in headers]
    headers = [pair for pair in headers if pair != ("content-length", "0")]
    return answer.status, _COMMENT.sub(b"", _FAILURE.sub(b"(id)", answer.body)), sorted(headers)


def _sorted(vary: str) -> str:
    return ", ".join(sorted(set(vary.split(", ")) - {"Cookie"}))


def is_repeated(request: RawRequest) -> bool:
    counts = Counter(name.lower() for name, _ in request.lines())
    return any(count > 1 for count in counts.values())


def check(clients: Clients, door: str, request: RawRequest) -> None:
    expected, found = clients["wsgi"](request), clients[door](request)
    if door in SEES_LINES and is_repeated(request):
        assert expected.status < 400 or found.status >= 400, (expected, found)
        found, expected = found, clients["asgi"](request)
    assert comparable(found) == comparable(expected)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_raw_request_has_the_same_answer(clients: Clients, door: str, name: str) -> None:
    check(clients, door, REQUESTS[name])


def test_the_table_is_broad_and_has_all_kinds_of_answers(clients: Clients) -> None:
    answers = [clients["wsgi"](request) for request in REQUESTS.values()]
    assert len(REQUESTS) > 90
    assert {answer.status for answer in answers} >= {200, 202, 204, 400, 403, 404, 405, 413, 415}
    kinds = Counter(dict(answer.headers).get("content-type") for answer in answers if answer.status == 200)
    assert kinds["text/event-stream"] > 10
    assert all(b"secret" not in answer.body for answer in answers)


FITTING = [row for row in ROWS if row.raw is None and row.target.startswith("/mcp")]


@pytest.mark.parametrize("row", FITTING, ids=lambda row: row.name)
def test_a_row_of_the_table_for_servers_has_the_same_answer(clients: Clients, door: str, row: Row) -> None:
    check(clients, door, RawRequest(method=row.method, target=row.target, headers=row.headers, body=row.body))


_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^`|~-]+")
_KNOWN = {"add", "add_later", "steps", "greet"}


def can_be_sent(pair: tuple[str, str]) -> bool:
    """Say whether a server would hand this line on; others are refused by servers, each in its way."""
    name, value = pair
    return bool(_TOKEN.fullmatch(name)) and not re.search(r"[\r\n\0]|[^\x00-\xff]", value)


def to_request(draw: st.DrawFn, original: dict[str, Any], body: Any) -> RawRequest:
    pairs = draw(mutated_headers(original)) if draw(st.booleans()) else draw(mutated_headers(original, at_least=1))
    usual = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    more = draw(st.lists(st.sampled_from([("Origin", ORIGIN), ("Mcp-Session-Id", "x"), usual[0]]), max_size=1))
    data = encode(body)
    cut = draw(st.sampled_from([None, None, None, 1, len(data) // 2]))
    return RawRequest(body=data[:cut], headers=[pair for pair in (*usual, *pairs, *more) if can_be_sent(pair)])


def known(wire: Any, name: str) -> Any:
    """Let a call be one of a tool that exists."""
    params = wire.get("params")
    if isinstance(params, dict) and "name" in params:
        params["name"] = name
    return wire


@st.composite
def requests(draw: st.DrawFn) -> RawRequest:
    """Draw a valid message or a mutated one, with headers that fit it or nearly do."""
    original = known(draw(messages | modern_requests()), draw(st.sampled_from(sorted(_KNOWN))))
    body = draw(mutated_messages(st.just(original)) | st.just(original))
    return to_request(draw, original, body)


def test_mutations_have_the_same_answer(clients: Clients, door: str) -> None:
    @settings(suppress_health_check=[HealthCheck.too_slow])
    @given(request=requests())
    def same(request: RawRequest) -> None:
        check(clients, door, request)

    same()


@given(request=requests())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=50)
def test_an_answer_is_complete_and_tells_no_secret(clients: Clients, request: RawRequest) -> None:
    answer = clients["wsgi"](request)
    assert answer.status in (200, 202, 400, 404, 415)
    assert dict(answer.headers).get("content-type") is not None
    assert b"Traceback" not in answer.body
