"""Newline framing for stdio: one JSON-RPC message per line (MCP, Transports, stdio)."""

from __future__ import annotations

from .framing import DEFAULT_MAX_SIZE, ChunkDecoder, FramingError, check_cap

__all__ = ["FramingError", "LineDecoder", "encode_line"]


def encode_line(data: bytes) -> bytes:
    r"""Frame one message as a line.

    Args:
        data: A serialised message.

    Returns:
        The message and ``\n``.

    Raises:
        ValueError: The message is empty or holds a CR or LF. "Messages are delimited by newlines, and MUST
            NOT contain embedded newlines" (MCP, Transports, stdio).
    """
    if b"\n" in data or b"\r" in data:
        raise ValueError("A message on stdio must not hold line breaks; serialise it on one line")
    if not data:
        raise ValueError("A message on stdio must not be empty")
    return data + b"\n"


class LineDecoder(ChunkDecoder[bytes]):
    """Split a byte stream into lines, ended by LF or CRLF; empty lines are skipped.

    Args:
        max_line_size: The most bytes a line may hold, its end not counted.

    Raises:
        ValueError: The cap is not positive.
    """

    __slots__ = ("_max", "_rest")

    def __init__(self, max_line_size: int = DEFAULT_MAX_SIZE) -> None:
        super().__init__()
        self._max = check_cap("max_line_size", max_line_size)
        self._rest = bytearray()

    def close(self) -> bytes | None:
        """End the stream.

        Returns:
            The last line when its end is missing, else ``None``.

        Raises:
            FramingError: The decoder failed, or was closed already.
        """
        self._end()
        rest = bytes(self._rest).removesuffix(b"\r")
        self._rest = bytearray()
        return rest or None

    def _decode(self, chunk: bytes, items: list[bytes]) -> None:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            start = end + 1
            if self._rest:
                self._check(line)
                line = bytes(self._rest) + line
                self._rest.clear()
            line = line.removesuffix(b"\r")
            if len(line) > self._max:
                raise self._too_long()
            if line:
                items.append(line)
        tail = chunk[start:]
        self._check(tail)
        self._rest += tail

    def _check(self, more: bytes) -> None:
        """Refuse what cannot become a line under the cap, before it is copied."""
        size = len(self._rest) + len(more)
        if size <= self._max:
            return
        # One byte over may still be the CR of a CRLF.
        last = more[-1] if more else self._rest[-1]
        if size > self._max + 1 or last != 0x0D:
            raise self._too_long()

    def _too_long(self) -> FramingError:
        self._rest = bytearray()
        return FramingError(f"A line is longer than {self._max} bytes; raise max_line_size to read it")
