"""Frames and delimited messages, the outermost layer of Hadoop RPC.

    frame      = length (4 bytes, big-endian, signed) content
    content    = delimited *delimited
    delimited  = varint length, that many bytes

Source: `org.apache.hadoop.ipc.Server.Connection.readAndProcess`, `RpcWritable.ProtobufWrapper`.
"""

from shim.errors import RemoteProtocolError

DEFAULT_MAX_FRAME_BYTES = 128 * 1024 * 1024
"""`ipc.maximum.data.length` and `ipc.maximum.response.length` of Hadoop 3."""

_PREFIX = 4
_COMPACT_ABOVE = 64 * 1024
_VARINT_LAST_SHIFT = 28
_VARINT_MAX_SHIFT = 63


class FrameLengthError(RemoteProtocolError):
    """The length that announces a frame is negative or above the limit; nothing of the frame was kept."""


class MalformedFrameError(RemoteProtocolError):
    """A frame ends inside a delimited message, or a length in it is not a length."""


class FrameBuffer:
    """Cuts a stream of bytes into frames.

    Holds at most one incomplete frame and what followed it in the same read; a frame above `limit` is refused when
    its length is known, before its content is kept.

    Attributes:
        limit: Largest content of a frame, in bytes.
    """

    __slots__ = ("_data", "_start", "limit")

    def __init__(self, limit: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.limit = limit
        self._data = bytearray()
        self._start = 0

    def __len__(self) -> int:
        return len(self._data) - self._start

    def feed(self, data_untrusted: bytes) -> None:
        self._data += data_untrusted

    def take(self, count: int) -> bytes | None:
        if len(self) < count:
            return None
        end = self._start + count
        taken = bytes(memoryview(self._data)[self._start : end])
        self._drop_until(end)
        return taken

    def next_frame(self) -> bytes | None:
        """The content of the next frame; None while it is not whole.

        Raises:
            FrameLengthError: If the frame's length is negative or above the limit.
        """
        start = self._start + _PREFIX
        if len(self._data) < start:
            return None
        length = int.from_bytes(memoryview(self._data)[self._start : start], "big", signed=True)
        if not 0 <= length <= self.limit:
            raise FrameLengthError(f"a frame of {length} bytes was announced; 0 to {self.limit} are taken")
        end = start + length
        if len(self._data) < end:
            return None
        content = bytes(memoryview(self._data)[start:end])
        self._drop_until(end)
        return content

    def _drop_until(self, end: int) -> None:
        """Forget what was taken, moving bytes only when many would be kept for nothing."""
        self._start = end
        if end == len(self._data):
            self._data.clear()
            self._start = 0
        elif end > _COMPACT_ABOVE:
            del self._data[:end]
            self._start = 0


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(_PREFIX, "big") + content


def delimited(message: bytes) -> bytes:
    """`message` behind its length as a varint."""
    return varint(len(message)) + message


def varint(value: int) -> bytes:
    """A number that is not negative, as protobuf writes it."""
    if value < 0x80:  # noqa: PLR2004 - fits seven bits: nearly every length
        return _SHORT[value]
    written = bytearray()
    while value >= 0x80:  # noqa: PLR2004 - the continuation bit
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


_SHORT = [bytes((value,)) for value in range(0x80)]


def read_delimited(content_untrusted: bytes, offset: int) -> tuple[bytes, int]:
    """The delimited message at `offset`, and where it ends.

    Raises:
        MalformedFrameError: If the content ends before the message does, or the length is no int32.
    """
    length = shift = 0
    while True:
        if offset >= len(content_untrusted) or shift > _VARINT_MAX_SHIFT:
            raise MalformedFrameError("a delimited message has no length")
        byte = content_untrusted[offset]
        offset += 1
        length |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the continuation bit
            break
        shift += 7
    end = offset + length
    if end > len(content_untrusted) or shift > _VARINT_LAST_SHIFT:
        raise MalformedFrameError(f"a delimited message of {length} bytes goes beyond its frame")
    return content_untrusted[offset:end], end
