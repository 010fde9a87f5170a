"""The view: it translates a request of Django's and a response; the endpoint decides everything."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from io import BytesIO
from typing import Any

from asgiref.sync import async_to_sync, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import URLPattern
from django.urls import path as url_path

from .. import asgi, wsgi
from ..aio.drive import run_async
from ..aio.streams import AsyncStreams
from ..exceptions import InternalError
from ..http.auth import Auth
from ..http.endpoint import Endpoint, not_found
from ..http.messages import HTTPRequest, HTTPResponse
from ..http.policy import HTTPPolicy
from ..http.streams import ThreadStreams
from ..protocol.jsonrpc import error_response
from ..server import Server
from ..server.dispatch import failure_id
from ..server.encoding import encode_message
from ..server.state import StateSigner
from .bodies import AsyncBody, Body, ThreadBody
from .database import EVERY_DATABASE, handler_call, worker_connections
from .threads import WorkerPool, in_request_thread, runs_async

__all__ = ["MCPView", "Unavailable", "mcp_urls", "mcp_view", "patterns"]

logger = logging.getLogger("mcp_wsgi")


class _SecretKeySigner:
    """Sign with Django's own keys: ``SECRET_KEY``, and ``SECRET_KEY_FALLBACKS`` for what was signed before."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: tuple[tuple[Any, ...], StateSigner] | None = None

    def __call__(self) -> StateSigner:
        keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        made = self._made
        if made is None or made[0] != keys:
            made = self._made = (keys, self._server.make_signer(keys))
        return made[1]


class _View:
    """A callable that Django's middleware leaves alone, called with a request."""

    def __init__(self, name: str) -> None:
        # On the object, so that decorators which copy a view's attributes keep them.
        self.__name__ = self.__qualname__ = name
        #: A token in a form protects forms; the endpoint takes JSON only and checks the Origin.
        self.csrf_exempt = True
        #: ``auth`` decides, and it answers 401; LoginRequiredMiddleware would redirect.
        self.login_required = False
        #: CommonMiddleware must not redirect a POST to another spelling.
        self.should_append_slash = False
        #: Handlers get transactions of their own; the answer may be a stream that outlives this call.
        self._non_atomic_requests = EVERY_DATABASE


class _Missing(_View):
    """Answer 404 below the endpoint, in JSON."""

    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:  # noqa: ARG002
        """Answer a request."""
        return _to_django(not_found(request.method))


class Unavailable(_View):
    """Answer 500 in place of an endpoint that could not be made: nothing is open by accident."""

    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:  # noqa: ARG002
        """Answer a request."""
        error = InternalError("The MCP endpoint is not configured")
        return _to_django(HTTPResponse(500, _JSON, encode_message(error_response(None, error))))


class MCPView(_View):
    """Serve an MCP server as a view: a sync one under WSGI, an asynchronous one under ASGI; see :func:`mcp_view`.

    Attributes:
        endpoint: The endpoint that answers sync requests.
        async_endpoint: The endpoint that answers on an event loop.
    """

    def __init__(self, server: Server, *, auth: Auth | None = None, policy: HTTPPolicy | None = None) -> None:
        super().__init__("mcp")
        policy = policy if policy is not None else HTTPPolicy()
        options: dict[str, Any] = {
            "auth": auth,
            "policy": policy,
            "signer": None if server.has_keys else _SecretKeySigner(server),
            "wrap": handler_call,
        }
        self.endpoint = Endpoint(server, streams=ThreadStreams(policy, worker_connections), **options)
        self.async_endpoint = Endpoint(server, streams=AsyncStreams(policy, WorkerPool()), **options)

    def __call__(
        self,
        request: Any,
        *args: Any,  # noqa: ARG002 - parts of the path, for handlers: request.resolver_match
        **kwargs: Any,  # noqa: ARG002
    ) -> HttpResponse | Coroutine[Any, Any, HttpResponse]:
        """Answer a request: with a response, or with a coroutine where an event loop runs in this thread."""
        # A view of Django REST framework calls us with a wrapper of its own.
        request = getattr(request, "_request", request)
        if runs_async():
            if self.endpoint.server.has_filters:
                # A filter is a plain function, and may ask the database, which Django forbids on the loop.
                return sync_to_async(self._answer)(request)
            return self._answer_async(request)
        return self._answer(request)

    def _answer(self, request: Any) -> HttpResponse:
        try:
            if not hasattr(request, "scope"):
                response = self.endpoint.handle(_wsgi_request(request))
                if response.stream is not None:
                    wsgi.unbuffer(request.environ)
                return _to_django(response)
            # Under ASGI, in a thread: somebody has wrapped this view in a sync one.
            http_request = _asgi_request(request)
            http_request.read_body = async_to_sync(http_request.read_body)  # type: ignore[arg-type]  # it is the async one
            http_request.discard = None
            http_request.is_async = False
            response = self.endpoint.handle(http_request)
            return _to_django(response, ThreadBody)
        except Exception:  # noqa: BLE001 - Django would answer in HTML
            return _failed()

    async def _answer_async(self, request: Any) -> HttpResponse:
        try:
            response = await run_async(self.async_endpoint.steps(_asgi_request(request)), in_request_thread)
            return _to_django(response, AsyncBody)
        except Exception:  # noqa: BLE001 - Django would answer in HTML
            return _failed()


def _mark_while_a_loop_runs() -> None:
    """Let ``iscoroutinefunction(view)`` say whether a loop runs in this thread: Django asks when it serves.

    The marks differ between versions of Python, so they are read off a function that is marked.
    """

    def marked() -> None:
        """Carry the marks."""

    markcoroutinefunction(marked)
    for name, mark in vars(marked).items():

        def get(_: MCPView, mark: object = mark) -> object:
            return mark if runs_async() else None

        setattr(MCPView, name, property(get))


_mark_while_a_loop_runs()


def _wsgi_request(request: Any) -> HTTPRequest:
    """Translate a request under WSGI.

    The body is not asked for as ``request.body``, which is refused in HTML beyond DATA_UPLOAD_MAX_MEMORY_SIZE. A
    chunked one is empty for Django, but it is still there in the environ.
    """
    environ = request.environ
    body = getattr(request, "_body", None)
    if body:
        return wsgi.make_request(environ, stream=BytesIO(body), raw=request)
    return wsgi.make_request(environ, stream=request if environ.get("CONTENT_LENGTH") else None, raw=request)


def _asgi_request(request: Any) -> HTTPRequest:
    """Translate a request under ASGI, whose body Django has received already."""

    async def receive() -> dict[str, Any]:
        body = getattr(request, "_body", None)
        return {"type": "http.request", "body": request.read() if body is None else body}

    http_request = asgi.make_request(request.scope, receive, raw=request)
    # Django has the channel to the server: it ends this request's task when the client goes away.
    http_request.disconnected = None
    return http_request


_JSON = [("Content-Type", "application/json")]
#: GZipMiddleware leaves alone what says that it is encoded; a stream that it compressed would be held back.
_NOT_TO_ENCODE = ("Content-Encoding", "identity")


def _to_django(response: HTTPResponse, body: Callable[[Any], Any] = Body) -> HttpResponse:
    headers = response.headers
    if response.stream is not None:
        content = body(response.stream)
        return StreamingHttpResponse(content, status=response.status, headers=[*headers, _NOT_TO_ENCODE])
    answer = HttpResponse(response.body, status=response.status, headers=headers)
    if not response.body and not any(name == "Content-Type" for name, _ in headers):
        # Django's default is HTML, also for nothing.
        del answer.headers["Content-Type"]
    return answer


def _failed() -> HttpResponse:
    error = InternalError(f"Internal error (id {failure_id('The MCP view')})")
    return _to_django(HTTPResponse(500, _JSON, encode_message(error_response(None, error))))


def mcp_view(server: Server, *, auth: Auth | None = None, policy: HTTPPolicy | None = None) -> MCPView:
    """Make a view that serves an MCP server, for Django's ``path()``.

    It is exempt from CSRF tokens, from ``ATOMIC_REQUESTS`` (each handler gets a transaction of its own) and from
    ``LoginRequiredMiddleware`` by itself. One spelling of the path is one ``path()``; for both use :func:`mcp_urls`.

    Args:
        server: The server.
        auth: :data:`~mcp_wsgi.public`, or a function of the request that returns the principal's name, such as
            :func:`user_auth`; Django's request is its ``raw``.
        policy: What is let in; see :class:`~mcp_wsgi.HTTPPolicy`.

    Raises:
        ConfigurationError: ``auth`` is missing.
    """
    return MCPView(server, auth=auth, policy=policy)


def mcp_urls(
    server: Server, path: str = "mcp", *, auth: Auth | None = None, policy: HTTPPolicy | None = None
) -> list[URLPattern]:
    """Make the URL patterns of an endpoint: ``urlpatterns = [*mcp_urls(server, auth=...), ...]``.

    Both spellings, with a slash at the end and without, are the endpoint; neither redirects. Below it all is 404.

    Args:
        server: The server.
        path: Where the endpoint is, as in Django's ``path()``.
        auth: See :func:`mcp_view`.
        policy: See :func:`mcp_view`.

    Raises:
        ConfigurationError: ``auth`` is missing.
    """
    return patterns(mcp_view(server, auth=auth, policy=policy), path)


def patterns(view: _View, path: str) -> list[URLPattern]:
    """Make the patterns for a view at both spellings of a path."""
    bare = path.strip("/")
    spellings = [bare, f"{bare}/"] if bare else [""]
    below = f"{bare}/<path:below>" if bare else "<path:below>"
    return [
        *(url_path(spelling, view, name="mcp") for spelling in spellings),
        url_path(below, _Missing("mcp_missing")),
    ]
