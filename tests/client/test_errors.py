"""JSON-RPC errors of a server become the exceptions of their codes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import mcp_wsgi
from mcp_wsgi import exceptions
from mcp_wsgi.client.errors import error_from_wire


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32700, exceptions.ParseError),
        (-32600, exceptions.InvalidRequestError),
        (-32601, exceptions.MethodNotFoundError),
        (-32602, exceptions.InvalidParamsError),
        (-32603, exceptions.InternalError),
        (-32002, exceptions.ResourceNotFoundError),
        (-32020, exceptions.HeaderMismatchError),
        (-32021, exceptions.MissingClientCapabilityError),
        (-32022, exceptions.UnsupportedVersionError),
        (-32000, exceptions.MCPError),
        (7, exceptions.MCPError),
    ],
)
def test_an_error_is_of_the_class_of_its_code_and_keeps_what_the_server_said(code: int, kind: type[Exception]) -> None:
    error = error_from_wire({"code": code, "message": "Because", "data": {"uri": "x://y", "why": [1]}})
    assert type(error) is kind
    assert (error.code, error.message, error.data) == (code, "Because", {"uri": "x://y", "why": [1]})
    assert str(error) == f"Because ({code})"


@pytest.mark.parametrize("wire", [None, [], "no", {}, {"code": True}, {"code": "-32601", "message": 5}])
def test_an_error_that_cannot_be_read_is_an_error_all_the_same(wire: Any) -> None:
    error = error_from_wire(wire)
    assert type(error) is exceptions.InternalError
    assert error.message == "The server gave no reason"


def test_the_errors_of_a_client_say_what_happened() -> None:
    status = exceptions.HTTPStatusError(502, "text/html", "<h1>Bad gateway</h1>", {"retry-after": "3"})
    assert str(status) == "The server answered HTTP 502 (text/html) and no JSON-RPC message: <h1>Bad gateway</h1>"
    bare = str(exceptions.HTTPStatusError(500))
    assert bare == "The server answered HTTP 500 (no content type) and no JSON-RPC message"
    assert repr(exceptions.HTTPStatusError(401, headers={"set-cookie": "pass-word"})) == "HTTPStatusError(401, '')"
    assert exceptions.UnauthorizedError(401, headers={"www-authenticate": "Bearer"}).challenge == "Bearer"
    assert exceptions.UnauthorizedError(403).challenge is None
    assert str(exceptions.ServerExitedError(1, "Traceback")) == (
        "The server's process ended with status 1; it last wrote: Traceback"
    )
    assert str(exceptions.ServerExitedError(None)) == "The server's process has ended"
    assert issubclass(exceptions.RequestTimeoutError, TimeoutError)


@pytest.mark.parametrize(
    "error",
    [
        exceptions.HTTPStatusError(404, "text/plain", "no", {"a": "b"}),
        exceptions.ServerExitedError(-9, "killed"),
        exceptions.NegotiationError("none", ["1"]),
    ],
)
def test_the_errors_of_a_client_can_be_pickled(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_errors_of_a_client_are_no_json_rpc_errors() -> None:
    assert not issubclass(exceptions.ClientError, mcp_wsgi.MCPError)
