"""Validate what a server sends against the JSON Schema of a protocol revision.

The schemas are read from ``../shared/spec`` beside this repository, or from the folder that the environment
variable ``MCP_WSGI_SPEC`` names. They are no part of the project: where they are absent, tests skip and say so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcp_wsgi.protocol.codec import decode, encode
from mcp_wsgi.protocol.jsonrpc import Request
from mcp_wsgi.protocol.meta import has_envelope
from mcp_wsgi.protocol.versions import LATEST_LEGACY_VERSION, LATEST_VERSION, LEGACY_VERSIONS, MODERN_VERSIONS
from mcp_wsgi.server import Context, Server
from mcp_wsgi.server.context import Notify
from mcp_wsgi.server.drive import Steps
from mcp_wsgi.server.encoding import encode_message

__all__ = ["REVISIONS", "Revision", "ValidatedServer", "load_revision", "spec_folder", "validated_server"]

REVISIONS = (*LEGACY_VERSIONS, *MODERN_VERSIONS)

_RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
_NOTIFICATIONS = {
    "notifications/cancelled": "CancelledNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}
#: The definitions of whole error messages, and of the ``error`` member alone.
_ERROR_MESSAGES = {
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}
_ERROR_OBJECTS = {
    -32700: "ParseError",
    -32600: "InvalidRequestError",
    -32601: "MethodNotFoundError",
    -32602: "InvalidParamsError",
    -32603: "InternalError",
}


def spec_folder() -> Path:
    """Find the folder with the specification, or skip the test."""
    given = os.environ.get("MCP_WSGI_SPEC")
    folder = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "spec"
    if not folder.is_dir():
        pytest.skip("the specification is not here: put it at ../shared/spec or name its folder in MCP_WSGI_SPEC")
    return folder


class Revision:
    """Know the schema of one protocol revision."""

    def __init__(self, version: str, schema: dict[str, Any]) -> None:
        self.version = version
        self.modern = version in MODERN_VERSIONS
        self._place = "$defs" if "$defs" in schema else "definitions"
        self._names = frozenset(schema[self._place])
        self._root = jsonschema.validators.validator_for(schema)(schema)
        self._validators: dict[str, Any] = {}

    def knows(self, definition: str) -> bool:
        """Say whether the revision's schema has a definition."""
        return definition in self._names

    def check(self, definition: str, value: Any) -> None:
        """Fail unless a value conforms to a definition."""
        validator = self._validators.get(definition)
        if validator is None:
            assert self.knows(definition), f"{self.version} has no {definition}"
            validator = self._root.evolve(schema={"$ref": f"#/{self._place}/{definition}"})
            self._validators[definition] = validator
        problems = "\n".join(_explain(validator.iter_errors(value)))
        assert not problems, f"This is no {definition} of {self.version}: {json.dumps(value)[:2000]}\n{problems}"

    def check_answer(self, method: str, message: Mapping[str, Any]) -> None:
        """Fail unless a message is an answer to a request of the method."""
        assert set(message) <= {"jsonrpc", "id", "result", "error"}
        if "error" in message:
            self._check_error(message)
            return
        self.check("JSONRPCResultResponse" if self.knows("JSONRPCResultResponse") else "JSONRPCResponse", message)
        result = message["result"]
        if not self.modern:
            assert "resultType" not in result, "resultType is not for legacy clients"
            self.check(_RESULTS[method], result)
            return
        # The schema's union of both results accepts anything: the type says which one it is.
        assert result["resultType"] in ("complete", "input_required")
        asks = result["resultType"] == "input_required"
        self.check("InputRequiredResult" if asks else _RESULTS[method], result)
        if self.knows(f"{_RESULTS[method]}Response"):
            self.check(f"{_RESULTS[method]}Response", message)

    def _check_error(self, message: Mapping[str, Any]) -> None:
        if self.knows("JSONRPCErrorResponse"):
            self.check("JSONRPCErrorResponse", message)
        else:
            # These revisions have no form at all for an error whose id could not be read.
            self.check("JSONRPCError", {"id": 0, **message})
        if self.modern:
            code = message["error"]["code"]
            if code in _ERROR_MESSAGES:
                self.check(_ERROR_MESSAGES[code], message)
            elif code in _ERROR_OBJECTS:
                self.check(_ERROR_OBJECTS[code], message["error"])

    def check_notification(self, message: Mapping[str, Any]) -> None:
        """Fail unless a message is a notification that a server may send."""
        self.check("JSONRPCNotification", message)
        self.check(_NOTIFICATIONS[message["method"]], message)
        self.check("ServerNotification", message)


def _explain(errors: Iterator[Any]) -> Iterator[str]:
    for error in errors:
        place = "/".join(map(str, error.absolute_path)) or "the message"
        yield f"- at {place}: {error.message[:500]}"
        yield from (f"  {text}" for text in _explain(iter(error.context)))


@cache
def _load(folder: Path, version: str) -> Revision:
    schema = json.loads((folder / version / "schema.json").read_bytes())
    return Revision(version, schema)


def load_revision(version: str) -> Revision:
    """Load the schema of a revision, or skip the test where the specification is absent."""
    return _load(spec_folder(), version)


class ValidatedServer:
    """Stand in for a server and fail at the first message it sends that is not valid.

    Modern requests are answered in the modern revision; legacy ones, which do not say theirs, in the one given.

    Args:
        server: The server.
        version: The revision of its legacy clients; where it is the modern one, they speak the last one before.
    """

    def __init__(self, server: Server, version: str) -> None:
        self.inner = server
        self.revision = load_revision(version)
        self.notifications: list[dict[str, Any]] = []
        self._faults: list[AssertionError] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _revision(self, params: Any) -> Revision:
        if isinstance(params, dict) and has_envelope(params):
            return load_revision(LATEST_VERSION)
        return load_revision(LATEST_LEGACY_VERSION) if self.revision.modern else self.revision

    def _check(self, params: Any, method: str, answer: dict[str, Any]) -> None:
        if self._faults:
            raise self._faults.pop()
        self._revision(params).check_answer(method, decode(encode_message(answer)))

    def _wrap(self, notify: Notify | None, params: Any) -> Notify | None:
        if notify is None:
            return None
        revision = self._revision(params)

        def checked(message: dict[str, Any]) -> None:
            try:
                revision.check_notification(decode(encode(message)))
            except AssertionError as fault:
                # Raised again with the answer: the server takes it for a failure of the handler.
                self._faults.append(fault)
                raise
            self.notifications.append(message)
            notify(message)

        return checked

    def handle_message(self, message: Any, *, notify: Notify | None = None, **options: Any) -> dict[str, Any] | None:
        """Answer a message as the server does; fail if the answer or a notification is not valid."""
        read = message if isinstance(message, dict) else {}
        answer = self.inner.handle_message(message, notify=self._wrap(notify, read.get("params")), **options)
        if answer is not None:
            self._check(read.get("params"), read.get("method", ""), answer)
        return answer

    def make_context(self, parsed: Request, *, notify: Notify | None = None, **options: Any) -> Context:
        """Make the context of a request, with its notifications validated."""
        return self.inner.make_context(parsed, notify=self._wrap(notify, parsed.params), **options)

    def steps(self, context: Context) -> Steps[dict[str, Any]]:
        """Answer a request as the server does; fail if the answer is not valid."""
        answer = yield from self.inner.steps(context)
        self._check(context.params, context.method, answer)
        return answer


@pytest.fixture
def validated_server() -> Callable[[Server, str], ValidatedServer]:
    """Wrap a server so that every message it sends is validated: ``validated_server(server, revision)``."""
    return ValidatedServer
