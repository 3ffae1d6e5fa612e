"""Methods that are called on a connection whose bytes pass through: frames are looked at, not kept."""

from google.protobuf.message import DecodeError

from shim.protocol.hrpc.envelopes import text_of
from shim.protocol.hrpc.framing import MalformedFrameError, read_delimited
from shim.protocol.proto.messages import RequestHeaderProto, RpcRequestHeaderProto

__all__ = ["CallScanner"]

_PREFIX = 4
_HEAD_BYTES = 512
"""Both headers of a call fit: about 60 bytes each, and a caller context of at most 128."""
_MOST_AT_ONCE = 1000
"""Frames in one read: an ApplicationMaster calls a few times a second, and more would be a long time's work."""


class CallScanner:
    """Watches a client's stream from the beginning of a frame on.

    Keeps at most the first `_HEAD_BYTES` of the frame that is on its way. Knows no limits and refuses nothing: that is
    the server's part. What cannot be read is not counted, nor is anything more of a client that floods.
    """

    __slots__ = ("_head", "_is_blind", "_missing")

    def __init__(self) -> None:
        self._head = b""
        self._missing = 0
        self._is_blind = False

    def feed(self, data_untrusted: bytes) -> list[str]:
        """The methods of the calls whose frames ended in what was read."""
        seen: list[str] = []
        start = frames = 0
        end = len(data_untrusted)
        while start < end and not self._is_blind:
            frames += 1
            if frames > _MOST_AT_ONCE:
                self._is_blind = True
                break
            start = (
                self._rest(data_untrusted, start, seen) if self._missing else self._begin(data_untrusted, start, seen)
            )
        return seen

    def _begin(self, data: bytes, start: int, seen: list[str]) -> int:
        """A frame begins at `start`, or goes on in its length; return up to where it was taken."""
        if self._head:
            taken = min(_PREFIX - len(self._head), len(data) - start)
            self._head += data[start : start + taken]
            start += taken
            if len(self._head) < _PREFIX:
                return start
            length = int.from_bytes(self._head, "big", signed=True)
            self._head = b""
        elif len(data) - start < _PREFIX:
            self._head = data[start:]
            return len(data)
        else:
            length = int.from_bytes(data[start : start + _PREFIX], "big", signed=True)
            start += _PREFIX
        if length < 0:
            self._is_blind = True
            return start
        self._missing = length
        return self._rest(data, start, seen)

    def _rest(self, data: bytes, start: int, seen: list[str]) -> int:
        """Take what belongs to the frame; at its end look at its head."""
        taken = min(self._missing, len(data) - start)
        room = _HEAD_BYTES - len(self._head)
        self._head += data[start : start + min(taken, room)]
        self._missing -= taken
        if not self._missing:
            method = _method_of(self._head)
            self._head = b""
            if method:
                seen.append(method)
        return start + taken


def _method_of(head_untrusted: bytes) -> str:
    """The method that a frame calls; empty if it is no call."""
    try:
        raw, offset = read_delimited(head_untrusted, 0)
        if RpcRequestHeaderProto.FromString(raw).callId < 0:
            return ""
        raw, _ = read_delimited(head_untrusted, offset)
        return text_of(RequestHeaderProto.FromString(raw).methodName)
    except (MalformedFrameError, DecodeError):
        return ""
