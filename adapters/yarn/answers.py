"""Reading an answer's body without believing what it says about itself: its size is bounded, packed and unpacked."""

import asyncio
import zlib
from collections.abc import AsyncIterator

from shim.errors import MalformedAnswerError

_GZIP = 16 + zlib.MAX_WBITS
_PIECE_BYTES = 1024 * 1024


async def read_bounded(chunks: AsyncIterator[bytes], coding: str, *, limit: int, subcluster: str) -> bytes:
    """Join and unpack a body.

    Args:
        coding: `Content-Encoding`; empty or `identity` for none.
        limit: Most bytes, before and after unpacking.

    Raises:
        MalformedAnswerError: If it is larger, cut short inside, or packed in a way that was not asked for.
    """
    unpack = _unpacker(coding, subcluster)
    received = 0
    parts: list[bytes] = []
    unpacked = 0
    async for chunk in chunks:
        received += len(chunk)
        piece, is_more = unpack.feed(chunk)
        while True:
            unpacked += len(piece)
            if max(received, unpacked) > limit:
                told = f"the answer is larger than {limit} bytes ([poll] max_answer_bytes)"
                raise MalformedAnswerError(subcluster, told)
            parts.append(piece)
            if not is_more:
                break
            await asyncio.sleep(0)  # what is packed to a thousandth takes long to unpack: others have their turn
            piece, is_more = unpack.feed(b"")
    unpack.finish(received)
    return b"".join(parts)


class _Plain:
    def feed(self, chunk: bytes) -> tuple[bytes, bool]:
        return chunk, False

    def finish(self, received: int) -> None:
        """A plain body ends where HTTP says."""


class _Gzip:
    def __init__(self, subcluster: str) -> None:
        self._subcluster = subcluster
        self._inflate = zlib.decompressobj(_GZIP)

    def feed(self, chunk: bytes) -> tuple[bytes, bool]:
        """A piece of bounded size, and whether there is more of what came."""
        try:
            piece = self._inflate.decompress(self._inflate.unconsumed_tail + chunk, _PIECE_BYTES)
        except zlib.error as exc:
            raise MalformedAnswerError(self._subcluster, f"the answer cannot be unpacked: {exc}") from exc
        return piece, len(piece) == _PIECE_BYTES or bool(self._inflate.unconsumed_tail)

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
