"""What an endpoint lets in: one policy value for every door."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..exceptions import ConfigurationError
from .messages import HeaderPairs
from .origin import HostMatcher, OriginMatcher, OriginRule

__all__ = ["DEFAULT_BODY_LIMIT", "HTTPPolicy"]

logger = logging.getLogger("mcp_wsgi")

#: 4 MiB: what proxies and other servers commonly take, and far above real messages.
DEFAULT_BODY_LIMIT = 4 * 1024 * 1024

_ALLOWED_HEADERS = (
    "authorization",
    "content-type",
    "accept",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-session-id",
    "last-event-id",
)
_EXPOSED = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After"
_MAX_AGE = "7200"
# RFC 9110, section 5.1: what the name of a header may consist of.
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~\-]+")


def _is_positive(seconds: object) -> bool:
    return isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 < seconds < math.inf


def _is_token(name: object) -> bool:
    return isinstance(name, str) and _TOKEN.fullmatch(name) is not None


_LISTENS: dict[bool | None, int] = {True: 1, False: 2, None: 10_000}
_LIFETIME = 300.0
#: Below the 30 s after which gunicorn takes a sync worker for hung.
_EXCLUSIVE_LIFETIME = 10.0


@dataclass(frozen=True, kw_only=True)
class HTTPPolicy:
    """Say which requests an endpoint answers. The defaults are safe; every option opens something.

    Args:
        allowed_origins: Origins whose web pages may call the endpoint: exact strings, compiled patterns (matched in
            full) or predicates. A request without an ``Origin`` comes from no web page and is always allowed.
        allow_credentials: Whether those pages may send cookies and HTTP authentication.
        allowed_headers: Further request headers that a preflight allows.
        allowed_hosts: The ``Host`` headers that are answered: ``name``, ``name:port`` or ``.name`` with everything
            below it. ``None`` answers all, which is right behind a proxy that checks.
        body_limit: The longest body that is read, in bytes.
        keep_alive: How soon a client that has gone is noticed, in seconds. A silent stream sends a comment line at a
            fifth of it: the first write to a dead connection often still succeeds, and through uWSGI's router three do.
        max_listens: How many ``subscriptions/listen`` streams a door holds open in one process. Each occupies a thread
        of a
            threaded WSGI server, so the default there is 2, 1 where a worker has one thread only, and 10,000 under
            gevent and ASGI, where it costs none.
        listen_lifetime: How long such a stream lives before it ends with its completion result, in seconds. The default
            is 300, and 10 where it blocks its worker, so that no server takes the worker for hung.
        tolerate_version_header: Serve a modern request whose ``MCP-Protocol-Version`` header names another known
            version than its envelope, by the envelope. A proxy that trusts the header then sees another version than
            the server executes; method and name are never tolerated.

    Raises:
        ConfigurationError: An origin, header, host or limit cannot be used.
    """

    allowed_origins: Iterable[OriginRule] = ()
    allow_credentials: bool = False
    allowed_headers: Iterable[str] = ()
    allowed_hosts: Iterable[str] | None = None
    body_limit: int = DEFAULT_BODY_LIMIT
    keep_alive: float = 15.0
    max_listens: int | None = None
    listen_lifetime: float | None = None
    tolerate_version_header: bool = False
    _origins: OriginMatcher = field(init=False, repr=False, compare=False)
    _hosts: HostMatcher | None = field(init=False, repr=False, compare=False)
    _headers: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _told: set[str] = field(init=False, repr=False, compare=False, default_factory=set)

    def __post_init__(self) -> None:
        if not isinstance(self.body_limit, int):
            raise ConfigurationError("body_limit is a number of bytes")
        if self.body_limit < 1:
            raise ConfigurationError("body_limit must be at least 1 byte")
        if not (_is_positive(self.keep_alive) and (self.listen_lifetime is None or _is_positive(self.listen_lifetime))):
            raise ConfigurationError("keep_alive and listen_lifetime are positive numbers of seconds")
        if self.max_listens is not None and (type(self.max_listens) is not int or self.max_listens < 0):
            raise ConfigurationError("max_listens is a number of streams, 0 for none")
        if isinstance(self.allowed_headers, str) or not isinstance(self.allowed_headers, Iterable):
            raise ConfigurationError("allowed_headers is a list, also for a single header")
        for name in ("allowed_origins", "allowed_headers", "allowed_hosts"):
            value = getattr(self, name)
            if not isinstance(value, (str, tuple)) and isinstance(value, Iterable):
                object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "_origins", OriginMatcher(self.allowed_origins))
        hosts = HostMatcher(self.allowed_hosts) if self.allowed_hosts is not None else None
        object.__setattr__(self, "_hosts", hosts)
        for name in self.allowed_headers:
            if not _is_token(name):
                raise ConfigurationError(f"{name!r} in allowed_headers is no name of a header")
        extra = tuple(name.lower() for name in self.allowed_headers)
        object.__setattr__(self, "_headers", (*_ALLOWED_HEADERS, *extra))

    @property
    def comment_interval(self) -> float:
        """How long a stream may be silent, in seconds."""
        return self.keep_alive / 5

    def listen_limit(self, *, exclusive: bool | None) -> int:
        """Say how many listeners one process holds open.

        Args:
            exclusive: Whether each occupies a whole worker (``True``), a thread (``False``) or neither (``None``).
        """
        if self.max_listens is not None:
            return self.max_listens
        return _LISTENS[exclusive]

    def lifetime(self, *, exclusive: bool | None) -> float:
        """Say how long a listener lives, in seconds; for ``exclusive`` see :meth:`listen_limit`."""
        if self.listen_lifetime is not None:
            return self.listen_lifetime
        return _EXCLUSIVE_LIFETIME if exclusive else _LIFETIME

    def allows_origin(self, origin: str) -> bool:
        """Say whether a request with this ``Origin`` header is answered; a refusal is logged once."""
        if self._origins.allows(origin):
            return True
        self._tell("allowed_origins", "An Origin header", origin)
        return False

    def allows_host(self, host: str | None) -> bool:
        """Say whether a request with this ``Host`` header is answered; a refusal is logged once."""
        if self._hosts is None or self._hosts.allows(host):
            return True
        self._tell("allowed_hosts", "A Host header", host or "")
        return False

    def _tell(self, option: str, what: str, value: str) -> None:
        if option not in self._told:
            self._told.add(option)
            logger.warning("%s was refused: %.200r is not in HTTPPolicy(%s=...)", what, value, option)

    def cors_headers(self, origin: str | None) -> HeaderPairs:
        """Give the CORS headers of a real answer, errors included.

        Args:
            origin: The request's ``Origin`` where it is allowed, else ``None``.
        """
        headers: HeaderPairs = [("Vary", "Origin")] if self._origins else []
        if origin is not None:
            # Never "*": it forbids credentials, and a cache could hand one origin's answer to another.
            headers.append(("Access-Control-Allow-Origin", origin))
            headers.append(("Access-Control-Expose-Headers", _EXPOSED))
            if self.allow_credentials:
                headers.append(("Access-Control-Allow-Credentials", "true"))
        return headers

    def preflight_headers(self, origin: str | None, requested: str) -> HeaderPairs:
        """Give the headers of a preflight's answer: what it grants, the POST accepts.

        Args:
            origin: The request's ``Origin`` where it is allowed, else ``None``: nothing is granted then.
            requested: The ``Access-Control-Request-Headers`` header.
        """
        headers = [("Vary", "Origin, Access-Control-Request-Headers"), ("Allow", "POST, OPTIONS")]
        if origin is None:
            return headers
        wanted = (name.strip(" \t").lower() for name in requested.split(","))
        # A wildcard does not cover Authorization, and Mcp-Param-* names are the tools' own: they are echoed.
        params = sorted({name for name in wanted if name.startswith("mcp-param-") and _is_token(name)})
        headers += [
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Allow-Methods", "POST, OPTIONS"),
            ("Access-Control-Allow-Headers", ", ".join((*self._headers, *params))),
            ("Access-Control-Max-Age", _MAX_AGE),
        ]
        if self.allow_credentials:
            headers.append(("Access-Control-Allow-Credentials", "true"))
        return headers
