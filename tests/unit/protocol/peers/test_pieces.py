"""Large reports go in pieces, each of which is read in a short turn of the event loop."""

from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain import ApplicationDocument, ApplicationId, NodeId, NodeReport, SubClusterReport
from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import SubClusterId
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import HaState
from shim.errors import RemoteProtocolError
from shim.protocol.peers import (
    MAX_FRAME_BYTES,
    DeltaFrame,
    Frame,
    PieceFrame,
    ReportFollower,
    ReportFrame,
    ReportPublisher,
    ResyncFrame,
    decode_frame_untrusted,
    encode_frame,
    in_pieces,
    streams,
)
from shim.protocol.peers.deltas import ReportDelta
from shim.protocol.peers.frames import ToldReport
from shim.protocol.peers.pieces import Gathering
from tests.doubles.reports import a_queue_report
from tests.support.loop_watch import too_long_at_once

EAST = SubClusterId("east")
ONE = ResourceVector(1, 1)


def document(sequence: int, size: int) -> ApplicationDocument:
    application_id = ApplicationId(1_700_000_000_000, sequence)
    state, status = YarnApplicationState.RUNNING, FinalStatus.UNDEFINED
    summary = ApplicationSummary(application_id, EAST, "u", "n", "root.q", state, status, "YARN")
    return ApplicationDocument(summary, b"x" * size, 1.0)


def report(sequence: int = 1, *, applications: int = 0, nodes: int = 0, queues: int = 0, text: int = 0, size: int = 0):
    documents = (document(each, size) for each in range(1, applications + 1))
    return SubClusterReport(
        EAST,
        sequence,
        1.0,
        HaState.ACTIVE,
        1,
        "3.4.2",
        ONE,
        ONE,
        ONE,
        nodes=tuple(NodeReport(NodeId(f"h{each}", 1), "/r", "RUNNING", ONE, ONE) for each in range(nodes)),
        queues=tuple(
            QueueReport(f"root.q{each}", QueueState.RUNNING, is_leaf=True, capacity=ONE, maximum=ONE, used=ONE)
            for each in range(queues)
        ),
        documents={"nodes": b"y" * text, "info": b"{}"} if text else {},
        applications={each.summary.application_id: each for each in documents},
    )


LARGE = report(applications=10_000, nodes=10_000, queues=1_000, text=8_000_000, size=2_000)
SIZES = st.fixed_dictionaries(
    {name: st.integers(0, 4) for name in ("applications", "nodes", "queues")}
    | {"text": st.integers(0, 5_000), "size": st.integers(0, 900)}
)


def wired(frame: ReportFrame | DeltaFrame) -> list[Frame]:
    return [decode_frame_untrusted(encode_frame(each)) for each in in_pieces(frame)]


def taken(follower: ReportFollower, frames: list[Frame]) -> Any:
    outcome: Any = ()
    for frame in frames:
        assert isinstance(frame, PieceFrame | ReportFrame | DeltaFrame)
        outcome = follower.receive(frame)
    return outcome


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shim.protocol.peers.pieces._PIECE_BYTES", 1000)


class TestRoundTrip:
    """What is cut is joined, whatever it is."""

    @given(first=SIZES, second=SIZES)
    def test_reports_and_deltas_arrive_whole(self, first: dict[str, int], second: dict[str, int]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("shim.protocol.peers.pieces._PIECE_BYTES", 1000)
            publisher, follower = ReportPublisher("life"), ReportFollower("gm")
            one, two = report(1, **first), report(2, **second)
            assert taken(follower, wired(publisher.publish(one))) == (one,)
            assert taken(follower, wired(publisher.publish(two)))[-1] == two
            late = ReportFollower("late")
            whole = publisher.resync()
            assert whole is not None
            assert taken(late, wired(whole))[-1] == two

    def test_a_small_one_goes_as_it_is(self) -> None:
        frame = ReportPublisher("life").publish(report(applications=3, nodes=3))
        assert list(in_pieces(frame)) == [frame]

    @pytest.mark.usefixtures("cut_small")
    def test_parts_of_earlier_reports_and_what_has_ended_arrive(self) -> None:
        publisher = ReportPublisher("life")
        ended = document(7, 900)
        ended = ended.but(summary=replace(ended.summary, state=YarnApplicationState.FINISHED))
        publisher.publish(report(1, nodes=9, text=3_000, applications=3, size=900))
        publisher.publish(replace(report(2), applications={ended.summary.application_id: ended}))
        publisher.publish(replace(report(3, applications=2, size=900), is_complete=False))
        whole = publisher.resync()
        assert whole is not None
        frames = wired(whole)
        assert len(frames) > 3
        assert taken(ReportFollower("gm"), frames) == whole.caught_up()


class TestSizes:
    """Pieces are as large as they may be, and no larger; an item costs 512 bytes and its document."""

    @pytest.mark.parametrize(
        ("sizes", "parts"),
        [
            ([88, 88], [2]),
            ([88, 89], [1, 1]),
            ([5_000, 1], [1, 1]),
            ([1, 5_000, 1], [1, 1, 1]),
            ([0, 0, 0, 0], [2, 2]),
            ([600, 0, 0, 600, 88], [1, 2, 1, 1]),
        ],
    )
    def test_applications_go_in_as_few_pieces_as_hold_them(
        self, monkeypatch: pytest.MonkeyPatch, sizes: list[int], parts: list[int]
    ) -> None:
        monkeypatch.setattr("shim.protocol.peers.pieces._PIECE_BYTES", 2 * 512 + 2 * 88)
        monkeypatch.setattr("shim.protocol.peers.pieces._ITEM_BYTES", 512)
        made = [document(number, size) for number, size in enumerate(sizes, 1)]
        told = replace(report(text=5_000), applications={each.summary.application_id: each for each in made})
        cut = [
            each.applications
            for each in in_pieces(ReportPublisher("life").publish(told))
            if isinstance(each, PieceFrame)
        ]
        assert [len(each) for each in cut if each] == parts
        assert [each for part in cut for each in part] == made

    @pytest.mark.parametrize(("most", "parts"), [(3, [3, 3, 1]), (7, [7]), (1, [1] * 7)])
    def test_a_piece_has_so_many_items_at_most(
        self, monkeypatch: pytest.MonkeyPatch, most: int, parts: list[int]
    ) -> None:
        monkeypatch.setattr("shim.protocol.peers.pieces.MAX_PIECE_ITEMS", most)
        cut = list(in_pieces(ReportPublisher("life").publish(report(nodes=7, text=2_000_000))))
        assert [len(each.nodes) for each in cut if isinstance(each, PieceFrame) and each.nodes] == parts

    @pytest.mark.usefixtures("cut_small")
    @pytest.mark.parametrize(("size", "parts"), [(2_000, [1000, 1000]), (2_001, [1000, 1000, 1]), (1_999, [1000, 999])])
    def test_a_text_is_cut_at_the_size_of_a_piece(self, size: int, parts: list[int]) -> None:
        cut = list(in_pieces(ReportPublisher("life").publish(report(text=size))))
        texts = [each.documents["nodes"] for each in cut if isinstance(each, PieceFrame) and "nodes" in each.documents]
        assert [len(each) for each in texts] == parts


class TestWhatIsLost:
    """A frame whose pieces did not all come is not believed."""

    @pytest.mark.usefixtures("cut_small")
    @pytest.mark.parametrize("lost", [0, 1, -2])
    def test_a_whole_one_is_asked_for(self, lost: int) -> None:
        publisher, follower = ReportPublisher("life"), ReportFollower("gm")
        frames = wired(publisher.publish(report(1, nodes=30, text=3_000)))
        del frames[lost]
        assert isinstance(taken(follower, frames), ResyncFrame)
        whole = publisher.resync()
        assert whole is not None
        assert taken(follower, wired(whole)) == (report(1, nodes=30, text=3_000),)

    @pytest.mark.usefixtures("cut_small")
    def test_the_resync_may_lose_pieces_too(self) -> None:
        publisher, follower = ReportPublisher("life"), ReportFollower("gm")
        frames = wired(publisher.publish(report(1, nodes=30)))
        for _ in range(3):
            assert isinstance(taken(follower, frames[1:]), ResyncFrame)
        assert taken(follower, frames) == (report(1, nodes=30),)

    @pytest.mark.usefixtures("cut_small")
    def test_pieces_of_another_report_are_not_taken(self) -> None:
        one, other = ReportPublisher("one"), ReportPublisher("other")
        follower = ReportFollower("gm")
        foreign = wired(other.publish(report(1, nodes=40)))
        own = wired(one.publish(report(1, nodes=30)))
        assert taken(follower, [*foreign[:-1], *own]) == (report(1, nodes=30),)
        assert isinstance(taken(ReportFollower("gm"), [*own[:-1], foreign[-1]]), ResyncFrame)

    @pytest.mark.usefixtures("cut_small")
    def test_a_new_connection_begins_without_pieces(self) -> None:
        follower = ReportFollower("gm")
        frames = wired(ReportPublisher("life").publish(report(1, nodes=30)))
        taken(follower, frames[:-1])
        follower.hello()
        assert isinstance(taken(follower, frames[-1:]), ResyncFrame)


class TestBounds:
    """No piece is dear, and all of them together are bounded."""

    async def test_ten_thousand_nodes_and_applications_hold_the_loop_shortly(self) -> None:
        publisher, follower = ReportPublisher("life"), ReportFollower("gm")
        publisher.publish(LARGE)
        whole = publisher.resync()
        assert whole is not None
        frames = list(in_pieces(whole))
        data = [encode_frame(frame) for frame in frames]
        assert len(data) > 50
        assert max(map(len, data)) < MAX_FRAME_BYTES
        for each, frame in sorted(zip(data, frames, strict=True), key=lambda pair: -len(pair[0]))[::20]:
            assert await too_long_at_once(partial(encode_frame, frame)) is None
            assert await too_long_at_once(partial(decode_frame_untrusted, each)) is None
        assert taken(follower, [decode_frame_untrusted(each) for each in data]) == (LARGE,)

    def test_a_frame_is_as_large_as_four_mebibytes(self) -> None:
        with pytest.raises(RemoteProtocolError, match="the limit is"):
            decode_frame_untrusted(b"\0" * (MAX_FRAME_BYTES + 1))

    @pytest.mark.parametrize("name", ["nodes", "queues", "applications"])
    async def test_a_piece_of_too_many_items_is_refused(self, name: str) -> None:
        hostile = {"type": "piece", "life": "l", "sequence": 1, "section": 0, name: [{}] * 1_000_000}
        data = msgspec.msgpack.encode(hostile)

        def read() -> None:
            with pytest.raises(RemoteProtocolError, match="length"):
                decode_frame_untrusted(data)

        assert await too_long_at_once(read) is None

    async def test_the_dearest_piece_of_the_largest_size_is_read_shortly(self) -> None:
        items = report(applications=2_000, nodes=0, size=1_500)
        piece = PieceFrame("life", 1, 0, applications=tuple(items.applications.values()))
        data = encode_frame(piece)
        assert len(data) < MAX_FRAME_BYTES
        assert await too_long_at_once(lambda: decode_frame_untrusted(data)) is None

    def test_the_sum_of_pieces_is_bounded(self) -> None:
        gathering = Gathering(limit=10_000)
        piece = PieceFrame("life", 1, 0, documents={"nodes": b"x" * 3_000})
        for _ in range(3):
            gathering.take(piece)
        with pytest.raises(RemoteProtocolError, match="a report of more than"):
            gathering.take(piece)

    def test_empty_pieces_count_as_well(self) -> None:
        gathering = Gathering(limit=10_000)

        def take_many() -> None:
            for section in range(1_000):
                gathering.take(PieceFrame("life", 1, section))

        with pytest.raises(RemoteProtocolError):
            take_many()


def test_what_pieces_bring_is_counted_by_their_frames_and_by_what_is_kept_of_them() -> None:
    """A Local Master that is taken over sends thousands of nodes with short names, or a few with long ones."""
    small = tuple(NodeReport(NodeId(f"h{each}", 1), "", "", ONE, ONE) for each in range(2000))
    wide = tuple(replace(each, labels=("x" * 1000,) * 100) for each in small[:30])
    for nodes in (small, wide):
        piece = PieceFrame("life", 1, 0, nodes=nodes)
        gathering = Gathering()
        for _ in range(256 * 1024 * 1024 // (len(encode_frame(piece)) + 1500 * len(nodes))):
            gathering.take(piece)
        with pytest.raises(RemoteProtocolError, match="bytes"):
            gathering.take(piece)


NODE = NodeReport(NodeId("h", 1), "", "", ONE, ONE)
QUEUE = QueueReport("root.q", QueueState.RUNNING, is_leaf=True, capacity=ONE, maximum=ONE, used=ONE)
ODD_REPORTS = {
    "a negative capacity": replace(report(), capacity=ResourceVector(-1, 1)),
    "a large use": replace(report(), used=ResourceVector(1, 2**63)),
    "a negative amount of a type": replace(report(), maximum_allocation=ResourceVector(1, 1, {"gpu": -5})),
    "very many types": replace(report(), capacity=ResourceVector(1, 1, {f"t{each}": 1 for each in range(101)})),
    "no time": replace(report(), polled_at_s=float("nan")),
    "a time without end": replace(report(), clock_skew_s=float("inf")),
    "a start before all time": replace(report(), started_on_ms=-1),
    "a node with a negative use": replace(report(), nodes=(replace(NODE, used=ResourceVector(0, -1)),)),
    "a node with a long rack": replace(report(), nodes=(replace(NODE, rack="r" * 1025),)),
    "a node with many labels": replace(report(), nodes=(replace(NODE, labels=("x",) * 201),)),
    "a queue with a negative count": replace(report(), queues=(replace(QUEUE, applications=-1),)),
    "a queue with a negative demand": replace(report(), queues=(replace(QUEUE, pending=ResourceVector(0, -(2**31))),)),
    "a queue with a long name": replace(report(), queues=(replace(QUEUE, path="q" * 1025),)),
    "a huge document": report(applications=1, size=1024 * 1024 + 1),
}


@pytest.mark.parametrize("odd", ODD_REPORTS.values(), ids=ODD_REPORTS)
def test_a_report_that_no_resource_manager_can_have_told_ends_the_link(odd: SubClusterReport) -> None:
    frame = decode_frame_untrusted(encode_frame(ReportFrame("life", ToldReport.of(odd), 1.0)))
    assert isinstance(frame, ReportFrame)
    with pytest.raises(RemoteProtocolError):
        ReportFollower("gm").receive(frame)


def test_deltas_that_bring_ever_more_end_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_NODES", 50)
    follower = ReportFollower("gm")
    follower.receive(ReportFrame("life", ToldReport.of(report()), 1.0))

    def another(each: int) -> None:
        node = replace(NODE, node=NodeId(f"h{each}", 1))
        delta = ReportDelta(each, replace(report(), sequence=each + 1), (node,), (), None, {}, (), (), ())
        follower.receive(DeltaFrame("life", delta))

    for each in range(1, 51):
        another(each)
    with pytest.raises(RemoteProtocolError, match="51 nodes"):
        another(51)


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 3, 4), (1, 3, 0)])
def test_each_item_of_each_kind_counts_beside_its_bytes(counts: tuple[int, int, int]) -> None:
    nodes = tuple(NodeReport(NodeId(f"h{each}", 1), "", "", ONE, ONE) for each in range(counts[0]))
    queues = tuple(a_queue_report(f"root.q{each}") for each in range(counts[1]))
    applications = tuple(document(each, 9) for each in range(counts[2]))
    piece = PieceFrame("life", 1, 0, nodes=nodes, queues=queues, applications=applications)
    most = len(encode_frame(piece)) + 1500 * sum(counts)
    Gathering(most).take(piece)
    with pytest.raises(RemoteProtocolError, match=f"a report of more than {most - 1} bytes"):
        Gathering(most - 1).take(piece)
