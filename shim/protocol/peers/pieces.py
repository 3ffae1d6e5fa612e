"""Large reports, cut into frames that each cost little to read.

The bulk of a report (nodes, queues, documents, applications) goes ahead in pieces; the frame of the report follows
without it, and takes up what came. Frames of other kinds may go between. A receiver bounds each frame and the sum.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeVar

from shim.domain import ApplicationDocument, NodeReport, QueueReport, SubClusterReport
from shim.domain.packed_texts import Text, plain
from shim.errors import RemoteProtocolError
from shim.protocol.peers.frames import MAX_PIECE_ITEMS, DeltaFrame, PieceFrame, ReportFrame, ToldReport, encode_frame

MAX_GATHERED_BYTES = 256 * 1024 * 1024
"""Of one report: 10,000 nodes and 10,000 applications are some 40 MB; more than this is no report."""

_PIECE_BYTES = 512 * 1024
_ITEM_BYTES = 300  # of an application beside its document, or of a node
_KEPT_BYTES = 1500
"""Of an application, a node or a queue beside what is written of it: one with short names takes ten times its frame."""
_ENDED = -1  # the section of applications that have ended

T = TypeVar("T")


def in_pieces(frame: ReportFrame | DeltaFrame) -> Iterator[ReportFrame | DeltaFrame | PieceFrame]:
    """The frames in whose place a report goes out, in their order; a small one goes out as it is."""
    if _size_of_frame(frame) <= _PIECE_BYTES:
        yield frame
        return
    pieces = 0
    for piece in _pieces_of_frame(frame):
        pieces += 1
        yield piece
    yield _head(frame, pieces)


def _pieces_of_frame(frame: ReportFrame | DeltaFrame) -> Iterator[PieceFrame]:
    if isinstance(frame, DeltaFrame):
        delta = frame.delta
        yield from _pieces(frame, 0, delta.nodes, delta.queues or (), delta.documents, delta.applications)
        return
    for section, told in enumerate((*frame.earlier, frame.newest)):
        report = told.report
        yield from _pieces(frame, section, report.nodes, report.queues, report.documents, told.applications)
    yield from _pieces(frame, _ENDED, (), (), {}, frame.ended)


def _head(frame: ReportFrame | DeltaFrame, pieces: int) -> ReportFrame | DeltaFrame:
    if isinstance(frame, DeltaFrame):
        delta = frame.delta
        head = replace(delta, nodes=(), queues=None if delta.queues is None else (), documents={}, applications=())
        return DeltaFrame(frame.life, head, frame.sent_at_s, pieces, frame.room)
    earlier = tuple(_without_bulk(told) for told in frame.earlier)
    return ReportFrame(
        frame.life, _without_bulk(frame.newest), frame.sent_at_s, earlier, pieces=pieces, room=frame.room
    )


@dataclass(slots=True)
class _Section:
    nodes: list[NodeReport] = field(default_factory=list)
    queues: list[QueueReport] = field(default_factory=list)
    documents: dict[str, list[bytes]] = field(default_factory=dict)
    applications: list[ApplicationDocument] = field(default_factory=list)

    def texts(self) -> dict[str, bytes]:
        return {name: b"".join(parts) for name, parts in self.documents.items()}


class Gathering:
    """A receiver's end: takes pieces, and gives the frame that follows them whole."""

    def __init__(self, limit: int = MAX_GATHERED_BYTES) -> None:
        self._limit = limit
        self._of: tuple[str, int] = ("", 0)
        self._sections: dict[int, _Section] = {}
        self._bytes = 0
        self._pieces = 0

    def take(self, piece: PieceFrame) -> None:
        """Keep a piece; those of another report are forgotten.

        Raises:
            RemoteProtocolError: All of them together are too large for a report.
        """
        if self._of != (piece.life, piece.sequence):
            self.clear()
            self._of = (piece.life, piece.sequence)
        self._pieces += 1
        items = len(piece.nodes) + len(piece.queues) + len(piece.applications)
        self._bytes += len(encode_frame(piece)) + items * _KEPT_BYTES
        if self._bytes > self._limit:
            self.clear()
            raise RemoteProtocolError(f"a report of more than {self._limit} bytes")
        section = self._sections.setdefault(piece.section, _Section())
        section.nodes += piece.nodes
        section.queues += piece.queues
        section.applications += piece.applications
        for name, part in piece.documents.items():
            section.documents.setdefault(name, []).append(part)

    def whole(self, frame: ReportFrame | DeltaFrame) -> ReportFrame | DeltaFrame | None:
        """The frame with what came ahead of it; None if not all of that did."""
        if not frame.pieces:
            return frame
        is_whole = self._of == (frame.life, frame.sequence) and self._pieces == frame.pieces
        sections = self._sections
        self.clear()
        if not is_whole:
            return None
        if isinstance(frame, DeltaFrame):
            return _whole_delta(frame, sections.get(0, _Section()))
        last = len(frame.earlier)
        told = [_filled(each, sections.get(at)) for at, each in enumerate((*frame.earlier, frame.newest))]
        ended = sections.get(_ENDED, _Section()).applications
        return ReportFrame(frame.life, told[last], frame.sent_at_s, tuple(told[:last]), (*frame.ended, *ended))

    def clear(self) -> None:
        self._of = ("", 0)
        self._sections = {}
        self._bytes = self._pieces = 0


def _whole_delta(frame: DeltaFrame, section: _Section) -> DeltaFrame:
    delta = frame.delta
    queues = None if delta.queues is None else (*delta.queues, *section.queues)
    nodes, applications = (*delta.nodes, *section.nodes), (*delta.applications, *section.applications)
    documents = {**delta.documents, **section.texts()}
    whole = replace(delta, nodes=nodes, queues=queues, documents=documents, applications=applications)
    return DeltaFrame(frame.life, whole, frame.sent_at_s)


def _filled(told: ToldReport, section: _Section | None) -> ToldReport:
    if section is None:
        return told
    report = told.report
    filled: SubClusterReport = replace(
        report,
        nodes=(*report.nodes, *section.nodes),
        queues=(*report.queues, *section.queues),
        documents={**report.documents, **section.texts()},
    )
    return ToldReport(filled, (*told.applications, *section.applications))


def _without_bulk(told: ToldReport) -> ToldReport:
    return ToldReport(replace(told.report, nodes=(), queues=(), documents={}), ())


def _pieces(
    frame: ReportFrame | DeltaFrame,
    section: int,
    nodes: Sequence[NodeReport],
    queues: Sequence[QueueReport],
    documents: Mapping[str, Text],
    applications: Sequence[ApplicationDocument],
) -> Iterator[PieceFrame]:
    key = (frame.life, frame.sequence, section)
    yield from (PieceFrame(*key, nodes=some) for some in _some(nodes))
    yield from (PieceFrame(*key, queues=some) for some in _some(queues))
    yield from (PieceFrame(*key, applications=some) for some in _some(applications))
    for name, told in documents.items():
        text = plain(told)
        for start in range(0, max(1, len(text)), _PIECE_BYTES):
            yield PieceFrame(*key, documents={name: text[start : start + _PIECE_BYTES]})


def _some(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Parts of a bounded size, each with one item at least."""
    part: list[T] = []
    size = 0
    for item in items:
        cost = _ITEM_BYTES + (len(item.told) if isinstance(item, ApplicationDocument) else 0)
        if part and (size + cost > _PIECE_BYTES or len(part) >= MAX_PIECE_ITEMS):
            yield tuple(part)
            part, size = [], 0
        part.append(item)
        size += cost
    if part:
        yield tuple(part)


def _size_of_frame(frame: ReportFrame | DeltaFrame) -> int:
    if isinstance(frame, DeltaFrame):
        delta = frame.delta
        return _size(delta.nodes, delta.queues or (), delta.documents, delta.applications)
    told = (*frame.earlier, frame.newest)
    parts = (_size(t.report.nodes, t.report.queues, t.report.documents, t.applications) for t in told)
    return sum(chain(parts, [_size((), (), {}, frame.ended)]))


def _size(
    nodes: Sequence[object],
    queues: Sequence[object],
    documents: Mapping[str, Text],
    applications: Iterable[ApplicationDocument],
) -> int:
    """Bytes of the wire, about."""
    texts = sum(len(text) for text in documents.values())
    return texts + _ITEM_BYTES * (len(nodes) + len(queues)) + sum(_ITEM_BYTES + len(each.told) for each in applications)
