"""Containers that are asked back within a queue: lent ones, while a job of the queue that gave lacks what it needs now.

The same stages and budget as between queues (`preemption`), without its patience: what was lent goes back at once.

    asked back ──▶ demanded ──▶ released
         └─────────────┴──────▶ spared

Source: altruism.md; Carbyne takes nothing back, and so cannot keep its promise where tasks run for long.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ContainerId, SubClusterId
from shim.domain.preemption import HeldContainer, PreemptionSettings, PreemptionStage, ShareSnapshot
from shim.domain.resources import ResourceVector
from shim.queues.core.lent import QueueJobHeld, part_of_share
from shim.queues.core.preemption_effects import Step

_MS = 1000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LenderNeed:
    """Containers that a job which gave needs now, within its share, and has not got."""

    attempt: ApplicationAttemptId
    queue: str
    unit: ResourceVector
    count: int


def need_of(queue: str, job: QueueJobHeld, out: Mapping[AskKey, int], total: ResourceVector) -> LenderNeed | None:
    """Find what a job asks for within its share and has not got."""
    asked = {key: count for key, count in out.items() if count > 0}
    if not asked or job.share <= 0:
        return None
    unit = max((key.resource for key in asked), key=lambda size: part_of_share(size, total))
    held = sum((size for _, size in job.containers), start=ResourceVector())
    within = (job.share - part_of_share(held, total)) / max(_ROUNDING, part_of_share(unit, total))
    count = min(sum(asked.values()), int(within + _ROUNDING))
    return LenderNeed(job.attempt, queue, unit, count) if count > 0 else None


@dataclass(slots=True)
class _Recalled:
    """A lent container on its way back.

    Attributes:
        gone_s: When it was first seen to have ended; None while it is there.
    """

    held: HeldContainer
    lender: ApplicationAttemptId
    since_s: float
    room: str
    stage: PreemptionStage = PreemptionStage.ASKED
    gone_s: float | None = None


class LentRecalls:
    """See the module. Mutate through `handle` only: the snapshot's moment is the time."""

    def __init__(self, settings: PreemptionSettings) -> None:
        self._settings = settings
        self._recalled: dict[ContainerId, _Recalled] = {}
        self._count = 0

    @property
    def victims(self) -> Collection[ContainerId]:
        return [name for name, each in self._recalled.items() if each.gone_s is None]

    @property
    def lenders(self) -> Collection[ApplicationAttemptId]:
        """Lenders to whom containers are on their way back, or have just gone."""
        return {each.lender for each in self._recalled.values()}

    def handle(
        self, now: ShareSnapshot, needs: Sequence[LenderNeed], budget: Mapping[str, int], busy: Collection[ContainerId]
    ) -> list[Step]:
        """Look at a federation; return what is to be done, in this order.

        Args:
            now: Who holds what. While it is not fresh nothing is done.
            needs: What lenders lack, one of each at most.
            budget: Containers of each queue that may be asked back now; a queue that is missing has none.
        """
        self._follow(now)
        if not now.is_fresh:
            return []
        steps = [*self._spare(now, {need.attempt: need for need in needs}), *self._advance(now)]
        left = dict(budget)
        for need in needs:
            steps += self._ask_back(now, need, left, busy)
        return steps

    def _follow(self, now: ShareSnapshot) -> None:
        here = {each.id for each in now.containers}
        for name, each in list(self._recalled.items()):
            if each.gone_s is None and name not in here:
                each.gone_s = now.at_s
            is_settled = each.gone_s is not None and now.at_s - each.gone_s >= self._settings.settle_s
            if is_settled or now.at_s - each.since_s >= self._settings.preempt_grace_s + self._settings.stuck_s:
                del self._recalled[name]

    def _spare(self, now: ShareSnapshot, needs: Mapping[ApplicationAttemptId, LenderNeed]) -> Iterable[Step]:
        """Let those go that nobody needs any more, the newest first."""
        open_queues = {queue.path for queue in now.queues if queue.may_be_taken_from}
        for lender in {each.lender for each in self._recalled.values()}:
            need = needs.get(lender)
            count = need.count if need is not None and need.queue in open_queues else 0
            mine = [each for each in self._recalled.values() if each.lender == lender]
            open_ = [each for each in mine if each.gone_s is None and each.stage is not PreemptionStage.RELEASED]
            for each in sorted(open_, key=_newest)[: max(0, len(mine) - count)]:
                del self._recalled[each.held.id]
                reason = f"{lender.application}, whose room it was lent from, needs it no more"
                yield _step(each, PreemptionStage.SPARED, reason)

    def _advance(self, now: ShareSnapshot) -> Iterable[Step]:
        grace_s = self._settings.preempt_grace_s
        due = {PreemptionStage.ASKED: grace_s / 2, PreemptionStage.DEMANDED: grace_s}
        after = {
            PreemptionStage.ASKED: PreemptionStage.DEMANDED,
            PreemptionStage.DEMANDED: PreemptionStage.RELEASED,
        }
        for each in self._recalled.values():
            waited_s = now.at_s - each.since_s
            if each.gone_s is None and waited_s >= due.get(each.stage, float("inf")):
                each.stage = after[each.stage]
                yield _step(each, each.stage, f"lent, and not given back in {waited_s:.0f} s")

    def _ask_back(
        self, now: ShareSnapshot, need: LenderNeed, budget: dict[str, int], busy: Collection[ContainerId]
    ) -> Iterable[Step]:
        coming = sum(each.lender == need.attempt for each in self._recalled.values())
        places = next((each.places for each in now.attempts if each.id == need.attempt), frozenset[SubClusterId]())
        found = [
            each
            for each in now.containers
            if each.is_lent
            and each.is_given
            and not each.is_master
            and each.queue == need.queue
            and each.id.attempt.application != need.attempt.application
            and each.subcluster in places
            and need.unit.fits_in(each.resource)
            and each.id not in busy
            and each.id not in self._recalled
        ]
        most = min(need.count - coming, budget.get(need.queue, 0))
        for held in sorted(found, key=lambda each: (-each.since_s, each.id))[: max(0, most)]:
            budget[need.queue] -= 1
            self._count += 1
            recalled = _Recalled(held, need.attempt, now.at_s, f"lent {int(now.at_s * _MS)}.{self._count}")
            self._recalled[held.id] = recalled
            reason = f"it was lent, and {need.attempt.application} needs {need.count} containers of its own share now"
            yield _step(recalled, PreemptionStage.ASKED, reason)


def _newest(each: _Recalled) -> tuple[float, ContainerId]:
    return -each.since_s, each.held.id


def _step(each: _Recalled, stage: PreemptionStage, reason: str) -> Step:
    return Step(each.held, stage, str(each.lender.application), reason, each.room)
