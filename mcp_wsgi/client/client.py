"""The client: every method of the protocol, in both eras, for sync code."""

from __future__ import annotations

import _thread
import logging
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..exceptions import ClientError, HeaderMismatchError, MCPError
from ..protocol.meta import LOG_LEVELS
from ..transport.base import Message, Transport
from .answers import Answers
from .cache import ResultCache
from .calls import Call, Calls
from .cancel import Cancel
from .changes import Changes
from .inbox import Inbox
from .incoming import Incoming
from .listen import Listener
from .lists import Lists, read_result
from .options import MAX_TIMEOUT, Options
from .relay import Relay
from .results import (
    CallResult,
    CompletionResult,
    Discovery,
    InputRequiredResult,
    Listing,
    LogMessage,
    Progress,
    PromptInfo,
    PromptResult,
    ReadResult,
    ResourceInfo,
    TemplateInfo,
    ToolInfo,
    read_list,
)
from .schemas import usable_tools
from .session import Connection, Session
from .targets import Target, TransportOptions, transport_for
from .tools import KnownTool, KnownTools
from .verdicts import Verdicts

if TYPE_CHECKING:
    import requests

__all__ = ["Client"]

logger = logging.getLogger("mcp_wsgi.client")

T = TypeVar("T")
R = TypeVar("R", CallResult, ReadResult, PromptResult)

#: What this process knows of the servers that it has spoken with: the address, and the protocol version.
_VERDICTS: dict[str, str] = Verdicts()
_TOOLS_CHANGED = "notifications/tools/list_changed"


class Client:
    """Speak with one MCP server of either era.

    The connection is made by the first call, or by :meth:`connect`. Any number of threads may share a client.

    Args:
        target: The server: a URL, a command with its arguments as a list of strings, a
            :class:`~mcp_wsgi.Server` in this process, a function that takes a message and returns its answer, or a
            :class:`~mcp_wsgi.transport.Transport`.
        env: For a command: variables that are added to a small safe environment.
        cwd: For a command: its working directory.
        headers: For a URL: headers of every request.
        auth: For a URL: what ``requests`` takes as ``auth``.
        verify: For a URL: whether certificates are verified, or the file of those that are trusted.
        cert: For a URL: a client certificate.
        session: For a URL: a ``requests.Session`` to send with.
        client_info: What the client says of itself: ``name``, ``version`` and, as wanted, ``title``.
        protocol_version: The only version to speak; the server is not asked which one it speaks.
        timeout: How long a server may be silent, in seconds; ``None`` for any time. Reports of progress begin it anew,
            and a server sends them only to a call with ``on_progress``.
        max_timeout: How long a call may take however much is reported, in seconds.
        probe_timeout: How long a server may take to say which version it speaks, in seconds; a legacy one may be silent
            for as long.
        elicit: Answers what a server asks the user; see :class:`~mcp_wsgi.client.ElicitQuestion`.
        sample: Answers what a server asks a model; see :class:`~mcp_wsgi.client.SampleQuestion`.
        roots: The folders that a server may work in: URIs, or a function that gives them.
        log_level: Ask for log messages of this level and above.
        on_progress: Called with each report of progress, in the thread of the call.
        on_log: Called with each log message.
        on_notification: Called with each notification, as it came.
        validate_output: Whether results of tools are checked against their output schemas.
        cache: Whether results are kept as long as the server says.
        shared: Whether several users are behind this client: what the server calls private is then never kept.
        verdicts: Where the version that each server speaks is remembered: a mapping from its address. By default one of
            this process; a mapping in a store that processes share spares each of them the question.
        max_rounds: How often a server may ask in one call.
        max_pages: How many pages of a list are followed.
        max_message_size: The largest message that is read, in bytes.

    Raises:
        ConfigurationError: The target or an option cannot be used.
        NegotiationError: ``protocol_version`` is not spoken here.
    """

    def __init__(
        self,
        target: Target,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        verify: bool | str = True,
        cert: str | tuple[str, str] | None = None,
        session: requests.Session | None = None,
        client_info: Mapping[str, Any] | None = None,
        protocol_version: str | None = None,
        timeout: float | None = 60.0,
        max_timeout: float | None = MAX_TIMEOUT,
        probe_timeout: float = 5.0,
        elicit: Callable[[Any], Any] | None = None,
        sample: Callable[[Any], Any] | None = None,
        roots: Iterable[Any] | Callable[[], Iterable[Any]] | None = None,
        log_level: str | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        on_log: Callable[[LogMessage], object] | None = None,
        on_notification: Callable[[dict[str, Any]], object] | None = None,
        validate_output: bool = False,
        cache: bool = False,
        shared: bool = False,
        verdicts: MutableMapping[str, str] | None = None,
        max_rounds: int = 10,
        max_pages: int = 1000,
        max_message_size: int = 16 * 1024 * 1024,
    ) -> None:
        self._options = Options(
            answers=Answers(elicit=elicit, sample=sample, roots=roots),
            client_info=_client_info() if client_info is None else dict(client_info),
            verdicts=_VERDICTS if verdicts is None else verdicts,
            protocol_version=protocol_version,
            timeout=timeout,
            max_timeout=max_timeout,
            probe_timeout=probe_timeout,
            log_level=log_level,
            on_progress=on_progress,
            on_log=on_log,
            on_notification=on_notification,
            validate_output=validate_output,
            max_rounds=max_rounds,
            max_pages=max_pages,
        )
        transport, open_old = transport_for(
            target,
            TransportOptions(
                env=env,
                cwd=cwd,
                headers=headers,
                auth=auth,
                verify=verify,
                cert=cert,
                session=session,
                max_message_size=max_message_size,
            ),
        )
        self._session = Session(transport, self._options, open_old)
        self._incoming = Incoming(self._session, self._options, self._notified)
        self._calls = Calls(self._session, self._options, self._incoming)
        self._changes = Changes(self._session, self._calls, self._incoming, self._options, lambda: self.capabilities)
        self._inbox = Inbox(self._receive, self._incoming.refuse)
        transport.inbox = _put_while_alive(self._inbox)
        self._farewell = weakref.finalize(self, _let_go, [] if transport is target else self._session.transports)
        self._farewell.atexit = False
        self._cache = ResultCache(shared=shared) if cache else None
        self._lists = Lists(self._calls, self._cache, max_pages, self._session.address)
        self._tools = KnownTools()
        self._discovery: tuple[Connection, Discovery] | None = None

    # Connecting

    @property
    def address(self) -> str:
        """What names the server in messages and in ``verdicts``; it holds no secret."""
        return self._session.address

    def connect(self) -> None:
        """Connect now; a client that is connected stays so.

        Raises:
            ClientError: The server cannot be reached.
            MCPError: It refuses.
        """
        self._session.connection()

    def close(self) -> None:
        """End the connection within a bounded time; calls that wait raise ``ClientClosedError``, later ones too."""
        self._farewell.detach()
        self._changes.close()
        self._session.close()
        self._inbox.close()

    def __enter__(self) -> Client:
        try:
            self.connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def forget(self) -> None:
        """Forget which version the server speaks, and what was kept of it; the next call asks again."""
        self._session.forget()
        self._tools.forget()
        if self._cache is not None:
            self._cache.clear()

    @property
    def era(self) -> Literal["modern", "legacy"]:
        """The era that the server speaks; connects where that is not known."""
        return "modern" if self._session.connection().modern else "legacy"

    @property
    def protocol_version(self) -> str:
        """The protocol version that is spoken; connects where that is not known."""
        return self._session.connection().version

    @property
    def server_info(self) -> dict[str, Any]:
        """The server's name, version and what else it says of itself, unverified."""
        return self._described().server_info

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the server says it can do."""
        return self._described().capabilities

    @property
    def instructions(self) -> str | None:
        """How to use the server, for a model."""
        return self._described().instructions

    def _described(self) -> Discovery:
        connection = self._session.connection()
        known = self._discovery
        if known is not None and _is_same(known[0], connection):
            return known[1]
        raw = connection.info
        found = self.discover() if raw is None else read_result(Discovery.from_wire, raw)
        self._discovery = (connection, found)
        return found

    def discover(self) -> Discovery:
        """Ask the server what it is and can do (``server/discover``); on legacy, what it said in the handshake.

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        connection = self._session.connection()
        if not connection.modern:
            return read_result(Discovery.from_wire, connection.info)
        return read_result(Discovery.from_wire, self._lists.fetch(Call(method="server/discover")))

    def ping(self, *, timeout: float | None = None) -> None:
        """See whether the server answers: ``ping`` on legacy, ``server/discover`` on modern, which has no ping.

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        method = "server/discover" if self._session.connection().modern else "ping"
        self._calls.perform(Call(method=method, timeout=timeout))

    def set_log_level(self, level: str) -> None:
        """Ask for log messages of this level and above, from the next request on.

        Raises:
            ValueError: The level is unknown.
            MCPError: A legacy server does not send any.
        """
        if level not in LOG_LEVELS:
            raise ValueError(f"The level is one of: {', '.join(LOG_LEVELS)}")
        if not self._session.connection().modern:
            self._calls.perform(Call(method="logging/setLevel", params={"level": level}))
        self._session.note_log_level(level)

    # Lists

    def list_tools(
        self, *, cursor: str | None = None, follow: bool = True, timeout: float | None = None
    ) -> Listing[ToolInfo]:
        """List the tools (server/tools, Listing Tools). All the lists work in this way.

        Entries that cannot be used are left out with a warning in the log.

        Args:
            cursor: Where to go on: the ``next_cursor`` of an earlier listing.
            follow: Whether the pages behind the first one are fetched too.
            timeout: How long the server may be silent, in seconds.

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer, or it is no list.
        """
        mirrored = self._mirrors()
        found = self._lists.all_pages("tools/list", "tools", _tool_reader(mirrored), cursor, follow, timeout)
        self._tools.remember(found, mirrored=mirrored)
        return found

    def list_resources(
        self, *, cursor: str | None = None, follow: bool = True, timeout: float | None = None
    ) -> Listing[ResourceInfo]:
        """List the resources; see :meth:`list_tools`."""
        return self._lists.all_pages("resources/list", "resources", _reader(ResourceInfo), cursor, follow, timeout)

    def list_resource_templates(
        self, *, cursor: str | None = None, follow: bool = True, timeout: float | None = None
    ) -> Listing[TemplateInfo]:
        """List the resource templates; see :meth:`list_tools`."""
        return self._lists.all_pages(
            "resources/templates/list", "resourceTemplates", _reader(TemplateInfo), cursor, follow, timeout
        )

    def list_prompts(
        self, *, cursor: str | None = None, follow: bool = True, timeout: float | None = None
    ) -> Listing[PromptInfo]:
        """List the prompts; see :meth:`list_tools`."""
        return self._lists.all_pages("prompts/list", "prompts", _reader(PromptInfo), cursor, follow, timeout)

    # Calls

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
        timeout: float | None = None,
        max_timeout: float | None = None,
        validate_output: bool | None = None,
        meta: Mapping[str, Any] | None = None,
        cancel: Cancel | None = None,
        relay: Relay | None = None,
    ) -> CallResult | InputRequiredResult:
        """Call a tool (server/tools, Calling Tools).

        Args:
            name: The tool.
            arguments: Its arguments.
            on_progress: Called with each report of progress, in this thread; what it raises ends the call.
            timeout: How long the server may be silent, in seconds.
            max_timeout: How long the call may take in all, in seconds.
            validate_output: Whether the result is checked against the tool's output schema.
            meta: More members of ``_meta``.
            cancel: What gives the call up from another thread.
            relay: The other client that the call is made for, as in a gateway.

        Returns:
            The result, also where the tool failed (``is_error``). Where the server asks something that no handler
            answers: an :class:`InputRequiredResult`.

        Raises:
            MCPError: The server refuses.
            RequestTimeoutError: The answer did not come in time.
            RemoteProtocolError: The result does not fit the output schema, or is no result.
            ClientError: There is no answer.
        """
        _check_text("name of a tool", name)
        if arguments is not None and not isinstance(arguments, Mapping):
            raise TypeError(f"The arguments of a tool are a mapping, not {type(arguments).__name__}")
        call = Call(
            method="tools/call",
            params={"name": name, "arguments": dict(arguments or {})},
            timeout=timeout,
            max_timeout=max_timeout,
            on_progress=on_progress,
            meta=meta,
            cancel=cancel,
            relay=relay,
        )
        known = self._tools.find(name)
        validates = self._options.validate_output if validate_output is None else validate_output
        if validates and known is None:
            self.list_tools(timeout=timeout)
            known = self._tools.find(name)
        raw, known = self._call_tool(call, name, known)
        result = self._result(raw, CallResult)
        if validates and known is not None and isinstance(result, CallResult):
            check = known.checker()
            if check is not None:
                check(result)
        return result

    def _call_tool(self, call: Call, name: str, known: KnownTool | None) -> tuple[dict[str, Any], KnownTool | None]:
        """Send the call; once more with the headers of the tool's newest schema where those that were sent are wrong.

        "If the server rejects the request [...] the client SHOULD call tools/list to obtain the current inputSchema,
        then retry" (SEP-2243).
        """
        call.tool = known
        try:
            return self._calls.perform(call), known
        except HeaderMismatchError as refusal:
            if not self._mirrors():
                raise
            if self._cache is not None:
                self._cache.drop("tools/list")
            try:
                self.list_tools(timeout=call.timeout)
            except (ClientError, MCPError) as error:
                raise refusal from error
            newest = self._tools.find(name)
            if newest is None or newest.param_headers == (known.param_headers if known is not None else ()):
                raise
            call.tool = newest
            return self._calls.perform(call), newest

    def read_resource(
        self,
        uri: str,
        *,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
        cancel: Cancel | None = None,
    ) -> ReadResult | InputRequiredResult:
        """Read a resource (server/resources, Reading Resources).

        Raises:
            ResourceNotFoundError: A legacy server has no such resource.
            MCPError: The server refuses; a modern one says by ``-32602`` that there is none.
            ClientError: There is no answer.
        """
        _check_text("URI of a resource", uri)
        call = Call(method="resources/read", params={"uri": uri}, timeout=timeout, meta=meta, cancel=cancel)
        return self._result(self._lists.fetch(call), ReadResult)

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
        cancel: Cancel | None = None,
    ) -> PromptResult | InputRequiredResult:
        """Get a prompt with its arguments filled in (server/prompts, Getting a Prompt).

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        _check_text("name of a prompt", name)
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = dict(arguments)
        raw = self._calls.perform(Call(method="prompts/get", params=params, timeout=timeout, meta=meta, cancel=cancel))
        return self._result(raw, PromptResult)

    def complete(
        self,
        ref: Mapping[str, str],
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CompletionResult:
        """Ask how a value could go on (server/utilities/completion).

        Args:
            ref: What the argument belongs to: ``{"type": "ref/prompt", "name": ...}`` or
                ``{"type": "ref/resource", "uri": ...}`` with the text of a template.
            argument: The argument, or the variable of the template.
            value: What has been typed so far.
            context: The arguments that are known already.
            timeout: How long the server may be silent, in seconds.

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        params: dict[str, Any] = {"ref": dict(ref), "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": dict(context)}
        raw = self._calls.perform(Call(method="completion/complete", params=params, timeout=timeout))
        return read_result(CompletionResult.from_wire, raw)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
        timeout: float | None = None,
        max_timeout: float | None = None,
        cancel: Cancel | None = None,
    ) -> dict[str, Any]:
        """Send a request of any method, an extension's for example, and return its result as it came.

        Raises:
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        _check_text("method", method)
        call = Call(
            method=method,
            params=dict(params or {}),
            timeout=timeout,
            max_timeout=max_timeout,
            on_progress=on_progress,
            meta=(params or {}).get("_meta"),
            cancel=cancel,
        )
        return self._calls.perform(call)

    # Changes

    def listen(
        self,
        *,
        tools_list_changed: bool = False,
        prompts_list_changed: bool = False,
        resources_list_changed: bool = False,
        resources: Iterable[str] = (),
        timeout: float | None = None,
    ) -> Listener:
        """Listen for changes: ``subscriptions/listen`` on modern, subscriptions and the GET stream on legacy.

        Args:
            tools_list_changed: Whether changes of the list of tools are wanted.
            prompts_list_changed: The same of prompts.
            resources_list_changed: The same of resources.
            resources: The URIs of resources whose updates are wanted.
            timeout: How long the server may take to acknowledge, in seconds.

        Returns:
            An iterator of :class:`Change`; its ``honoured`` says what the server will tell of.

        Raises:
            ConfigurationError: Nothing is listened for.
            MCPError: The server refuses.
            ClientError: There is no answer.
        """
        if isinstance(resources, str):
            raise TypeError("The resources are a list of URIs, not one string")
        return self._changes.listen(
            {
                "toolsListChanged": tools_list_changed,
                "promptsListChanged": prompts_list_changed,
                "resourcesListChanged": resources_list_changed,
                "resourceSubscriptions": list(dict.fromkeys(resources)),
            },
            timeout,
        )

    # What the server says by itself

    def _receive(self, message: Message) -> None:
        self._incoming.receive(message)

    def _notified(self, message: Message) -> None:
        method, params = message["method"], message.get("params")
        uri = params.get("uri") if isinstance(params, Mapping) else None
        if self._cache is not None:
            self._cache.invalidate(method, uri if isinstance(uri, str) else None)
        if method == _TOOLS_CHANGED:
            self._tools.forget()
        self._changes.notified(message)

    def _mirrors(self) -> bool:
        connection = self._session.connection()
        return connection.modern and connection.transport.kind == "http"

    def _result(self, raw: dict[str, Any], kind: type[R]) -> R | InputRequiredResult:
        if raw.get("resultType") == "input_required":
            return read_result(InputRequiredResult.from_wire, raw)
        return read_result(kind.from_wire, raw)


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"The {what} is a string, not {type(value).__name__}")


def _put_while_alive(inbox: Inbox) -> Callable[[Message], None]:
    """Give what a transport's threads call without keeping the client alive."""
    reference = weakref.ref(inbox)

    def put(message: Message) -> None:
        found = reference()
        if found is not None:
            found.put(message)

    return put


def _let_go(transports: Sequence[Transport]) -> None:
    """Close the transports of a client that nobody has closed, aside: it may take a moment.

    A process is not waited for here: it ends with its transport. The garbage collector may call this in the middle of
    anything, so no lock may be needed: not even that of ``threading``, which a new ``Thread`` takes.
    """
    for transport in transports:
        if transport.kind in ("http", "sse"):
            with suppress(RuntimeError):  # at the end of this process no thread can be started
                _thread.start_new_thread(transport.close, ())


def _is_same(one: Connection, other: Connection) -> bool:
    return one.transport is other.transport and one.version == other.version and one.info is other.info


def _client_info() -> dict[str, str]:
    package = __name__.partition(".")[0]
    return {"name": package, "version": sys.modules[package].__version__}


def _reader(kind: Any) -> Callable[[list[Any]], Sequence[Any]]:
    return lambda entries: read_list(entries, kind)


def _tool_reader(mirrored: bool) -> Callable[[list[Any]], Sequence[ToolInfo]]:
    return lambda entries: usable_tools(entries, mirrored=mirrored)
