"""Calls that look like earlier ones of their connection: the same headers but for the call's id.

A client writes the headers of a method in the same bytes each time. To compare them takes a tenth of the time that it
takes to decode both.

    frame  = length (4) header-length (1) 08 02 10 00 18 call-id (varint) rest-of-header engine-header payload
"""

from dataclasses import dataclass

from shim.protocol.hrpc.envelopes import HadoopCall
from shim.protocol.hrpc.framing import MalformedFrameError, read_delimited
from shim.protocol.proto.messages import RpcRequestHeaderProto

_PREFIX = 4
_BEGINS = bytes((0x08, 0x02, 0x10, 0x00, 0x18))
"""How a header begins, as protobuf writes it: kind PROTOCOL_BUFFER, operation FINAL_PACKET, and the tag of the id."""
_ID_AT = _PREFIX + 1 + len(_BEGINS)
_CONTINUES, _BITS = 0x80, 7
_MOST_ID_BYTES = 4
"""Of the larger ids that wrap at 32 bits none is taken here."""
_SHORTEST = _ID_AT - _PREFIX + _MOST_ID_BYTES
"""Bytes of a frame without its length; any call has more."""
_MOST_SHAPES = 8
"""Methods that one client calls by turns."""
_LONGEST = 384
"""Bytes of both headers; one with a long caller context is decoded each time."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Both headers of a call without the id.

    Attributes:
        behind_id: What stands between the id and the payload.
        header_bytes: Length of the first header without the id.
    """

    behind_id: bytes
    header_bytes: int
    call: HadoopCall


class CallShapes:
    """The shapes of one connection's calls, the newest few."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: list[_Shape] = []

    def find(self, frame_untrusted: bytes) -> HadoopCall | None:
        """The call in a frame with its length; None if it has to be decoded."""
        length = len(frame_untrusted) - _PREFIX
        if length < _SHORTEST or not frame_untrusted.startswith(_BEGINS, _PREFIX + 1):
            return None
        if int.from_bytes(frame_untrusted[:_PREFIX]) != length:
            return None
        call_id, end = _read_id(frame_untrusted, _ID_AT)
        other_bytes = frame_untrusted[_PREFIX] - (end - _ID_AT)
        for shape in self._shapes:
            if shape.header_bytes == other_bytes and frame_untrusted.startswith(shape.behind_id, end):
                return _like(shape.call, call_id, frame_untrusted, end + len(shape.behind_id))
        return None

    def note(self, header: RpcRequestHeaderProto, content_untrusted: bytes, offset: int, call: HadoopCall) -> None:
        """Remember a call that was decoded.

        Args:
            content_untrusted: The frame without its length.
        """
        if len(content_untrusted) < _SHORTEST or not content_untrusted.startswith(_BEGINS, 1):
            return
        _, engine_end = read_delimited(content_untrusted, offset)
        _, id_end = _read_id(content_untrusted, _ID_AT - _PREFIX)
        if engine_end > _LONGEST or content_untrusted[0] >= _CONTINUES:
            return
        behind_id = content_untrusted[id_end:engine_end]
        if any(shape.behind_id == behind_id for shape in self._shapes):
            return
        if header.SerializeToString() != content_untrusted[1:offset]:
            return  # an id that stands twice counts by its last: that one would be taken for a part of the shape
        other_bytes = content_untrusted[0] - (id_end - (_ID_AT - _PREFIX))
        self._shapes = self._shapes[1 - _MOST_SHAPES :]
        self._shapes.append(_Shape(behind_id, other_bytes, call))


def _read_id(data_untrusted: bytes, at: int) -> tuple[int, int]:
    """The sint32 at `at` and where it ends; -1 for one that is negative or long: such ids are seldom, and decoded."""
    zigzag, shift = 0, 0
    while shift < _BITS * _MOST_ID_BYTES:
        byte = data_untrusted[at]
        at += 1
        zigzag |= (byte & ~_CONTINUES) << shift
        if byte < _CONTINUES:
            return (-1 if zigzag & 1 else zigzag >> 1), at
        shift += _BITS
    return -1, at


def _like(call: HadoopCall, call_id: int, frame_untrusted: bytes, payload_at: int) -> HadoopCall | None:
    if call_id < 0:
        return None
    try:
        payload, _ = read_delimited(frame_untrusted, payload_at)
    except MalformedFrameError:
        return None
    return HadoopCall(
        call_id,
        call.client_id,
        call.retry_count,
        call.caller_context,
        call.protocol,
        call.method,
        call.version,
        payload,
    )
