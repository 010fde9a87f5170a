"""One request in, one answer out: the dispatch of both eras, written once as steps.

Each method is a generator over :class:`~mcp_wsgi.server.drive.Call`: it yields the handler it wants called and
goes on with what the handler returned, so sync and async drivers share every line here.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..errors import ErrorCode
from ..exceptions import (
    ArgumentError,
    EncodeError,
    InternalError,
    InvalidParamsError,
    MCPError,
    MethodNotFoundError,
    MissingClientCapabilityError,
    ResourceNotFoundError,
    ToolError,
)
from ..protocol.codec import encode_text
from ..protocol.jsonrpc import error_response
from ..protocol.meta import LOG_LEVELS, SERVER_INFO
from ..protocol.versions import MODERN_VERSIONS
from .completion import complete
from .context import Context
from .discovery import discover, initialize
from .drive import Call, Steps
from .listing import cache_hints, list_result
from .questions import InputRequired
from .results import error_result, prompt_messages, resource_contents

__all__ = ["check_version", "dispatch", "failure_id"]

logger = logging.getLogger("mcp_wsgi")

Method: TypeAlias = "Callable[[Context], Steps[dict[str, Any]]]"


def failure_id(context: str, *, exception: bool = True) -> str:
    """Log a failure under a new id, with the traceback of the current exception; return the id."""
    failure = os.urandom(4).hex()
    if not context.isprintable():  # the path in a result may hold what a client sent, and a log has lines
        context = context.encode("unicode_escape").decode("ascii")
    logger.error("%s failed [%s]", context, failure, exc_info=exception)
    return failure


def dispatch(context: Context) -> Steps[dict[str, Any]]:
    """Answer one request: the rungs behind the envelope, then the method.

    Returns the wire form of the answer. Nothing but a :class:`BaseException` (an interrupt, say) comes out.
    """
    try:
        result = yield from _method_of(context)(context)
        if context.envelope is not None:
            result = _complete(result, context)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": context.request_id, "result": result}
    except MCPError as error:
        answer = error_response(context.request_id, _for_wire(error, context))
    except (Exception, InputRequired):  # noqa: BLE001 - whatever it was, the client gets a generic message and an id
        failure = failure_id(f"The method {context.method[:80]!r}")
        answer = error_response(context.request_id, InternalError(f"Internal error (id {failure})"))
    except BaseException:
        # What ends the request from outside (its task is cancelled, say) leaves a handler in another thread running.
        context.cancel()
        raise
    context.finish()
    return answer


def _for_wire(error: MCPError, context: Context) -> MCPError:
    """Give the error its code in this era, without data that JSON cannot carry."""
    if context.envelope is None and isinstance(error, ResourceNotFoundError):
        return MCPError(ErrorCode.RESOURCE_NOT_FOUND, error.message, error.data)
    if context.envelope is None and isinstance(error, MissingClientCapabilityError):
        return InvalidParamsError(error.message, error.data)  # the code of its own is a modern one
    try:
        encode_text([error.message, error.data])
    except EncodeError:
        failure = failure_id(f"The error of {context.method[:80]!r} is not JSON; it")
        return MCPError(error.code, f"{error.message} (id {failure})")
    return error


def check_version(context: Context) -> None:
    """Refuse a modern request of a version that is not served.

    Raises:
        UnsupportedVersionError: It is not.
    """
    envelope = context.envelope
    if envelope is not None and envelope.version not in MODERN_VERSIONS:
        raise context.server.unsupported(envelope.version)


def _method_of(context: Context) -> Method:
    """Find the method of a request in its era."""
    if context.envelope is not None:
        check_version(context)
    method = (_LEGACY if context.envelope is None else _MODERN).get(context.method)
    if method is None:
        raise _unknown(context)
    return method


def _complete(result: dict[str, Any], context: Context) -> dict[str, Any]:
    """Add what every modern result has."""
    if "resultType" not in result:
        result["resultType"] = "complete"
    meta = result.get("_meta")
    info = context.server.info
    # A handler's own members stay, but who answered is never another server that it asked.
    result["_meta"] = {SERVER_INFO: info} if meta is None else {**meta, SERVER_INFO: info}
    return result


def _unknown(context: Context) -> MethodNotFoundError:
    return MethodNotFoundError(f"Method not found: {context.method[:80]}")


def _string(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if type(value) is not str or not value:
        raise InvalidParamsError(f'"params.{name}" must be a non-empty string')
    return value


def _object(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = params.get(name)
    if value is None:
        return {}
    if type(value) is not dict:
        raise InvalidParamsError(f'"params.{name}" must be an object')
    return value


def _call_tool(context: Context) -> Steps[dict[str, Any]]:
    params = context.params
    name = _string(params, "name")
    arguments = _object(params, "arguments")
    tool = context.server.find_tool(name, context)
    if tool is None:
        raise InvalidParamsError(f"Unknown tool: {name[:128]}")
    modern = context.envelope is not None
    if modern:
        _check_state(context)
    try:
        value = yield context.wrapped(tool.bind(arguments, context))
        if isinstance(value, InputRequired):
            return _input_required(context, value)
        return tool.result(value, modern=modern)
    except InputRequired as required:
        return _input_required(context, required)
    except ArgumentError as error:
        return error_result(f"Invalid arguments for tool {name!r}: {error}")
    except MCPError as error:
        if not modern and isinstance(error, MissingClientCapabilityError):
            return error_result(error.message)  # for the model, as where nobody can be asked
        raise
    except EncodeError as error:
        failure = failure_id(f"The result of the tool {name!r}: {error};", exception=False)
        return error_result(f"The tool's result is not valid: {error} (id {failure})")
    except context.server.told_errors as error:
        return error_result(str(error))
    except Exception:  # noqa: BLE001 - a tool's failure is told to the model, its text is not
        failure = failure_id(f"The tool {name!r}")
        return error_result(f"The tool failed with an internal error (id {failure}).")


def _check_state(context: Context) -> None:
    # "servers MUST always validate that state", also where the handler never looks at it.
    params = context.params
    if params.get("requestState") is not None or params.get("inputResponses") is not None:
        context.interaction()


def _input_required(context: Context, required: InputRequired) -> dict[str, Any]:
    if context.envelope is None:
        try:
            context.interaction()
        except ToolError as error:
            if context.method == "tools/call":
                return error_result(str(error))
            raise InvalidParamsError(str(error)) from None
    return context.interaction().result(required)


def _run_handler(context: Context, call: Call, what: str) -> Steps[Any]:
    """Call the handler of a resource or prompt, whose failures are protocol errors."""
    try:
        return (yield call)
    except InputRequired as required:
        return required
    except MCPError:
        raise
    except context.server.told_errors as error:
        raise InvalidParamsError(str(error)) from None
    except Exception:  # noqa: BLE001 - its text is not for the client
        failure = failure_id(what)
        raise InternalError(f"{what} failed with an internal error (id {failure})") from None


def _read_resource(context: Context) -> Steps[dict[str, Any]]:
    uri = _string(context.params, "uri")
    found = context.server.find_resource(uri, context)
    if found is None:
        raise ResourceNotFoundError(uri)
    resource, values = found
    if context.envelope is not None:
        _check_state(context)
    what = "Reading the resource"
    value = yield from _run_handler(context, context.wrapped(resource.bind(values, context, uri)), what)
    if isinstance(value, InputRequired):
        return _input_required(context, value)
    if value is None:
        # "servers MUST NOT return empty contents": nothing there is not found.
        raise ResourceNotFoundError(uri)
    try:
        contents = resource_contents(value, uri, resource.mime_type)
    except EncodeError as error:
        failure = failure_id(f"{what}: {error};", exception=False)
        raise InternalError(f"{what} gave an invalid result (id {failure})") from None
    result: dict[str, Any] = {"contents": contents}
    if context.envelope is not None:
        varies = resource.depends_on_request
        result |= cache_hints(context.server, context, varies=varies, ttl_ms=resource.ttl_ms)
    return result


def _get_prompt(context: Context) -> Steps[dict[str, Any]]:
    name = _string(context.params, "name")
    arguments = _object(context.params, "arguments")
    prompt = context.server.find_prompt(name, context)
    if prompt is None:
        raise InvalidParamsError(f"Unknown prompt: {name[:128]}")
    if context.envelope is not None:
        _check_state(context)
    what = "The prompt"
    value = yield from _run_handler(context, context.wrapped(prompt.bind(arguments, context)), what)
    if isinstance(value, InputRequired):
        return _input_required(context, value)
    try:
        messages = prompt_messages(value)
    except EncodeError as error:
        failure = failure_id(f"{what} {name!r}: {error};", exception=False)
        raise InternalError(f"{what} gave an invalid result (id {failure})") from None
    result: dict[str, Any] = {"messages": messages}
    if prompt.description:
        result["description"] = prompt.description
    return result


def _plain(function: Callable[[Context], dict[str, Any]]) -> Method:
    """Make a method of a function that calls no handler."""

    def steps(context: Context) -> Steps[dict[str, Any]]:
        yield from ()  # a generator without steps
        return function(context)

    return steps


def _list(capability: str, registry: str, member: str) -> Method:
    def list_page(context: Context) -> dict[str, Any]:
        server = context.server
        if capability not in server.declared:
            # "Servers that declare the capability MUST respond to its list": the others have no such method.
            raise _unknown(context)
        return list_result(server, context, server.registries[registry].view, member, context.params)

    return _plain(list_page)


def _ping(context: Context) -> dict[str, Any]:  # noqa: ARG001
    return {}


def _set_level(context: Context) -> dict[str, Any]:
    if not context.can_notify:
        raise _unknown(context)
    if context.params.get("level") not in LOG_LEVELS:
        raise InvalidParamsError(f'"params.level" must be one of: {", ".join(LOG_LEVELS)}')
    if context.peer is not None:
        context.peer.log_level = context.params["level"]
    return {}


def _subscribe(context: Context) -> dict[str, Any]:
    if context.peer is None or "resources" not in context.server.declared:
        raise _unknown(context)
    uri = _string(context.params, "uri")
    if context.method == "resources/unsubscribe":
        context.peer.unsubscribe(uri)
        return {}
    if context.server.find_resource(uri, context) is None:
        raise ResourceNotFoundError(uri)
    context.peer.subscribe(uri)
    return {}


_SHARED: dict[str, Method] = {
    "tools/list": _list("tools", "tools", "tools"),
    "tools/call": _call_tool,
    "resources/list": _list("resources", "resources", "resources"),
    "resources/templates/list": _list("resources", "templates", "resourceTemplates"),
    "resources/read": _read_resource,
    "prompts/list": _list("prompts", "prompts", "prompts"),
    "prompts/get": _get_prompt,
    "completion/complete": complete,
}
_MODERN: dict[str, Method] = {**_SHARED, "server/discover": _plain(discover)}
_LEGACY: dict[str, Method] = {
    **_SHARED,
    "initialize": _plain(initialize),
    "ping": _plain(_ping),
    "logging/setLevel": _plain(_set_level),
    "resources/subscribe": _plain(_subscribe),
    "resources/unsubscribe": _plain(_subscribe),
}
