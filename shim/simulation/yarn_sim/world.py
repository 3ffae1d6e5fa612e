"""The world in virtual time that outlives processes of Heddle: clusters, the network, the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shim.config.loader import Config
from shim.ports.clock import Clock
from shim.simulation.cluster.federation import ModelledFederation
from shim.simulation.yarn_sim.links import ModelledLinks
from shim.simulation.yarn_sim.network import ModelledNetwork
from shim.simulation.yarn_sim.stores import StoreFaults
from shim.store.stores import Stores

if TYPE_CHECKING:
    from shim.simulation.yarn_sim.heddle import ModelledHeddle

__all__ = ["HeddleWorld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeddleWorld:
    """Everything that processes of Heddle stand on.

    Attributes:
        config: Of every process.
        stores: The database.
        faults: What that does.
        seed: Of the run.
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
    schedulers: dict[str, "ModelledHeddle"] = field(default_factory=dict)

    def scheduler_at(self, address: str) -> "ModelledHeddle | None":
        """Give the process that takes ApplicationMasters at an address; None if none does any more."""
        known: Mapping[str, ModelledHeddle] = self.schedulers
        found = known.get(address)
        return found if found is not None and found.scheduler_address == address else None
