"""The frames between masters, and their msgpack form: one WebSocket message each.

| frames | from | to |
|---|---|---|
| challenge, welcome | who is dialled | who dials |
| proof | who dials | who is dialled |
| hello, resync | Global Master | Local Master |
| piece, report, delta, trouble | Local Master | Global Master |
| proposal, verdict | Global Master | Local Master, and back |
| launch, launched | Global Master | Local Master, and back |
| submit, outcome | Global Master | the one that owns the queue, and back |

A report names its Local Master's life: a restarted one counts from 1 again. An answer repeats its question's number.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Annotated

import msgspec

from shim.domain import ApplicationDocument, NodeReport, QueueReport, SubClusterReport
from shim.domain.launches import CapacityNotice, HomeVerdict, LaunchNews, LaunchProposal, LaunchVerdict
from shim.domain.submissions import HomeProposal, Submission
from shim.errors import RemoteProtocolError
from shim.protocol.peers.deltas import ReportDelta
from shim.protocol.wire_values import UNREADABLE

MAX_HANDSHAKE_BYTES = 4096
"""Of a frame from who has proved nothing yet: names, random bytes and proofs."""

MAX_LAUNCHES = 2000
"""Most proposals, and most news, of one launch frame: they are judged in one turn of the event loop."""

_MAX_HEADERS = 1000

MAX_FRAME_BYTES = 4 * 1024 * 1024
"""What is larger goes in pieces: a frame is read in one turn of the event loop."""

MAX_PIECE_ITEMS = 2000
"""Most nodes, queues or applications of one piece of a report."""

_MAX_DOCUMENTS = 16


class ChallengeFrame(msgspec.Struct, frozen=True, tag="challenge"):
    """Name that was dialled, and random bytes that the dialer's proof must hold; the first frame of a link."""

    speaker: str
    nonce: bytes


class ProofFrame(msgspec.Struct, frozen=True, tag="proof"):
    """Name of the dialer, random bytes, and the proof that it has the secret."""

    speaker: str
    nonce: bytes
    proof: bytes


class WelcomeFrame(msgspec.Struct, frozen=True, tag="welcome"):
    """The proof that who was dialled has the secret too."""

    proof: bytes


class HelloFrame(msgspec.Struct, frozen=True, tag="hello"):
    """Global Master to Local Master, first: who I am, and the last report that I have of which life of yours."""

    global_master: str
    life: str = ""
    sequence: int = 0


class ToldReport(msgspec.Struct, frozen=True):
    """A report as it travels: its applications stand beside it."""

    report: SubClusterReport
    applications: tuple[ApplicationDocument, ...]

    @classmethod
    def of(cls, report: SubClusterReport) -> "ToldReport":
        return cls(replace(report, applications={}), tuple(report.applications.values()))

    def whole(self) -> SubClusterReport:
        return replace(self.report, applications={d.summary.application_id: d for d in self.applications})


class ReportFrame(msgspec.Struct, frozen=True, tag="report"):
    """Local Master to Global Master: everything that whoever knows nothing needs.

    Attributes:
        sent_at_s: When it was made; seconds since the epoch by the Local Master's clock, 0 if it is not told.
        earlier: Older reports of this life, oldest first, for the parts that the newest does not hold.
        ended: Applications that ended in earlier reports of this life, which the receiver may have missed.
        pieces: In how many pieces its bulk went ahead; see `pieces`.
        room: What the newest report shows as free and is claimed; None if it is not told.
    """

    life: str
    newest: ToldReport
    sent_at_s: float = 0.0
    earlier: tuple[ToldReport, ...] = ()
    ended: tuple[ApplicationDocument, ...] = ()
    pieces: int = 0
    room: CapacityNotice | None = None

    @property
    def sequence(self) -> int:
        """Of the newest report."""
        return self.newest.report.sequence

    @classmethod
    def of(
        cls,
        life: str,
        report: SubClusterReport,
        earlier: Iterable[SubClusterReport] = (),
        ended: Iterable[ApplicationDocument] = (),
        *,
        sent_at_s: float = 0.0,
    ) -> "ReportFrame":
        missed = tuple(d for d in ended if d.summary.application_id not in report.applications)
        return cls(life, ToldReport.of(report), sent_at_s, tuple(map(ToldReport.of, earlier)), missed)

    def published(self) -> SubClusterReport:
        """The newest report as it was published."""
        return self.newest.whole()

    def caught_up(self) -> tuple[SubClusterReport, ...]:
        """The reports to apply, in this order; the last one with all that ended before it."""
        newest = self.published()
        told = {d.summary.application_id: d for d in self.ended}
        return (
            *(each.whole() for each in self.earlier),
            replace(newest, applications=told | dict(newest.applications)),
        )


class DeltaFrame(msgspec.Struct, frozen=True, tag="delta"):
    """Local Master to Global Master: what changed since the report before; the rest is as in `ReportFrame`."""

    life: str
    delta: ReportDelta
    sent_at_s: float = 0.0
    pieces: int = 0
    room: CapacityNotice | None = None

    @property
    def sequence(self) -> int:
        return self.delta.head.sequence


_Applications = Annotated[tuple[ApplicationDocument, ...], msgspec.Meta(max_length=MAX_PIECE_ITEMS)]
_Nodes = Annotated[tuple[NodeReport, ...], msgspec.Meta(max_length=MAX_PIECE_ITEMS)]
_Queues = Annotated[tuple[QueueReport, ...], msgspec.Meta(max_length=MAX_PIECE_ITEMS)]
_Documents = Annotated[dict[str, bytes], msgspec.Meta(max_length=_MAX_DOCUMENTS)]


class PieceFrame(msgspec.Struct, frozen=True, tag="piece"):
    """Local Master to Global Master: bulk of a report or delta that comes later; see `pieces`.

    Attributes:
        life: Of the Local Master, as in the frame that it belongs to; `sequence` is that of its report.
        section: Which of a report's parts it belongs to: the earlier reports, then the newest; -1 for what has ended.
        documents: Parts of documents: those of one name are joined.
    """

    life: str
    sequence: int
    section: int
    nodes: _Nodes = ()
    queues: _Queues = ()
    documents: _Documents = {}  # msgspec copies it for each frame
    applications: _Applications = ()


class ResyncFrame(msgspec.Struct, frozen=True, tag="resync"):
    """Global Master to Local Master: a report is missing, send a whole one."""


class TroubleFrame(msgspec.Struct, frozen=True, tag="trouble"):
    """Local Master to Global Master: the ResourceManager did not answer as one.

    Attributes:
        at_s: When; seconds since the epoch by the Local Master's clock.
    """

    reason: str
    at_s: float


class ProposalFrame(msgspec.Struct, frozen=True, tag="proposal"):
    """Global Master to Local Master: may this application have its home with you?"""

    number: int
    proposal: HomeProposal


class VerdictFrame(msgspec.Struct, frozen=True, tag="verdict"):
    """Local Master to Global Master: the answer to a proposal."""

    number: int
    verdict: HomeVerdict


class LaunchFrame(msgspec.Struct, frozen=True, tag="launch"):
    """Global Master to Local Master: may I ask your sub-cluster for these, and what became of what I asked before.

    Attributes:
        life: Of the Global Master: what an earlier one was promised, this one does not know.
    """

    number: int
    proposals: Annotated[tuple[LaunchProposal, ...], msgspec.Meta(max_length=MAX_LAUNCHES)]
    news: Annotated[tuple[LaunchNews, ...], msgspec.Meta(max_length=MAX_LAUNCHES)] = ()
    life: int = 0


class LaunchedFrame(msgspec.Struct, frozen=True, tag="launched"):
    """Local Master to Global Master: the answer to each proposal of a launch frame, and what is claimed since."""

    number: int
    verdicts: Annotated[tuple[LaunchVerdict, ...], msgspec.Meta(max_length=MAX_LAUNCHES)]
    room: CapacityNotice | None = None


class SubmitFrame(msgspec.Struct, frozen=True, tag="submit"):
    """Global Master to Global Master: submit this, it belongs to a queue of yours. Who it is from, I have checked.

    Attributes:
        accept: In which representation the home should refuse.
    """

    number: int
    submission: Submission
    accept: str


class OutcomeKind(Enum):
    """Outcome of a submission that was passed on."""

    DELIVERED = "delivered"
    TAKEN = "taken"
    """It is safe, and not at its home yet."""
    REFUSED = "refused"
    """By its home, in the words of `java_class` and `message`; `status`, `headers` and `body` if it came by REST."""
    CONFLICT = "conflict"
    FORBIDDEN = "forbidden"
    """By the policy of shares: the user may not, or the queue is full."""
    BAD_REQUEST = "bad request"
    """It can run nowhere, for example as its queue is unknown."""
    TOO_LARGE = "too large"
    """Its ApplicationMaster is larger than any container that can be had."""
    NO_HOME = "no home"
    UNAVAILABLE = "unavailable"


class OutcomeFrame(msgspec.Struct, frozen=True, tag="outcome"):
    """The answer to a submission that was passed on.

    Attributes:
        java_class: Of a refusal; without `status` it came by RPC.
    """

    number: int
    kind: OutcomeKind
    home_subcluster: str = ""
    message: str = ""
    status: int = 0
    headers: Annotated[tuple[tuple[str, str], ...], msgspec.Meta(max_length=_MAX_HEADERS)] = ()
    body: bytes = b""
    java_class: str = ""


Question = ProposalFrame | LaunchFrame | SubmitFrame
Answer = VerdictFrame | LaunchedFrame | OutcomeFrame
_Handshake = ChallengeFrame | ProofFrame | WelcomeFrame
_Stream = HelloFrame | ReportFrame | DeltaFrame | PieceFrame | ResyncFrame | TroubleFrame
Frame = _Handshake | _Stream | Question | Answer


def as_dict(value: object) -> object:
    """What an encoder of frames makes of mappings that are no dictionaries; `NotImplementedError` for all else."""
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"a frame cannot hold a {type(value).__name__}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=as_dict)
_DECODER: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


def encode_frame(frame: Frame) -> bytes:
    """The bytes of a frame."""
    return _ENCODER.encode(frame)


def decode_frame_untrusted(data: bytes, *, most: int = MAX_FRAME_BYTES) -> Frame:
    """Read a frame.

    Args:
        most: Largest that is read; `MAX_HANDSHAKE_BYTES` before the other end has proved who it is.

    Raises:
        RemoteProtocolError: If the bytes are no frame, or too many.
    """
    if len(data) > most:
        raise RemoteProtocolError(f"a frame of {len(data)} bytes; the limit is {most}")
    try:
        return _DECODER.decode(data)
    except UNREADABLE as exc:
        raise RemoteProtocolError(f"not a frame between masters: {exc}") from exc
