"""Patience for the tests with real servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _stream_is_open() -> Iterator[None]:
    """Let the stream for what belongs to no request be open before a server is asked to send something on it.

    All of these servers say at once whether they have one, and what they send before it is there is lost.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcp_wsgi.transport.http._OPENING", 30.0)
        yield
