"""Connect servers, several at once, and make plain tools of theirs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from ..client import Client, ToolInfo
from ..client.wire import LOGGER
from ..exceptions import (
    ClientError,
    ConfigurationError,
    MCPError,
    MethodNotFoundError,
    RegistrationError,
    RequestTimeoutError,
)
from ..server.reasons import shown
from ..server.tools import Tool
from .forms import FORMS, Form
from .interfaces import is_for_models
from .mappings import tool_mapping
from .models import call_by_model_name
from .naming import Named, server_id, unique_names
from .remote import RemoteTool
from .sources import Source, check_options, read_sources

__all__ = ["ToolList", "connect_servers"]

#: How many servers are connected at the same time.
MOST_AT_ONCE = 8
#: How many tools that are left out are named in the log, of each server.
_NAMED = 20


class ToolList(list[dict[str, Any]]):
    """Hold tools of connected servers: a plain list of plain mappings that also ends their connections.

    The handlers keep their connections alive, so the list itself need not be kept, and a part of it is as good.

    Attributes:
        clients: The clients of the servers that are connected, by id.
        errors: Why the others are not, by id.
    """

    def __init__(
        self,
        tools: Iterable[dict[str, Any]] = (),
        *,
        clients: Mapping[str, Client] | None = None,
        errors: Mapping[str, Exception] | None = None,
        owned: Iterable[Client] = (),
    ) -> None:
        super().__init__(tools)
        self.clients = dict(clients or {})
        self.errors = dict(errors or {})
        self._owned = tuple(owned)

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Any:
        """Call a tool by the name that a model knows it by; see :func:`call_by_model_name`."""
        return call_by_model_name(self, name, arguments)

    def close(self) -> None:
        """End the connections; those of clients that were given stay. A call that is running fails."""
        for client in self._owned:
            client.close()

    def __enter__(self) -> ToolList:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


@dataclass(slots=True, kw_only=True)
class _Connection:
    """Hold what became of one source."""

    source: Source
    client: Client
    name: str
    tools: Sequence[ToolInfo] = ()
    id: str = ""
    error: Exception | None = None
    #: How many of its tools are left out.
    left_out: int = 0

    @property
    def is_owned(self) -> bool:
        return self.client is not self.source.target

    def open(self) -> None:
        """Connect and list the tools; what goes wrong is kept."""
        try:
            self.client.connect()
            if not self.name:
                told = self.client.server_info.get("name")
                self.name = told if isinstance(told, str) else ""
            try:
                self.tools = self.client.list_tools()
            except MethodNotFoundError:
                self.tools = ()  # a server without tools need not know the method
        except (ClientError, MCPError, OSError) as error:
            self.error = error


def connect_servers(
    servers: Any,
    *,
    strict: bool = False,
    prefix: bool = False,
    result: Form = "text",
    apps: bool = False,
    timeout: float = 30.0,
    **options: Any,
) -> ToolList:
    """Connect servers and give their tools as plain mappings.

    Each has ``name``, ``description``, ``parameters`` (a JSON Schema), ``handler`` (called as ``handler(arguments)``,
    or by our own server as ``handler(arguments, ctx)``) and ``metadata`` (``server`` and ``tool``, where it comes from,
    and ``_meta`` and ``ui`` where it has them); and, where the server says them, ``title``, ``annotations``, ``icons``,
    ``output_schema`` and ``_meta``.

    Args:
        servers: A list of what :class:`~mcp_wsgi.client.Client` takes (URLs, commands, servers, functions), of clients,
            or of mappings: ``url``, or ``command`` with ``args``, or ``target``; ``id``; ``prefix``; ``include`` and
            ``exclude``, names of tools on that server; ``questions``, ``False`` if it may ask nothing through a
            gateway; and any option of ``Client``. Or a host's configuration, ``{"mcpServers": {...}}``, alone or in
            the list.
        strict: Whether a server that cannot be used is an error. Else it is left out with a warning.
        prefix: Whether all names of tools begin with the server's id. Else only those that several servers have.
        result: What handlers return: ``text``; ``structured``, the structured value, or text where there is none;
            ``content``, a list of content; ``result``, the :class:`~mcp_wsgi.client.CallResult`. Our own server gets
            the whole result from them in any case.
        apps: Whether the caller shows the user interfaces of MCP Apps. Then ``_meta`` names them, and tools that only
            an interface may call are there too.
        timeout: How long a server may take to connect and to list its tools, in seconds.
        options: Of the clients of all servers.

    Returns:
        The tools in the order of the servers, each server's in its own order.

    Raises:
        ConfigurationError: A server is described wrongly.
        ClientError: With ``strict``: a server cannot be reached.
        MCPError: With ``strict``: a server refuses.
    """
    if result not in FORMS:
        raise ConfigurationError(f"result is one of {', '.join(FORMS)}, not {result!r}")
    if not timeout > 0:
        raise ConfigurationError("timeout is a number of seconds above 0")
    check_options(options)
    connections = _clients(read_sources(servers), options)
    try:
        _open_all(connections, timeout)
        _give_ids(connections)
        _report(connections, strict=strict)
        tools = _tools(connections, prefix=prefix, form=result, apps=apps)
    except BaseException:
        _close(connections)
        raise
    _close(each for each in connections if each.error is not None)
    return ToolList(
        tools,
        clients={each.id: each.client for each in connections if each.error is None},
        errors={each.id: each.error for each in connections if each.error is not None},
        owned=[each.client for each in connections if each.error is None and each.is_owned],
    )


def _clients(sources: Iterable[Source], options: Mapping[str, Any]) -> list[_Connection]:
    """Make the clients; none connects before all of them are known to be described rightly."""
    connections: list[_Connection] = []
    try:
        for source in sources:
            client = source.target
            if not isinstance(client, Client):
                client = Client(client, **{**options, **source.options})
            connections.append(_Connection(source=source, client=client, name=source.name or ""))
    except BaseException:
        _close(connections)
        raise
    return connections


def _close(connections: Iterable[_Connection]) -> None:
    for each in connections:
        if each.is_owned:
            each.client.close()


def _open_all(connections: Sequence[_Connection], timeout: float) -> None:
    """Open all connections, several at once; what takes too long is closed, which ends the thread that waits for it."""
    if not connections:
        return
    workers = min(len(connections), MOST_AT_ONCE)
    with ThreadPoolExecutor(workers, thread_name_prefix="mcp_wsgi bridge") as pool:
        opening: dict[Future[None], _Connection] = {}
        try:
            for each in connections:
                opening[pool.submit(each.open)] = each
            opened, late = wait(opening, timeout * math.ceil(len(connections) / workers))
        except BaseException:
            _close(connections)  # the pool waits for its threads
            raise
        for future in late:
            future.cancel()
            _close([opening[future]])
    for future in late:
        opening[future].error = RequestTimeoutError(f"It has not listed its tools within {timeout:g} seconds")
    for future in opened:
        future.result()  # a fault of our own, or of a function that was given, is no server that is down


def _give_ids(connections: Iterable[_Connection]) -> None:
    taken: set[str] = set()
    # Those that were chosen come first: no server takes one by the name that it gives itself.
    for each in sorted(connections, key=lambda each: not each.source.name):
        each.id = server_id(each.name or each.source.fallback_name, taken)
        taken.add(each.id)


def _report(connections: Iterable[_Connection], *, strict: bool) -> None:
    errors: list[Exception] = []
    for each in connections:
        if each.error is not None:
            errors.append(each.error)
            reason = shown(str(each.error) or type(each.error).__name__, 300)
            LOGGER.warning("The server %r is left out: %s", each.id, reason)
    if strict and errors:
        raise errors[0]


def _tools(connections: Sequence[_Connection], *, prefix: bool, form: Form, apps: bool) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    named: list[Named] = []
    for each in connections:
        if each.error is None:
            found = _tools_of(each, form, apps=apps)
            with_id = prefix if each.source.prefix is None else each.source.prefix
            named += [Named(each.id, tool["name"], with_id) for tool in found]
            tools += found
    for tool, name in zip(tools, unique_names(named, [each.id for each in connections]), strict=True):
        tool["name"] = name
    return tools


def _tools_of(connection: _Connection, form: Form, *, apps: bool) -> list[dict[str, Any]]:
    """Make the mappings of one server's tools, as they are called there; those of no use are left out."""
    tools: dict[str, dict[str, Any]] = {}
    for info in connection.tools:
        if not connection.source.wants(info.name):
            continue
        if info.name in tools:
            _leave_out(connection, info, "the server lists another one of that name")
            continue
        handler = RemoteTool(
            connection.client,
            connection.id,
            info.name,
            form=form,
            has_schema=info.output_schema is not None,
            questions=connection.source.questions,
        )
        tool = tool_mapping(info, handler, apps=apps)
        try:
            Tool.from_mapping(tool)
        except RegistrationError as error:
            _leave_out(connection, info, str(error))
            continue
        if apps or is_for_models(tool["metadata"].get("ui")):
            tools[info.name] = tool
    if connection.left_out > _NAMED:
        LOGGER.warning("%d more tools of the server %r are left out", connection.left_out - _NAMED, connection.id)
    return list(tools.values())


def _leave_out(connection: _Connection, info: ToolInfo, why: str) -> None:
    connection.left_out += 1
    if connection.left_out <= _NAMED:
        LOGGER.warning("The tool %s of the server %r is left out: %s", shown(info.name), connection.id, shown(why, 300))
