"""The view: sync or async as it is served, left alone by middleware, JSON whatever happens."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import sys
import types
from typing import Any

import pytest
from asgiref.sync import async_to_sync, iscoroutinefunction
from django.http import HttpResponse
from django.test import AsyncClient, AsyncRequestFactory, Client, RequestFactory
from django.urls import include, path

from mcp_wsgi import AuthenticationError, ConfigurationError, HTTPPolicy, Server, ToolError, public
from mcp_wsgi.django import MCPView, mcp_urls, mcp_view
from tests.apps.django_probe.tools import server
from tests.apps.django_probe.urls import sync_decorator
from tests.django_door.wire import EVENTS, acall, apost, call, events_of, post, request_of, result_of
from tests.modern import message
from tests.patience import wait_until

DISCOVER = message("server/discover")


@pytest.fixture(autouse=True)
def _probe(site: Any) -> None:
    site()


def is_json(response: Any) -> bool:
    return response["Content-Type"] == "application/json" and "jsonrpc" in json.loads(response.content)


def test_auth_has_to_be_written_down() -> None:
    with pytest.raises(ConfigurationError, match="auth= is required"):
        mcp_view(server)
    with pytest.raises(ConfigurationError, match="auth= is required"):
        mcp_urls(server)


def test_a_sync_client_is_answered_in_its_own_thread_without_a_loop() -> None:
    seen = call(Client(), "look")["structuredContent"]
    assert seen["main"] is True
    assert seen["loop"] is False
    assert seen["kind"] == "WSGIRequest"
    assert call(Client(), "add", {"a": 1, "b": 2})["structuredContent"] == 3


def test_an_async_client_is_answered_on_its_loop() -> None:
    async def go() -> None:
        client = AsyncClient()
        assert (await acall(client, "look_async"))["content"][0]["text"] == "ASGIRequest"
        seen = (await acall(client, "look"))["structuredContent"]
        assert seen["kind"] == "ASGIRequest"
        assert (seen["main"], seen["loop"]) == (False, False)
        assert (await acall(client, "add_async", {"a": 1, "b": 2}))["structuredContent"] == 3

    asyncio.run(go())


def test_async_tools_run_under_wsgi_too() -> None:
    assert call(Client(), "add_async", {"a": 1, "b": 2})["structuredContent"] == 3


def test_the_view_is_a_coroutine_function_while_a_loop_runs() -> None:
    view = mcp_view(server, auth=public)
    assert not iscoroutinefunction(view)

    async def go() -> None:
        assert iscoroutinefunction(view)
        if sys.version_info >= (3, 12):
            assert inspect.iscoroutinefunction(view)
        else:
            assert asyncio.iscoroutinefunction(view)
        assert not await asyncio.to_thread(iscoroutinefunction, view)

    asyncio.run(go())
    assert not iscoroutinefunction(view)


def test_the_call_gives_a_coroutine_exactly_while_a_loop_runs() -> None:
    view = mcp_view(server, auth=public)
    request = RequestFactory().post("/mcp", **request_of(DISCOVER))
    assert isinstance(view(request), HttpResponse)


def test_a_loop_of_another_greenlet_is_not_this_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkey = types.ModuleType("gevent.monkey")
    monkey.is_module_patched = lambda name: name == "threading"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gevent.monkey", monkey)

    async def go() -> None:
        assert not iscoroutinefunction(mcp_view(server, auth=public))

    asyncio.run(go())


def test_the_view_has_what_decorators_copy() -> None:
    view = mcp_view(server, auth=public)
    wrapped: Any = sync_decorator(view)
    assert wrapped.__name__ == view.__name__ == "mcp"
    assert (wrapped.csrf_exempt, wrapped.login_required, wrapped.should_append_slash) == (True, False, False)
    assert "any alias" in wrapped._non_atomic_requests


@pytest.mark.parametrize("where", ["/mcp", "/mcp/", "/single", "/below/mcp/", "/pattern/mcp", "/wrapped"])
def test_no_csrf_token_is_wanted(where: str) -> None:
    response = post(Client(enforce_csrf_checks=True), DISCOVER, path=where)
    assert result_of(response)["supportedVersions"]


@pytest.mark.parametrize("append_slash", [True, False])
@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("where", ["/mcp", "/mcp/"])
def test_both_spellings_answer_alike(site: Any, append_slash: bool, debug: bool, where: str) -> None:
    site(APPEND_SLASH=append_slash, DEBUG=debug)
    assert "supportedVersions" in result_of(post(Client(), DISCOVER, path=where))


def test_a_single_spelling_is_never_redirected_to_another() -> None:
    assert post(Client(), DISCOVER, path="/below/mcp").status_code == 404


def test_below_the_endpoint_is_nothing_in_json() -> None:
    response = post(Client(), DISCOVER, path="/mcp/below/it")
    assert response.status_code == 404
    assert is_json(response)


def test_below_the_endpoint_is_nothing_under_asgi_either() -> None:
    response = asyncio.run(apost(AsyncClient(), DISCOVER, path="/mcp/below"))
    assert response.status_code == 404
    assert is_json(response)


def test_patterns_can_be_included_at_a_path_of_ones_own(site: Any) -> None:
    site([path("tools/", include(mcp_urls(server, "", auth=public)))])
    assert "supportedVersions" in result_of(post(Client(), DISCOVER, path="/tools/"))
    assert post(Client(), DISCOVER, path="/tools/x").status_code == 404


def test_parts_of_the_path_reach_handlers() -> None:
    assert call(Client(), "look", path="/tenants/a/mcp")["structuredContent"]["kwargs"] == {"tenant": "a"}


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch", "head"])
@pytest.mark.parametrize("debug", [True, False])
def test_other_methods_are_405_in_json(site: Any, method: str, debug: bool) -> None:
    site(DEBUG=debug)
    response = getattr(Client(), method)("/mcp")
    assert response.status_code == 405
    assert response["Allow"] == "POST, OPTIONS"
    assert response["Content-Type"] == "application/json"


def test_a_preflight_is_answered_without_a_type() -> None:
    headers = {"Origin": "https://inspector.example", "Access-Control-Request-Method": "POST"}
    response = Client().options("/mcp", headers=headers)
    assert response.status_code == 204
    assert response["Access-Control-Allow-Origin"] == "https://inspector.example"
    assert "Content-Type" not in response


def test_an_accepted_notification_has_no_body() -> None:
    sent = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = post(Client(), json.dumps(sent).encode())
    assert (response.status_code, response.content) == (202, b"")
    assert "html" not in response["Content-Type"]


def test_a_foreign_origin_is_refused() -> None:
    response = post(Client(), DISCOVER, headers={"Origin": "https://evil.example"})
    assert response.status_code == 403
    assert is_json(response)


def test_a_challenge_is_told_on_both_spellings_and_below_wsgi_and_asgi(site: Any) -> None:
    def auth(request: Any) -> None:
        raise AuthenticationError("no", challenge='Bearer realm="x"')

    site(mcp_urls(server, auth=auth))
    for where in ("/mcp", "/mcp/"):
        for response in (
            post(Client(), DISCOVER, path=where),
            asyncio.run(apost(AsyncClient(), DISCOVER, path=where)),
        ):
            assert response.status_code == 401
            assert response["WWW-Authenticate"] == 'Bearer realm="x"'
            assert is_json(response)


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_failing_auth_function_is_told_in_json(site: Any, debug: bool, kind: Any) -> None:
    def auth(request: Any) -> None:
        raise RuntimeError("a secret")

    site(mcp_urls(server, auth=auth), DEBUG=debug)
    client = kind()
    response = post(client, DISCOVER) if kind is Client else asyncio.run(apost(client, DISCOVER))
    assert response.status_code == 500
    assert is_json(response)
    assert b"secret" not in response.content


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_header_that_django_refuses_is_told_in_json(site: Any, kind: Any) -> None:
    def auth(request: Any) -> None:
        raise AuthenticationError("no", challenge="Bearer\r\nX-Evil: 1")

    site(mcp_urls(server, auth=auth), DEBUG=True)
    client = kind()
    response = post(client, DISCOVER) if kind is Client else asyncio.run(apost(client, DISCOVER))
    assert response.status_code == 500
    assert is_json(response)
    assert "X-Evil" not in response


@pytest.mark.parametrize(
    ("then", "text"),
    [("forbid", "Permission denied"), ("miss", "No such book"), ("tell", "told"), ("fail", "internal error")],
)
def test_what_django_shows_a_visitor_the_model_may_read(then: str, text: str) -> None:
    result = call(Client(), "go_on_async", {"then": then})
    assert result["isError"] is True
    assert text in result["content"][0]["text"]
    assert "secret" not in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "probe://miss"}), ("prompts/get", {"name": "ask", "arguments": {"name": "miss"}})],
)
def test_a_missing_object_of_a_resource_or_prompt_is_told(method: str, params: dict[str, Any]) -> None:
    response = post(Client(), message(method, **params))
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["message"] == "No such book"


@pytest.mark.parametrize("tool", ["write", "go_on_async"])
def test_a_handler_that_stops_an_iteration_harms_nobody(tool: str, database: None) -> None:
    async def go() -> None:
        result = await asyncio.wait_for(acall(AsyncClient(), tool, {"title": "x", "then": "stop"}), 30)
        assert result["isError"] is True

    async_to_sync(go)()


def test_repeated_header_lines_are_seen_under_asgi() -> None:
    request = AsyncRequestFactory().post("/mcp", **request_of(DISCOVER))
    request.scope["headers"] += [(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")]

    async def go() -> Any:
        return await mcp_view(server, auth=lambda request: "me")(request)  # type: ignore[misc]

    response = asyncio.run(go())
    assert response.status_code == 400
    assert b"repeated" in response.content


# Wrapped views


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_sync_decorator_around_the_view_is_answered_synchronously(kind: Any) -> None:
    if kind is Client:
        seen = call(Client(), "look", path="/wrapped")
    else:
        seen = asyncio.run(acall(AsyncClient(), "look", path="/wrapped"))
    assert seen["structuredContent"]["loop"] is False


def test_login_required_around_the_view_answers_those_who_are_signed_in(database: None) -> None:
    from django.contrib.auth.models import User

    user = User.objects.create_user("ann")
    client = Client()
    assert post(client, DISCOVER, path="/members").status_code == 302
    client.force_login(user)
    assert call(client, "look", path="/members")["structuredContent"]["user"] == "ann"


def test_a_wrapped_view_streams_under_asgi() -> None:
    sent = message("tools/call", name="report", arguments={"times": 3, "pause": 0.01}, progress_token=7)

    async def go() -> None:
        response = await apost(AsyncClient(), sent, path="/wrapped")
        assert response["Content-Type"] == EVENTS
        data = b"".join([part async for part in response.streaming_content])
        messages = events_of(data)
        assert [each["params"]["progress"] for each in messages[:-1]] == [1, 2, 3]
        assert "result" in messages[-1]
        response.close()

    asyncio.run(go())


# Streams


def test_a_tool_that_reports_streams_under_wsgi() -> None:
    sent = message("tools/call", name="report", arguments={"times": 3, "pause": 0.01}, progress_token="t")
    response = post(Client(), sent)
    assert response.streaming
    assert response["Content-Type"] == EVENTS
    assert response["Content-Encoding"] == "identity"
    assert response["X-Accel-Buffering"] == "no"
    messages = events_of(b"".join(response.streaming_content))
    assert [each["params"]["progressToken"] for each in messages[:-1]] == ["t"] * 3
    assert messages[-1]["result"]["structuredContent"] > 0


@pytest.mark.parametrize("tool", ["report", "report_async"])
def test_a_tool_that_reports_streams_under_asgi(tool: str) -> None:
    sent = message("tools/call", name=tool, arguments={"times": 3, "pause": 0.01}, progress_token="t")

    async def go() -> None:
        response = await apost(AsyncClient(), sent)
        assert response.is_async
        messages = events_of(b"".join([part async for part in response.streaming_content]))
        assert len(messages) == 4
        response.close()

    asyncio.run(go())


def test_a_tool_with_nothing_to_say_is_answered_in_json_also_where_it_might() -> None:
    sent = message("tools/call", name="add", arguments={"a": 1, "b": 2}, progress_token="t")
    response = post(Client(), sent)
    assert not response.streaming
    assert result_of(response)["structuredContent"] == 3


def test_gzip_leaves_a_stream_alone_and_compresses_other_answers(site: Any) -> None:
    site(MIDDLEWARE=["django.middleware.gzip.GZipMiddleware"])
    gzip = {"Accept-Encoding": "gzip"}
    sent = message("tools/call", name="report", arguments={"times": 30, "pause": 0}, progress_token="t")
    response = post(Client(), sent, headers=gzip)
    assert response["Content-Encoding"] == "identity"
    assert len(events_of(b"".join(response.streaming_content))) == 31
    assert post(Client(), message("tools/list"), headers=gzip)["Content-Encoding"] == "gzip"


def test_a_subscription_ends_when_the_server_closes() -> None:
    own = Server("own")
    own.add_tool({"name": "one", "handler": lambda arguments, ctx: "1"})
    view = mcp_view(own, auth=public)
    sent = message("subscriptions/listen", notifications={"toolsListChanged": True})
    response: Any = view(RequestFactory().post("/mcp", **request_of(sent)))
    frames = iter(response.streaming_content)
    assert events_of(next(frames))[0]["method"] == "notifications/subscriptions/acknowledged"
    own.close()
    assert "result" in events_of(next(frames))[0]
    response.close()
    assert len(own.bus) == 0


def test_a_closed_subscription_makes_room_for_another() -> None:
    own = Server("own")
    view = mcp_view(own, auth=public, policy=HTTPPolicy(max_listens=1))
    sent = message("subscriptions/listen", notifications={})
    for _ in range(3):
        response: Any = view(RequestFactory().post("/mcp", **request_of(sent)))
        assert response.status_code == 200
        refused: Any = view(RequestFactory().post("/mcp", **request_of(sent)))
        assert refused.status_code == 503
        response.close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("where", ["/own", "/wrapped"])
def test_a_stream_whose_response_is_dropped_is_closed(site: Any, kind: Any, where: str) -> None:
    own = Server("own")
    view = mcp_view(own, auth=public)
    site([path("own", view), path("wrapped", sync_decorator(view))], MIDDLEWARE=[f"{__name__}.replacing"])
    sent = message("subscriptions/listen", notifications={})
    response = (
        post(Client(), sent, path=where) if kind is Client else asyncio.run(apost(AsyncClient(), sent, path=where))
    )
    assert response.content == b"other"

    def is_closed() -> bool:
        gc.collect()
        return len(own.bus) == 0

    wait_until(is_closed, 30)


def replacing(get_response: Any) -> Any:
    """Be a middleware that answers something else, as one does that fails."""

    def middleware(request: Any) -> Any:
        get_response(request)
        return HttpResponse("other")

    return middleware


def test_the_view_names_its_endpoints() -> None:
    view = mcp_view(server, auth=public)
    assert isinstance(view, MCPView)
    assert view.endpoint.server is view.async_endpoint.server is server


def test_a_tool_error_is_no_failure_of_the_view() -> None:
    own = Server("own")

    @own.tool
    def refuse() -> str:
        """Refuse."""
        raise ToolError("not today")

    view = mcp_view(own, auth=public)
    sent = message("tools/call", name="refuse", arguments={})
    response: Any = view(RequestFactory().post("/mcp", **request_of(sent)))
    assert result_of(response)["isError"] is True


@pytest.mark.usefixtures("database")
def test_a_filter_may_ask_the_database_also_on_a_loop(site: Any) -> None:
    from django.contrib.auth.models import User

    filtered = Server("filtered")

    @filtered.tool(visible=lambda ctx: not User.objects.filter(username="nobody").exists())
    def seen() -> str:
        return "seen"

    @filtered.tool(visible=lambda ctx: User.objects.exists())
    def hidden() -> str:
        return "hidden"

    site(mcp_urls(filtered, "mcp", auth=public))

    async def go() -> None:
        client = AsyncClient()
        listed = result_of(await apost(client, message("tools/list")))
        assert [tool["name"] for tool in listed["tools"]] == ["seen"]
        assert (await acall(client, "seen"))["content"][0]["text"] == "seen"
        assert (await apost(client, message("tools/call", name="hidden"))).status_code == 400

    async_to_sync(go)()


def test_nobody_but_django_waits_for_the_client_to_leave() -> None:
    """The body is read from Django's request, which has no word of a disconnect and is closed with the response."""
    from mcp_wsgi.django.views import _asgi_request

    request = AsyncRequestFactory().post("/mcp", b"{}", content_type="application/json")
    assert _asgi_request(request).disconnected is None
