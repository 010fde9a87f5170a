"""A process that forks with a transport in use; run as `forking.py http|sse URL`. It ends with 0 when all is well."""

import os
import sys
import threading

from mcp_wsgi.exceptions import ClientClosedError, RequestCancelledError
from mcp_wsgi.transport import Deadline, Exchange, http
from mcp_wsgi.transport.http import HTTPTransport
from mcp_wsgi.transport.sse import SSETransport


def ask(transport, method, exchange=None):
    message = {"jsonrpc": "2.0", "id": method, "method": method, "params": {}}
    answer = transport.request(message, exchange or Exchange(Deadline(30)))
    assert answer["id"] == method, answer


def child(transport):
    ask(transport, "child")
    transport.open_inbox()
    transport.close()
    try:
        ask(transport, "closed")
    except ClientClosedError:
        return
    raise AssertionError("it is closed")


def main(kind, url):
    http._FAREWELL = 30.0
    transport = {"http": HTTPTransport, "sse": SSETransport}[kind](url)
    ask(transport, "initialize")
    waiting, ended, begun = Exchange(Deadline(None), on_message=lambda _: begun.set()), [], threading.Event()

    def wait():
        try:
            ask(transport, "slow", waiting)
        except RequestCancelledError:
            ended.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(30)
    for use in (child, lambda transport: transport.close()):
        pid = os.fork()
        if not pid:
            use(transport)
            return
        assert os.waitpid(pid, 0)[1] == 0
    assert not ended
    ask(transport, "parent")
    waiting.cancel()
    thread.join(30)
    assert ended == [True]
    transport.close()


main(*sys.argv[1:])
