"""Origins: parsed to scheme, host and port, and compared as such.

2026-07-28, basic/transports/streamable-http, Security: "Servers MUST validate the Origin header on all incoming
connections to prevent DNS rebinding attacks."
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from ..exceptions import ConfigurationError

__all__ = ["LOOPBACK_HOSTS", "LOOPBACK_ORIGINS", "HostMatcher", "Origin", "OriginMatcher", "OriginRule", "parse_origin"]

#: An exact origin, a pattern that has to match one in full, or a predicate that is given the header's text.
OriginRule: TypeAlias = "str | re.Pattern[str] | Callable[[str], bool]"

#: Any port of this machine, for development.
LOOPBACK_ORIGINS: tuple[re.Pattern[str], ...] = (
    re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?"),
)
#: The names under which a server that is bound to loopback is called.
LOOPBACK_HOSTS: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.\-]*)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._\-]+)(?::(?P<port>[0-9]{1,5}))?"
)
_HOST = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._\-]+)(?::(?P<port>[0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Hold an origin; the port is the scheme's own where none is written."""

    scheme: str
    host: str
    port: int | None


def parse_origin(text: str) -> Origin | None:
    """Parse a serialised origin (RFC 6454, section 6.2); ``None`` for anything else, ``null`` included."""
    # Only ASCII: lower() turns some other characters into ASCII letters (U+212A, the Kelvin sign, into k).
    match = _ORIGIN.fullmatch(text.lower()) if text.isascii() else None
    if match is None:
        return None
    port = match["port"]
    return Origin(match["scheme"], match["host"], int(port) if port else _DEFAULT_PORTS.get(match["scheme"]))


class OriginMatcher:
    """Decide which origins are allowed.

    Raises:
        ConfigurationError: A string is no origin: it lacks a scheme, or has a path.
    """

    def __init__(self, rules: Iterable[OriginRule]) -> None:
        if isinstance(rules, (str, re.Pattern)) or not isinstance(rules, Iterable):
            raise ConfigurationError("allowed_origins is a list, also for a single origin")
        self._exact: set[Origin | str] = set()
        self._patterns: list[re.Pattern[str]] = []
        self._predicates: list[Callable[[str], bool]] = []
        for rule in rules:
            if isinstance(rule, str):
                self._exact.add(_exact(rule))
            elif isinstance(rule, re.Pattern):
                self._patterns.append(rule)
            elif callable(rule):
                self._predicates.append(rule)
            else:
                raise ConfigurationError(f"An origin is a string, a pattern or a function, not {rule!r}")

    def __bool__(self) -> bool:
        return bool(self._exact or self._patterns or self._predicates)

    def allows(self, origin: str) -> bool:
        """Say whether a request with this ``Origin`` is allowed; ``null`` only where it is listed."""
        parsed = parse_origin(origin)
        if (parsed if parsed is not None else origin) in self._exact:
            return True
        if parsed is None:
            return False
        return any(pattern.fullmatch(origin) for pattern in self._patterns) or any(
            predicate(origin) for predicate in self._predicates
        )


def _exact(rule: str) -> Origin | str:
    if rule == "null":
        return rule
    parsed = parse_origin(rule)
    if parsed is None:
        raise ConfigurationError(
            f"{rule!r} is no origin; write scheme://host or scheme://host:port, without a path or a wildcard"
        )
    return parsed


def _match_host(host: object) -> re.Match[str] | None:
    return _HOST.fullmatch(host.lower()) if isinstance(host, str) and host.isascii() else None


class HostMatcher:
    """Decide which ``Host`` headers are allowed, with and without a port, in any case.

    Args:
        hosts: ``name`` (any port), ``name:port`` (that port), ``.name`` (the name and everything below it, any port).

    Raises:
        ConfigurationError: An entry is no host, and so could never match.
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        if isinstance(hosts, str) or not isinstance(hosts, Iterable):
            raise ConfigurationError("allowed_hosts is a list, also for a single host")
        rules = []
        for host in hosts:
            match = _match_host(host)
            if match is None:
                raise ConfigurationError(f"{host!r} is no host; write name or name:port, without a scheme or path")
            if match["host"].startswith(".") and (match["port"] or match["host"] == "."):
                raise ConfigurationError(f"{host!r} matches nothing; write .name for a name and everything below it")
            rules.append(match.group())
        self._hosts = tuple(rules)

    def allows(self, host: str | None) -> bool:
        """Say whether a request for this host is allowed; a missing header is not."""
        match = _match_host(host)
        if match is None:
            return False
        name = match["host"]
        return any(
            rule in (name, match.group()) or (rule.startswith(".") and (name.endswith(rule) or name == rule[1:]))
            for rule in self._hosts
        )
