"""Asks that are held back within a queue: of jobs at their shares, while a job that gave lacks containers of its own.

Room that comes free would else go to whom the leaf queue serves first. That may be the borrower, whose tasks were taken
and ask again: it had the same room back, and the lender waited. A job below its share is asked for up to that.

A lender that leaves room which is free for it for `idle_s` cannot use it, and nothing is kept for it any more.

Source: docs/researchers/altruism.md; the first stage between queues is the same (`preemption`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.preemption import PreemptionSettings, QueueShare, ShareSnapshot
from shim.domain.resources import ResourceVector
from shim.queues.core.lent_recalls import LenderNeed
from shim.queues.core.preemption_effects import CapDemand, PreemptionEffect
from shim.queues.core.preemption_sizes import NOTHING, easy, positive, smaller

_WELL = "jobs of its queue that gave have what they need of their shares, or cannot use it"


@dataclass(frozen=True, slots=True)
class _Waits:
    """State of a lender that lacks something, since it changed last."""

    since_s: float
    count: int
    held: frozenset[ContainerId]


@dataclass(frozen=True, slots=True)
class _Held:
    """Containers of an application."""

    names: frozenset[ContainerId]
    amount: ResourceVector


class LenderHolds:
    """See the module. Mutate through `handle` only: the snapshot's moment is the time."""

    def __init__(self, settings: PreemptionSettings) -> None:
        self._settings = settings
        self._waits: dict[ApplicationAttemptId, _Waits] = {}
        self._caps: dict[ApplicationAttemptId, ResourceVector] = {}
        self._fresh_s = float("-inf")

    @property
    def is_busy(self) -> bool:
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
        if not (needs and now.is_fresh):
            self._waits.clear()
            return _lifted(now, before)
        held = _by_application(now)
        waiting = self._waiting(now, needs, served, held)
        holds = list(self._hold(now, waiting, shares, held, before))
        return [*holds, *_lifted(now, before.keys() - self._caps.keys())]

    def _waiting(
        self,
        now: ShareSnapshot,
        needs: Sequence[LenderNeed],
        served: Collection[ApplicationAttemptId],
        held: Mapping[ApplicationId, _Held],
    ) -> Mapping[str, list[ApplicationId]]:
        """Find lenders for which room is kept, by queue."""
        has_room = {queue.path: _has_room(queue) for queue in now.queues if queue.may_be_taken_from}
        found = [need for need in needs if need.queue in has_room]
        self._waits = {
            need.attempt: self._seen(need, held, now.at_s, may_take=need.attempt not in served and has_room[need.queue])
            for need in found
        }
        waiting: dict[str, list[ApplicationId]] = {}
        for need in sorted(found, key=lambda each: each.attempt):
            if now.at_s - self._waits[need.attempt].since_s < self._settings.idle_s:
                waiting.setdefault(need.queue, []).append(need.attempt.application)
        return waiting

    def _seen(self, need: LenderNeed, held: Mapping[ApplicationId, _Held], at_s: float, *, may_take: bool) -> _Waits:
        """Note when a lender was last given anything, or had nothing to take."""
        names = held[need.attempt.application].names if need.attempt.application in held else frozenset[ContainerId]()
        known = self._waits.get(need.attempt)
        is_same = known is not None and (known.count, known.held) == (need.count, names)
        return known if known is not None and is_same and may_take else _Waits(at_s, need.count, names)

    def _hold(
        self,
        now: ShareSnapshot,
        waiting: Mapping[str, list[ApplicationId]],
        shares: Mapping[ApplicationAttemptId, ResourceVector],
        held: Mapping[ApplicationId, _Held],
        before: Collection[ApplicationAttemptId],
    ) -> Iterable[CapDemand]:
        for asking in now.attempts:
            lenders, mine = waiting.get(asking.queue, []), asking.id.application
            lender = next((each for each in lenders if each != mine), None)
            if lender is None or asking.id not in shares:
                continue
            amount = held[mine].amount if mine in held else NOTHING
            self._caps[asking.id] = smaller(positive(shares[asking.id] - amount), asking.wants)
            reason = f"no more than its share of {asking.queue}, while {lender} lacks containers of its own"
            yield CapDemand(asking.id, self._caps[asking.id], "" if asking.id in before else reason)


def with_holds(
    effects: Sequence[PreemptionEffect],
    between: Mapping[ApplicationAttemptId, ResourceVector],
    within: Sequence[CapDemand],
) -> list[PreemptionEffect]:
    """Put limits for lenders before effects between queues: of two limits of one attempt the smaller one holds.

    Args:
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


def _lifted(now: ShareSnapshot, names: Collection[ApplicationAttemptId]) -> list[CapDemand]:
    return [CapDemand(each.id, None, _WELL) for each in now.attempts if each.id in names]


def _by_application(now: ShareSnapshot) -> Mapping[ApplicationId, _Held]:
    """Containers of each application, but for its ApplicationMaster's own."""
    names: dict[ApplicationId, set[ContainerId]] = {}
    amounts: dict[ApplicationId, ResourceVector] = {}
    for each in now.containers:
        if not each.is_master:
            application = each.id.attempt.application
            names.setdefault(application, set()).add(each.id)
            amounts[application] = amounts.get(application, NOTHING) + each.resource
    return {application: _Held(frozenset(found), amounts[application]) for application, found in names.items()}


def _has_room(queue: QueueShare) -> bool:
    """True if there is room for everything that a queue waits for, as far as reports show that."""
    with_room = easy(queue)
    return all(with_room[name] >= work.count for name, work in queue.waiting.items())
