"""Completion of prompt arguments and template variables (2026-07-28, server/utilities/completion)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..exceptions import InvalidParamsError, MethodNotFoundError, RegistrationError
from ..protocol.types import Completion
from .drive import Call, Steps
from .hints import evaluate, is_coroutine_callable, read_signature

if TYPE_CHECKING:
    from .context import Context

__all__ = ["Completer", "complete"]

#: "Maximum 100 items per response."
MAX_VALUES = 100


class Completer:
    """Hold the function that completes one argument.

    It is called with the text so far, then, if it takes them, with the other arguments as a mapping and, by
    annotation, with the context.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        from .context import Context

        self._function = function
        self._is_async = is_coroutine_callable(function)
        #: Where the context goes: an index among the positional arguments, or a name.
        self._context: int | str | None = None
        positional = 0
        for name, parameter in read_signature(function).parameters.items():
            by_position = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            if parameter.annotation is not parameter.empty and (
                evaluate(parameter.annotation, function, f"The parameter {name!r}", {"Context": Context}) is Context
            ):
                self._context = positional if by_position else name
            elif by_position:
                positional += 1
        if positional not in (1, 2):
            raise RegistrationError(
                "A completion takes the text so far and, if it wants, the other arguments: "
                "fn(value) or fn(value, arguments)"
            )
        self._takes_arguments = positional > 1

    def bind(self, value: str, arguments: Mapping[str, str], context: Context) -> Call:
        """Make the call of the function."""
        args: list[Any] = [value, arguments] if self._takes_arguments else [value]
        kwargs: dict[str, Any] = {}
        if isinstance(self._context, int):
            args.insert(self._context, context)
        elif self._context is not None:
            kwargs[self._context] = context
        return Call(self._function, tuple(args), kwargs, self._is_async)


def _bad(what: str) -> InvalidParamsError:
    return InvalidParamsError(f'"params.{what}')


def _reference(context: Context) -> str:
    given = context.params.get("ref")
    ref: dict[str, Any] = given if isinstance(given, dict) else {}
    kind = ref.get("type")
    if kind == "ref/prompt":
        name = ref.get("name")
        if isinstance(name, str) and context.server.find_prompt(name, context) is not None:
            return name
        raise _bad(f'ref" names no prompt of this server: {str(name)[:128]}')
    if kind == "ref/resource":
        uri = ref.get("uri")
        if isinstance(uri, str) and context.server.has_resource(uri, context):
            return uri
        raise _bad(f'ref" names no resource or template of this server: {str(uri)[:128]}')
    raise _bad('ref" must be a ref/prompt with a "name" or a ref/resource with a "uri"')


def _arguments(params: Mapping[str, Any]) -> tuple[str, str, dict[str, str]]:
    argument = params.get("argument")
    if not isinstance(argument, dict):
        raise _bad('argument" must be an object')
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        raise _bad('argument" needs a string "name" and a string "value"')
    context = params.get("context")
    others = context.get("arguments") if isinstance(context, dict) else None
    if others is None:
        others = {}
    if not isinstance(others, dict) or not all(isinstance(text, str) for text in others.values()):
        raise _bad('context.arguments" must be an object of strings')
    return name, value, others


def complete(context: Context) -> Steps[dict[str, Any]]:
    """Answer ``completion/complete``; an argument without a completer has no values."""
    server = context.server
    if "completions" not in server.declared:
        raise MethodNotFoundError(f"Method not found: {context.method}")
    reference = _reference(context)
    name, value, others = _arguments(context.params)
    completer = server.completers.get((reference, name))
    if completer is None:
        return {"completion": {"values": []}}
    try:
        found = yield context.wrapped(completer.bind(value, others, context))
    except context.server.told_errors as error:
        raise InvalidParamsError(str(error)) from None
    return {"completion": _completion(found)}


def _completion(found: Completion | Sequence[str] | str | None) -> dict[str, Any]:
    if not isinstance(found, Completion):
        found = Completion([found] if isinstance(found, str) else list(found or ()))
    values = [str(value) for value in found.values]
    wire: dict[str, Any] = {"values": values[:MAX_VALUES]}
    total = found.total if found.total is not None else len(values)
    more = found.has_more if found.has_more is not None else total > len(wire["values"])
    if found.total is not None or more:
        wire["total"] = total
    if more:
        wire["hasMore"] = True
    return wire
