"""Who asks: every door needs an answer, and ``public`` is one that has to be written down."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

from ..exceptions import ConfigurationError

if TYPE_CHECKING:
    from .messages import HTTPRequest

__all__ = ["Auth", "AuthenticationError", "Public", "check_auth", "public"]


_STATUSES = frozenset(status.value for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST)


class AuthenticationError(Exception):
    """Refuse a request for who sends it. An ``auth`` function raises it, or returns ``None``.

    Args:
        message: What the client is told.
        status: 401 (who are you?) or 403 (not you).
        challenge: The ``WWW-Authenticate`` header; empty for none.

    Raises:
        ValueError: There is no such status, or the challenge could not be sent as a header.
    """

    def __init__(
        self, message: str = "Authentication is required", *, status: int = 401, challenge: str = "Bearer"
    ) -> None:
        # Said here, where the mistake is: the door could only fail with it.
        if status not in _STATUSES:
            raise ValueError(f"The status of a refusal is 4xx or 5xx, not {status!r}")
        if not (challenge.isascii() and challenge.isprintable()):
            raise ValueError("A challenge is one line of printable ASCII")
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
