"""Who asks: Django's user, and the classes of Django REST framework."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from mcp_wsgi import ConfigurationError
from mcp_wsgi.django import drf_auth, mcp_urls, mcp_view, user_auth
from tests.apps.django_probe.tools import server
from tests.django_door.wire import acall, apost, call, post
from tests.modern import message

DISCOVER = message("server/discover")


@pytest.fixture
def user(database: None) -> Any:
    from django.contrib.auth.models import User

    return User.objects.create_user("ann", password="pass")


# user_auth


def test_a_user_who_is_signed_in_is_the_principal(site: Any, user: Any) -> None:
    site()
    client = Client()
    client.force_login(user)
    seen = call(client, "look", path="/users")["structuredContent"]
    assert (seen["user"], seen["principal"]) == ("ann", "ann")


def test_a_user_who_is_signed_in_is_the_principal_under_asgi(site: Any, user: Any) -> None:
    site()
    signed_in = Client()
    signed_in.force_login(user)

    async def go() -> Any:
        client = AsyncClient()
        client.cookies = signed_in.cookies
        return await acall(client, "look", path="/users")

    seen = async_to_sync(go)()["structuredContent"]
    assert (seen["user"], seen["principal"]) == ("ann", "ann")


def test_an_anonymous_user_is_401_in_json(site: Any) -> None:
    site()
    response = post(Client(), DISCOVER, path="/users")
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"


def test_user_auth_needs_the_middleware(site: Any, caplog: pytest.LogCaptureFixture) -> None:
    site(MIDDLEWARE=[])
    response = post(Client(), DISCOVER, path="/users")
    assert response.status_code == 500
    assert "AuthenticationMiddleware" in caplog.text
    assert b"Middleware" not in response.content


def test_a_page_of_another_origin_cannot_use_the_session(site: Any, user: Any) -> None:
    site()
    client = Client()
    client.force_login(user)
    assert post(client, DISCOVER, path="/users", headers={"Origin": "https://evil.example"}).status_code == 403


def test_login_required_middleware_does_not_redirect(site: Any) -> None:
    auth = pytest.importorskip("django.contrib.auth.middleware")
    if not hasattr(auth, "LoginRequiredMiddleware"):
        pytest.skip("since Django 5.1")
    names = ["sessions.middleware.Session", "auth.middleware.Authentication", "auth.middleware.LoginRequired"]
    site(MIDDLEWARE=[f"django.contrib.{name}Middleware" for name in names])
    assert post(Client(), DISCOVER).status_code == 200
    assert post(Client(), DISCOVER, path="/users").status_code == 401
    assert post(Client(), DISCOVER, path="/mcp/below").status_code == 404


# drf_auth


def basic(name: str, password: str) -> dict[str, str]:
    import base64

    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.fixture
def drf(site: Any) -> Any:
    pytest.importorskip("rest_framework")
    from rest_framework.authentication import BasicAuthentication

    def use(authentication: Any = (BasicAuthentication,), permissions: Any = None, **options: Any) -> None:
        site(mcp_urls(server, auth=drf_auth(authentication, permissions)), **options)

    return use


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_authentication_classes_name_the_user(drf: Any, user: Any, kind: Any) -> None:
    drf()
    if kind is Client:
        result = call(Client(), "look", headers=basic("ann", "pass"))
    else:
        result = async_to_sync(acall)(AsyncClient(), "look", headers=basic("ann", "pass"))
    seen = result["structuredContent"]
    assert (seen["user"], seen["principal"]) == ("ann", "ann")


@pytest.mark.parametrize("headers", [{}, basic("ann", "wrong"), {"Authorization": "Basic ?"}])
def test_a_refusal_has_the_status_and_challenge_of_the_classes(drf: Any, user: Any, headers: dict[str, str]) -> None:
    drf()
    response = post(Client(), DISCOVER, headers=headers)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Basic realm="api"'
    assert json.loads(response.content)["error"]["code"] == -32600


def test_a_user_without_the_permission_is_403(drf: Any, user: Any) -> None:
    from rest_framework.authentication import BasicAuthentication
    from rest_framework.permissions import IsAdminUser

    drf([BasicAuthentication], [IsAdminUser])
    response = post(Client(), DISCOVER, headers=basic("ann", "pass"))
    assert response.status_code == 403
    assert "WWW-Authenticate" not in response
    assert b"permission" in response.content


def test_without_a_challenge_a_refusal_is_403_as_in_the_frameworks_own_views(drf: Any) -> None:
    from rest_framework.authentication import SessionAuthentication

    drf([SessionAuthentication])
    assert post(Client(), DISCOVER).status_code == 403


def test_anonymous_requests_that_a_permission_lets_in_have_an_empty_principal(drf: Any, database: None) -> None:
    from rest_framework.permissions import AllowAny

    drf(permissions=[AllowAny])
    assert call(Client(), "look")["structuredContent"]["principal"] == ""


def test_the_frameworks_own_defaults_apply(drf: Any, user: Any) -> None:
    drf(None)
    assert call(Client(), "look", headers=basic("ann", "pass"))["structuredContent"]["principal"] == "ann"


def test_a_user_of_a_kind_of_its_own_is_named_by_its_text(drf: Any, database: None) -> None:
    from rest_framework.authentication import BaseAuthentication

    class Token:
        is_authenticated = True

        def __str__(self) -> str:
            return "token 7"

    class Own(BaseAuthentication):
        def authenticate(self, request: Any) -> Any:
            return Token(), None

    drf([Own])
    assert call(Client(), "look")["structuredContent"]["principal"] == "token 7"


def test_a_failure_with_details_is_told_in_general() -> None:
    pytest.importorskip("rest_framework")
    from rest_framework.exceptions import ValidationError

    from mcp_wsgi.django.auth import _refusal

    refusal = _refusal(ValidationError({"field": ["wrong"]}), None)
    assert (refusal.status, refusal.message) == (400, "Authentication is required")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_inside_a_view_of_the_framework_it_still_answers(site: Any, kind: Any) -> None:
    """Documented as not the way: the framework's own content negotiation comes first."""
    pytest.importorskip("rest_framework")
    from django.urls import path
    from rest_framework.decorators import api_view, permission_classes
    from rest_framework.permissions import AllowAny

    from mcp_wsgi import public

    view = api_view(["POST"])(permission_classes([AllowAny])(mcp_view(server, auth=public)))
    site([path("mcp", view)])
    response = post(Client(), DISCOVER) if kind is Client else asyncio.run(apost(AsyncClient(), DISCOVER))
    assert response.status_code == 200


def test_beside_views_of_the_framework_event_streams_may_be_asked_for(drf: Any, user: Any) -> None:
    drf()
    response = post(Client(), DISCOVER, headers=basic("ann", "pass"), accept="text/event-stream")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/event-stream"


def test_without_the_framework_drf_auth_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rest_framework", None)
    for name in [name for name in sys.modules if name.startswith("rest_framework.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigurationError, match="install djangorestframework"):
        drf_auth()


def test_what_the_framework_itself_misses_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rest_framework")
    import rest_framework.views  # noqa: F401

    monkeypatch.delitem(sys.modules, "rest_framework.views")
    monkeypatch.setitem(sys.modules, "django.views.decorators.csrf", None)
    with pytest.raises(ModuleNotFoundError):
        drf_auth()


def test_importing_the_door_needs_no_settings_and_no_rest_framework() -> None:
    code = (
        "import sys, mcp_wsgi.django as door; from mcp_wsgi import Server, public; "
        "door.mcp_view(Server('x'), auth=public); door.mcp_urls(Server('x'), auth=public); "
        "assert 'rest_framework' not in sys.modules; "
        "from django.conf import settings; assert not settings.configured"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_user_auth_is_an_auth_function() -> None:
    assert mcp_view(server, auth=user_auth)
