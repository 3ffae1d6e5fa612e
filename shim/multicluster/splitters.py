"""Choice of the splitter of each spanning attempt, and records of its decisions."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.launches import ConflictKind, Verdict
from shim.domain.placement_rules import NO_RULES, PlacementRules
from shim.domain.wishes import WorkLeft
from shim.multicluster.core import AskSplitter, CapacitySplitter, LedgerEvent
from shim.multicluster.core.planned import PlannedSplitter
from shim.multicluster.core.splitter import AskDecision, SplitSettings
from shim.multicluster.queue_cycles import AttemptPlans, QueueCycles
from shim.peers.launches import LaunchService
from shim.ports.attempt_calls import Attempt
from shim.scheduling.shadow_report import ShadowReport

_MOST_REMEMBERED = 512


@dataclass(frozen=True, slots=True)
class MatchingStatus:
    """Counts of matched asks of spanning applications.

    Attributes:
        verdicts: How often Local Masters said what to proposed containers.
        repairs: Promised containers that were not granted in time, and promised elsewhere or left waiting.
        fallbacks: Splits by free capacity alone, as a view was too old.
        promised: Containers that are promised now, and not granted.
        solves: Problems of queues' cycles that a solver had an answer to in time (`solved`), or none (`unsolved`).
        solving: Queues whose cycles wait for an answer now.
        conflicts: How often Local Masters rejected something, by what was in the way.
    """

    verdicts: Mapping[tuple[SubClusterId, Verdict], int] = field(default_factory=dict)
    repairs: int = 0
    fallbacks: int = 0
    promised: Mapping[SubClusterId, int] = field(default_factory=dict)
    solves: Mapping[str, int] = field(default_factory=dict)
    solving: int = 0
    conflicts: Mapping[tuple[SubClusterId, ConflictKind], int] = field(default_factory=dict)

    @property
    def inconsistencies(self) -> int:
        """Proposals that found less room than they believed in."""
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict is Verdict.REJECTED)


class AttemptMatching:
    """The splitter of every attempt, with its decisions.

    Args:
        settings: How long an ask stays where it is, and how old a view may be.
        launches: Where tentative allocations are verified.
        cycles: The cycles of the queues; without them, asks are split by free capacity alone.
    """

    def __init__(
        self,
        settings: SplitSettings,
        launches: LaunchService | None = None,
        cycles: QueueCycles | None = None,
    ) -> None:
        self._settings = settings
        self._launches = launches
        self._cycles = cycles
        self._planned: OrderedDict[ApplicationId, tuple[PlannedSplitter, AttemptPlans]] = OrderedDict()
        self._before = MatchingStatus()

    def imposed_on(self, queue: str) -> PlacementRules:
        """What holds for containers of a queue beside what they ask for themselves; see `QueueCycles.imposed_on`."""
        return NO_RULES if self._cycles is None else self._cycles.imposed_on(queue)

    @property
    def move_after_beats(self) -> int:
        """Beats without a grant after which an ask may move."""
        return self._settings.move_after_beats

    def enter(
        self,
        attempt: Attempt,
        queue_at: Callable[[SubClusterId], str | None],
        tell: Callable[[LedgerEvent], None],
    ) -> tuple[AskSplitter, AttemptPlans | None]:
        """A splitter for an attempt, and what carries out the effects that concern its queue's cycle.

        Args:
            tell: Takes plans and verdicts; their effects are carried out before it returns.
        """
        if self._cycles is None:
            return CapacitySplitter(self._settings.move_after_beats), None
        splitter, plans = PlannedSplitter(self._settings), self._cycles.enter(attempt, queue_at, tell)
        self._remember(attempt.id.application, splitter, plans)
        return splitter, plans

    def decisions(self, application: ApplicationId) -> Sequence[AskDecision]:
        """Return the last decision on each of an application's asks; empty if it has not spanned here."""
        if application not in self._planned:
            return ()
        splitter, plans = self._planned[application]
        return splitter.decisions(plans.latest)

    def work_left(self, application: ApplicationId) -> WorkLeft | None:
        """Return what is left of an application's containers; None where its queue's cycle does not know it."""
        known = self._planned.get(application)
        return None if known is None else known[1].work_left()

    def decided(self) -> Mapping[ApplicationId, int]:
        """Count decisions by application: another number means that `decisions` has changed."""
        return {application: splitter.decided for application, (splitter, _) in self._planned.items()}

    def status(self) -> MatchingStatus:
        live, before = [splitter for splitter, _ in self._planned.values()], self._before
        solves = None if self._cycles is None else self._cycles.solves
        return MatchingStatus(
            verdicts={} if self._launches is None else dict(self._launches.verdicts),
            repairs=before.repairs + sum(each.repairs for each in live),
            fallbacks=before.fallbacks + sum(each.fallbacks for each in live),
            promised={} if self._launches is None else self._launches.open_allocations(),
            solves={} if solves is None else {"solved": solves.solved, "unsolved": solves.unsolved},
            solving=0 if solves is None else solves.solving,
            conflicts={} if self._launches is None else dict(self._launches.conflicts),
        )

    def shadows(self) -> Mapping[str, ShadowReport]:
        """Return where policies in the shadow of queues differ from those in force, by queue."""
        return {} if self._cycles is None else self._cycles.shadows.reports

    async def run(self) -> None:
        """Run the cycles of all queues until cancelled; for ever nothing, where there are none."""
        if self._cycles is not None:
            await self._cycles.run()
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        if self._launches is not None:
            await self._launches.close()

    def _remember(self, application: ApplicationId, splitter: PlannedSplitter, plans: AttemptPlans) -> None:
        gone = [self._planned.pop(application)] if application in self._planned else []
        self._planned[application] = splitter, plans
        if len(self._planned) > _MOST_REMEMBERED:
            gone.append(self._planned.popitem(last=False)[1])
        self._before = MatchingStatus(
            repairs=self._before.repairs + sum(each.repairs for each, _ in gone),
            fallbacks=self._before.fallbacks + sum(each.fallbacks for each, _ in gone),
        )
