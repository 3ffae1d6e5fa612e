"""Asks that are held back within a queue: of jobs at their shares, while a job that gave lacks containers of its own.

Room that comes free would else go to whom the leaf queue serves first. That may be the borrower, whose tasks were taken
and ask again: it had the same room back, and the lender waited. A job below its share is asked for up to that.

A lender that leaves room which is free for it for `idle_s` cannot use it, and nothing is kept for it any more.

Source: docs/altruism.md; the first stage between queues is the same (`preemption`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from shim.domain.ids import ApplicationAttemptId, ContainerId
from shim.domain.preemption import AskingAttempt, PreemptionSettings, QueueShare, ShareSnapshot
from shim.domain.resources import ResourceVector
from shim.queues.core.lent_recalls import LenderNeed
from shim.queues.core.preemption_effects import CapDemand, PreemptionEffect
from shim.queues.core.preemption_sizes import easy, positive, smaller, total_of

__all__ = ["LenderHolds", "with_holds"]

_WELL = "jobs of its queue that gave have what they need of their shares, or cannot use it"


@dataclass(frozen=True, slots=True)
class _Waits:
    """State of a lender that lacks something, since it changed last."""

    since_s: float
    count: int
    held: frozenset[ContainerId]


class LenderHolds:
    """See the module. Mutate through `handle` only: the snapshot's moment is the time."""

    def __init__(self, settings: PreemptionSettings) -> None:
        self._settings = settings
        self._waits: dict[ApplicationAttemptId, _Waits] = {}
        self._caps: dict[ApplicationAttemptId, ResourceVector] = {}
        self._fresh_s = float("-inf")

    @property
    def is_busy(self) -> bool:
        """True if anything is held back."""
        return bool(self._caps)

    def handle(
        self,
        now: ShareSnapshot,
        needs: Sequence[LenderNeed],
        shares: Mapping[ApplicationAttemptId, ResourceVector],
        served: Collection[ApplicationAttemptId],
    ) -> list[CapDemand]:
        """Look at a federation; return what each attempt may ask for, of those that may not ask for all.

        Args:
            now: Who holds what. While it is not fresh all stays as it is, for `stale_s`.
            needs: What lenders lack, one of each at most.
            shares: What each job may have of its queue by its share; one that is missing is not held back.
            served: Lenders for which containers are on their way back.
        """
        if now.is_fresh:
            self._fresh_s = now.at_s
        elif now.at_s - self._fresh_s < self._settings.stale_s:
            return []
        before, self._caps = self._caps, {}
        waiting = self._waiting(now, needs, served) if now.is_fresh else []
        return list(self._hold(now, waiting, shares, before))

    def _waiting(
        self, now: ShareSnapshot, needs: Sequence[LenderNeed], served: Collection[ApplicationAttemptId]
    ) -> list[LenderNeed]:
        """Find lenders for which room is kept."""
        queues = {queue.path: queue for queue in now.queues if queue.may_be_taken_from}
        found = {need.attempt: need for need in needs if need.queue in queues}
        self._waits = {
            attempt: self._seen(now, need, has_room=attempt not in served and _has_room(queues[need.queue]))
            for attempt, need in found.items()
        }
        idle_s = self._settings.idle_s
        return [need for attempt, need in found.items() if now.at_s - self._waits[attempt].since_s < idle_s]

    def _seen(self, now: ShareSnapshot, need: LenderNeed, *, has_room: bool) -> _Waits:
        """Note when a lender was last given anything, or had no room."""
        held = frozenset(each.id for each in now.containers if each.id.attempt.application == need.attempt.application)
        known = self._waits.get(need.attempt)
        is_same = known is not None and (known.count, known.held) == (need.count, held)
        return known if known is not None and is_same and has_room else _Waits(now.at_s, need.count, held)

    def _hold(
        self,
        now: ShareSnapshot,
        waiting: Sequence[LenderNeed],
        shares: Mapping[ApplicationAttemptId, ResourceVector],
        before: Mapping[ApplicationAttemptId, ResourceVector],
    ) -> Iterable[CapDemand]:
        for asking in now.attempts:
            lenders = _others(asking, waiting)
            if lenders and asking.id in shares:
                left = positive(shares[asking.id] - _held(now, asking))
                self._caps[asking.id] = smaller(left, asking.wants)
                reason = f"no more than its share of {asking.queue}, while {' and '.join(lenders)} lacks what it lent"
                yield CapDemand(asking.id, self._caps[asking.id], "" if asking.id in before else reason)
            elif asking.id in before:
                yield CapDemand(asking.id, None, _WELL)


def with_holds(
    effects: Sequence[PreemptionEffect],
    between: Mapping[ApplicationAttemptId, ResourceVector],
    within: Sequence[CapDemand],
) -> list[PreemptionEffect]:
    """Put limits for lenders before effects between queues: of two limits of one attempt the smaller one holds.

    Args:
        effects: Of preemption between queues.
        between: Limits that stand by that now, by attempt.
        within: Limits for lenders, with those that are lifted.
    """
    ours = {each.attempt: each for each in within}
    theirs = {each.attempt: each for each in effects if isinstance(each, CapDemand)}
    limits = [_both(ours.get(name), theirs.get(name), between.get(name)) for name in {**ours, **theirs}]
    return [*limits, *(each for each in effects if not isinstance(each, CapDemand))]


def _both(ours: CapDemand | None, theirs: CapDemand | None, standing: ResourceVector | None) -> CapDemand:
    """One limit of two; that one was lifted is not worth telling while the other stands."""
    found = [each for each in (ours, theirs) if each is not None]
    amounts = [each for each in (ours.amount if ours is not None else None, standing) if each is not None]
    amount = reduce(smaller, amounts) if amounts else None
    reasons = [each.reason for each in found if each.reason and (each.amount is None) == (amount is None)]
    return CapDemand(found[0].attempt, amount, reasons[0] if reasons else "")


def _others(asking: AskingAttempt, waiting: Iterable[LenderNeed]) -> list[str]:
    """Names of the lenders that wait in an attempt's queue, but for itself."""
    mine = asking.id.application
    found = (each.attempt.application for each in waiting if each.queue == asking.queue)
    return sorted({str(application) for application in found if application != mine})


def _held(now: ShareSnapshot, asking: AskingAttempt) -> ResourceVector:
    """Amount that an application holds, but for its ApplicationMaster's own."""
    mine = asking.id.application
    return total_of(
        each.resource for each in now.containers if each.id.attempt.application == mine and not each.is_master
    )


def _has_room(queue: QueueShare) -> bool:
    """True if there is room for everything that a queue waits for, as far as reports show that."""
    with_room = easy(queue)
    return all(with_room[name] >= work.count for name, work in queue.waiting.items())
