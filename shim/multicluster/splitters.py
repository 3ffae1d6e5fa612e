"""Who decides for each spanning attempt which sub-cluster is asked; and what was decided, for people."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.launches import LaunchVerdict
from shim.domain.verdicts import Verdict
from shim.multicluster.core import AskSplitter, CapacitySplitter, Event
from shim.multicluster.core.launch_groups import AskDecision
from shim.multicluster.core.matching import MatchingSplitter, MatchSettings
from shim.multicluster.core.planned import PlannedSplitter
from shim.multicluster.queue_cycles import AttemptPlans, QueueCycles
from shim.peers.container_order import ContainerOrders
from shim.peers.launches import AttemptLaunches, LaunchService
from shim.ports.attempt_calls import Attempt

__all__ = ["AttemptMatching", "MatchingStatus"]

_MOST_REMEMBERED = 512


@dataclass(frozen=True, slots=True)
class MatchingStatus:
    """How asks of spanning applications were matched so far.

    Attributes:
        verdicts: How often Local Masters said what to proposed containers.
        repairs: Promised containers that were not granted in time, and promised elsewhere or left waiting.
        fallbacks: Splits by free capacity alone, as a view was too old.
        promised: Containers that are promised now, and not granted.
    """

    verdicts: Mapping[tuple[SubClusterId, Verdict], int] = field(default_factory=dict)
    repairs: int = 0
    fallbacks: int = 0
    promised: Mapping[SubClusterId, int] = field(default_factory=dict)

    @property
    def inconsistencies(self) -> int:
        """Proposals that found less room than they believed in."""
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict is Verdict.REJECTED)


class AttemptMatching:
    """The matching of every attempt, with its decisions.

    Args:
        service: Where matches are verified.
        settings: How asks are matched.
        orders: Who of a queue has containers first; without it or a service, asks are split by free capacity alone.
        cycles: The cycles of the queues; None where each attempt's asks are matched by themselves.
    """

    def __init__(
        self,
        service: LaunchService | None,
        settings: MatchSettings,
        orders: ContainerOrders | None = None,
        cycles: QueueCycles | None = None,
    ) -> None:
        self._service = service
        self._orders = orders
        self._cycles = cycles
        self._planned: dict[ApplicationId, AttemptPlans] = {}
        self._settings = settings
        self._splitters: OrderedDict[ApplicationId, MatchingSplitter | PlannedSplitter] = OrderedDict()
        self._before = MatchingStatus()

    def enter(
        self,
        attempt: Attempt,
        queue_at: Callable[[SubClusterId], str | None],
        changed: Callable[[], None],
        tell: Callable[[Event], None],
    ) -> tuple[AskSplitter, AttemptPlans | None]:
        """A splitter for an attempt, and what carries out the effects that concern its queue's cycle.

        Args:
            attempt: Whose.
            queue_at: What a sub-cluster calls its queue.
            changed: Called when its asks are to be split again.
            tell: Takes plans and verdicts; their effects are carried out before it returns.
        """
        if self._cycles is None:
            return self.splitter(attempt, queue_at, changed), None
        planned = PlannedSplitter(self._settings)
        self._remember(attempt.id.application, planned)
        plans = self._planned[attempt.id.application] = self._cycles.enter(attempt, queue_at, tell)
        return planned, plans

    def splitter(
        self, attempt: Attempt, queue_at: Callable[[SubClusterId], str | None], changed: Callable[[], None]
    ) -> AskSplitter:
        """A splitter for an attempt.

        Args:
            attempt: Whose.
            queue_at: What a sub-cluster calls its queue.
            changed: Called when its asks are to be split again.
        """
        if self._service is None or self._orders is None:
            return CapacitySplitter(self._settings.patience)
        made: list[MatchingSplitter] = []

        def judge(verdicts: Sequence[LaunchVerdict]) -> None:
            waited_for = [verdict for verdict in verdicts if made[0].judge(verdict)]
            if waited_for:
                changed()

        turn = self._orders.turn_of(attempt)
        launches = AttemptLaunches(self._service, str(attempt.id), queue_at, judge, turn)
        made.append(MatchingSplitter(launches, self._settings))
        self._remember(attempt.id.application, made[0])
        return made[0]

    def decisions(self, application: ApplicationId) -> Sequence[AskDecision]:
        """What was decided last about each of an application's asks; nothing if it has not spanned here."""
        splitter, plans = self._splitters.get(application), self._planned.get(application)
        if isinstance(splitter, PlannedSplitter) and plans is not None:
            return splitter.decisions(plans.latest)
        return () if splitter is None or isinstance(splitter, PlannedSplitter) else splitter.decisions

    def decided(self) -> Mapping[ApplicationId, int]:
        """How many decisions were made for each application: another number means that `decisions` has changed."""
        return {application: splitter.decided for application, splitter in self._splitters.items()}

    def status(self) -> MatchingStatus:
        """How matching went so far."""
        live, before = self._splitters.values(), self._before
        return MatchingStatus(
            verdicts={} if self._service is None else dict(self._service.verdicts),
            repairs=before.repairs + sum(each.repairs for each in live),
            fallbacks=before.fallbacks + sum(each.fallbacks for each in live),
            promised={} if self._service is None else self._service.open_allocations(),
        )

    async def run(self) -> None:
        """Run the cycles of all queues until cancelled; for ever nothing, where there are none."""
        if self._cycles is not None:
            await self._cycles.run()
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Say nothing more."""
        if self._service is not None:
            await self._service.close()

    def _remember(self, application: ApplicationId, splitter: MatchingSplitter | PlannedSplitter) -> None:
        """Its counts outlive it."""
        gone = [self._splitters.pop(application)] if application in self._splitters else []
        self._splitters[application] = splitter
        if len(self._splitters) > _MOST_REMEMBERED:
            oldest, splitter_of_it = self._splitters.popitem(last=False)
            gone.append(splitter_of_it)
            self._planned.pop(oldest, None)
        self._before = MatchingStatus(
            repairs=self._before.repairs + sum(each.repairs for each in gone),
            fallbacks=self._before.fallbacks + sum(each.fallbacks for each in gone),
        )
