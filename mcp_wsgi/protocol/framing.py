"""What the incremental decoders share: their error, and when they raise it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

__all__ = ["DEFAULT_MAX_SIZE", "ChunkDecoder", "FramingError", "check_cap"]

DEFAULT_MAX_SIZE = 16 * 1024 * 1024
"""The largest line or event read unless another cap is set, in bytes."""

_T = TypeVar("_T")


class FramingError(ValueError):
    """Refuse a byte stream whose frames cannot be read: one is over its cap, or the decoder is closed."""


class ChunkDecoder(ABC, Generic[_T]):
    """Turn chunks of bytes into items, the same ones however the stream was cut.

    What was complete in front of a fault is returned first; the fault is raised by the same call when there
    is nothing to return, else by the next one. A decoder that failed stays failed.
    """

    __slots__ = ("_fault",)

    def __init__(self) -> None:
        self._fault: str | None = None

    def feed(self, chunk: bytes) -> list[_T]:
        """Take the next bytes of the stream.

        Args:
            chunk: Any number of bytes, none included.

        Returns:
            The items that are complete now, in order.

        Raises:
            FramingError: A frame is over its cap, or the decoder has failed or was closed.
        """
        self._raise_fault()
        items: list[_T] = []
        try:
            self._decode(chunk, items)
        except FramingError as error:
            self._fault = str(error)
            if not items:
                raise
        return items

    @abstractmethod
    def _decode(self, chunk: bytes, items: list[_T]) -> None:
        """Add what is complete to ``items``; raise ``FramingError`` at a fault."""

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise FramingError(self._fault)

    def _end(self) -> None:
        self._raise_fault()
        self._fault = "The decoder is closed; make a new one for the next stream"


def check_cap(name: str, value: int) -> int:
    """Return a cap unchanged; raise ``ValueError`` when it is not positive."""
    if value < 1:
        raise ValueError(f"{name} must be a positive number of bytes, not {value}")
    return value
