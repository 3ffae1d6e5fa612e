"""The world in virtual time that outlives processes of Heddle: clusters, the network, the database."""

from dataclasses import dataclass, field
from typing import Protocol

from shim.config.loader import Config
from shim.domain.ids import ApplicationAttemptId
from shim.ports.clock import Clock
from shim.simulation.cluster.federation import ModelledFederation
from shim.simulation.cluster.masters import MasterCalls
from shim.simulation.yarn_sim.links import ModelledLinks
from shim.simulation.yarn_sim.network import ModelledNetwork
from shim.simulation.yarn_sim.stores import StoreFaults
from shim.store.stores import Stores


class SchedulerOfAttempts(Protocol):
    """A process that takes ApplicationMasters at an address of its own."""

    @property
    def scheduler_address(self) -> str:
        """Address of its present life; empty while it takes nobody."""
        ...

    async def connect(
        self, sender: str, attempt_id: ApplicationAttemptId, *, was_passed_on: bool = False
    ) -> MasterCalls:
        """Give a connection; see `ModelledHeddle.connect`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HeddleWorld:
    """World on which processes of Heddle stand.

    Attributes:
        links: Between masters.
        schedulers: Who takes ApplicationMasters at which address, where there are several Global Masters.
    """

    config: Config
    clock: Clock
    federation: ModelledFederation
    network: ModelledNetwork
    stores: Stores
    faults: StoreFaults
    seed: int
    links: ModelledLinks
    schedulers: dict[str, SchedulerOfAttempts] = field(default_factory=dict)

    def scheduler_at(self, address: str) -> SchedulerOfAttempts | None:
        """Give the process that takes ApplicationMasters at an address; None if none does any more."""
        found = self.schedulers.get(address)
        return found if found is not None and found.scheduler_address == address else None
