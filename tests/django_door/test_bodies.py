"""Bodies: our limit and statuses, whatever Django and its middleware do with a body."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.test import AsyncClient, Client, RequestFactory

from mcp_wsgi import HTTPPolicy, public
from mcp_wsgi.django import mcp_urls, mcp_view
from tests.apps.django_probe.tools import server
from tests.django_door.wire import apost, post, request_of, result_of
from tests.modern import message

DISCOVER = message("server/discover")
READER = "tests.apps.django_probe.middleware.body_reader"


def padded(size: int) -> dict[str, Any]:
    """Make a request of about that size."""
    return message("server/discover", padding="x" * size)


def send(kind: Any, sent: Any, **options: Any) -> Any:
    if kind is Client:
        return post(Client(), sent, **options)
    return asyncio.run(apost(AsyncClient(), sent, **options))


both = pytest.mark.parametrize("kind", [Client, AsyncClient])


@both
@pytest.mark.parametrize("debug", [True, False])
def test_djangos_own_limit_does_not_apply(site: Any, kind: Any, debug: bool) -> None:
    site(DATA_UPLOAD_MAX_MEMORY_SIZE=1000, DEBUG=debug)
    assert "supportedVersions" in result_of(send(kind, padded(3 * 1024 * 1024)))


@both
def test_a_body_over_our_limit_is_413_in_json(site: Any, kind: Any) -> None:
    site(mcp_urls(server, auth=public, policy=HTTPPolicy(body_limit=1000)))
    response = send(kind, padded(1000))
    assert response.status_code == 413
    assert json.loads(response.content)["error"]["code"] == -32600


@both
def test_a_body_that_middleware_has_read_is_still_there(site: Any, kind: Any) -> None:
    site(MIDDLEWARE=[READER])
    response = send(kind, DISCOVER)
    assert "supportedVersions" in result_of(response)
    assert int(response["X-Body"]) > 0


@both
def test_what_is_no_json_is_400(site: Any, kind: Any) -> None:
    site()
    response = send(kind, b"{")
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["code"] == -32700


@both
def test_a_type_other_than_json_is_415(site: Any, kind: Any) -> None:
    site()
    options = {**request_of(DISCOVER), "content_type": "text/plain"}

    async def go() -> Any:
        return await AsyncClient().post("/mcp", **options)

    response = Client().post("/mcp", **options) if kind is Client else asyncio.run(go())
    assert response.status_code == 415


def wsgi_request(body: bytes, **environ: Any) -> WSGIRequest:
    request = RequestFactory().post("/mcp", **request_of(DISCOVER))
    merged = {**request.environ, "wsgi.input": io.BytesIO(body), **environ}
    return WSGIRequest({key: value for key, value in merged.items() if value is not None})


def answer(request: Any) -> Any:
    return mcp_view(server, auth=public)(request)


BODY = json.dumps(DISCOVER).encode()


def test_a_chunked_body_is_read_from_the_environ() -> None:
    request = wsgi_request(BODY, CONTENT_LENGTH=None, **{"wsgi.input_terminated": True})
    assert "supportedVersions" in result_of(answer(request))


def test_a_chunked_body_is_there_after_middleware_has_looked_in_vain() -> None:
    request = wsgi_request(BODY, CONTENT_LENGTH=None, **{"wsgi.input_terminated": True})
    assert request.body == b""
    assert "supportedVersions" in result_of(answer(request))


def test_a_chunked_body_over_the_limit_is_413() -> None:
    request = wsgi_request(b"x" * 5_000_000, CONTENT_LENGTH=None, **{"wsgi.input_terminated": True})
    assert answer(request).status_code == 413


def test_a_body_without_a_length_is_411() -> None:
    assert answer(wsgi_request(BODY, CONTENT_LENGTH=None)).status_code == 411


def test_a_length_that_is_no_number_is_400() -> None:
    assert answer(wsgi_request(BODY, CONTENT_LENGTH="ten")).status_code == 400


def test_a_body_that_ends_early_is_400() -> None:
    assert answer(wsgi_request(BODY[:-5], CONTENT_LENGTH=str(len(BODY)))).status_code == 400


def test_a_body_that_breaks_off_is_400() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("connection reset")

    response = answer(wsgi_request(b"", CONTENT_LENGTH="100", **{"wsgi.input": Broken()}))
    assert response.status_code == 400
    assert b"reset" not in response.content
