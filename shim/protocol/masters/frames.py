"""The frames between masters, and their msgpack form: one WebSocket message each.

Every frame names the life of the Local Master that it belongs to: a restarted one counts its reports from 1 again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from shim.domain import ApplicationDocument, SubClusterReport
from shim.errors import RemoteProtocolError
from shim.protocol.masters.deltas import ReportDelta

__all__ = [
    "MAX_FRAME_BYTES",
    "DeltaFrame",
    "Frame",
    "HelloFrame",
    "ReportFrame",
    "ResyncFrame",
    "decode_frame_untrusted",
    "encode_frame",
]

MAX_FRAME_BYTES = 256 * 1024 * 1024
"""10,000 nodes and 10,000 applications are some 40 MB; more than this is no report."""


class HelloFrame(msgspec.Struct, frozen=True, tag="hello"):
    """Global Master to Local Master, first: who I am, and the last report that I have of which life of yours."""

    global_master: str
    life: str = ""
    sequence: int = 0


class ReportFrame(msgspec.Struct, frozen=True, tag="report"):
    """Local Master to Global Master: a whole report; its applications stand beside it.

    Attributes:
        ended: Applications that ended in earlier reports of this life, which the receiver may have missed.
    """

    life: str
    report: SubClusterReport
    applications: tuple[ApplicationDocument, ...]
    ended: tuple[ApplicationDocument, ...] = ()

    @classmethod
    def of(cls, life: str, report: SubClusterReport, ended: Iterable[ApplicationDocument] = ()) -> "ReportFrame":
        """The frame that carries a report."""
        missed = tuple(d for d in ended if d.summary.application_id not in report.applications)
        return cls(life, replace(report, applications={}), tuple(report.applications.values()), missed)

    def published(self) -> SubClusterReport:
        """The report as it was published: what the next delta stands on."""
        return replace(self.report, applications={d.summary.application_id: d for d in self.applications})

    def caught_up(self) -> SubClusterReport:
        """The report with all that ended before it."""
        told = (*self.ended, *self.applications)
        return replace(self.report, applications={d.summary.application_id: d for d in told})


class DeltaFrame(msgspec.Struct, frozen=True, tag="delta"):
    """Local Master to Global Master: what changed since the report before."""

    life: str
    delta: ReportDelta


class ResyncFrame(msgspec.Struct, frozen=True, tag="resync"):
    """Global Master to Local Master: a report is missing, send a whole one."""


Frame = HelloFrame | ReportFrame | DeltaFrame | ResyncFrame


def _mappings_are_dicts(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"a frame cannot hold a {type(value).__name__}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_mappings_are_dicts)
_DECODER: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


def encode_frame(frame: Frame) -> bytes:
    """The bytes of a frame."""
    return _ENCODER.encode(frame)


def decode_frame_untrusted(data: bytes) -> Frame:
    """Read a frame.

    Raises:
        RemoteProtocolError: If the bytes are no frame, or too many.
    """
    if len(data) > MAX_FRAME_BYTES:
        raise RemoteProtocolError(f"a frame of {len(data)} bytes; the limit is {MAX_FRAME_BYTES}")
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise RemoteProtocolError(f"not a frame between masters: {exc}") from exc
