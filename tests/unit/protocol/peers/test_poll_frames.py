"""What a process that polls tells arrives as it was, however little of it is said anew."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.packed_texts import packed_rows
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationAmounts
from shim.errors import RemoteProtocolError
from shim.protocol.peers import poll_frames
from shim.protocol.peers.poll_frames import (
    LENGTH_BYTES,
    MAX_POLL_FRAME_BYTES,
    NodesFrame,
    ReportEnd,
    ReportReader,
    ReportWriter,
    RowsFrame,
    TextFrame,
    decode_poll_frame,
    encode_poll_frame,
    poll_frame_length,
)
from tests.doubles.reports import a_document, a_node_report, a_queue_report, a_report
from tests.support.examples import examples

PARTS = ("info", "metrics", "nodes", "scheduler")
LIVE, FINAL = ("ACCEPTED", "RUNNING"), ("FINISHED", "KILLED")
AMOUNTS = ApplicationAmounts(1, 2, 3, is_beginning=True), ApplicationAmounts(4, 5, 6, is_beginning=False)
SUMMARIES = {(n, state): a_document(n, "east", state).summary for n in range(8) for state in LIVE + FINAL}


def over_the_wire(frames):
    for frame in frames:
        data = encode_poll_frame(frame)
        assert poll_frame_length(data[:LENGTH_BYTES]) == len(data) - LENGTH_BYTES
        yield decode_poll_frame(data[LENGTH_BYTES:])


def read(reader, frames):
    told = [report for frame in over_the_wire(frames) if (report := reader.take(frame)) is not None]
    assert len(told) == 1
    return told[0]


@st.composite
def rows(draw):
    """What an application is and when it was told; of one that stands its reader gives the same summary again."""
    number, state = draw(st.integers(0, 7)), draw(st.sampled_from(LIVE + FINAL))
    document = a_document(number, "east", state, as_of_s=draw(st.sampled_from((1.0, 2.0, 3.0))))
    amounts = draw(st.sampled_from((None, *AMOUNTS)))
    document = document.but(amounts=amounts)
    return document.but(summary=SUMMARIES[number, state]) if draw(st.booleans()) else document


@st.composite
def some_packed(draw, documents):
    """The same, some of them in pages of a few."""
    places = sorted(draw(st.sets(st.sampled_from(range(len(documents))))) if documents else ())
    packed = zip(places, packed_rows(documents[place].raw for place in places), strict=True)
    told = documents.copy()
    for place, text in packed:
        told[place] = told[place].but(told=text)
    return told


texts = st.binary(max_size=40) | st.binary(min_size=1, max_size=40).map(lambda text: next(packed_rows([text])))


@st.composite
def polls(draw):
    """What one poll tells: a part that was not asked for is not in it."""
    parts = draw(st.sets(st.sampled_from(PARTS)))
    names = draw(st.lists(st.integers(1, 5), unique=True)) if "nodes" in parts else []
    paths = draw(st.lists(st.sampled_from("abc"), unique=True)) if "scheduler" in parts else []
    is_complete = draw(st.booleans())
    size = draw(st.sampled_from((ResourceVector(1, 1), ResourceVector(2, 2, {"gpu": 1}))))
    return a_report(
        "east",
        documents={part: draw(texts) for part in sorted(parts)},
        nodes=tuple(a_node_report(f"n{name}:1", size) for name in names),
        queues=tuple(a_queue_report(f"root.{path}", used=size) for path in paths),
        applications=draw(
            st.lists(rows(), max_size=8, unique_by=lambda each: each.summary.application_id).flatmap(some_packed)
        )
        if is_complete
        else (),
        is_complete=is_complete,
    )


@given(told=st.lists(polls(), max_size=8), slice_bytes=st.integers(1, 300), slice_rows=st.integers(1, 4))
@settings(max_examples=examples(60), deadline=None)
def test_reports_arrive_as_they_were_told(told, slice_bytes, slice_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poll_frames, "_FRAME_BYTES", slice_bytes)
        patch.setattr(poll_frames, "_FRAME_ROWS", slice_rows)
        writer, reader = ReportWriter(), ReportReader()
        for sequence, each in enumerate(told, start=1):
            report = replace(each, sequence=sequence)
            assert read(reader, writer.frames(report)) == report


def test_what_stands_is_told_by_its_number_and_its_bytes_alone():
    writer = ReportWriter()
    first, second = a_document(1, "east"), a_document(2, "east")
    list(writer.frames(a_report("east", 1, applications=(first, second))))
    again = first.but(told=b'{"elapsedTime":2}', as_of_s=200.0)
    rows_told = [
        f for f in writer.frames(a_report("east", 2, applications=(again, second))) if isinstance(f, RowsFrame)
    ]
    assert [(f.rows, f.texts, f.as_of_s) for f in rows_told] == [
        ([0], [b'{"elapsedTime":2}'], 200.0),
        ([1], [second.raw], 100.0),
    ]


def test_a_summary_that_stands_is_the_same_object_again():
    writer, reader = ReportWriter(), ReportReader()
    document = a_document(1, "east")
    told = [read(reader, writer.frames(a_report("east", number, applications=(document,)))) for number in (1, 2)]
    one, two = (next(iter(each.applications.values())).summary for each in told)
    assert one is two


def test_what_is_as_it_was_of_nodes_and_queues_is_not_told():
    writer = ReportWriter()
    nodes = tuple(a_node_report(f"n{number}:1") for number in range(3))
    list(writer.frames(a_report("east", 1, nodes=nodes)))
    changed = replace(nodes[1], state="LOST")
    told = [*writer.frames(a_report("east", 2, nodes=(nodes[0], changed, nodes[2])))]
    assert [frame.changed for frame in told if isinstance(frame, NodesFrame)] == [[(1, changed)]]
    assert not [frame for frame in told if isinstance(frame, poll_frames.QueuesFrame)]


def test_frames_are_bounded():
    writer = ReportWriter()
    report = a_report("east", documents={"nodes": b"x" * 3_000_000})
    pieces = [len(frame.piece) for frame in writer.frames(report) if isinstance(frame, TextFrame)]
    assert max(pieces) == 256 * 1024
    assert sum(pieces) == 3_000_000


@pytest.mark.parametrize(
    "frame",
    [
        RowsFrame("east", 1.0, 0, [7], [b"{}"], [], [None]),
        RowsFrame("east", 1.0, 0, [7, 8], [b"{}"], [], [None]),
        RowsFrame("east", 1.0, 0, [SUMMARIES[1, "RUNNING"]], [b"{}"], [], []),
        RowsFrame("east", 1.0, 0, [SUMMARIES[1, "RUNNING"]], [1], [(b"", (2,))], [None]),
        RowsFrame("east", 1.0, 0, [SUMMARIES[1, "RUNNING"]], [-1], [(b"", (2,))], [None]),
        NodesFrame("east", [(1, a_node_report())]),
        NodesFrame("east", [(-1, a_node_report())]),
        ReportEnd(a_report("east"), 1, None),
        ReportEnd(a_report("east"), -1, None),
    ],
)
def test_frames_that_stand_on_nothing_are_refused(frame):
    with pytest.raises(RemoteProtocolError, match="stands on nothing"):
        ReportReader().take(frame)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x92\xa4beat", b'["beat",[]]', b"\x92\xa5other\x90"])
def test_bytes_that_are_no_frame_are_refused(data):
    with pytest.raises(RemoteProtocolError, match="no frame"):
        decode_poll_frame(data)


def test_a_frame_that_is_too_large_is_refused_before_it_is_read():
    with pytest.raises(RemoteProtocolError, match="limit"):
        poll_frame_length((MAX_POLL_FRAME_BYTES + 1).to_bytes(LENGTH_BYTES, "big"))
