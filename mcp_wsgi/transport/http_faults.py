"""Why there is no answer, said in a sentence, whichever library noticed it.

The texts of requests and urllib3 repeat the whole URL, its query included, and so are never passed on.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl

from requests import exceptions as of_requests
from urllib3 import exceptions as of_urllib3

from ..exceptions import ClientError, RequestTimeoutError, TransportError
from .watch import Watch

__all__ = ["explain"]

_DEPTH = 10
#: What http.client says of a proxy.
_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})\b")


def _chain(error: BaseException) -> list[BaseException]:
    """Give the exceptions that an exception stands for, the outermost first."""
    found: list[BaseException] = []
    todo: list[object] = [error]
    while todo and len(found) < _DEPTH:
        each = todo.pop(0)
        if isinstance(each, BaseException) and each not in found:
            found.append(each)
            todo += [*each.args, getattr(each, "reason", None), getattr(each, "original_error", None)]
            todo += [each.__cause__, None if each.__suppress_context__ else each.__context__]
    return found


def explain(error: BaseException, watch: Watch, address: str) -> ClientError:
    """Make the error that the caller gets.

    Args:
        error: What a library raised.
        watch: The watch of the exchange: when it ended the exchange, that is the reason.
        address: What to call the server.
    """
    if watch.stopped is not None:
        return watch.stopped
    chain = _chain(error)
    for each in chain:
        if isinstance(each, RequestTimeoutError):
            # Not the request's own time. The server was not silent, for it was not asked.
            return TransportError(f"{address}: no connection could be made within {watch.connect_timeout:g} seconds")
    return TransportError(f"{address}: {_reason(chain)}")


def _reason(chain: list[BaseException]) -> str:
    proxy = "the proxy, " if any(isinstance(each, of_urllib3.ProxyError) for each in chain) else ""
    for each in reversed(chain):
        text = _text(each)
        if text is not None:
            return proxy + text
    return f"{proxy}the connection failed ({type(chain[-1]).__name__})"


def _text(error: BaseException) -> str | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'no reason given'})"
    if isinstance(error, socket.gaierror):
        return "its name was not found"
    if isinstance(error, ConnectionRefusedError):
        return "it refused the connection"
    if isinstance(error, (ConnectionError, http.client.RemoteDisconnected)):
        return "it closed the connection before it had answered"
    if isinstance(error, http.client.IncompleteRead):
        return "it closed the connection before its answer was complete"
    if isinstance(error, http.client.HTTPException):
        return "it answered with something that is not HTTP"
    if isinstance(error, TimeoutError):
        return "it did not react in time"
    if isinstance(error, OSError) and (match := _TUNNEL.match(str(error))):
        return f"it refused to connect ({match[1]})"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, of_requests.RequestException):
        return f"the connection failed ({error.strerror})"
    return None
