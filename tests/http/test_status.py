"""2026-07-28, basic/transports/streamable-http: the status of each JSON-RPC error of a modern request."""

from __future__ import annotations

import pytest

from mcp_wsgi import ErrorCode
from mcp_wsgi.http.status import status_of


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32601, 404),
        (-32602, 400),
        (-32603, 500),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
    ],
)
def test_each_code_has_its_status(code: int, status: int) -> None:
    assert status_of(code) == status


def test_every_modern_code_of_the_package_is_in_the_table() -> None:
    assert {code for code in ErrorCode if status_of(code) == 200} == {ErrorCode.RESOURCE_NOT_FOUND}


@pytest.mark.parametrize("code", [-32000, -32099, 0, 1, 404])
def test_a_code_of_the_application_rides_on_200(code: int) -> None:
    assert status_of(code) == 200
