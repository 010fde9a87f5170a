"""Streams as the content of a ``StreamingHttpResponse``.

Django closes a response that it sends. One that it drops, because a middleware failed or the client left too early, is
only collected: then the stream is closed here, or its handler and its listener would be kept for ever.
"""

from __future__ import annotations

import _thread
from collections.abc import Awaitable
from typing import Any

from asgiref.sync import sync_to_async

__all__ = ["AsyncBody", "Body", "ThreadBody"]


class _Body:
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._closed = False

    def close(self) -> None:
        """Close the stream."""
        self._closed = True
        self._stream.close()

    def __del__(self) -> None:
        if not self._closed:
            # In a thread: objects are collected anywhere, also while this one holds a lock that closing needs.
            _thread.start_new_thread(self._stream.close, ())


class Body(_Body):
    """Hold a stream that is iterated in the thread of its request."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._frames = iter(stream)

    def __iter__(self) -> Body:
        return self

    def __next__(self) -> bytes:
        frame: bytes = next(self._frames)
        return frame


class AsyncBody(_Body):
    """Hold a stream that is iterated on the loop."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._frames = aiter(stream)

    def __aiter__(self) -> AsyncBody:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        frame: Awaitable[bytes] = self._frames.__anext__()
        return frame


class ThreadBody(_Body):
    """Hold a stream of a sync view that is called under ASGI: on the loop, it is iterated by threads.

    Django itself would collect all of it before it sends anything.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._frames = iter(stream)
        self._next: Any = sync_to_async(next, thread_sensitive=False)

    def __aiter__(self) -> ThreadBody:
        return self

    async def __anext__(self) -> bytes:
        frame: bytes | None = await self._next(self._frames, None)
        if frame is None:
            raise StopAsyncIteration
        return frame
