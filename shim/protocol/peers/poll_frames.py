"""What a process that polls tells the one that serves, sans-IO: one msgpack value a frame, after its length.

| frames | from | to |
|---|---|---|
| rows, texts, nodes, queues, and last a report: its bulk in parts, then the rest | who polls | who serves |
| trouble, beat | who polls | who serves |
| fence | who serves | who polls |

A report is told by what is new in it: a row whose summary stands is its number and its bytes, a node or queue that is
what it was is not told. Nothing is lost on the way, and whoever polls anew begins with a whole report, so there is no
resync. Rows are bytes that a ResourceManager wrote, mostly packed: they go over as they are, and are never looked into.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import starmap
from typing import TypeVar

import msgspec

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId
from shim.domain.packed_texts import PackedText, Page, Text
from shim.domain.queues import QueueReport
from shim.domain.subclusters import ApplicationAmounts, ApplicationDocument, NodeReport, SubClusterReport
from shim.domain.told_bounds import MOST_APPLICATIONS, MOST_NODES, MOST_QUEUES
from shim.errors import RemoteProtocolError
from shim.protocol.peers.frames import as_dict
from shim.protocol.wire_values import UNREADABLE

_T = TypeVar("_T")
LENGTH_BYTES = 4
MAX_POLL_FRAME_BYTES = 64 * 1024 * 1024
"""More than any that is written: one queue with its users, or one document, is the least that a frame holds."""
_FRAME_BYTES = 256 * 1024
_FRAME_ROWS = 200
_ROW_BYTES = 64
_USER_BYTES = 512
_LISTS = 3
"""Lists of applications in one report: what lives, what ended since, what was asked for by id."""


class RowsFrame(msgspec.Struct, frozen=True, array_like=True, tag="rows"):
    """Applications as they were told at one time.

    Attributes:
        first: Number of the first that is told with its summary; the others follow.
        rows: Each with its summary, or by its number if that stands.
        texts: Of each row its bytes, or its place among those of all pages.
        pages: Packed, with where each of their texts ends.
        amounts: Of each row.
    """

    subcluster: str
    as_of_s: float
    first: int
    rows: list[ApplicationSummary | int]
    texts: list[bytes | int]
    pages: list[tuple[bytes, tuple[int, ...]]]
    amounts: list[ApplicationAmounts | None]


class TextFrame(msgspec.Struct, frozen=True, array_like=True, tag="text"):
    """A part of a document; parts of one name are joined.

    Attributes:
        size: Of the document, if it is packed; otherwise 0.
    """

    subcluster: str
    name: str
    piece: bytes
    size: int = 0


class NodesFrame(msgspec.Struct, frozen=True, array_like=True, tag="nodes"):
    """Nodes that are not what they were, by their place in the list."""

    subcluster: str
    changed: list[tuple[int, NodeReport]]


class QueuesFrame(msgspec.Struct, frozen=True, array_like=True, tag="queues"):
    """Queues that are not what they were, by their place in the list."""

    subcluster: str
    changed: list[tuple[int, QueueReport]]


class ReportEnd(msgspec.Struct, frozen=True, array_like=True, tag="report"):
    """The end of a report.

    Attributes:
        head: The report without its bulk.
        nodes: How many there are; None if it tells of none.
        queues: How many there are; None if it tells of none.
    """

    head: SubClusterReport
    nodes: int | None
    queues: int | None

    @property
    def subcluster(self) -> str:
        return str(self.head.subcluster)


class PollTroubleFrame(msgspec.Struct, frozen=True, array_like=True, tag="trouble"):
    """A poll failed; `kind` is the name of the error, `at_s` when it did: seconds since the epoch."""

    subcluster: str
    kind: str
    reason: str
    at_s: float


class BeatFrame(msgspec.Struct, frozen=True, array_like=True, tag="beat"):
    """Who polls is there; `exchanges` are those with ResourceManagers since the last: whose, outcome, seconds."""

    exchanges: list[tuple[str, str, float]]


class FenceFrame(msgspec.Struct, frozen=True, array_like=True, tag="fence"):
    """Exactly these sub-clusters are retired: nothing is sent to them."""

    retired: list[str]


PollFrame = RowsFrame | TextFrame | NodesFrame | QueuesFrame | ReportEnd | PollTroubleFrame | BeatFrame | FenceFrame
_ENCODER = msgspec.msgpack.Encoder(enc_hook=as_dict)
_DECODER = msgspec.msgpack.Decoder(PollFrame)


def encode_poll_frame(frame: PollFrame) -> bytes:
    """The bytes of a frame, its length before them."""
    data = _ENCODER.encode(frame)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def poll_frame_length(prefix: bytes) -> int:
    """How many bytes follow.

    Raises:
        RemoteProtocolError: If they are more than a frame may have.
    """
    length = int.from_bytes(prefix, "big")
    if length > MAX_POLL_FRAME_BYTES:
        raise RemoteProtocolError(f"a frame of {length} bytes; the limit is {MAX_POLL_FRAME_BYTES}")
    return length


def decode_poll_frame(data: bytes) -> PollFrame:
    """Read a frame without its length.

    Raises:
        RemoteProtocolError: If the bytes are no frame.
    """
    try:
        frame: PollFrame = _DECODER.decode(data)
    except UNREADABLE as exc:
        raise RemoteProtocolError(f"bytes of a process that polls are no frame: {exc}") from exc
    return frame


class ReportWriter:
    """Writes the reports of one sub-cluster, each by what is new since the one before."""

    def __init__(self) -> None:
        self._told: dict[
            int, tuple[int, ApplicationSummary]
        ] = {}  # by identity, which the summary kept here makes safe
        self._next = 0
        self._nodes: tuple[NodeReport, ...] = ()
        self._queues: tuple[QueueReport, ...] = ()

    def frames(self, report: SubClusterReport) -> Iterator[PollFrame]:
        """The frames of a report; all of them are to be sent, in this order."""
        name = str(report.subcluster)
        yield from self._rows(report)
        for part, told in report.documents.items():
            raw, size = (told, 0) if isinstance(told, bytes) else (told.page.packed, len(told))
            for start in range(0, max(1, len(raw)), _FRAME_BYTES):
                yield TextFrame(name, part, raw[start : start + _FRAME_BYTES], size)
        nodes = queues = None
        if "nodes" in report.documents:
            yield from (NodesFrame(name, some) for some in _in_frames(_changed(self._nodes, report.nodes)))
            self._nodes, nodes = report.nodes, len(report.nodes)
        if "scheduler" in report.documents:
            yield from (QueuesFrame(name, some) for some in _in_frames(_changed(self._queues, report.queues)))
            self._queues, queues = report.queues, len(report.queues)
        yield ReportEnd(replace(report, nodes=(), queues=(), documents={}, applications={}), nodes, queues)

    def _rows(self, report: SubClusterReport) -> Iterator[RowsFrame]:
        told = {} if report.is_complete else self._told
        before, self._told = self._told, told
        batch = _Batch(str(report.subcluster), self._next)
        for document in report.applications.values():
            if batch.is_full or (batch.rows and batch.as_of_s != document.as_of_s):
                yield batch.frame()
                batch = _Batch(batch.subcluster, self._next)
            batch.as_of_s = document.as_of_s
            key = id(document.summary)
            known = before.get(key)
            if known is None:
                told[key] = self._next, document.summary
                self._next += 1
            else:
                told[key] = known
            batch.add(document, document.summary if known is None else known[0])
        if batch.rows:
            yield batch.frame()


class _Batch:
    """Rows of a frame that is being made."""

    __slots__ = ("amounts", "as_of_s", "first", "first_place", "page", "pages", "rows", "size", "subcluster", "texts")

    def __init__(self, subcluster: str, first: int) -> None:
        self.subcluster, self.first = subcluster, first
        self.as_of_s = 0.0
        self.size = 0
        self.rows: list[ApplicationSummary | int] = []
        self.texts: list[bytes | int] = []
        self.page: Page | None = None
        self.first_place = 0
        self.pages: list[tuple[bytes, tuple[int, ...]]] = []
        self.amounts: list[ApplicationAmounts | None] = []

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= _FRAME_ROWS or self.size >= _FRAME_BYTES

    def add(self, document: ApplicationDocument, row: ApplicationSummary | int) -> None:
        self.rows.append(row)
        self.amounts.append(document.amounts)
        self.size += _ROW_BYTES
        text = document.told
        if isinstance(text, bytes):
            self.texts.append(text)
            self.size += len(text)
            return
        page = text.page
        if page is not self.page:
            self.first_place += 0 if self.page is None else len(self.page.ends)
            self.page = page
            self.pages.append((page.packed, page.ends))
            self.size += len(page.packed)
        self.texts.append(self.first_place + text.place)

    def frame(self) -> RowsFrame:
        return RowsFrame(self.subcluster, self.as_of_s, self.first, self.rows, self.texts, self.pages, self.amounts)


def _changed(before: Sequence[_T], after: Sequence[_T]) -> Iterator[tuple[int, _T]]:
    for place, each in enumerate(after):
        if place >= len(before) or (before[place] is not each and before[place] != each):
            yield place, each


def _in_frames(changed: Iterable[tuple[int, _T]]) -> Iterator[list[tuple[int, _T]]]:
    """Parts of a bounded size, each with one item at least."""
    part: list[tuple[int, _T]] = []
    size = 0
    for item in changed:
        part.append(item)
        size += _USER_BYTES * (1 + (len(item[1].users) if isinstance(item[1], QueueReport) else 0))
        if size >= _FRAME_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


class ReportReader:
    """Makes reports of one sub-cluster of the frames that a `ReportWriter` wrote, from its first on."""

    def __init__(self) -> None:
        self._known: dict[int, ApplicationSummary] = {}
        self._told: dict[int, ApplicationSummary] = {}
        self._applications: dict[ApplicationId, ApplicationDocument] = {}
        self._texts: dict[str, list[TextFrame]] = {}
        self._nodes: list[NodeReport] = []
        self._queues: list[QueueReport] = []

    def take(self, frame: RowsFrame | TextFrame | NodesFrame | QueuesFrame | ReportEnd) -> SubClusterReport | None:
        """Take a frame; give the report with its last one.

        Raises:
            RemoteProtocolError: If it does not follow from those before.
        """
        try:
            if isinstance(frame, RowsFrame):
                self._take_rows(frame)
            elif isinstance(frame, TextFrame):
                self._texts.setdefault(frame.name, []).append(frame)
            elif isinstance(frame, NodesFrame):
                _put(self._nodes, frame.changed, MOST_NODES)
            elif isinstance(frame, QueuesFrame):
                _put(self._queues, frame.changed, MOST_QUEUES)
            else:
                return self._ended(frame)
        except (KeyError, IndexError, ValueError) as exc:
            raise RemoteProtocolError(f"a frame of a process that polls stands on nothing: {exc}") from exc
        return None

    def _take_rows(self, frame: RowsFrame) -> None:
        as_of_s, told, known, applications = frame.as_of_s, self._told, self._known, self._applications
        pages = starmap(Page, frame.pages)
        packed = dict(enumerate(PackedText(page, place) for page in pages for place in range(len(page.ends))))
        fresh = frame.first
        for row, text, amounts in zip(frame.rows, frame.texts, frame.amounts, strict=True):
            if isinstance(row, int):
                summary, number = known[row], row
            else:
                summary, number = row, fresh
                fresh += 1
            told[number] = summary
            body = text if isinstance(text, bytes) else packed[text]
            applications[summary.application_id] = ApplicationDocument(summary, body, as_of_s, amounts)
        if len(told) > _LISTS * MOST_APPLICATIONS:
            raise ValueError(f"{len(told)} applications in one report")

    def _ended(self, frame: ReportEnd) -> SubClusterReport:
        applications, self._applications = self._applications, {}
        texts, self._texts = self._texts, {}
        told, self._told = self._told, {}
        if frame.head.is_complete:
            self._known = told
        else:
            self._known.update(told)
        return replace(
            frame.head,
            nodes=_whole(self._nodes, frame.nodes),
            queues=_whole(self._queues, frame.queues),
            documents={name: _joined(pieces) for name, pieces in texts.items()},
            applications=applications,
        )


def _joined(pieces: Sequence[TextFrame]) -> Text:
    text, size = b"".join(each.piece for each in pieces), pieces[0].size
    return PackedText(Page(text, (size,)), 0) if size else text


def _put(items: list[_T], changed: Iterable[tuple[int, _T]], most: int) -> None:
    for place, item in changed:
        if place == len(items) < most:
            items.append(item)
        elif 0 <= place < len(items):
            items[place] = item
        else:
            raise IndexError(f"place {place} of a list of {len(items)}")


def _whole(items: list[_T], count: int | None) -> tuple[_T, ...]:
    if count is None:
        return ()
    if not 0 <= count <= len(items):
        raise IndexError(f"a list of {count}, of which {len(items)} are known")
    del items[count:]
    return tuple(items)
