"""Reading an answer's body without believing what it says about itself: its size is bounded, packed and unpacked."""

import zlib
from collections.abc import AsyncIterator

from shim.errors import MalformedAnswerError

__all__ = ["read_bounded"]

_GZIP = 16 + zlib.MAX_WBITS


async def read_bounded(chunks: AsyncIterator[bytes], coding: str, *, limit: int, subcluster: str) -> bytes:
    """Join and unpack a body.

    Args:
        chunks: As they arrive.
        coding: `Content-Encoding`; empty or `identity` for none.
        limit: Most bytes, before and after unpacking.
        subcluster: For messages.

    Raises:
        MalformedAnswerError: If it is larger, cut short inside, or packed in a way that was not asked for.
    """
    unpack = _unpacker(coding, subcluster)
    received = 0
    parts: list[bytes] = []
    unpacked = 0
    async for chunk in chunks:
        received += len(chunk)
        part = unpack.feed(chunk, limit - unpacked)
        unpacked += len(part)
        if max(received, unpacked) > limit:
            raise MalformedAnswerError(subcluster, f"the answer is larger than {limit} bytes ([poll] max_answer_bytes)")
        parts.append(part)
    unpack.finish(received)
    return b"".join(parts)


class _Plain:
    def feed(self, chunk: bytes, room: int) -> bytes:
        del room
        return chunk

    def finish(self, received: int) -> None:
        """A plain body ends where HTTP says."""


class _Gzip:
    def __init__(self, subcluster: str) -> None:
        self._subcluster = subcluster
        self._inflate = zlib.decompressobj(_GZIP)

    def feed(self, chunk: bytes, room: int) -> bytes:
        """Unpack at most one byte more than there is room for: enough to see that it is too much."""
        try:
            return self._inflate.decompress(self._inflate.unconsumed_tail + chunk, room + 1)
        except zlib.error as exc:
            raise MalformedAnswerError(self._subcluster, f"the answer cannot be unpacked: {exc}") from exc

    def finish(self, received: int) -> None:
        if received and not self._inflate.eof:
            raise MalformedAnswerError(self._subcluster, "the packed answer is cut short")


def _unpacker(coding: str, subcluster: str) -> "_Plain | _Gzip":
    name = coding.strip().lower()
    if name in ("", "identity"):
        return _Plain()
    if name in ("gzip", "x-gzip"):
        return _Gzip(subcluster)
    raise MalformedAnswerError(subcluster, f"the answer is packed as {coding[:40]!r}, which was not asked for")
