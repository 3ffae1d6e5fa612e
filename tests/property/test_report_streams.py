"""A Global Master's copy of a report is right whatever the stream loses, repeats or reorders."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shim.domain import (
    ApplicationDocument,
    ApplicationId,
    ApplicationSummary,
    FinalStatus,
    HaState,
    NodeId,
    NodeReport,
    QueueReport,
    QueueState,
    ResourceVector,
    SubClusterId,
    SubClusterReport,
    YarnApplicationState,
)
from shim.errors import RemoteProtocolError
from shim.protocol.peers import (
    ReportFollower,
    ReportFrame,
    ReportPublisher,
    ResyncFrame,
    apply_delta,
    decode_frame_untrusted,
    delta_between,
    encode_frame,
)
from tests.support.examples import examples

EAST = SubClusterId("east")
vectors = st.builds(ResourceVector, st.integers(0, 9), st.integers(0, 9), st.just({}) | st.just({"gpu": 1}))


@st.composite
def reports(draw, sequence):
    numbers = draw(st.sets(st.integers(1, 6)))
    ids = [ApplicationId(7, number) for number in sorted(numbers)]
    states = {id_: draw(st.sampled_from(YarnApplicationState)) for id_ in ids}
    ports = draw(st.sets(st.integers(1, 5)))
    return SubClusterReport(
        subcluster=EAST,
        sequence=sequence,
        polled_at_s=float(sequence),
        ha_state=draw(st.sampled_from(HaState)),
        started_on_ms=7,
        version="3.4.2",
        capacity=draw(vectors),
        used=draw(vectors),
        maximum_allocation=draw(vectors),
        nodes=tuple(
            NodeReport(NodeId("n", port), "/r", "RUNNING", draw(vectors), draw(vectors)) for port in sorted(ports)
        ),
        queues=tuple(
            QueueReport(
                path,
                QueueState.RUNNING,
                is_leaf=True,
                capacity=draw(vectors),
                maximum=draw(vectors),
                used=draw(vectors),
            )
            for path in sorted(draw(st.sets(st.sampled_from(["root.a", "root.b"]))))
        ),
        documents=draw(st.dictionaries(st.sampled_from(["info", "nodes"]), st.binary(max_size=3))),
        applications={
            id_: ApplicationDocument(
                ApplicationSummary(id_, EAST, "u", "n", "q", states[id_], FinalStatus.UNDEFINED, "YARN"),
                b"{}",
                float(sequence),
            )
            for id_ in ids
        },
        is_complete=draw(st.booleans()),
    )


def same(one, other):
    """Reports are equal; nodes and applications in any order."""

    def unordered(report):
        nodes = {node.node: node for node in report.nodes}
        return replace(report, nodes=(), applications={}, documents={}), nodes, report.applications, report.documents

    return unordered(one) == unordered(other)


def parts_of(report):
    return [*report.documents, *(["applications"] if report.is_complete else [])]


@given(reports(1), reports(2))
def test_a_delta_leads_from_one_report_to_the_next(before, after):
    assert same(apply_delta(before, delta_between(before, after)), after)


@given(reports(1), reports(2))
def test_frames_survive_the_wire(before, after):
    publisher = ReportPublisher("life-1")
    whole, delta = publisher.publish(before), publisher.publish(after)
    assert same(decode_frame_untrusted(encode_frame(whole)).published(), before)
    assert same(apply_delta(before, decode_frame_untrusted(encode_frame(delta)).delta), after)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(data):
    with contextlib.suppress(RemoteProtocolError):
        decode_frame_untrusted(data)


class LossyStream(RuleBasedStateMachine):
    """A publisher that is restarted now and then, a follower, and a wire that loses, repeats and reorders."""

    @initialize()
    def start(self):
        self.lives = 0
        self.restart()
        self.follower = ReportFollower("gm-1")
        self.copy = None
        self.life_of_parts, self.parts = "", {}
        self.wire = [self.publisher.greet(self.follower.hello())]
        self.wire = [frame for frame in self.wire if frame is not None]

    def restart(self):
        self.lives += 1
        self.publisher = ReportPublisher(f"life-{self.lives}")
        self.sequence = 0
        self.truth = []

    @rule()
    def local_master_dies(self):
        self.restart()

    @rule(data=st.data())
    def publish(self, data):
        self.sequence += 1
        report = data.draw(reports(self.sequence))
        self.truth.append(report)
        self.wire.append(self.publisher.publish(report))

    @rule(data=st.data(), fate=st.sampled_from(["deliver", "deliver", "deliver", "lose", "repeat"]))
    def something_arrives(self, data, fate):
        if not self.wire:
            return
        frame = self.wire.pop(data.draw(st.integers(0, len(self.wire) - 1)))
        if fate == "lose":
            return
        if fate == "repeat":
            self.wire.append(frame)
        self._deliver(frame)

    def _deliver(self, frame):
        answer = self.follower.receive(decode_frame_untrusted(encode_frame(frame)))
        if isinstance(answer, ResyncFrame):
            whole = self.publisher.resync()
            if whole is not None:
                self.wire.append(whole)
        elif answer:
            self.copy = (frame.life, answer[-1])
            if isinstance(frame, ReportFrame) and frame.life != self.life_of_parts:
                self.life_of_parts, self.parts = frame.life, {}
            for report in answer:
                self.parts.update(dict.fromkeys(parts_of(report), report.sequence))

    @rule()
    def reconnect_and_settle(self):
        """Once nothing is lost any more, the copy is the newest report."""
        self.wire = []
        greeting = self.publisher.greet(self.follower.hello())
        if greeting is not None:
            self._deliver(greeting)
        if self.truth:
            assert self.copy[0] == self.publisher.life
            assert self._tells(self.copy[1], self.truth[-1])

    @invariant()
    def no_part_is_older_than_what_was_told_up_to_the_copy(self):
        if not getattr(self, "copy", None) or self.copy[0] != self.publisher.life:
            return
        told = {}
        for report in self.truth:
            if report.sequence <= self.copy[1].sequence:
                told.update(dict.fromkeys(parts_of(report), report.sequence))
        assert self.parts == told

    def _tells(self, copy, truth):
        """The copy is the report; what ended before may stand in it too."""
        extra = {id_: d for id_, d in copy.applications.items() if id_ not in truth.applications}
        told = [report.applications.get(id_) for report in self.truth for id_ in extra]
        kept = {id_: d for id_, d in copy.applications.items() if id_ in truth.applications}
        return all(document.summary.state.is_final and document in told for document in extra.values()) and same(
            replace(copy, applications=kept), truth
        )

    @invariant()
    def the_copy_is_a_report_that_was_published(self):
        if getattr(self, "copy", None) and self.copy[0] == self.publisher.life:
            life_reports = {report.sequence: report for report in self.truth}
            assert self._tells(self.copy[1], life_reports[self.copy[1].sequence])

    @invariant()
    def whoever_is_live_in_the_copy_was_not_told_ended_in_a_report_that_it_stands_for(self):
        if not getattr(self, "copy", None) or self.copy[0] != self.publisher.life:
            return
        newest = {}
        for report in self.truth:
            if report.sequence <= self.copy[1].sequence:
                newest.update(report.applications)
        for id_, document in self.copy[1].applications.items():
            assert document == newest[id_]


TestLossyStream = LossyStream.TestCase
TestLossyStream.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


@given(reports(1))
def test_a_report_of_another_subcluster_is_refused(report):
    follower = ReportFollower("gm-1")
    follower.receive(ReportFrame.of("life", report))
    with pytest.raises(RemoteProtocolError, match="west"):
        follower.receive(ReportFrame.of("life", replace(report, subcluster=SubClusterId("west"))))
