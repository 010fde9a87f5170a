"""The FastAPI example, on a real uvicorn: its own API, tools behind the same tokens, progress and a subscription."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from mcp_wsgi.protocol.sse import EventDecoder
from tests.modern import message, post_headers
from tests.servers import Running, serve

pytest.importorskip("fastapi")
pytestmark = pytest.mark.servers

ANN = {"Authorization": "Bearer token-of-ann"}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serve("uvicorn", "tests.apps.fastapi_notes:app") as running:
        yield running
        running.assert_clean()


def post(
    server: Running, method: str, headers: dict[str, str] | None = None, path: str = "/mcp", **params: Any
) -> requests.Response:
    request = message(method, **params)
    sent = dict(post_headers(request)) | (ANN if headers is None else headers)
    return requests.post(
        server.url + path, json.dumps(request, separators=(",", ":")), headers=sent, timeout=30, stream=True
    )


def call(server: Running, name: str, **arguments: Any) -> Any:
    return post(server, "tools/call", name=name, arguments=arguments).json()["result"]


def events(response: requests.Response) -> Iterator[dict[str, Any]]:
    decoder = EventDecoder()
    for chunk in response.iter_content(None):
        for event in decoder.feed(chunk):
            yield json.loads(event.data)


def test_a_note_taken_by_a_tool_is_in_the_api(server: Running):
    taken = call(server, "add_note", text="Buy apples", tags=["shop"])
    assert taken["structuredContent"]["text"] == "Buy apples"
    assert "Buy apples" in [
        note["text"] for note in requests.get(server.url + "/notes", headers=ANN, timeout=30).json()
    ]
    assert [note["tags"] for note in call(server, "find_notes", text="apples")["structuredContent"]] == [["shop"]]


def test_each_user_sees_only_their_own(server: Running):
    call(server, "add_note", text="Ann's secret")
    found = post(
        server, "tools/call", {"Authorization": "Bearer token-of-bob"}, name="find_notes", arguments={"text": "secret"}
    )
    assert found.json()["result"]["structuredContent"] == []
    read = post(server, "resources/read", uri="notes://mine").json()["result"]
    assert read["cacheScope"] == "private"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_without_a_token_nothing_is_answered_but_a_challenge(server: Running, path: str):
    refused = post(server, "server/discover", {}, path)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert refused.history == []


def test_a_mistake_is_told_to_the_model(server: Running):
    assert call(server, "add_note", text=" ")["content"][0]["text"] == "An empty note helps nobody."
    assert "text: missing required argument" in call(server, "add_note")["content"][0]["text"]


def test_progress_comes_before_the_answer(server: Running):
    call(server, "add_note", text="Read a book")
    response = post(server, "tools/call", progress_token="p", name="review", arguments={})
    assert response.headers["Content-Type"] == "text/event-stream"
    *progress, answer = list(events(response))
    assert progress[-1]["params"]["message"] == "Read a book"
    assert answer["result"]["content"][0]["text"].endswith("notes")


def test_a_subscriber_is_told_of_a_new_note(server: Running):
    with post(server, "subscriptions/listen", notifications={"resourceSubscriptions": ["notes://mine"]}) as response:
        stream = events(response)
        assert next(stream)["params"]["notifications"] == {"resourceSubscriptions": ["notes://mine"]}
        call(server, "add_note", text="Call home")
        assert next(stream)["params"]["uri"] == "notes://mine"


def test_the_web_page_of_another_site_is_refused(server: Running):
    assert post(server, "server/discover", {**ANN, "Origin": "https://evil.example"}).status_code == 403
    assert post(server, "server/discover", {**ANN, "Origin": "https://notes.example"}).status_code == 200
