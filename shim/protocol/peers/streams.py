"""The two ends of a report stream.

publisher                                   follower
publish(report 1)  ── whole report 1 ──▶    has 1
publish(report 2)  ── delta on 1 ──────▶    has 2
publish(report 3)  ── delta on 2 ──✗
publish(report 4)  ── delta on 3 ──────▶    gap: asks for a whole one
                   ◀── resync ──────────
                   ── whole report 4 ──▶    has 4

Bounds of what a Local Master may tell: it is another process, perhaps on a machine that somebody has taken over.

It clamps and counts what its ResourceManager tells, by the same bounds. One that tells more is not one of Heddle's, or
not any more: its link ends.
"""

import math
from collections.abc import Iterable

import msgspec

from shim.domain import ApplicationDocument, ApplicationId, NodeReport, QueueReport, SubClusterReport
from shim.domain.told_bounds import (
    MOST_APPLICATIONS,
    MOST_LIVE_BYTES,
    MOST_NODES,
    MOST_QUEUES,
    amounts_of,
    are_amounts,
    is_application_bounded,
    is_node_bounded,
    is_queue_bounded,
    is_sound,
)
from shim.errors import RemoteProtocolError
from shim.protocol.peers.deltas import DeltaMismatchError, apply_delta, delta_between
from shim.protocol.peers.frames import DeltaFrame, HelloFrame, PieceFrame, ReportFrame, ResyncFrame
from shim.protocol.peers.pieces import Gathering

_APPLICATIONS = "applications"
_ENDED_KEPT = 10_000  # a follower that was away for longer asks for the rest by id


class ReportPublisher:
    """A Local Master's end: keeps the newest report, and makes one frame of it for all followers that are up to date.

    Attributes:
        life: Names this life of the Local Master; another one never has the same.
    """

    def __init__(self, life: str) -> None:
        self.life = life
        self._newest: SubClusterReport | None = None
        self._told: dict[str, SubClusterReport] = {}
        self._ended: dict[ApplicationId, ApplicationDocument] = {}

    def publish(self, report: SubClusterReport, *, now_s: float = 0.0) -> ReportFrame | DeltaFrame:
        """Take a report, and return what to send to every follower that has the one before.

        Args:
            now_s: Seconds since the epoch, like that of the other methods; goes into the frame.

        Raises:
            ValueError: If the report is not newer than the last one.
        """
        before = self._newest
        if before is not None and report.sequence <= before.sequence:
            raise ValueError(f"report {report.sequence} is not newer than {before.sequence}")
        self._newest = report
        self._told.update(dict.fromkeys(_parts_of(report), report))
        self._remember_ended(report)
        if before is None:
            return ReportFrame.of(self.life, report, sent_at_s=now_s)
        return DeltaFrame(self.life, delta_between(before, report), now_s)

    def greet(self, hello: HelloFrame, *, now_s: float = 0.0) -> ReportFrame | None:
        """Frame for a follower that says hello: none if it is up to date, or nothing was reported yet."""
        newest = self._newest
        if newest is not None and hello.life == self.life and hello.sequence == newest.sequence:
            return None
        return self.resync(now_s=now_s)

    def resync(self, *, now_s: float = 0.0) -> ReportFrame | None:
        """Frame for a follower that missed a report; none if there is none yet.

        The newest report, and with it what follows from those before: the parts that it does not hold, as not every
        poll asks for all of them, and the applications that have ended, which a follower would take for live.
        """
        newest = self._newest
        if newest is None:
            return None
        held = {report.sequence: report for report in self._told.values() if report is not newest}
        earlier = [held[sequence] for sequence in sorted(held)]
        return ReportFrame.of(self.life, newest, earlier, self._ended.values(), sent_at_s=now_s)

    def _remember_ended(self, report: SubClusterReport) -> None:
        for application_id, document in report.applications.items():
            self._ended.pop(application_id, None)
            if document.summary.state.is_final:
                self._ended[application_id] = document
        while len(self._ended) > _ENDED_KEPT:
            del self._ended[next(iter(self._ended))]


class ReportFollower:
    """A Global Master's end, for one sub-cluster: frames in, reports out, and a resync when one is missing."""

    def __init__(self, global_master: str) -> None:
        self._global_master = global_master
        self._life = ""
        self._newest: SubClusterReport | None = None
        self._awaits_whole = False
        self._gathering = Gathering()

    def hello(self) -> HelloFrame:
        self._awaits_whole = False
        self._gathering.clear()
        return HelloFrame(self._global_master, self._life, self._newest.sequence if self._newest else 0)

    def receive(self, frame: ReportFrame | DeltaFrame | PieceFrame) -> tuple[SubClusterReport, ...] | ResyncFrame:
        """Take a frame.

        Returns:
            The reports to apply, the last of which is now the newest; none for a frame that is older than what is
            known, or that a resync which is under way makes useless. Or a resync to send, when one is missing.

        Raises:
            RemoteProtocolError: If the frame is about another sub-cluster than those before, or is too large.
        """
        check_bounds(frame)
        if isinstance(frame, PieceFrame):
            self._gathering.take(frame)
            return ()
        whole = self._gathering.whole(frame)
        return self._ask_anew() if whole is None else self._take(whole)

    def _take(self, frame: ReportFrame | DeltaFrame) -> tuple[SubClusterReport, ...] | ResyncFrame:
        if isinstance(frame, ReportFrame):
            return self._take_whole(frame)
        newest = self._newest
        if newest is not None and frame.life == self._life and frame.delta.head.sequence <= newest.sequence:
            return ()
        if newest is None or frame.life != self._life:
            return self._ask()
        try:
            following = apply_delta(newest, frame.delta)
        except DeltaMismatchError:
            return self._ask()
        check_counts(following)
        self._newest = following
        return (following,)

    def _take_whole(self, frame: ReportFrame) -> tuple[SubClusterReport, ...]:
        report, newest = frame.published(), self._newest
        check_counts(report)
        if newest is not None and newest.subcluster != report.subcluster:
            raise RemoteProtocolError(f"a report of {report.subcluster} on the stream of {newest.subcluster}")
        self._awaits_whole = False
        if newest is not None and frame.life == self._life and report.sequence <= newest.sequence:
            return ()
        self._life, self._newest = frame.life, report
        return frame.caught_up()

    def _ask_anew(self) -> ResyncFrame | tuple[()]:
        self._awaits_whole = False
        return self._ask()

    def _ask(self) -> ResyncFrame | tuple[()]:
        if self._awaits_whole:
            return ()
        self._awaits_whole = True
        return ResyncFrame()


def _parts_of(report: SubClusterReport) -> Iterable[str]:
    return (*report.documents, _APPLICATIONS) if report.is_complete else report.documents


_LATEST_S = 2**40
_LARGEST = 2**63
_LISTS = 3
"""Lists of applications in one report: what lives, what ended since, what an earlier report had."""


def check_bounds(frame_untrusted: ReportFrame | DeltaFrame | PieceFrame) -> None:
    """Look at everything that a frame brings.

    Raises:
        RemoteProtocolError: A number is none that an account can hold, or a name or a list is too long.
    """
    if isinstance(frame_untrusted, PieceFrame):
        _check_rows(frame_untrusted.nodes, frame_untrusted.queues, frame_untrusted.applications)
        return
    check_numbers(frame_untrusted.sent_at_s, frame_untrusted.room)
    if isinstance(frame_untrusted, DeltaFrame):
        delta = frame_untrusted.delta
        _check_head(delta.head)
        _check_rows(delta.nodes, delta.queues or (), delta.applications)
        return
    for told in (*frame_untrusted.earlier, frame_untrusted.newest):
        _check_head(told.report)
        _check_rows(told.report.nodes, told.report.queues, told.applications)
    _check_rows((), (), frame_untrusted.ended)


def check_numbers(*told_untrusted: object) -> None:
    """Look at every number in what a peer tells.

    Raises:
        RemoteProtocolError: One is none, or larger than any that is counted or measured here.
    """
    found = [msgspec.to_builtins(each) for each in told_untrusted]
    while found:
        value = found.pop()
        if isinstance(value, dict):
            found.extend(value.values())
        elif isinstance(value, list | tuple):
            found.extend(value)
        elif isinstance(value, int | float) and not abs(value) <= _LARGEST:
            raise RemoteProtocolError(f"{str(value)[:30]} is no number that a master tells")


def check_counts(report_untrusted: SubClusterReport) -> None:
    """Look at a report that is whole.

    Raises:
        RemoteProtocolError: It has more of something than one sub-cluster may have.
    """
    report = report_untrusted
    size = sum(len(document.told) for document in report.applications.values())
    for count, most, what in (
        (len(report.nodes), MOST_NODES, "nodes"),
        (len(report.queues), MOST_QUEUES, "queues"),
        (len(report.applications), _LISTS * MOST_APPLICATIONS, "applications"),
        (size, _LISTS * MOST_LIVE_BYTES, "bytes of applications"),
    ):
        if count > most:
            raise RemoteProtocolError(f"a report with {count} {what}: the limit is {most}")


def _check_head(head: SubClusterReport) -> None:
    amounts = (head.capacity, head.used, head.maximum_allocation)
    times_s = (head.polled_at_s, head.clock_skew_s)
    are_times = all(math.isfinite(each_s) and abs(each_s) < _LATEST_S for each_s in times_s)
    if not (are_times and are_amounts(head.started_on_ms) and all(map(is_sound, amounts))):
        raise RemoteProtocolError(f"a report of {head.subcluster} with a number that no ResourceManager tells")


def _check_rows(
    nodes: Iterable[NodeReport], queues: Iterable[QueueReport], applications: Iterable[ApplicationDocument]
) -> None:
    for node in nodes:
        if not (is_node_bounded(node) and is_sound(node.total) and is_sound(node.used)):
            raise RemoteProtocolError(f"a node that is none: {str(node.node)[:80]}")
    for queue in queues:
        counts = (queue.applications, queue.maximum_applications, queue.pending_containers, queue.waiting_applications)
        if not (is_queue_bounded(queue) and are_amounts(*counts) and all(map(is_sound, amounts_of(queue)))):
            raise RemoteProtocolError(f"a queue that is none: {queue.path[:80]}")
    for document in applications:
        summary = document.summary
        is_good = is_application_bounded(document) and math.isfinite(document.as_of_s)
        amounts = document.amounts
        is_good = is_good and (amounts is None or are_amounts(amounts.memory_mib, amounts.vcores, amounts.mib_s))
        if not (is_good and are_amounts(summary.started_at_ms, summary.finished_at_ms)):
            raise RemoteProtocolError(f"an application that is none: {summary.application_id}")
