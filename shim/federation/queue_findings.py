"""Findings of queues' settings that cost time and nothing else, with the cost by the history of the queue. Pure.

What an order costs is told by a fluid: the work of the applications that ended, memory times time, done one after the
other at the rate of all that the queue may hold, and done in equal parts. So nobody waits for room that its containers
do not fit into, and what is told is less than what the order costs.

ApplicationMasters that wait while no more than some number of applications ever ran beside them wait for a limit of the
queue, not for room: whoever waits for room sees now more, now fewer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from statistics import fmean

from shim.domain.queues import SchedulerType
from shim.domain.resources import ResourceVector
from shim.federation.findings import Finding, Level

_FEWEST = 20
"""Applications that ended: of fewer nothing is said."""
_NOTABLE_PART, _NOTABLE_S = 0.1, 1.0
"""Part of the mean completion that a setting costs, and seconds, from which on it is told."""
_WAITED_S = 3.0
"""An ApplicationMaster that is launched later than this waited for more than a heartbeat and a start."""
_AT_THE_LIMIT = 0.96
"""Part of the largest number that ever ran at once that runs, in the mean, while others wait for a limit."""
_NEARLY = 0.8
"""Part of what ApplicationMasters may hold that so many of the present size have to hold, if that is the limit."""


@dataclass(frozen=True, slots=True)
class EndedApplication:
    """An application that ended, by the clock of its ResourceManager, in seconds.

    Attributes:
        launched_s: When its ApplicationMaster was launched; when it arrived, where that is not told.
        mib_s: Memory times time of all its containers.
    """

    arrived_s: float
    launched_s: float
    ended_s: float
    mib_s: float


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A leaf queue, and the newest of the applications that ended in it.

    Attributes:
        masters: Most that its ApplicationMasters may hold together; empty where that is not told.
        master_mib: What one of them holds at present; 0 where none runs.
        most_running: How many of its applications may run at once; None for no limit.
    """

    path: str
    scheduler: str
    is_fair: bool
    maximum_mib: int
    masters: ResourceVector = field(default_factory=ResourceVector)
    master_mib: float = 0.0
    most_running: int | None = None
    ended: Sequence[EndedApplication] = ()

    def has_room_for_masters(self, count: int) -> bool:
        """Return whether more ApplicationMasters of the present size could run than so many, as far as is known."""
        if self.most_running is not None and self.most_running <= count:
            return False
        return 0.0 < count * self.master_mib < _NEARLY * self.masters.memory_mib


def queue_findings(subcluster: str, queues: Sequence[QueueFacts]) -> Iterator[Finding]:
    """Findings of the queues of one sub-cluster."""
    for queue in queues:
        known = [each for each in queue.ended if each.ended_s > each.arrived_s]
        if len(known) < _FEWEST:
            continue
        took_s = fmean(each.ended_s - each.arrived_s for each in known)
        lost_s = 0.0 if queue.is_fair else min(took_s, order_cost_s(known, queue.maximum_mib))
        if is_notable(lost_s, took_s):
            message = (
                f"queue {queue.path} serves applications by arrival, small ones behind large ones: by its last "
                f"{len(known)}, which took {took_s:.0f} s in the mean, that costs {_some(lost_s)} of each"
            )
            yield Finding("order of a queue", Level.WARNING, subcluster, message, _fair_advice(queue))
        waited_s, limit = start_cost(known)
        if limit and not queue.has_room_for_masters(limit) and is_notable(waited_s, took_s):
            message = (
                f"queue {queue.path} runs {limit} applications at once: by its last {len(known)}, which took "
                f"{took_s:.0f} s in the mean, {_some(waited_s)} of each passed until its ApplicationMaster was launched"
            )
            yield Finding("starts in a queue", Level.WARNING, subcluster, message, _masters_advice(queue, limit))


def is_notable(cost_s: float, took_s: float) -> bool:
    """Return whether a cost is worth a line."""
    return cost_s >= _NOTABLE_S and cost_s >= _NOTABLE_PART * took_s


def order_cost_s(ended: Sequence[EndedApplication], maximum_mib: int) -> float:
    """Seconds that arrival as the order costs an application in the mean, against equal parts."""
    work = sorted((each.arrived_s, each.mib_s / max(1, maximum_mib)) for each in ended)
    return fmean(_one_after_the_other(work)) - fmean(_in_equal_parts(work))


def _one_after_the_other(work: Sequence[tuple[float, float]]) -> Iterator[float]:
    """Times from arrival to end; arrivals and seconds of work, by arrival."""
    free_s = float("-inf")
    for arrived_s, alone_s in work:
        free_s = max(free_s, arrived_s) + alone_s
        yield free_s - arrived_s


def _in_equal_parts(work: Sequence[tuple[float, float]]) -> Iterator[float]:
    """The same where all that are there share alike: what each has had grows as one clock, and tells who ends next."""
    had_s, now_s, left = 0.0, 0.0, list[tuple[float, float]]()
    for arrived_s, alone_s in [*work, (float("inf"), 0.0)]:
        while left and now_s + (left[0][0] - had_s) * len(left) <= arrived_s:
            ends_at, began_s = left[0]
            now_s, had_s = now_s + (ends_at - had_s) * len(left), ends_at
            heappop(left)
            yield now_s - began_s
        if left:
            had_s += (arrived_s - now_s) / len(left)
        now_s = arrived_s
        heappush(left, (had_s + alone_s, arrived_s))


def start_cost(ended: Sequence[EndedApplication]) -> tuple[float, int]:
    """Seconds that an application waits for its launch in the mean, and the number at once that keeps it waiting.

    The number is 0 where no number does: nobody waits, or those that wait see now more run, now fewer.
    """
    steps = [(each.launched_s, 1, 0) for each in ended] + [(each.ended_s, -1, 0) for each in ended]
    for each in ended:
        if each.launched_s - each.arrived_s > _WAITED_S:
            steps += [(each.arrived_s + _WAITED_S, 0, 1), (each.launched_s, 0, -1)]
    running = most = waiting = 0
    waited_s = seen = before_s = 0.0
    for at_s, more, others in sorted(steps):
        if waiting:
            waited_s, seen = waited_s + at_s - before_s, seen + running * (at_s - before_s)
        running, waiting, before_s = running + more, waiting + others, at_s
        most = max(most, running)
    if waited_s <= 0.0 or seen / waited_s < _AT_THE_LIMIT * most:
        return 0.0, 0
    return fmean(each.launched_s - each.arrived_s for each in ended), most


def _some(seconds: float) -> str:
    return f"about {seconds:.0f} s"


def _fair_advice(queue: QueueFacts) -> str:
    if queue.scheduler == SchedulerType.CAPACITY:
        key = f"yarn.scheduler.capacity.{queue.path}.ordering-policy"
        return f"set {key} to fair in its capacity-scheduler.xml, and yarn rmadmin -refreshQueues"
    if queue.scheduler == SchedulerType.FAIR:
        return f"set schedulingPolicy of {queue.path} to fair in its allocation file"
    return "let it have a CapacityScheduler whose queues have the ordering policy fair"


def _masters_advice(queue: QueueFacts, limit: int) -> str:
    if queue.most_running is not None and queue.most_running <= limit:
        key = "maxRunningApps" if queue.scheduler == SchedulerType.FAIR else "max-parallel-apps"
        return f"raise {key} of {queue.path}, if nothing else speaks for it"
    key = f"yarn.scheduler.capacity.{queue.path}.maximum-am-resource-percent"
    told = f" (at present {queue.masters.memory_mib} MiB)" if queue.masters.memory_mib > 0 else ""
    if queue.scheduler == SchedulerType.FAIR:
        return f"raise maxAMShare of {queue.path}{told} in its allocation file"
    return (
        f"raise {key}{told}, or the part that one user's ApplicationMasters may hold; then yarn rmadmin -refreshQueues"
    )
