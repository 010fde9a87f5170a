"""Resources, resource templates and prompts: compiled once when they are registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..exceptions import ArgumentError, InvalidParamsError, RegistrationError
from ..protocol.types import Annotations, Icon
from .context import Context
from .describe import Visible, check_function, check_name, check_visible, check_wire, describe, docstring_of, name_of
from .docstrings import parse_docstring
from .drive import Call
from .signature import Parameters, compile_parameters

if TYPE_CHECKING:
    from .uri_template import UriTemplate

__all__ = ["Prompt", "Resource"]


def _compile(function: Callable[..., Any], descriptions: Mapping[str, str]) -> Parameters:
    # The wire carries strings only: a typed parameter takes its value from the text.
    return compile_parameters(function, context_type=Context, descriptions=descriptions, coerce_json_strings=True)


def _call(function: Callable[..., Any], parameters: Parameters, values: dict[str, Any], context: Context) -> Call:
    kwargs = parameters.bind(values)
    if parameters.context_parameter is not None:
        kwargs[parameters.context_parameter] = context
    return Call(function, (), kwargs, parameters.is_async)


def _template(uri: str) -> UriTemplate:
    from .uri_template import UriTemplate  # a quarter of the import time, for servers that have templates

    return UriTemplate(uri)


class Resource:
    """Hold a registered resource, or a template of resources.

    Attributes:
        uri: Its URI, byte for byte, or its RFC 6570 template.
        template: The compiled template, ``None`` for a single resource.
        ttl_ms: How long a client may keep what it read, in milliseconds; ``None`` is the server's default.
        depends_on_request: Whether its handler sees the request, so that callers may read different things.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        ttl_ms: int | None = None,
        icons: Sequence[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: Mapping[str, Any] | None = None,
        visible: Visible | None = None,
    ) -> None:
        check_function("resource", function)
        if ttl_ms is not None and ttl_ms < 0:
            raise RegistrationError("ttl_ms must not be negative")
        if ":" not in uri:
            raise RegistrationError(f"A resource needs a URI with a scheme, such as 'docs://intro', not {uri!r}")
        self.uri = uri
        self.template = _template(uri) if "{" in uri or "}" in uri else None
        self.mime_type = mime_type
        self.ttl_ms = ttl_ms
        self.visible = check_visible(visible)
        self._function = function
        doc = parse_docstring(docstring_of(function))
        self._parameters = _compile(function, doc.parameters)
        self._check_parameters()
        self.depends_on_request = self._parameters.context_parameter is not None or visible is not None
        self._wire: dict[str, Any] = {
            ("uriTemplate" if self.template else "uri"): uri,
            "name": name if name is not None else name_of(function),
        }
        self._wire |= describe(
            title=title,
            description=description or doc.summary,
            icons=icons,
            annotations=annotations,
            meta=meta,
        )
        if mime_type is not None:
            self._wire["mimeType"] = mime_type
        if size is not None and self.template is None:
            self._wire["size"] = size
        check_wire("resource", uri, self._wire)

    def _check_parameters(self) -> None:
        known = set(self.template.variables) if self.template else set()
        names = set(self._parameters.names) - {self._parameters.context_parameter}
        required = set(self._parameters.schema.get("required", ()))
        if names - known:
            raise RegistrationError(
                f"The handler of {self.uri!r} has parameters that are not in the URI: {sorted(names - known)}"
            )
        if known - names:
            raise RegistrationError(
                f"The handler of {self.uri!r} lacks the parameters {sorted(known - names)} of its URI"
            )
        optional = set(self.template.optional) if self.template else set()
        if required & optional:
            raise RegistrationError(
                f"The parameters {sorted(required & optional)} of {self.uri!r} are optional in the URI, "
                "so they need defaults"
            )

    def to_wire(self, *, modern: bool) -> dict[str, Any]:  # noqa: ARG002 - one shape in both eras
        """Write the schema's ``Resource`` or ``ResourceTemplate`` object."""
        return self._wire

    def match(self, uri: str) -> dict[str, Any] | None:
        """Give the variables of a URI of this template, each decoded once, or ``None``."""
        return self.template.match(uri) if self.template is not None else None

    def bind(self, values: dict[str, Any], context: Context, uri: str) -> Call:
        """Make the call of the handler.

        Raises:
            InvalidParamsError: A value in the URI has not the type of its parameter.
        """
        try:
            return _call(self._function, self._parameters, values, context)
        except ArgumentError as error:
            raise InvalidParamsError(f"The URI does not fit: {error}", {"uri": uri}) from None


class Prompt:
    """Hold a registered prompt; its arguments are the parameters of its function."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] | None = None,
        meta: Mapping[str, Any] | None = None,
        visible: Visible | None = None,
    ) -> None:
        check_function("prompt", function)
        self.name = check_name("prompt", name if name is not None else name_of(function))
        self.visible = check_visible(visible)
        self._function = function
        doc = parse_docstring(docstring_of(function))
        self._parameters = _compile(function, doc.parameters)
        self.description = description or doc.summary or None
        self.arguments: tuple[str, ...] = tuple(self._parameters.schema.get("properties", ()))
        self._wire: dict[str, Any] = {"name": self.name}
        self._wire |= describe(title=title, description=self.description, icons=icons, meta=meta)
        if self.arguments:
            self._wire["arguments"] = [self._argument(name) for name in self.arguments]
        check_wire("prompt", self.name, self._wire)

    def _argument(self, name: str) -> dict[str, Any]:
        schema = self._parameters.schema
        wire: dict[str, Any] = {"name": name}
        text = schema["properties"][name].get("description")
        if text:
            wire["description"] = text
        wire["required"] = name in schema.get("required", ())
        return wire

    def to_wire(self, *, modern: bool) -> dict[str, Any]:  # noqa: ARG002 - one shape in both eras
        """Write the schema's ``Prompt`` object."""
        return self._wire

    def bind(self, arguments: dict[str, Any], context: Context) -> Call:
        """Make the call of the handler.

        Raises:
            InvalidParamsError: An argument is missing, no string, or has not the type of its parameter.
        """
        for name, value in arguments.items():
            if type(value) is not str:
                raise InvalidParamsError(f"The argument {name[:80]!r} of a prompt must be a string")
        try:
            return _call(self._function, self._parameters, arguments, context)
        except ArgumentError as error:
            raise InvalidParamsError(f"Invalid arguments for prompt {self.name!r}: {error}") from None
