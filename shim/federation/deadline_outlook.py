"""Outlooks of deadlines: whether an application meets its own as far as is known, from what, and what it would take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import SubmissionRecord
from shim.domain.wishes import WorkLeft, job_times
from shim.protocol.wire_values import UNREADABLE, whole

ApplicationWork = Callable[[], WorkLeft | None]
"""Tells what is left of an application; None where nothing was learnt."""

_LEAST_PROGRESS = 5.0
"""Percent: of less nothing is concluded, as ApplicationMasters begin with steps that are not work."""
_NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class DeadlineOutlook:
    """A deadline, and what is known of it.

    Attributes:
        deadline_s: Seconds since the epoch.
        left_s: Until then; negative when it is over.
        met: `yes`, `no`, or `not known`; of what has not ended, as things stand.
        expected_end_s: Seconds since the epoch; None if it is not known.
        takes: What it would take to meet it; empty if nothing is known of that.
    """

    deadline_s: float
    left_s: float
    met: str
    expected_end_s: float | None
    source: str
    takes: str = ""


def outlook(document: ApplicationDocument, now_s: float, work: ApplicationWork) -> DeadlineOutlook | None:
    """Return what is known of an application's deadline; None if it states none that can be read."""
    summary = document.summary
    deadline_s = job_times(summary.started_at_ms / 1000, summary.tags).deadline_s
    if not deadline_s:
        return None
    left_s = deadline_s - now_s
    if summary.state.is_final:
        return _of_ended(deadline_s, left_s, summary.finished_at_ms / 1000)
    left = work()
    if left is not None:
        return _by_containers(deadline_s, now_s, left)
    by_progress = _by_progress(document, now_s)
    if by_progress is not None:
        ends_s, source = by_progress
        takes = "" if ends_s <= deadline_s else "more containers, if it can use them: it reports only its progress"
        return DeadlineOutlook(deadline_s, left_s, _word(ends_s <= deadline_s), ends_s, source, takes)
    met = "no" if left_s <= 0 else _NOT_KNOWN
    return DeadlineOutlook(deadline_s, left_s, met, None, "no former run and no progress tell how long it takes")


def outlook_of_waiting(record: SubmissionRecord, now_s: float) -> DeadlineOutlook | None:
    """Tell the deadline of an application that no sub-cluster has as yet; None if it states none."""
    since_ms = record.intended_at_ms if record.waited is None else record.waited.since_ms
    deadline_s = job_times(since_ms / 1000, record.submission.tags).deadline_s
    if not deadline_s:
        return None
    met = "no" if deadline_s <= now_s else _NOT_KNOWN
    return DeadlineOutlook(deadline_s, deadline_s - now_s, met, None, "it is on no sub-cluster as yet")


def _of_ended(deadline_s: float, left_s: float, ended_s: float) -> DeadlineOutlook:
    return DeadlineOutlook(deadline_s, left_s, _word(ended_s <= deadline_s), ended_s, "it has ended")


def _by_containers(deadline_s: float, now_s: float, left: WorkLeft) -> DeadlineOutlook:
    left_s = deadline_s - now_s
    ends_s = now_s + left.left_s(left.running)
    learnt = f"{left.runs} earlier runs" if left.runs else "its own containers that have ended"
    source = (
        f"{left.containers} containers of {left.container_s:.1f} s are left, by {learnt}; it has {left.running} now"
    )
    needed = left.least_allocation(left_s)
    takes = (
        f"{needed} containers at a time"
        if needed is not None
        else "no number of containers ends it in time: one takes longer than what is left"
    )
    if left_s > 0 and needed is not None and not left.running:  # how many it will have, nobody knows
        return DeadlineOutlook(deadline_s, left_s, _NOT_KNOWN, None, source, takes)
    met = left_s > 0 and ends_s <= deadline_s
    return DeadlineOutlook(deadline_s, left_s, _word(met), ends_s, source, takes)


def _by_progress(document: ApplicationDocument, now_s: float) -> tuple[float, str] | None:
    """The end if it goes on as fast as until now."""
    try:
        members: dict[str, Any] = msgspec.json.decode(document.raw, type=dict[str, Any])
    except UNREADABLE:
        return None
    progress, launch = members.get("progress"), members.get("launchTime")
    launched_ms = whole(launch if isinstance(launch, int | float) else 0) or document.summary.started_at_ms
    if not isinstance(progress, int | float) or not launched_ms:
        return None
    if not _LEAST_PROGRESS <= progress <= 100.0:  # noqa: PLR2004 - percent
        return None
    launched_s = launched_ms / 1000
    so_far_s = max(0.0, document.as_of_s - launched_s)
    ends_s = max(now_s, launched_s + so_far_s * 100.0 / progress)
    return ends_s, f"its progress, {progress:.0f} % after {so_far_s:.0f} s"


def _word(is_met: bool) -> str:  # noqa: FBT001 - the answer itself
    return "yes" if is_met else "no"
