"""Tools: compiled once when they are registered, so that a call does little."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..exceptions import ArgumentError, EncodeError, RegistrationError
from ..protocol.param_headers import ParamHeader, ParamHeaderError, collect_param_headers
from ..protocol.types import Icon
from .context import Context
from .describe import Visible, check_function, check_name, check_visible, check_wire, describe, docstring_of, name_of
from .docstrings import parse_docstring
from .drive import Call
from .json_schema import is_object_schema, wrap_output
from .questions import InputRequired
from .results import UNSTRUCTURED, tool_result
from .returns import compile_returns, to_builtins
from .signature import compile_parameters

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["Tool"]

Bind: TypeAlias = "Callable[[dict[str, Any], Context], Call]"


def _hints(**hints: bool | None) -> dict[str, Any] | None:
    wire = {name: value for name, value in hints.items() if value is not None}
    return wire or None


class Tool:
    """Hold a registered tool.

    Attributes:
        name: What it is called by.
        input_schema: The JSON Schema of its arguments.
        output_schema: The JSON Schema of its structured content, or ``None``.
        param_headers: The arguments that are mirrored into headers.
        visible: Decides for each request whether the tool exists for its caller; ``None`` means always.
        takes_context: Whether the handler gets the context, and so may report something while it runs.
        bind: Makes the call of the handler from arguments; raises :class:`ArgumentError`.
    """

    __slots__ = (
        "_legacy_wire",
        "_to_json",
        "_wire",
        "_wrap",
        "bind",
        "input_schema",
        "name",
        "output_schema",
        "param_headers",
        "takes_context",
        "visible",
    )

    def __init__(
        self,
        name: str,
        bind: Bind,
        input_schema: dict[str, Any],
        *,
        output_schema: dict[str, Any] | None = None,
        to_json: Callable[[Any], Any] | None = None,
        visible: Visible | None = None,
        wire: Mapping[str, Any] | None = None,
        takes_context: bool = True,
    ) -> None:
        self.name = check_name("tool", name)
        self.bind = bind
        self.input_schema = input_schema
        self.output_schema = output_schema
        self.takes_context = takes_context
        self.visible = check_visible(visible)
        self._to_json = to_json
        self._wrap = output_schema is not None and not is_object_schema(output_schema)
        try:
            self.param_headers: Sequence[ParamHeader] = collect_param_headers(input_schema)
        except ParamHeaderError as error:
            raise RegistrationError(f"The tool {name!r}: {error}") from None
        self._wire: dict[str, Any] = {"name": name, **(wire or {}), "inputSchema": input_schema}
        self._legacy_wire = self._wire
        if output_schema is not None:
            legacy = wrap_output(output_schema) if self._wrap else output_schema
            self._legacy_wire = {**self._wire, "outputSchema": legacy}
            self._wire = {**self._wire, "outputSchema": output_schema}
        check_wire("tool", name, self._wire)

    def to_wire(self, *, modern: bool) -> dict[str, Any]:
        """Write the schema's ``Tool`` object; a legacy client only knows object output."""
        return self._wire if modern else self._legacy_wire

    def result(self, value: Any, *, modern: bool) -> dict[str, Any]:
        """Build the result of what the handler returned.

        Raises:
            EncodeError: It does not conform to the output schema, or is not JSON.
        """
        return tool_result(value, self._to_json, modern=modern, wrap=self._wrap)

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
        output_schema: Mapping[str, Any] | None = None,
        structured: bool = True,
        icons: Sequence[Icon] | None = None,
        meta: Mapping[str, Any] | None = None,
        visible: Visible | None = None,
        coerce_json_strings: bool = False,
    ) -> Tool:
        """Compile a tool from a function's signature; see :meth:`mcp_wsgi.Server.tool`."""
        check_function("tool", function)
        name = name if name is not None else name_of(function)
        doc = parse_docstring(docstring_of(function))
        parameters = compile_parameters(
            function,
            context_type=Context,
            descriptions=doc.parameters,
            coerce_json_strings=coerce_json_strings,
        )
        schema, to_json = _output(function, output_schema, structured=structured)
        wire = describe(title=title, description=description or doc.summary, icons=icons, meta=meta)
        hints = _hints(
            readOnlyHint=read_only,
            destructiveHint=destructive,
            idempotentHint=idempotent,
            openWorldHint=open_world,
        )
        if hints:
            wire["annotations"] = hints
        return cls(
            name,
            _function_bind(function, parameters.bind, parameters.context_parameter, is_async=parameters.is_async),
            parameters.schema,
            output_schema=schema,
            to_json=to_json,
            visible=visible,
            wire=wire,
            takes_context=parameters.context_parameter is not None,
        )

    @classmethod
    def from_mapping(cls, definition: Mapping[str, Any]) -> Tool:
        """Compile a tool from a plain mapping with a JSON Schema; see :meth:`mcp_wsgi.Server.add_tool`.

        Raises:
            RegistrationError: A member is missing, unknown or ill-typed, or a schema is refused.
        """
        unknown = sorted(set(definition) - _MAPPING_MEMBERS)
        if unknown:
            raise RegistrationError(
                f"Unknown members in a tool mapping: {', '.join(map(str, unknown))}; "
                f"known are: {', '.join(sorted(_MAPPING_MEMBERS))}"
            )
        name = check_name("tool", definition.get("name"))
        handler = definition.get("handler")
        if not callable(handler):
            raise RegistrationError(f'The tool {name!r} needs a "handler": fn(arguments, ctx)')
        schema = dict(_either(definition, "parameters", "inputSchema") or {"type": "object"})
        if schema.setdefault("type", "object") != "object":
            raise RegistrationError(f'The input schema of the tool {name!r} needs "type": "object"')
        output = _either(definition, "output_schema", "outputSchema")
        checks = definition.get("validate", True)
        keep = ("title", "description", "annotations", "icons", "_meta")
        return cls(
            name,
            _mapping_bind(handler, _validator(schema, name) if checks else None),
            schema,
            output_schema=dict(output) if output is not None else None,
            to_json=(_conforming(dict(output), name) if checks else to_builtins) if output is not None else None,
            visible=definition.get("visible"),
            wire={member: definition[member] for member in keep if definition.get(member) is not None},
        )


_MAPPING_MEMBERS = frozenset(
    {
        "name",
        "title",
        "description",
        "parameters",
        "inputSchema",
        "output_schema",
        "outputSchema",
        "handler",
        "annotations",
        "icons",
        "_meta",
        "visible",
        "metadata",
        "validate",
    }
)


def _validator(schema: dict[str, Any], name: str) -> Callable[[Any], None]:
    from .validation import compile_validator

    return compile_validator(schema, what=f"input schema of the tool {name!r}")


def _either(definition: Mapping[str, Any], python_name: str, wire_name: str) -> Mapping[str, Any] | None:
    value = definition.get(python_name, definition.get(wire_name))
    if value is not None and not isinstance(value, Mapping):
        raise RegistrationError(f'"{python_name}" of the tool {definition.get("name")!r} must be a JSON Schema')
    return value


def _output(
    function: Callable[..., Any], output_schema: Mapping[str, Any] | None, *, structured: bool
) -> tuple[dict[str, Any] | None, Callable[[Any], Any] | None]:
    if output_schema is not None:
        schema = dict(output_schema)
        return schema, _conforming(schema, getattr(function, "__name__", "tool"))
    if not structured:
        return None, None
    returns = compile_returns(function, content_types=UNSTRUCTURED, ignored=(InputRequired,))
    return (returns.schema, returns.to_json) if returns.schema is not None else (None, None)


def _conforming(schema: dict[str, Any], name: str) -> Callable[[Any], Any]:
    from .validation import compile_validator

    validate = compile_validator(schema, what=f"output schema of the tool {name!r}")

    def to_json(value: Any) -> Any:
        value = to_builtins(value)
        try:
            validate(value)
        except ArgumentError as error:
            raise EncodeError(error.path, error.reason) from None
        return value

    return to_json


def _function_bind(
    function: Callable[..., Any],
    bind_arguments: Callable[[dict[str, Any]], dict[str, Any]],
    context_parameter: str | None,
    *,
    is_async: bool,
) -> Bind:
    if context_parameter is None:

        def bind(arguments: dict[str, Any], context: Context) -> Call:  # noqa: ARG001
            return Call(function, (), bind_arguments(arguments), is_async)

        return bind

    def bind_with_context(arguments: dict[str, Any], context: Context) -> Call:
        kwargs = bind_arguments(arguments)
        kwargs[context_parameter] = context
        return Call(function, (), kwargs, is_async)

    return bind_with_context


def _mapping_bind(handler: Callable[..., Any], validate: Callable[[Any], None] | None) -> Bind:
    from .hints import is_coroutine_callable

    is_async = is_coroutine_callable(handler)

    def bind(arguments: dict[str, Any], context: Context) -> Call:
        if validate is not None:
            validate(arguments)
        return Call(handler, (arguments, context), {}, is_async)

    return bind
