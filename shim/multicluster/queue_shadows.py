"""Policies in the shadow of queues' cycles: they plan on the same snapshots, and nothing of it is carried out."""

from collections.abc import Callable, Mapping

from shim.ports.clock import Clock
from shim.scheduling.capacity import Capacity
from shim.scheduling.queue_planner import QueuePlans
from shim.scheduling.queue_policies import SHADOW_POLICIES
from shim.scheduling.queue_table import QueueTable
from shim.scheduling.shadow_report import ShadowReport

__all__ = ["QueueShadows"]

_RESTS_FOR = 9.0
"""Times as long as a plan took, none is made after it: a tenth of the time at most is spent on them."""


class QueueShadows:
    """Compares the plans of queues with those of another policy.

    A plan that took long is followed by a rest of nine times as long, of all queues together: cycles meanwhile are
    counted as skipped.

    Args:
        shadow_of: The policy that a queue has in its shadow, by its full path; empty for none.
        clock: For what a plan takes, and for when.
    """

    def __init__(self, shadow_of: Callable[[str], str], clock: Clock) -> None:
        self._shadow_of = shadow_of
        self._clock = clock
        self._reports: dict[str, ShadowReport] = {}
        self._rests_until_s = float("-inf")

    @property
    def reports(self) -> Mapping[str, ShadowReport]:
        """By queue; a queue whose policies change begins anew, and one without a shadow has none."""
        return {queue: each for queue, each in self._reports.items() if self._shadow_of(queue) == each.shadow}

    def look(self, queue: str, table: QueueTable, capacity: Capacity, order: str, in_force: QueuePlans) -> None:
        """Compare one cycle, before anything of it is carried out.

        Args:
            queue: Its full path.
            table: What waits there.
            capacity: What the cycle began with.
            order: The policy in force.
            in_force: Its plans.
        """
        shadow = self._shadow_of(queue)
        if shadow not in SHADOW_POLICIES or shadow == order:
            self._reports.pop(queue, None)
            return
        report, now_s = self._reports.get(queue), self._clock.now_s()
        if report is None or (report.in_force, report.shadow) != (order, shadow):
            report = self._reports[queue] = ShadowReport(order, shadow, now_s)
        began_s = self._clock.monotonic_s()
        if began_s < self._rests_until_s:
            report.skipped += 1
            return
        report.compare(in_force, table.plan_in_shadow(capacity, shadow, now_s), now_s)
        ended_s = self._clock.monotonic_s()
        self._rests_until_s = ended_s + _RESTS_FOR * (ended_s - began_s)
