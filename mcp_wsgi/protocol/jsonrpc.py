"""JSON-RPC 2.0 messages: read strictly, written plainly (2026-07-28, basic/index, Messages).

On the wire a message is a JSON object; :func:`parse_message` turns one into a :class:`Request`,
:class:`Notification` or :class:`Response`. Batches left the protocol in 2025-06-18 and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from ..exceptions import InvalidParamsError, InvalidRequestError, MCPError

__all__ = [
    "MAX_ID_LENGTH",
    "Message",
    "Notification",
    "Request",
    "RequestId",
    "Response",
    "error_response",
    "notification",
    "parse_message",
    "request",
    "result_response",
]

#: "Requests MUST include a string or integer ID. Unlike base JSON-RPC, the ID MUST NOT be null."
RequestId: TypeAlias = "str | int"


class Request(msgspec.Struct, frozen=True):
    """Hold a request; absent ``params`` are an empty object."""

    id: RequestId
    method: str
    params: dict[str, Any]


class Notification(msgspec.Struct, frozen=True):
    """Hold a notification; absent ``params`` are an empty object."""

    method: str
    params: dict[str, Any]


class Response(msgspec.Struct, frozen=True):
    """Hold an answer: ``result`` or ``error`` is set. ``id`` is ``None`` where it could not be read."""

    id: RequestId | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None


Message: TypeAlias = "Request | Notification | Response"


#: The longest id that is taken, in characters. It comes back in every message about its request, so it is no place for
#: data: one of megabytes would be sent hundreds of times.
MAX_ID_LENGTH = 1_000


def _is_id(value: object) -> bool:
    return (type(value) is str and len(value) <= MAX_ID_LENGTH) or type(value) is int


def _bad_id(value: object) -> InvalidRequestError:
    if type(value) is str:
        return InvalidRequestError(f'"id" is longer than {MAX_ID_LENGTH} characters')
    return InvalidRequestError('"id" must be a string or an integer')


def parse_message(value: Any) -> Message:
    """Read one decoded JSON value as a JSON-RPC message.

    Raises:
        InvalidRequestError: It is not one request, notification or response; ``request_id`` is set where the
            id could be read.
        InvalidParamsError: ``params`` is neither an object nor absent; ``request_id`` is set likewise.
    """
    if type(value) is not dict:
        kind = "an array (batches are not supported)" if isinstance(value, list) else "not an object"
        raise InvalidRequestError(f"The message is {kind}; send one JSON-RPC object")
    if "method" not in value:
        return _parse_response(value)
    has_id = "id" in value
    request_id = value["id"] if has_id else None
    readable = request_id if _is_id(request_id) else None
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequestError('"jsonrpc" must be "2.0"', request_id=readable)
    if has_id and readable is None:
        raise _bad_id(request_id)
    method = value["method"]
    if type(method) is not str or not method:
        raise InvalidRequestError('"method" must be a non-empty string', request_id=readable)
    params = value.get("params")
    if params is None:
        params = {}
    elif type(params) is not dict:
        error = InvalidParamsError('"params" must be an object')
        error.request_id = readable
        raise error
    if readable is None:
        return Notification(method, params)
    return Request(readable, method, params)


def _parse_response(value: dict[str, Any]) -> Response:
    response_id = value.get("id")
    readable = response_id if _is_id(response_id) else None
    if "result" not in value and "error" not in value:
        raise InvalidRequestError('"method" is missing', request_id=readable)
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequestError('"jsonrpc" must be "2.0"', request_id=readable)
    result, error = value.get("result"), value.get("error")
    if "result" in value and "error" in value:
        raise InvalidRequestError('A response has "result" or "error", not both', request_id=readable)
    if "result" in value:
        if readable is None or not isinstance(result, dict):
            raise InvalidRequestError('A result needs an "id" and an object as "result"', request_id=readable)
        return Response(readable, result, None)
    if response_id is not None and readable is None:
        raise _bad_id(response_id)
    if isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str):
        return Response(readable, None, error)
    raise InvalidRequestError('"error" needs an integer "code" and a string "message"', request_id=readable)


def request(request_id: RequestId, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Build the wire form of a request."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = dict(params)
    return message


def notification(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Build the wire form of a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = dict(params)
    return message


def result_response(request_id: RequestId, result: dict[str, Any]) -> dict[str, Any]:
    """Build the wire form of a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_response(request_id: RequestId | None, error: MCPError) -> dict[str, Any]:
    """Build the wire form of an error; without a readable id it carries no ``id`` member."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    if request_id is None:
        return {"jsonrpc": "2.0", "error": body}
    return {"jsonrpc": "2.0", "id": request_id, "error": body}
