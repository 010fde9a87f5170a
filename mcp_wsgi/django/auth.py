"""Who asks, as Django or the REST framework knows it: functions for ``auth=``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from ..exceptions import ConfigurationError
from ..http.auth import AuthenticationError
from ..http.messages import HTTPRequest

__all__ = ["drf_auth", "user_auth"]


def _name_of(user: Any) -> str:
    get_username = getattr(user, "get_username", None)
    return str(get_username() if get_username is not None else user)


def user_auth(request: HTTPRequest) -> str | None:
    """Let in whom Django's middleware has signed in, by a session cookie or otherwise: ``request.user``.

    Returns:
        The name of the user, ``None`` where it is nobody.

    Raises:
        ImproperlyConfigured: No middleware sets ``request.user``.
    """
    user = getattr(request.raw, "user", None)
    if user is None:
        raise ImproperlyConfigured("user_auth needs django.contrib.auth.middleware.AuthenticationMiddleware")
    return _name_of(user) if user.is_authenticated else None


def drf_auth(
    authentication_classes: Sequence[type] | None = None, permission_classes: Sequence[type] | None = None
) -> Callable[[HTTPRequest], str]:
    """Let in whom classes of Django REST framework let in; nothing else of that framework is run.

    Status and ``WWW-Authenticate`` of a refusal are the framework's, and ``request.user`` is set for handlers.

    Args:
        authentication_classes: By default those of the framework's own settings.
        permission_classes: By default ``IsAuthenticated``. With one that lets anonymous requests in, their principal
            is an empty string.

    Raises:
        ConfigurationError: Django REST framework is not installed.
    """
    try:
        from rest_framework.exceptions import APIException
        from rest_framework.permissions import IsAuthenticated
        from rest_framework.views import APIView
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rest_framework":
            raise  # something that it needs itself
        raise ConfigurationError("drf_auth needs Django REST framework; install djangorestframework") from None

    permissions = [IsAuthenticated] if permission_classes is None else list(permission_classes)

    def auth(request: HTTPRequest) -> str:
        view = APIView()
        view.permission_classes = permissions
        if authentication_classes is not None:
            view.authentication_classes = list(authentication_classes)
        view.args, view.kwargs = (), {}
        view.request = drf_request = view.initialize_request(request.raw)
        try:
            view.perform_authentication(drf_request)
            view.check_permissions(drf_request)
        except APIException as error:
            raise _refusal(error, view.get_authenticate_header(drf_request)) from None
        user = drf_request.user
        return _name_of(user) if getattr(user, "is_authenticated", False) else ""

    return auth


def _refusal(error: Any, challenge: str | None) -> AuthenticationError:
    """Translate the framework's refusal: without a challenge its 401 is a 403, as its own views have it."""
    status = error.status_code
    if status == 401 and not challenge:
        status = 403
    message = error.detail if isinstance(error.detail, str) else "Authentication is required"
    return AuthenticationError(str(message), status=status, challenge=(challenge or "") if status == 401 else "")
