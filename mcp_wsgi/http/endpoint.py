"""The one MCP endpoint: every rung of admission once, in order; the first that fails answers.

The rungs are those of ``docs/architecture.md``. A door makes an :class:`HTTPRequest`, drives the steps, and writes
the :class:`HTTPResponse`; it decides nothing about MCP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..exceptions import EncodeError, HeaderMismatchError, InternalError, InvalidRequestError, MCPError, ParseError
from ..protocol.codec import decode
from ..protocol.headers import METHOD_HEADER, VERSION_HEADER, check_headers, check_name, check_optional
from ..protocol.jsonrpc import Notification, Request, Response, error_response, parse_message
from ..protocol.meta import PROTOCOL_VERSION, has_envelope, read_envelope
from ..protocol.sse import encode_event
from ..protocol.versions import MODERN_VERSIONS, is_legacy_version
from ..server import Server
from ..server.bus import honoured_filter
from ..server.context import Context, Wrap
from ..server.dispatch import check_version, dispatch, failure_id
from ..server.drive import Call, Steps, run_sync
from ..server.encoding import encode_message
from ..server.hints import is_coroutine_callable
from ..server.questions import InputRequired
from ..server.state import StateSigner
from .auth import Auth, AuthenticationError, Public, check_auth
from .content import accepts_events, accepts_only_events, media_type_problem
from .messages import BodyError, HeaderPairs, HTTPRequest, HTTPResponse
from .policy import HTTPPolicy
from .status import status_of
from .streams import STREAM_HEADERS, Overload, Streams
from .unread import discard

__all__ = ["Endpoint", "not_found"]

_JSON = ("Content-Type", "application/json")
_NOSNIFF = ("X-Content-Type-Options", "nosniff")
#: The one method that is always a stream.
LISTEN = "subscriptions/listen"
_ALLOW = ("Allow", "POST, OPTIONS")
#: Said before the body was looked at: of the Origin, the Host and the authentication.
_UNREAD = frozenset({401, 403, 421})


class _Refused(Exception):  # noqa: N818 - a way out of the rungs, not an error of its own
    """Answer with this status and JSON-RPC error."""

    def __init__(self, status: int, error: MCPError, headers: HeaderPairs | None = None) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error
        self.headers = headers or []


def _refuse(status: int, message: str, *headers: tuple[str, str]) -> _Refused:
    return _Refused(status, InvalidRequestError(message), list(headers))


_NONE: frozenset[str] = frozenset()


def _fold(pairs: Any) -> tuple[dict[str, str], frozenset[str]]:
    """Join the lines of each header; say which ones had several (RFC 9110, section 5.3)."""
    folded = dict(pairs)
    if len(folded) == len(pairs):
        return folded, _NONE
    lines: dict[str, list[str]] = {}
    for name, value in pairs:
        lines.setdefault(name, []).append(value)
    repeated = frozenset(name for name, values in lines.items() if len(values) > 1)
    return {name: ", ".join(values) for name, values in lines.items()}, repeated


class Endpoint:
    """Answer HTTP requests with a server's JSON-RPC answers.

    Args:
        server: The server behind the endpoint.
        auth: :data:`~mcp_wsgi.public`, or a function of the request that returns the principal's name.
        policy: What is let in; by default no web page of another origin, any host, 4 MiB.
        streams: How the door streams an answer; without it every answer is plain JSON.
        signer: Gives what signs ``requestState`` in place of the server's own keys, for each request.
        wrap: What the door does to the calls of handlers.

    Raises:
        ConfigurationError: ``auth`` is missing or unusable.
    """

    def __init__(
        self,
        server: Server,
        *,
        auth: Auth | None,
        policy: HTTPPolicy | None = None,
        streams: Streams | None = None,
        signer: Callable[[], StateSigner | None] | None = None,
        wrap: Wrap | None = None,
    ) -> None:
        self.server = server
        self._signer = signer
        self._wrap = wrap
        self._streams = streams
        self.policy = policy if policy is not None else HTTPPolicy()
        self._without_origin = self.policy.cors_headers(None)
        self._auth = check_auth(auth)
        self._auth_is_async = callable(self._auth) and is_coroutine_callable(self._auth)
        if streams is not None:
            streams.attach(server)

    def handle(self, request: HTTPRequest) -> HTTPResponse:
        """Answer a request in this thread."""
        return run_sync(self.steps(request))

    def steps(self, request: HTTPRequest) -> Steps[HTTPResponse]:
        """Answer a request, as steps for a driver. Nothing but a :class:`BaseException` comes out."""
        headers: Mapping[str, str]
        headers, repeated = (request.folded, _NONE) if request.folded is not None else _fold(request.headers)
        origin = headers.get("origin")
        allowed: str | None = None
        try:
            if origin is not None and self.policy.allows_origin(origin):
                allowed = origin
            if request.method != "POST":
                return self._other_method(request, headers, allowed)
            response = yield from self._post(request, headers, repeated, refused=origin is not None and allowed is None)
        except _Refused as refused:
            # What came in chunks is left: a chunk is read as a whole, however long its sender takes.
            if refused.status == 413 or (
                request.router and refused.status in _UNREAD and request.content_length is not None
            ):
                yield from discard(request, self.policy.body_limit)
            response = _error(refused.status, refused.error, None, refused.headers)
        except MCPError as error:
            response = _error(status_of(error.code), error, error.request_id)
        except (Exception, InputRequired):  # noqa: BLE001 - an auth function may fail; nothing raises out of a door
            response = _failed(500, None)
        response.headers += self._without_origin if origin is None else self.policy.cors_headers(allowed)
        return response

    def _other_method(self, request: HTTPRequest, headers: Mapping[str, str], allowed: str | None) -> HTTPResponse:
        if request.method == "OPTIONS":
            if not self.policy.allows_host(headers.get("host")):
                allowed = None
            wanted = headers.get("access-control-request-headers", "")
            return HTTPResponse(204, self.policy.preflight_headers(allowed, wanted))
        error = InvalidRequestError(f"The MCP endpoint takes POST, not {request.method[:20]}")
        response = _error(405, error, None, [_ALLOW, *self.policy.cors_headers(allowed)])
        if request.method == "HEAD":
            response.body = b""
        return response

    def _post(
        self, request: HTTPRequest, headers: Mapping[str, str], repeated: frozenset[str], *, refused: bool
    ) -> Steps[HTTPResponse]:
        if refused:
            raise _refuse(403, "The Origin of this request is not allowed")
        if not self.policy.allows_host(headers.get("host")):
            raise _refuse(421, "The Host of this request is not served here")
        principal: str | None = None
        if not isinstance(self._auth, Public):
            principal = yield from self._authenticate(request, repeated)
        body = self._read(request) if not request.is_async else (yield from self._read_async(request))
        problem = media_type_problem(headers.get("content-type"))
        coding = headers.get("content-encoding")
        if problem is None and coding is not None and coding.strip(" \t").lower() != "identity":
            problem = "a compressed body is not supported; send it without Content-Encoding"
        if problem is not None:
            raise _refuse(415, f"Unsupported media type: {problem}")
        try:
            message = parse_message(decode(body))
        except (ParseError, InvalidRequestError) as error:
            return _error(400, error, error.request_id)
        except MCPError as error:
            # Only a request has an answer that could ride on 200.
            refused = error.request_id is None or _names_modern(headers)
            return _error(400 if refused else 200, error, error.request_id)
        if not isinstance(message, Request):
            self._admit_silent(message, headers)
            return HTTPResponse(202, [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", "0")])
        context = self._admit(message, request, headers, repeated, principal)
        if isinstance(context, HTTPResponse):
            return context
        accept = headers.get("accept")
        if self._streams is not None and (context.method == LISTEN or _has_context(context)):
            response = yield from self._aside(context, self._streams, accept)
            if response is not None:
                return response
        answer = yield from dispatch(context)
        return _json(answer, accept, modern=context.envelope is not None)

    def _authenticate(self, request: HTTPRequest, repeated: frozenset[str]) -> Steps[str]:
        if "authorization" in repeated:
            raise _refuse(400, "The Authorization header is repeated; send it once")
        assert not isinstance(self._auth, Public)  # noqa: S101 - for the type checker: the caller looked
        try:
            principal = yield Call(self._auth, (request,), {}, self._auth_is_async)
            if principal is None:
                raise AuthenticationError
        except AuthenticationError as error:
            headers = [("WWW-Authenticate", error.challenge)] if error.challenge else []
            raise _Refused(error.status, InvalidRequestError(error.message), headers) from None
        if isinstance(principal, bool) or not isinstance(principal, (str, int)):
            # False, an empty list or an AnonymousUser means nobody to whoever wrote it: it must not be a name.
            raise TypeError(f"auth= returns the principal's name, or None to refuse, not {type(principal).__name__}")
        return str(principal)

    def _read(self, request: HTTPRequest) -> bytes:
        """Read the body of a sync door right here: every request has one, and a driver would do no more."""
        self._check_length(request)
        try:
            body = request.read_body(self.policy.body_limit + 1)
        except BodyError as error:
            raise _refuse(error.status, error.reason) from None
        return self._check_body(request, body)

    def _read_async(self, request: HTTPRequest) -> Steps[bytes]:
        self._check_length(request)
        try:
            body = yield Call(request.read_body, (self.policy.body_limit + 1,), {}, True)
        except BodyError as error:
            raise _refuse(error.status, error.reason) from None
        return self._check_body(request, body)

    def _check_length(self, request: HTTPRequest) -> None:
        limit, length = self.policy.body_limit, request.content_length
        if length is not None and length > limit:
            raise _refuse(413, f"The body is larger than {limit} bytes")

    def _check_body(self, request: HTTPRequest, body: Any) -> bytes:
        limit, length = self.policy.body_limit, request.content_length
        if len(body) > limit:
            raise _refuse(413, f"The body is larger than {limit} bytes")
        if length is not None and len(body) != length:
            raise _refuse(400, f"The body has {len(body)} bytes, but Content-Length says {length}")
        content: bytes = body
        return content

    def _admit_silent(self, message: Notification | Response, headers: Mapping[str, str]) -> None:
        """Admit what is never answered with a message, or raise what is wrong with it.

        Header rules for modern notifications are undefined: none is demanded, but one that came must be true.
        """
        modern = _names_modern(headers)
        if isinstance(message, Response):
            if modern:
                raise InvalidRequestError("A client must not send JSON-RPC responses in this protocol version")
            if "mcp-method" in headers:
                raise HeaderMismatchError("Header mismatch: a response has no method, but came with Mcp-Method")
            return
        version = headers.get("mcp-protocol-version", "").strip(" \t")
        if has_envelope(message.params):
            wanted = message.params["_meta"][PROTOCOL_VERSION]
            if type(wanted) is not str:
                read_envelope(message.params)
            check_optional(VERSION_HEADER, headers, wanted)
            version, modern = wanted, True
        if modern and version not in MODERN_VERSIONS:
            raise self.server.unsupported(version)
        _check_method(message.method, headers)

    def _admit(
        self,
        message: Request,
        request: HTTPRequest,
        headers: Mapping[str, str],
        repeated: frozenset[str],
        principal: str | None,
    ) -> Context | HTTPResponse:
        """Take a request up the rungs between its parsing and its dispatch: its era, its envelope, its headers."""
        modern = has_envelope(message.params) or _names_modern(headers)
        try:
            context = self.server.make_context(
                message,
                modern=modern,
                principal=principal,
                request=request,
                can_stream=self._streams is not None,
                signer=self._signer,
                wrap=self._wrap,
            )
            if modern:
                self._check_modern(context, headers, repeated)
            else:
                _check_method(message.method, headers)
                if "mcp-name" in headers:  # not asked for in this era, but whoever reads it must not be misled
                    check_name(message.method, message.params, headers, repeated)
        except MCPError as error:
            refused = modern or isinstance(error, HeaderMismatchError) or not self.server.legacy
            return _error(status_of(error.code) if refused else 200, error, message.id)
        except (Exception, InputRequired):  # noqa: BLE001 - the filter of a tool may fail, and has nobody to ask
            return _failed(500, message.id)
        return context

    def _aside(self, context: Context, streams: Streams, accept: str | None) -> Steps[HTTPResponse | None]:
        """Answer what may be a stream; ``None`` for what is dispatched here after all."""
        modern = context.envelope is not None
        if context.method == LISTEN:
            return (yield from self._listen(context, streams, accept)) if modern else None
        streams.watch(context)
        if not (context.reports and accepts_events(accept)):
            return None
        outcome = yield Call(streams.start, (context,), {}, streams.is_async)
        if outcome.answer is not None:
            return _json(outcome.answer, accept, modern=modern)
        return HTTPResponse(200, list(STREAM_HEADERS), stream=outcome.stream)

    def _listen(self, context: Context, streams: Streams, accept: str | None) -> Steps[HTTPResponse]:
        """Open a subscription (2026-07-28, basic/patterns/subscriptions)."""
        try:
            check_version(context)
            if not accepts_events(accept):
                raise InvalidRequestError(f"{LISTEN} is answered with an event stream; accept text/event-stream")
            honoured = honoured_filter(context)
            stream = yield Call(streams.listen, (context, honoured), {}, streams.is_async)
        except Overload:
            error = InternalError("Too many subscriptions are open on this server; try again later")
            return _error(503, error, context.request_id, [("Retry-After", "10")])
        except MCPError as error:
            return _error(status_of(error.code), error, context.request_id)
        return HTTPResponse(200, list(STREAM_HEADERS), stream=stream)

    def _check_modern(self, context: Any, headers: Mapping[str, str], repeated: frozenset[str]) -> None:
        params, version = context.params, context.envelope.version
        tool = None
        if context.method == "tools/call" and type(params.get("name")) is str:
            tool = self.server.find_tool(params["name"], context)
        if self.policy.tolerate_version_header:
            named = headers.get("mcp-protocol-version", "").strip(" \t")
            if named in self.server.supported_versions:
                headers = {**headers, "mcp-protocol-version": version}
        check_headers(context.method, version, params, headers, repeated=repeated, tool=tool)


def _has_context(context: Context) -> bool:
    """Say whether a request has a handler that is given a context: only one can report and see that it is cancelled.

    All others run in the request's own thread, as they would without a progress token.
    """
    if context.method != "tools/call":
        return context.method in ("resources/read", "prompts/get")
    name = context.params.get("name")
    try:
        tool = context.server.find_tool(name, context) if isinstance(name, str) else None
    except (Exception, InputRequired):  # noqa: BLE001 - a filter failed: the dispatch meets it too, and answers for it
        return False
    return tool is not None and tool.takes_context


def _names_modern(headers: Mapping[str, str]) -> bool:
    """Say whether the version header names anything but a known legacy version."""
    version = headers.get("mcp-protocol-version")
    return version is not None and not is_legacy_version(version.strip(" \t"))


def _json(answer: dict[str, Any], accept: str | None, *, modern: bool) -> HTTPResponse:
    """Write an answer with its status; the errors of legacy requests ride on 200."""
    status = status_of(answer["error"]["code"]) if modern and "error" in answer else 200
    body = encode_message(answer)
    if accepts_only_events(accept):
        return _events(status, body)
    headers = [_JSON, ("Content-Length", str(len(body)))]
    if status != 200:
        headers.append(_NOSNIFF)
    return HTTPResponse(status, headers, body)


def _check_method(method: str, headers: Mapping[str, str]) -> None:
    """Check the method header of a message that needs none."""
    got = headers.get("mcp-method", "").strip(" \t")
    if not (got.isascii() and got.isprintable()):
        # Another reader may strip what is blank to it (U+00A0, a line feed) and see another method.
        raise HeaderMismatchError(f"Header mismatch: the Mcp-Method header is malformed: {got[:80]!a}")
    check_optional(METHOD_HEADER, headers, method)


def _failed(status: int, request_id: str | int | None) -> HTTPResponse:
    """Answer for a failure of this program: it is logged under an id, and only the id is told."""
    failure = failure_id("The MCP endpoint")
    return _error(status, InternalError(f"Internal error (id {failure})"), request_id)


def _error(
    status: int, error: MCPError, request_id: str | int | None, headers: HeaderPairs | None = None
) -> HTTPResponse:
    try:
        body = encode_message(error_response(request_id, error))
    except EncodeError:  # the data of an application's own error is not JSON
        return _failed(500, request_id)
    return HTTPResponse(status, [_JSON, ("Content-Length", str(len(body))), _NOSNIFF, *(headers or ())], body)


def not_found(method: str) -> HTTPResponse:
    """Answer a request for a path where no endpoint is: JSON also there, and at once."""
    response = _error(404, InvalidRequestError("There is no MCP endpoint at this path"), None)
    if method == "HEAD":
        response.body = b""
    return response


def _events(status: int, body: bytes) -> HTTPResponse:
    """Frame one answer as an event stream, for a client that takes nothing else."""
    framed = encode_event(body, event="message")
    headers = [("Content-Type", "text/event-stream"), ("Content-Length", str(len(framed))), _NOSNIFF]
    return HTTPResponse(status, [*headers, ("Cache-Control", "no-cache, no-transform")], framed)
