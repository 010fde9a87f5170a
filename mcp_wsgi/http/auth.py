"""Who asks: every door needs an answer, and ``public`` is one that has to be written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..exceptions import ConfigurationError

if TYPE_CHECKING:
    from .messages import HTTPRequest

__all__ = ["Auth", "AuthenticationError", "Public", "check_auth", "public"]


class AuthenticationError(Exception):
    """Refuse a request for who sends it. An ``auth`` function raises it, or returns ``None``.

    Args:
        message: What the client is told.
        status: 401 (who are you?) or 403 (not you).
        challenge: The ``WWW-Authenticate`` header.
    """

    def __init__(
        self, message: str = "Authentication is required", *, status: int = 401, challenge: str = "Bearer"
    ) -> None:
        super().__init__(message, status, challenge)
        self.message = message
        self.status = status
        self.challenge = challenge


class Public:
    """Let everybody in; see :data:`public`."""

    def __repr__(self) -> str:
        return "public"


#: Written down where an endpoint is meant for everybody: ``WSGIApp(server, auth=public)``.
public = Public()

#: ``public``, or a function of the request that returns the principal's name, or ``None`` to refuse.
Auth: TypeAlias = "Public | Callable[[HTTPRequest], Any]"


def check_auth(auth: object) -> Auth:
    """Check the ``auth`` argument of a door.

    Raises:
        ConfigurationError: It is missing or unusable; the message lists the choices.
    """
    if isinstance(auth, Public) or callable(auth):
        return auth
    raise ConfigurationError(
        "auth= is required. Choose: auth=public (everybody may call every tool), or auth=function, which gets the "
        "HTTPRequest and returns the principal's name, returns None to answer 401, or raises AuthenticationError."
    )
