"""The request metadata envelope: what a modern request says of itself in ``params._meta``.

2026-07-28, basic/index, ``_meta`` and Per-request protocol fields; schema ``RequestMetaObject``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..exceptions import InvalidParamsError
from .jsonrpc import MAX_ID_LENGTH

__all__ = [
    "CLIENT_CAPABILITIES",
    "CLIENT_INFO",
    "LOG_LEVEL",
    "LOG_LEVELS",
    "PROTOCOL_VERSION",
    "SERVER_INFO",
    "SUBSCRIPTION_ID",
    "Envelope",
    "build_meta",
    "has_envelope",
    "read_envelope",
    "read_progress_token",
]

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

#: Least severe first (RFC 5424).
LOG_LEVELS: tuple[str, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_CAPABILITIES = ("elicitation", "sampling", "roots", "extensions", "experimental")


class Envelope(msgspec.Struct, frozen=True):
    """Hold the request metadata of one modern request."""

    version: str
    capabilities: dict[str, Any]
    client_info: dict[str, Any] | None
    log_level: str | None
    progress_token: str | int | None
    meta: dict[str, Any]


def has_envelope(params: Mapping[str, Any]) -> bool:
    """Say whether ``_meta`` carries a protocol version, which is what makes a request modern."""
    meta = params.get("_meta")
    return type(meta) is dict and PROTOCOL_VERSION in meta


def read_envelope(params: Mapping[str, Any]) -> Envelope:
    """Read and check the envelope of a modern request.

    Raises:
        InvalidParamsError: A required field is missing or ill-typed, or an optional one is ill-typed;
            the message names the field.
    """
    meta = params.get("_meta")
    if type(meta) is not dict:
        problem = "is missing" if meta is None else "must be an object"
        raise InvalidParamsError(
            f'"params._meta" {problem}; a request carries its protocol version and client capabilities there'
        )
    version = meta.get(PROTOCOL_VERSION)
    if type(version) is not str:
        raise _field(meta, PROTOCOL_VERSION, "a string")
    capabilities = meta.get(CLIENT_CAPABILITIES)
    if type(capabilities) is not dict:
        raise _field(meta, CLIENT_CAPABILITIES, "an object")
    for name, value in capabilities.items():
        if type(value) is not dict and name in _CAPABILITIES:
            raise InvalidParamsError(f'"_meta" field "{CLIENT_CAPABILITIES}": "{name}" must be an object')
    client_info = meta.get(CLIENT_INFO)
    if client_info is not None:
        _check_client_info(client_info)
    log_level = meta.get(LOG_LEVEL)
    if log_level is not None and (type(log_level) is not str or log_level not in LOG_LEVELS):
        raise InvalidParamsError(f'"_meta" field "{LOG_LEVEL}" must be one of: {", ".join(LOG_LEVELS)}')
    token = meta.get("progressToken")
    if token is not None:
        token = read_progress_token(params)
    return Envelope(version, capabilities, client_info, log_level, token, meta)


def _field(meta: Mapping[str, Any], name: str, wanted: str) -> InvalidParamsError:
    problem = f"must be {wanted}" if name in meta else "is missing"
    return InvalidParamsError(f'"_meta" field "{name}" {problem}')


def _check_client_info(info: object) -> None:
    if not (type(info) is dict and type(info.get("name")) is str and type(info.get("version")) is str):
        raise InvalidParamsError(f'"_meta" field "{CLIENT_INFO}" must be an object with "name" and "version"')


def read_progress_token(params: Mapping[str, Any]) -> str | int | None:
    """Read ``_meta.progressToken``, which both eras share; ``0`` and ``""`` are tokens.

    Raises:
        InvalidParamsError: It is neither a string nor an integer, or ``_meta`` is not an object.
    """
    meta = params.get("_meta")
    if meta is None:
        return None
    if type(meta) is not dict:
        raise InvalidParamsError('"params._meta" must be an object')
    token = meta.get("progressToken")
    if token is not None and type(token) is not str and type(token) is not int:
        raise InvalidParamsError('"_meta" field "progressToken" must be a string or an integer')
    if type(token) is str and len(token) > MAX_ID_LENGTH:
        raise InvalidParamsError(f'"_meta" field "progressToken" is longer than {MAX_ID_LENGTH} characters')
    return token


def build_meta(
    *,
    version: str,
    capabilities: Mapping[str, Any],
    client_info: Mapping[str, Any] | None = None,
    log_level: str | None = None,
    progress_token: str | int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the ``_meta`` object of a modern request; :func:`read_envelope` reads it back."""
    meta: dict[str, Any] = dict(extra or {})
    meta[PROTOCOL_VERSION] = version
    meta[CLIENT_CAPABILITIES] = dict(capabilities)
    if client_info is not None:
        meta[CLIENT_INFO] = dict(client_info)
    if log_level is not None:
        meta[LOG_LEVEL] = log_level
    if progress_token is not None:
        meta["progressToken"] = progress_token
    return meta
