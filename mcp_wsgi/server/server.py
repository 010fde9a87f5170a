"""The server: what is registered, and the way a message takes through it."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..exceptions import ConfigurationError, MCPError, RegistrationError, ToolError, UnsupportedVersionError
from ..protocol.jsonrpc import Request, error_response, parse_message
from ..protocol.meta import Envelope, has_envelope, read_envelope, read_progress_token
from ..protocol.types import Icon
from ..protocol.versions import LATEST_LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSIONS
from .bus import LIST_CHANGED, RESOURCE_UPDATED, Bus, Change
from .completion import Completer
from .context import Cancellation, Context, Notify, Wrap
from .describe import check_function, check_wire, describe
from .dispatch import dispatch
from .drive import Steps, run_sync
from .registry import Registry
from .resources import Prompt, Resource
from .state import StateSigner
from .tools import Tool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import PromptOptions, ResourceOptions, ToolOptions
    from .peer import Peer

__all__ = ["Server"]

F = TypeVar("F", bound=Callable[..., Any])


class Server:
    """Hold tools, resources and prompts, and answer messages about them. It does no I/O.

    Args:
        name: The programmatic name that clients see.
        version: The version of the application.
        title: A name for people.
        description: What the server is for.
        website_url: Where people find more.
        icons: Icons of the server.
        instructions: Guidance for the model on how to use the server.
        tools: Tools to begin with: plain mappings or :class:`Tool` values.
        page_size: The most entries of one list answer; by default all are in one page.
        ttl_ms: How long clients may keep lists and resources, in milliseconds.
        keys: Secret keys that sign ``requestState``, the newest first; give the same to all workers.
        state_ttl: How long a user may take to answer a question, in seconds.
        legacy: Whether clients of revisions up to 2025-11-25 are served too.
        coerce_json_strings: Whether a tool argument sent as a JSON string ("[1, 2]") is read as JSON where its
            schema does not admit strings. Some models send such arguments.
        tool_errors: Exceptions of the application whose text the model may read, as that of :class:`ToolError`.
        extensions: Settings of protocol extensions by their identifier, declared to clients.
        clock: The time in seconds since the epoch.

    Raises:
        ConfigurationError: An option cannot be used.
        RegistrationError: A tool cannot be used.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] | None = None,
        instructions: str | None = None,
        tools: Iterable[Mapping[str, Any] | Tool] = (),
        page_size: int | None = None,
        ttl_ms: int = 0,
        keys: Sequence[str | bytes] = (),
        state_ttl: float = 3600,
        legacy: bool = True,
        coerce_json_strings: bool = False,
        tool_errors: Iterable[type[Exception]] = (),
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not name or not isinstance(name, str):
            raise ConfigurationError("A server needs a name")
        if page_size is not None and page_size < 1:
            raise ConfigurationError("page_size must be at least 1")
        if ttl_ms < 0:
            raise ConfigurationError("ttl_ms must not be negative")
        self.name = name
        self.instructions = instructions
        self.page_size = page_size
        self.ttl_ms = ttl_ms
        self.legacy = legacy
        self.coerce_json_strings = coerce_json_strings
        #: The exceptions whose text reaches the client.
        self.told_errors: tuple[type[Exception], ...] = (ToolError, *tool_errors)
        given: tuple[object, ...] = self.told_errors
        if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in given):
            raise ConfigurationError("tool_errors is a list of exception classes")
        self.extensions = {identifier: dict(settings) for identifier, settings in (extensions or {}).items()}
        self._state_options: dict[str, Any] = {"ttl": state_ttl, "clock": clock}
        #: Whether signing keys were given: a door of a framework then leaves the framework's own alone.
        self.has_keys = bool(keys)
        self.state_signer = self.make_signer(keys)
        #: The ``Implementation`` object that identifies the server.
        self.info: dict[str, Any] = {"name": name, "version": str(version)}
        if website_url is not None:
            self.info["websiteUrl"] = website_url
        try:
            self.info |= describe(title=title, description=description, icons=icons)
            check_wire("server", name, self.info)
            check_wire("server", name, {"extensions": self.extensions})
        except RegistrationError as error:
            raise ConfigurationError(str(error)) from None
        self._tools: Registry[Tool] = Registry("tool")
        self._resources: Registry[Resource] = Registry("resource")
        self._templates: Registry[Resource] = Registry("resource template")
        self._prompts: Registry[Prompt] = Registry("prompt")
        self.registries: dict[str, Registry[Any]] = {
            "tools": self._tools,
            "resources": self._resources,
            "templates": self._templates,
            "prompts": self._prompts,
        }
        #: Carries change notifications to open subscriptions of this process.
        self.bus = Bus()
        for capability, registry in (
            ("tools", self._tools),
            ("resources", self._resources),
            ("resources", self._templates),
            ("prompts", self._prompts),
        ):
            registry.on_change = functools.partial(self.bus.publish, Change(LIST_CHANGED[capability]))
        self.completers: dict[tuple[str, str], Completer] = {}
        self._lock = threading.Lock()
        #: The capabilities that something was registered for.
        self.declared: frozenset[str] = frozenset()
        for tool in tools:
            self.add_tool(tool)

    @property
    def supported_versions(self) -> tuple[str, ...]:
        """The protocol versions that are served, the newest first."""
        versions = (*LEGACY_VERSIONS, *MODERN_VERSIONS) if self.legacy else MODERN_VERSIONS
        return versions[::-1]

    @property
    def has_filters(self) -> bool:
        """Whether any definition has a ``visible`` filter, so that callers may see different things."""
        return any(registry.view.has_filter for registry in self.registries.values())

    def make_signer(self, keys: Sequence[str | bytes]) -> StateSigner:
        """Make what signs ``requestState`` with these keys, the newest first."""
        return StateSigner(f"request state of {self.name}", keys, **self._state_options)

    def unsupported(self, requested: str) -> UnsupportedVersionError:
        """Make the error that names the versions served here."""
        return UnsupportedVersionError(requested, self.supported_versions)

    def _declare(self, capability: str) -> None:
        with self._lock:
            self.declared |= {capability}

    # Tools

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    def tool(self, function: F | None = None, /, **options: Unpack[ToolOptions]) -> F | Callable[[F], F]:
        """Register a function as a tool, plainly or with options; the function itself is returned.

        Args:
            function: The function. Its signature gives the input schema, its docstring the description and
                those of the parameters, its return annotation the output schema. A parameter annotated with
                :class:`Context` gets the context and is in no schema.
            options: ``name``, ``title``, ``description``, ``icons``, ``meta``; the hints ``read_only``,
                ``destructive``, ``idempotent``, ``open_world``; ``output_schema`` (a JSON Schema instead of the
                annotation), ``structured`` (``False``: no output schema), ``visible`` (a function of the context
                that decides whether the tool exists for the caller), ``coerce_json_strings``.

        Raises:
            RegistrationError: The signature, a schema or the name cannot be used, or the name is taken.
        """

        def register(target: F) -> F:
            options.setdefault("coerce_json_strings", self.coerce_json_strings)
            self.add_tool(Tool.from_function(target, **options))
            return target

        return register if function is None else register(function)

    def add_tool(self, tool: Tool | Mapping[str, Any] | Callable[..., Any]) -> Tool:
        """Add a tool, also while requests are served.

        Args:
            tool: A :class:`Tool`, a function, or a plain mapping with ``name``, ``handler`` (called as
                ``handler(arguments, ctx)``) and, as they are wanted, ``description``, ``parameters`` (a JSON Schema of
                the arguments), ``output_schema``, ``title``, ``annotations``, ``icons``, ``_meta``, ``visible``.
                ``validate`` of ``False`` leaves the checks of arguments and results to the handler, as where it calls
                another server. ``metadata`` is the application's own, and is not looked at.

        Returns:
            The tool as it is registered.

        Raises:
            RegistrationError: It cannot be used, or its name is taken.
        """
        if isinstance(tool, Mapping):
            tool = Tool.from_mapping(tool)
        elif not isinstance(tool, Tool):
            tool = Tool.from_function(tool, coerce_json_strings=self.coerce_json_strings)
        self._tools.add(tool.name, tool)
        self._declare("tools")
        return tool

    def remove_tool(self, name: str) -> None:
        """Remove a tool, also while requests are served.

        Raises:
            KeyError: There is none of that name.
        """
        self._tools.remove(name)

    def find_tool(self, name: str, context: Context) -> Tool | None:
        """Find the tool of that name that exists for the caller."""
        tool = context.found_tool
        if tool is not None and tool.name == name:
            return tool  # looked up before in this request, and then visible
        tool = self._tools.view.items.get(name)
        if tool is not None and tool.visible is not None and not tool.visible(context):
            return None
        context.found_tool = tool
        return tool

    # Resources

    def resource(self, uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Register a function that reads a resource, or a template of resources.

        Args:
            uri: The URI, or an RFC 6570 template; the function's parameters are its variables.
            options: ``name``, ``title``, ``description``, ``mime_type``, ``size`` (bytes), ``ttl_ms``, ``icons``,
                ``annotations``, ``meta``, ``visible``.

        Raises:
            RegistrationError: The URI, template or signature cannot be used, or the URI is taken.
        """
        if not isinstance(uri, str):
            raise RegistrationError('A resource needs its URI: write @server.resource("docs://intro")')

        def register(function: F) -> F:
            self.add_resource(Resource(function, uri, **options))
            return function

        return register

    def add_resource(self, resource: Resource) -> Resource:
        """Add a resource or template, also while requests are served."""
        registry = self._templates if resource.template is not None else self._resources
        registry.add(resource.uri, resource)
        self._declare("resources")
        return resource

    def remove_resource(self, uri: str) -> None:
        """Remove a resource by its URI or a template by its text.

        Raises:
            KeyError: There is none.
        """
        registry = self._templates if uri in self._templates.view.items else self._resources
        registry.remove(uri)

    def find_resource(self, uri: str, context: Context) -> tuple[Resource, dict[str, Any]] | None:
        """Find what a URI names for the caller: a resource, else the first template that matches."""
        resource = self._resources.view.items.get(uri)
        if resource is not None and (resource.visible is None or resource.visible(context)):
            return resource, {}
        for template in self._templates.view:
            values = template.match(uri)
            if values is not None and (template.visible is None or template.visible(context)):
                return template, values
        return None

    def has_resource(self, uri: str, context: Context) -> bool:
        """Say whether a URI or a template's text is registered for the caller."""
        found = self._templates.view.items.get(uri) or self._resources.view.items.get(uri)
        return found is not None and (found.visible is None or found.visible(context))

    # Prompts and completions

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...

    def prompt(self, function: F | None = None, /, **options: Unpack[PromptOptions]) -> F | Callable[[F], F]:
        """Register a function as a prompt; its parameters are the prompt's arguments.

        Args:
            function: The function. It returns a ``str``, content, a ``Message``, or a list of these.
            options: ``name``, ``title``, ``description``, ``icons``, ``meta``, ``visible``.

        Raises:
            RegistrationError: The signature or name cannot be used, or the name is taken.
        """

        def register(target: F) -> F:
            self.add_prompt(Prompt(target, **options))
            return target

        return register if function is None else register(function)

    def add_prompt(self, prompt: Prompt) -> Prompt:
        """Add a prompt, also while requests are served."""
        self._prompts.add(prompt.name, prompt)
        self._declare("prompts")
        return prompt

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt.

        Raises:
            KeyError: There is none of that name.
        """
        self._prompts.remove(name)

    def find_prompt(self, name: str, context: Context) -> Prompt | None:
        """Find the prompt of that name that exists for the caller."""
        prompt = self._prompts.view.items.get(name)
        if prompt is not None and prompt.visible is not None and not prompt.visible(context):
            return None
        return prompt

    def completion(self, reference: str, argument: str) -> Callable[[F], F]:
        """Register a function that completes an argument.

        Args:
            reference: The name of a prompt, or the text of a resource template.
            argument: The name of its argument or variable.

        The function is called as ``fn(value)`` or ``fn(value, arguments)`` and returns strings or a ``Completion``.

        Raises:
            RegistrationError: The argument has a completion already, or the function takes something else.
        """

        def register(function: F) -> F:
            check_function("completion", function)
            key, completer = (reference, argument), Completer(function)
            with self._lock:
                if key in self.completers:
                    raise RegistrationError(f"There is already a completion of {argument!r} for {reference!r}")
                self.completers = {**self.completers, key: completer}
            self._declare("completions")
            return function

        return register

    # Changes

    def notify_tools_changed(self) -> None:
        """Tell listening clients that the tools changed otherwise than by adding and removing (a filter did, say)."""
        self.bus.publish(Change(LIST_CHANGED["tools"]))

    def notify_prompts_changed(self) -> None:
        """Tell listening clients that the prompts changed; see :meth:`notify_tools_changed`."""
        self.bus.publish(Change(LIST_CHANGED["prompts"]))

    def notify_resources_changed(self) -> None:
        """Tell listening clients that the list of resources changed; see :meth:`notify_tools_changed`."""
        self.bus.publish(Change(LIST_CHANGED["resources"]))

    def notify_resource_updated(self, uri: str) -> None:
        """Tell the clients that subscribed to a resource that it has new contents. Call it from any thread.

        Args:
            uri: The URI, byte for byte as clients subscribe to it.
        """
        self.bus.publish(Change(RESOURCE_UPDATED, uri))

    def close(self) -> None:
        """End all open subscriptions of this process with their completion results, as for a shutdown."""
        self.bus.close()

    # Messages

    def handle_message(
        self,
        message: Any,
        *,
        principal: str | None = None,
        notify: Notify | None = None,
        cancellation: Cancellation | None = None,
        request: Any = None,
    ) -> dict[str, Any] | None:
        """Answer one message: one in, one out, ``None`` for a notification (or a response).

        The era is the message's own: a request whose ``_meta`` carries a protocol version is modern.

        Args:
            message: A decoded JSON value in wire form.
            principal: Who asks; ``None`` is nobody in particular.
            notify: Takes the notifications of the request (progress, logs); without it they are dropped.
            cancellation: The flag behind ``ctx.cancelled``.
            request: What handlers find as ``ctx.request``.

        Returns:
            The answer in wire form; an error whose id could not be read carries no ``id``.
        """
        try:
            parsed = parse_message(message)
            if not isinstance(parsed, Request):
                return None
            context = self.make_context(
                parsed, principal=principal, notify=notify, cancellation=cancellation, request=request
            )
        except MCPError as error:
            return error_response(error.request_id, error)
        return run_sync(dispatch(context))

    def make_context(
        self,
        parsed: Request,
        *,
        modern: bool | None = None,
        principal: str | None = None,
        notify: Notify | None = None,
        cancellation: Cancellation | None = None,
        request: Any = None,
        can_stream: bool = False,
        signer: Callable[[], StateSigner | None] | None = None,
        wrap: Wrap | None = None,
        peer: Peer | None = None,
    ) -> Context:
        """Read the envelope of a request and make the context of its dispatch.

        Args:
            parsed: The request.
            modern: The era of the request where the transport knows it; by default the message says.
            principal: Who asks.
            notify: Takes the notifications of the request.
            cancellation: The flag behind ``ctx.cancelled``.
            request: What handlers find as ``ctx.request``.
            can_stream: Whether the transport can carry notifications, and so a subscription.
            signer: Gives what signs ``requestState`` in place of the server's own keys, when it is needed.
            wrap: What the transport does to the calls of handlers.
            peer: What the transport knows of its client, if it has only one; for legacy requests.

        Raises:
            InvalidParamsError: The envelope is incomplete or ill-typed.
            UnsupportedVersionError: The request is legacy and legacy clients are not served.
        """
        request_id, method, params = parsed.id, parsed.method, parsed.params
        envelope: Envelope | None = None
        try:
            if has_envelope(params) if modern is None else modern:
                envelope = read_envelope(params)
                token = envelope.progress_token
            elif self.legacy:
                token = read_progress_token(params)
            else:
                requested = params.get("protocolVersion")
                raise self.unsupported(requested if type(requested) is str else LATEST_LEGACY_VERSION)
        except MCPError as error:
            error.request_id = request_id
            raise
        return Context(
            self,
            request_id,
            method,
            params,
            envelope,
            principal,
            request,
            notify,
            cancellation,
            token,
            can_stream,
            signer,
            wrap,
            peer if envelope is None else None,
        )

    def steps(self, context: Context) -> Steps[dict[str, Any]]:
        """Give the steps that answer a request, for a driver to perform."""
        return dispatch(context)
