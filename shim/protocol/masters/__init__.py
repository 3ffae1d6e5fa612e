"""What Local Masters and Global Masters say to each other, sans-IO: frames, deltas, two ends of a report stream.

A Local Master publishes each of its reports once: whole to whom is new, as a delta to whom has the one before. A Global
Master that misses one notices the gap in the sequence and asks for a whole one. Bytes go in and come out; the WebSocket
that carries them is `shim.server.masters`' business.
"""

from shim.protocol.masters.deltas import DeltaMismatchError, ReportDelta, apply_delta, delta_between
from shim.protocol.masters.frames import (
    DeltaFrame,
    Frame,
    HelloFrame,
    ReportFrame,
    ResyncFrame,
    decode_frame_untrusted,
    encode_frame,
)
from shim.protocol.masters.streams import ReportFollower, ReportPublisher

__all__ = [
    "DeltaFrame",
    "DeltaMismatchError",
    "Frame",
    "HelloFrame",
    "ReportDelta",
    "ReportFollower",
    "ReportFrame",
    "ReportPublisher",
    "ResyncFrame",
    "apply_delta",
    "decode_frame_untrusted",
    "delta_between",
    "encode_frame",
]
