"""What :func:`connect_servers` is given: targets, mappings with options, and the configuration files of hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..client import Client
from ..exceptions import ConfigurationError

__all__ = ["CLIENT_OPTIONS", "Source", "check_options", "read_sources"]

#: The options of a mapping that are the client's.
CLIENT_OPTIONS = frozenset(
    {
        *("env", "cwd", "headers", "auth", "verify", "cert", "session", "client_info", "protocol_version"),
        *("timeout", "max_timeout", "probe_timeout", "elicit", "sample", "roots", "log_level"),
        *("on_progress", "on_log", "on_notification", "validate_output", "cache", "shared", "verdicts"),
        *("max_rounds", "max_pages", "max_message_size"),
    }
)
_TARGETS = ("url", "command", "target")
_OWN = frozenset({*_TARGETS, "args", "id", "prefix", "include", "exclude", "questions"})
#: Where the configuration files of hosts name their servers, and how some of them spell a URL.
_CONFIGURATIONS = ("mcpServers", "servers")
_URLS = ("url", "serverUrl", "httpUrl")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Hold what is known of a server before it is connected.

    Attributes:
        target: What :class:`~mcp_wsgi.client.Client` takes, or a client.
        name: What it is called by whoever configured it.
        prefix: Whether the names of its tools begin with its id; ``None`` leaves that to the call.
        include: The only tools that are wanted; ``None`` for all.
        exclude: The tools that are not wanted.
        questions: Whether what it asks may reach the client of a gateway.
        options: Those of its client.
    """

    target: Any = field(repr=False)
    name: str | None = None
    prefix: bool | None = None
    include: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()
    questions: bool = True
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def fallback_name(self) -> str:
        """What to call a server that has not said its name."""
        if isinstance(self.target, Client):
            return self.target.address
        if isinstance(self.target, str):
            return urlsplit(self.target).hostname or "server"
        if isinstance(self.target, Sequence):
            return str(self.target[0]).replace("\\", "/").rpartition("/")[2]
        return str(getattr(self.target, "name", "") or getattr(self.target, "__name__", "") or "server")

    def wants(self, tool: str) -> bool:
        """Say whether a tool is wanted, by its name on the server."""
        return (self.include is None or tool in self.include) and tool not in self.exclude


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that are not a client's.

    Raises:
        ConfigurationError: One is unknown.
    """
    if unknown := sorted(set(options) - CLIENT_OPTIONS):
        raise ConfigurationError(f"Unknown options of a client: {', '.join(unknown)}")


def read_sources(servers: Any) -> list[Source]:
    """Read what :func:`connect_servers` is given.

    Raises:
        ConfigurationError: Something in it names no server, or an option is unknown or ill-typed.
    """
    if isinstance(servers, Mapping):
        if _configuration(servers) is None:
            raise ConfigurationError(
                'A mapping of servers has them under "mcpServers"; a single server goes into a list'
            )
        return list(_configured(servers))
    if isinstance(servers, (str, bytes)) or not isinstance(servers, Iterable):
        raise ConfigurationError(f"Servers are given as a list, not as {type(servers).__name__}")
    return [source for entry in servers for source in _read(entry)]


def _read(entry: Any) -> Iterator[Source]:
    if not isinstance(entry, Mapping):
        yield Source(target=entry)
    elif _configuration(entry) is not None:
        yield from _configured(entry)
    else:
        yield _mapped(entry)


def _configuration(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((entry[key] for key in _CONFIGURATIONS if isinstance(entry.get(key), Mapping)), None)


def _configured(entry: Mapping[str, Any]) -> Iterator[Source]:
    """Read a host's configuration. Hosts keep members of their own beside those that say where a server is."""
    for name, server in (_configuration(entry) or {}).items():
        if not isinstance(server, Mapping):
            raise ConfigurationError(f"The server {name!r} is configured by a mapping")
        if server.get("disabled") is True:
            continue
        url = next((server[key] for key in _URLS if server.get(key)), None)
        known = {"id": name, "command": server.get("command"), "args": server.get("args"), "url": url}
        members = ("headers",) if url else ("env", "cwd")
        known |= {member: server[member] for member in members if server.get(member)}
        yield _mapped({key: value for key, value in known.items() if value is not None})


def _mapped(entry: Mapping[str, Any]) -> Source:
    unknown = sorted(set(entry) - _OWN - CLIENT_OPTIONS, key=str)
    if unknown:
        known = ", ".join(sorted(_OWN | CLIENT_OPTIONS))
        raise ConfigurationError(f"Unknown options of a server: {', '.join(map(str, unknown))}; known are: {known}")
    target = _target(entry)
    options = {key: value for key, value in entry.items() if key in CLIENT_OPTIONS}
    if options and isinstance(target, Client):
        raise ConfigurationError(f"A client has its own {', '.join(sorted(options))}")
    include = _names(entry, "include")
    return Source(
        target=target,
        name=_typed(entry, "id", str),
        prefix=_typed(entry, "prefix", bool),
        include=include,
        exclude=_names(entry, "exclude") or frozenset(),
        questions=_typed(entry, "questions", bool) is not False,
        options=options,
    )


def _target(entry: Mapping[str, Any]) -> Any:
    given = [key for key in _TARGETS if entry.get(key) is not None]
    if len(given) != 1:
        raise ConfigurationError(f"A server has exactly one of {', '.join(_TARGETS)}; this one has {given or 'none'}")
    target = entry[given[0]]
    if given[0] != "command":
        if "args" in entry:
            raise ConfigurationError('"args" belong to a "command"')
        return target
    args = entry.get("args", ())
    if isinstance(args, str) or not isinstance(args, Sequence) or not all(isinstance(each, str) for each in args):
        raise ConfigurationError('"args" is a list of strings')
    return [target, *args] if isinstance(target, str) else [*target, *args]


def _typed(entry: Mapping[str, Any], name: str, kind: type) -> Any:
    value = entry.get(name)
    if value is not None and not isinstance(value, kind):
        raise ConfigurationError(f'"{name}" of a server is {kind.__name__}, not {type(value).__name__}')
    return value


def _names(entry: Mapping[str, Any], name: str) -> frozenset[str] | None:
    value = entry.get(name)
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable) or not all(isinstance(each, str) for each in value):
        raise ConfigurationError(f'"{name}" is a list of names of tools')
    return frozenset(value)
