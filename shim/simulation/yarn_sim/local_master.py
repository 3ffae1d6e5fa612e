"""A Local Master as a process in virtual time: `heddle lm` with its lease, its polls and its links."""

import random

from shim.app.peers import local_master
from shim.domain.ids import SubClusterId
from shim.peers.local import StandingLocalMaster
from shim.peers.roster import local_master_role
from shim.simulation.yarn_sim.network import NetworkedManager
from shim.simulation.yarn_sim.process import GatedClock, ProcessGate
from shim.simulation.yarn_sim.stores import gated_stores
from shim.simulation.yarn_sim.world import HeddleWorld

_PORT = 7000


class ModelledLocalMaster:
    """One process for a sub-cluster, active or standing by; `start` it again after `kill`.

    Args:
        world: What it stands on.
        subcluster: Whose Local Master it is.
        name: Of the process, as links of the network name it.

    Attributes:
        bugs: What must never happen: parts that ended.
    """

    def __init__(self, world: HeddleWorld, subcluster: SubClusterId, name: str) -> None:
        self.world = world
        self.subcluster = subcluster
        self.name = name
        self.lives = 0
        self.bugs: list[str] = []
        self.gate = ProcessGate(name)
        self.gate.kill()
        self.clock = GatedClock(world.clock, self.gate)
        self.standing: StandingLocalMaster | None = None

    def start(self) -> None:
        """Start the process; it acts when it has the lease."""
        if not self.gate.is_dead:
            return
        self.lives += 1
        step_s = self.clock.step_s
        self.gate = gate = ProcessGate(self.name)
        self.clock = GatedClock(self.world.clock, gate)
        self.clock.step_s = step_s
        self.standing = standing = self._assembled(gate)
        gate.spawn(self._watched(standing), self.name)

    def kill(self) -> None:
        """End it (SIGKILL)."""
        self.gate.kill()

    def _assembled(self, gate: ProcessGate) -> StandingLocalMaster:
        world, address = self.world, f"{self.name}:{_PORT + self.lives}"
        inner = world.federation.clusters[self.subcluster].web
        standing = local_master(
            world.config,
            NetworkedManager(inner, world.network, gate),
            gated_stores(world.stores, gate, world.faults).leases,
            self.clock,
            random.Random(f"{world.seed}/{self.name}/{self.lives}"),  # noqa: S311 - repeatable on purpose
            address=address,
        )
        world.links.listen(address, local_master_role(self.subcluster), gate, standing.serve)
        return standing

    async def _watched(self, standing: StandingLocalMaster) -> None:
        """A Local Master that ends by itself is a bug; in production it ends the process."""
        try:
            await standing.run()
        except Exception as exc:  # noqa: BLE001 - the boundary of a task
            self.bugs.append(f"{self.name} ended: {type(exc).__name__}: {exc}")
