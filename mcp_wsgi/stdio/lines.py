"""Lines of a stream in which some are too long: those are left out, and the next one is read as if nothing had been."""

from __future__ import annotations

from ..protocol.lines import FramingError, LineDecoder

__all__ = ["Lines"]


class Lines:
    """Cut a byte stream into lines, of which no more than the cap is ever held.

    Args:
        max_line_size: The most bytes a line may hold, its end not counted.

    Raises:
        ValueError: The cap is not positive.
    """

    def __init__(self, max_line_size: int) -> None:
        self._max = max_line_size
        self._decoder = LineDecoder(max_line_size)
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """Take the next bytes of the stream.

        Returns:
            The lines that are complete now, in order; ``None`` for one that is too long, as soon as it is.
        """
        lines: list[bytes | None] = []
        start = 0
        while start < len(chunk):
            end = chunk.find(b"\n", start) + 1
            piece = chunk[start : end or None]
            start += len(piece)
            if self._skipping:
                self._skipping = not end
            else:
                self._take(piece, lines)
        return lines

    def close(self) -> list[bytes]:
        """End the stream; give the last line when its end is missing."""
        last = self._decoder.close()
        return [] if last is None else [last]

    def _take(self, piece: bytes, lines: list[bytes | None]) -> None:
        try:
            lines += self._decoder.feed(piece)
        except FramingError:
            lines.append(None)
            self._decoder = LineDecoder(self._max)
            self._skipping = not piece.endswith(b"\n")
