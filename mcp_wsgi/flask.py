"""The Flask door: an MCP server as a blueprint of a Flask application.

Handlers run inside the application's request: ``flask.request``, ``g``, ``session``, ``current_app`` and what is
built on them work in tools, also while an answer is streamed.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Flask, Response, current_app, g, request
from flask.globals import request_ctx
from werkzeug.datastructures import Headers
from werkzeug.routing import PathConverter

from .http.auth import Auth
from .http.endpoint import Endpoint, not_found
from .http.messages import BodyError, HTTPRequest, HTTPResponse
from .http.policy import HTTPPolicy
from .http.streams import ThreadStreams
from .server import Server
from .server.state import StateSigner
from .wsgi import make_request

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from flask.blueprints import BlueprintSetupState
    from flask.ctx import RequestContext

__all__ = ["MCP", "create_blueprint"]

logger = logging.getLogger("mcp_wsgi")

_EXTENSION = "mcp_wsgi"
#: In the environ of a request whose handler runs in a thread of its own.
_THREADED = "mcp_wsgi.flask.threaded"
#: What a teardown function may read, and cannot close.
_PLAIN = (str, bytes, int, float, bool, type(None))


class _AnyPath(PathConverter):
    regex = "(?s:.*?)"  # also what begins with a slash, which "path" leaves to a page in HTML
    part_isolating = False


def create_blueprint(
    server: Server,
    *,
    auth: Auth | None = None,
    policy: HTTPPolicy | None = None,
    name: str = "mcp",
    url_prefix: str = "/mcp",
) -> Blueprint:
    """Make a blueprint that serves an MCP server at its prefix, with and without a trailing slash.

    What tools ask the user is signed with the application's ``SECRET_KEY`` (``SECRET_KEY_FALLBACKS`` are accepted),
    unless the server has keys of its own.

    Args:
        server: The server.
        auth: :data:`~mcp_wsgi.public`, or a function of the request that returns the principal's name.
        policy: What is let in; see :class:`~mcp_wsgi.HTTPPolicy`.
        name: The blueprint's name; each blueprint of an application needs its own.
        url_prefix: Where the endpoint is, unless ``register_blueprint`` says otherwise.

    Raises:
        ConfigurationError: ``auth`` is missing.
    """
    policy = policy if policy is not None else HTTPPolicy()
    streams = ThreadStreams(policy, around=_around)
    signer = functools.partial(_signer, server)
    endpoint = Endpoint(server, auth=auth, policy=policy, streams=streams, signer=signer)

    def answer(**values: Any) -> Response:  # noqa: ARG001 - a prefix may have variables
        return _response(endpoint.handle(_request()))

    def absent(**values: Any) -> Response:  # noqa: ARG001
        return _response(not_found(request.method))

    blueprint = Blueprint(name, __name__, url_prefix=url_prefix)
    blueprint.record(functools.partial(_add_rules, answer=answer, absent=absent))
    return blueprint


def _add_rules(state: BlueprintSetupState, answer: Callable[..., Response], absent: Callable[..., Response]) -> None:
    # Both spellings are rules, and slashes are not merged: else there are redirects, and clients do not replay a POST.
    options = {"provide_automatic_options": False, "strict_slashes": True, "merge_slashes": False}
    state.url_prefix = (state.url_prefix or "").rstrip("/") or None
    rules = state.app.url_map
    rules.converters.setdefault(_EXTENSION, _AnyPath)
    for spelling in ("", "/") if state.url_prefix else ("/",):
        state.add_url_rule(spelling, "endpoint", answer, **options)
    state.add_url_rule(f"/<{_EXTENSION}:below>", "absent", absent, **options)
    prefix = f"{state.name_prefix}.{state.name}".lstrip(".")
    for endpoint in (f"{prefix}.endpoint", f"{prefix}.absent"):
        for rule in rules.iter_rules(endpoint):
            rule.methods = None  # all of them: the endpoint itself refuses, in JSON


class MCP:
    """Serve an MCP server from Flask applications, as an extension: ``MCP(server, auth=...).init_app(app)``.

    Args:
        server: The server.
        app: The application, where there is one already.
        auth: See :func:`create_blueprint`, also for the others.
        policy: What is let in.
        name: The blueprint's name.
        url_prefix: Where the endpoint is.
    """

    def __init__(
        self,
        server: Server,
        app: Flask | None = None,
        *,
        auth: Auth | None = None,
        policy: HTTPPolicy | None = None,
        name: str = "mcp",
        url_prefix: str = "/mcp",
    ) -> None:
        self.server = server
        #: The blueprint, for hooks of its own.
        self.blueprint = create_blueprint(server, auth=auth, policy=policy, name=name, url_prefix=url_prefix)
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Serve from this application too."""
        app.register_blueprint(self.blueprint)


def _signer(server: Server) -> StateSigner | None:
    app = _app()
    secret = app.config["SECRET_KEY"]
    if server.has_keys or not secret:
        return None
    keys = (secret, *(app.config.get("SECRET_KEY_FALLBACKS") or ()))
    made: dict[Server, tuple[Any, StateSigner]] = app.extensions.setdefault(_EXTENSION, {})
    known = made.get(server)
    if known is None or known[0] != keys:
        known = made[server] = (keys, server.make_signer(keys))
    return known[1]


def _app() -> Flask:
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    return app


def _request() -> HTTPRequest:
    """Translate the request. A hook may have read the body already, and other hooks and handlers may read it later."""
    raw: Any = request._get_current_object()  # type: ignore[attr-defined]
    cached = vars(raw).get("_cached_data")
    made = make_request(raw.environ, stream=None if cached is None else BytesIO(cached), raw=raw)
    # The function must not know what it is put into: such a circle would be kept until garbage is collected.
    read_body, announced, limit = made.read_body, made.content_length or 0, raw.max_content_length
    discard = made.discard or read_body
    most = sys.maxsize if limit is None else limit + 1

    def read(size: int) -> bytes:
        body: Any = b"" if limit is not None and announced > limit else read_body(min(size, most))
        vars(raw)["_cached_data"] = body
        if limit is not None and max(len(body), announced) > limit:
            raise BodyError(413, f"The body is larger than {limit} bytes")
        return bytes(body)

    def drop(size: int) -> Any:
        vars(raw).setdefault("_cached_data", b"")  # so that hooks do not look for what is gone
        return discard(size)

    made.read_body, made.discard = read, drop
    return made


def _response(answer: HTTPResponse) -> Response:
    kind: Any = _app().response_class
    headers = Headers(answer.headers)
    body: Any = [answer.body]  # a list is taken as it is, while for bytes a length would be counted again
    if answer.stream is not None:
        body = answer.stream
        headers["Content-Encoding"] = "identity"  # so that nothing compresses it
        if _THREADED in request.environ:
            kind = _holding(kind)
    is_typed = bool(answer.body) or "Content-Type" in headers
    response: Response = kind(body, status=answer.status, headers=headers)
    if not is_typed:
        del response.headers["Content-Type"]  # the default, which is HTML also for nothing
    return response


@functools.cache
def _holding(kind: type[Response]) -> type[Response]:
    class HoldingResponse(kind):  # type: ignore[misc, valid-type]
        """Keep the request's contexts until the stream has ended.

        They hold what a hook opened and the handler uses. Flask tears them down when the stream begins, and where
        ``stream_with_context`` is used, again when it ends. Here they are held at the last moment before.
        """

        def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            context: Any = request_ctx._get_current_object()  # type: ignore[attr-defined]
            held = _hold(context, super().__call__(environ, start_response))
            next(held)
            return held

    return HoldingResponse


def _hold(context: RequestContext, pieces: Any) -> Iterator[bytes]:
    context.push()
    try:
        yield b""  # for the one that has to be held first
        for piece in pieces:  # noqa: UP028 - "yield from" would close it too, and closing hooks run once
            yield piece
    finally:
        try:
            pieces.close()
        finally:
            context.pop()


def _around() -> AbstractContextManager[None]:
    request.environ[_THREADED] = True
    return _lend(_app(), request_ctx.copy(), dict(vars(g._get_current_object())))


@contextmanager
def _lend(app: Flask, context: RequestContext, lent: dict[str, Any]) -> Iterator[None]:
    """Run a handler's thread in contexts of its own, with what is in the request's ``g`` lent to it.

    They are torn down in that thread, so what the handler opens is closed where it was opened. What was lent is not
    there any more by then: the request closes it.
    """
    app_context = app.app_context()
    app_context.push()
    context.push()
    values = vars(g._get_current_object())
    values.update({name: value for name, value in lent.items() if not _refuses_this_thread(value)})
    try:
        yield
    finally:
        for name, value in lent.items():
            if name in values and values[name] is value and not isinstance(value, _PLAIN):
                del values[name]
        for each in (context, app_context):
            try:
                each.pop()
            except Exception as error:  # noqa: PERF203 - the answer is there, and the other context is to be ended too
                expected = isinstance(error, AttributeError) and str(error) in lent
                level = logging.DEBUG if expected else logging.WARNING
                logger.log(level, "A teardown function failed in the thread of a streamed answer", exc_info=True)


def _refuses_this_thread(value: object) -> bool:
    """Say whether this is a SQLite connection of another thread: what opens one on demand opens the handler's own."""
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 is None or not isinstance(value, sqlite3.Connection):
        return False
    try:
        value.cursor().close()
    except sqlite3.ProgrammingError:
        return True
    return False
