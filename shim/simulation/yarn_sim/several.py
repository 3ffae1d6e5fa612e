"""Processes of Heddle that clients and ApplicationMasters meet in turn, as by a name with several addresses."""

from collections import Counter
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.simulation.cluster.jobs import ModelledJob
from shim.simulation.cluster.masters import MasterCalls
from shim.simulation.yarn_sim.heddle import ModelledHeddle
from shim.simulation.yarn_sim.local_master import ModelledLocalMaster
from shim.simulation.yarn_sim.world import HeddleWorld

__all__ = ["ModelledFront", "Proposals"]


@dataclass(frozen=True, slots=True)
class Proposals:
    """Fate of proposals for containers, at all processes.

    Attributes:
        verdicts: What Local Masters said, by the verdict.
        conflicts: Rejections, by what was in the way.
        offers: Containers that were offered to some Global Master, by what became of them.
        repairs: Promised containers that were not granted in time.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    offers: Counter[str] = field(default_factory=Counter)
    repairs: int = 0


class ModelledFront:
    """`heddle serve` as one process, or Global Masters with a Local Master for each cluster.

    Args:
        world: What they stand on.
        global_masters: How many; 0 for `heddle serve`.
    """

    def __init__(self, world: HeddleWorld, global_masters: int = 0) -> None:
        names = [f"gm{number + 1}" for number in range(global_masters)] or ["heddle"]
        self._heddles = [ModelledHeddle(world, name, is_master=global_masters > 0) for name in names]
        clusters = world.federation.clusters if global_masters else ()
        self._local_masters = [ModelledLocalMaster(world, name, f"lm-{name}") for name in clusters]
        self._turn = 0

    def start(self) -> None:
        """Start every process."""
        for local_master in self._local_masters:
            local_master.start()
        for heddle in self._heddles:
            heddle.start()

    def _next(self) -> ModelledHeddle:
        self._turn += 1
        return self._heddles[self._turn % len(self._heddles)]

    async def connect(self, cluster: SubClusterId, attempt: ApplicationAttemptId) -> MasterCalls:
        """Give an ApplicationMaster a connection."""
        return await self._next().connect(f"{cluster} nodes", attempt)

    async def issue(self) -> ApplicationId:
        """A new id.

        Raises:
            HeddleError: It is not given now.
        """
        return await self._next().issue()

    async def submit(self, application_id: ApplicationId, job: ModelledJob) -> None:
        """Submit a job under an id; a return is a 202.

        Raises:
            HeddleError: It was not acknowledged.
        """
        await self._next().submit(application_id, job)

    def proposals(self) -> Proposals:
        """Sum up what became of proposals so far."""
        found, repairs = Proposals(), 0
        for heddle in self._heddles:
            status = heddle.use_cases.matching.status()
            for (_, verdict), count in status.verdicts.items():
                found.verdicts[verdict.value] += count
            for (_, kind), count in status.conflicts.items():
                found.conflicts[kind.value] += count
            for each in status.offers.values():
                found.offers.update(made=each.made, taken=each.taken, returned=each.returned, expired=each.expired)
            repairs += status.repairs
        return Proposals(found.verdicts, found.conflicts, found.offers, repairs)
