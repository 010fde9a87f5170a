"""Requests to one HTTP address: what both HTTP transports are built on. Nothing here knows the protocol.

requests makes the messages and knows the environment (proxies, certificates, ``.netrc``), authentication and cookies.
What is the same for each message is worked out once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.cookies import extract_cookies_to_jar
from requests.exceptions import RequestException
from requests.hooks import dispatch_hook
from requests.structures import CaseInsensitiveDict
from requests.utils import get_auth_from_url, get_netrc_auth, requote_uri
from urllib3.exceptions import HTTPError

from ..exceptions import ConfigurationError, TransportError
from ..server.reasons import shown
from .http_answer import FAULTS, Answer
from .http_connections import WatchedAdapter
from .http_faults import explain
from .http_messages import LOGGER
from .http_names import is_loopback
from .watch import Watch

__all__ = ["Wire", "join", "join_slash", "origin_of"]

MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FOLLOWED = frozenset({307, 308})
_PORTS = {"http": 80, "https": 443}
#: How many cookies are kept, and how many characters of an answer may set some: more would fit into no request.
_MOST_COOKIES, _LONGEST_COOKIES = 100, 16_384
#: How many redirections are remembered.
_MOVED = 16
#: The headers that say what the message says, or how it is framed. A caller's own would make a liar of one of them.
_OURS = frozenset({"accept", "accept-encoding", "content-length", "content-type", "last-event-id", "transfer-encoding"})


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Give the scheme, host and port of a URL.

    Raises:
        ValueError: It is no URL.
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(scheme)


def join(url: str, reference: str) -> str | None:
    """Give what a reference means beside a URL; ``None`` where that is not on the same scheme, host and port."""
    try:
        new = urlsplit(urljoin(url, reference))
        if origin_of(new.geturl()) != origin_of(url):
            return None
    except ValueError:
        return None
    old = urlsplit(url)
    return requote_uri(urlunsplit((old.scheme, old.netloc, new.path, new.query, "")))


def join_slash(url: str, reference: str) -> str | None:
    """Give a URL with a slash more or less at the end of its path, where that is all that a reference differs in.

    Behind a proxy a server does not know its own name, and redirects to another. Where only the slash is at stake its
    word can be taken without believing the rest.
    """
    try:
        new, old = urlsplit(urljoin(url, reference)), urlsplit(url)
    except ValueError:
        return None
    if new.scheme not in _PORTS or new.path == old.path or new.path.rstrip("/") != old.path.rstrip("/"):
        return None
    # Two slashes or more would be another path.
    return urlunsplit((old.scheme, old.netloc, new.path.rstrip("/") + "/" * new.path.endswith("/"), old.query, ""))


def _keep(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


class Wire:
    """Send requests to one address.

    Args:
        url: Where to; a user and password in it become the authentication.
        headers: To be sent with each request, beside those of the protocol.
        auth: As requests knows it. Without it, and without an ``Authorization`` header: what the session, the URL or
            ``.netrc`` say.
        verify: As requests knows it.
        cert: As requests knows it.
        connect_timeout: Seconds for making a connection, TLS included.
        session: A session of the caller's, whose settings, cookies and adapters are used.

    Raises:
        ConfigurationError: The URL or a header cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        verify: bool | str = True,
        cert: str | tuple[str, str] | None = None,
        connect_timeout: float = 10.0,
        session: requests.Session | None = None,
    ) -> None:
        self.connect_timeout = connect_timeout
        self._is_own = session is None
        self._session = requests.Session() if session is None else session
        bare, self.address, user = _split(url)
        try:
            base = self._session.prepare_request(requests.Request("POST", bare, headers=headers, auth=_keep))
            self._settings = self._session.merge_environment_settings(
                bare, {}, True, None if verify is True else verify, cert
            )
        except (RequestException, UnicodeError, ValueError, AttributeError) as error:
            raise ConfigurationError(f"{self.address} cannot be asked: {type(error).__name__}") from None
        self.url = str(base.url)
        if is_loopback(urlsplit(self.url).hostname or ""):
            # What the environment says of proxies is about the network, and this never leaves the machine.
            self._settings["proxies"] = dict(self._session.proxies)
        given = {name.lower() for source in (self._session.headers, headers or {}) for name in source}
        self._headers = _own_headers(base.headers, self.address)
        if "cookie" not in given:
            self._headers.pop("Cookie", None)  # those of the session are looked up for each request
        self._auth = self._choose_auth(auth, user)
        self._moved: dict[str, str] = {}
        self._adapter = WatchedAdapter()
        self._pid = os.getpid()
        self._inherited: list[HTTPAdapter] = []

    def _choose_auth(self, auth: Any, user: tuple[str, str] | None) -> Any:
        chosen = auth or self._session.auth
        if chosen is None and "Authorization" not in self._headers:
            chosen = user
            if chosen is None and self._session.trust_env:
                chosen = get_netrc_auth(self.url)
        return HTTPBasicAuth(*chosen) if isinstance(chosen, tuple) and len(chosen) == 2 else chosen

    def send(
        self, method: str, data: bytes | None, headers: Iterable[tuple[str, str]], watch: Watch, url: str | None = None
    ) -> Answer:
        """Send a request, and again to where the server redirects it on its own origin.

        Args:
            method: The HTTP method.
            data: The body.
            headers: Those of the message.
            watch: The watch of the exchange.
            url: Where to, when not to the wire's own address; of the same origin.

        Returns:
            The answer, of which only the head was read. Whoever gets it calls ``finish``.

        Raises:
            ClientError: The exchange was given up, no time is left, the connection failed, or the server redirects
                elsewhere.
        """
        first = url or self.url
        target = self._moved.get(first, first)
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._send(method, target, data, headers, watch)
            if answer.status not in _REDIRECTS:
                # What leads to a page, such as one to log in, is no place to stay.
                if target != first and answer.status < 300 and answer.media_type != "text/html":
                    self._remember(first, target)
                return answer
            try:
                target = self._follow(answer, target)
            finally:
                answer.finish()
        self._moved.pop(first, None)
        raise TransportError(f"{self.address} redirects more than {MAX_REDIRECTS} times (HTTP {answer.status})")

    def _remember(self, url: str, target: str) -> None:
        if len(self._moved) < _MOVED:
            self._moved[url] = target

    def _follow(self, answer: Answer, url: str) -> str:
        """Say where a redirection leads, as far as that is this origin."""
        wanted = answer.headers.get("Location")
        if answer.status in _FOLLOWED and wanted is not None:
            found = join(url, wanted) or join_slash(url, wanted)
            if found is not None:
                return found
        raise TransportError(
            f"{self.address} redirects (HTTP {answer.status}); only 307 and 308 on the same origin are followed"
        )

    def _send(
        self, method: str, url: str, data: bytes | None, headers: Iterable[tuple[str, str]], watch: Watch
    ) -> Answer:
        request = self._prepare(method, url, data, headers)
        adapter = self._adapter_for(url)
        left = watch.check()
        waits = left if adapter is not self._adapter else None
        options = {**self._settings, "timeout": (self.connect_timeout, waits)}
        try:
            with watch:
                response = adapter.send(request, **options)
                if request.hooks["response"]:
                    if response.status_code in (401, 407):
                        # Authentication reads the whole of it, however much it is, or becomes when it is unpacked.
                        Answer(response, watch, self.address).settle()
                    response = _call_hooks(request, response, options)
        except FAULTS as error:
            raise explain(error, watch, self.address) from None
        if 0 < len(response.headers.get("Set-Cookie", "")) <= _LONGEST_COOKIES:
            self._take_cookies(request, response)
        return Answer(response, watch, self.address)

    def _take_cookies(self, request: requests.PreparedRequest, response: requests.Response) -> None:
        cookies = self._session.cookies
        extract_cookies_to_jar(cookies, request, response.raw)  # type: ignore[no-untyped-call]
        if self._is_own and len(cookies) > _MOST_COOKIES:
            cookies.clear()

    def _prepare(
        self, method: str, url: str, data: bytes | None, headers: Iterable[tuple[str, str]]
    ) -> requests.PreparedRequest:
        request = requests.PreparedRequest()
        request.method, request.url, request.body = method, url, data
        request.headers = self._headers.copy()
        request.headers.update(headers)
        if data is not None:
            request.headers["Content-Length"] = str(len(data))
        request.hooks = {"response": list(self._session.hooks.get("response", ()))}
        if self._auth is not None or len(self._session.cookies):
            request.prepare_cookies(self._session.cookies)
        if self._auth is not None:
            try:
                request.prepare_auth(self._auth, url)
            except (RequestException, HTTPError) as error:
                raise TransportError(f"{self.address}: the authentication failed ({type(error).__name__})") from None
        return request

    def _adapter_for(self, url: str) -> Any:
        found = self._session.get_adapter(url)
        if type(found) is not HTTPAdapter:
            return found
        if self._pid != os.getpid():
            # The connections are the parent's. Its pool may be locked for ever by a thread that is not here, so it is
            # neither closed nor collected.
            self._inherited.append(self._adapter)
            self._adapter, self._pid = WatchedAdapter(), os.getpid()
        return self._adapter

    def close(self) -> None:
        """Close the connections that nobody uses; those in use close when they are let go."""
        if self._pid == os.getpid():
            self._adapter.close()
        if self._is_own:
            self._session.close()


def _call_hooks(
    request: requests.PreparedRequest, response: requests.Response, options: Mapping[str, Any]
) -> requests.Response:
    """Let the caller's hooks see the answer, and authentication that has to send again do so."""
    try:
        found: requests.Response = dispatch_hook(  # type: ignore[no-untyped-call]
            "response", request.hooks, response, **options
        )
    except BaseException:
        response.close()
        raise
    return found


def _split(url: str) -> tuple[str, str, tuple[str, str] | None]:
    """Take user and password out of a URL; give it, what can be shown of it, and both."""
    try:
        parts = urlsplit(url)
        scheme, host, _ = origin_of(url)
    except (ValueError, TypeError, AttributeError):
        raise ConfigurationError("The address of the server is no URL") from None
    if scheme not in _PORTS or not host:
        raise ConfigurationError("The address of the server must begin with http:// or https:// and name a host")
    netloc = parts.netloc.rpartition("@")[2]
    user = get_auth_from_url(url) if "@" in parts.netloc else None
    bare = urlunsplit((scheme, netloc, parts.path, parts.query, ""))
    return bare, urlunsplit((scheme, netloc, parts.path, "", "")), user


def _own_headers(headers: CaseInsensitiveDict[str], address: str) -> CaseInsensitiveDict[str]:
    """Give the caller's headers without those that are the protocol's."""
    kept: CaseInsensitiveDict[str] = CaseInsensitiveDict()
    for name, value in headers.items():
        low = name.lower()
        if low.startswith("mcp-"):
            LOGGER.warning("The header %s for %s is not sent: the protocol sets it", shown(name), shown(address))
        elif low not in _OURS:
            kept[name] = value
    kept["Accept-Encoding"] = "gzip, deflate"
    return kept
