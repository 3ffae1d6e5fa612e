"""Bounds of what a Local Master may tell: it is another process, perhaps on a machine that somebody has taken over.

It clamps and counts what its ResourceManager tells, by the same bounds. One that tells more is not one of Heddle's, or
not any more: its link ends.
"""

import math
from collections.abc import Iterable

from shim.domain import ApplicationDocument, NodeReport, QueueReport, SubClusterReport
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
from shim.protocol.peers.frames import DeltaFrame, PieceFrame, ReportFrame

__all__ = ["check_bounds", "check_counts"]

_LATEST_S = 2**40
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
    if isinstance(frame_untrusted, DeltaFrame):
        delta = frame_untrusted.delta
        _check_head(delta.head)
        _check_rows(delta.nodes, delta.queues or (), delta.applications)
        return
    for told in (*frame_untrusted.earlier, frame_untrusted.newest):
        _check_head(told.report)
        _check_rows(told.report.nodes, told.report.queues, told.applications)
    _check_rows((), (), frame_untrusted.ended)


def check_counts(report_untrusted: SubClusterReport) -> None:
    """Look at a report that is whole.

    Raises:
        RemoteProtocolError: It has more of something than one sub-cluster may have.
    """
    report = report_untrusted
    size = sum(len(document.raw) for document in report.applications.values())
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
        if not (is_good and are_amounts(summary.started_at_ms, summary.finished_at_ms)):
            raise RemoteProtocolError(f"an application that is none: {summary.application_id}")
