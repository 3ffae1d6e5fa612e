"""Several modelled clusters, the jobs that run on them, and what became of each."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.errors import InvariantViolationError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER, HomeSession
from shim.ports.clock import Clock
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.simulation.cluster.applications import Application
from shim.simulation.cluster.client_service import ModelledClientService
from shim.simulation.cluster.jobs import ModelledJob
from shim.simulation.cluster.manager import ModelledResourceManager
from shim.simulation.cluster.master_account import MasterAccount
from shim.simulation.cluster.master_service import MasterLogin, MasterService
from shim.simulation.cluster.masters import MasterCalls, MasterSettings, ModelledMaster
from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.cluster.web import WebService
from shim.simulation.engine import seeded

Connect = Callable[[SubClusterId, ApplicationAttemptId], Awaitable[MasterCalls]]
"""How an ApplicationMaster that runs in a cluster reaches its scheduler."""


@dataclass(frozen=True, slots=True)
class ModelledCluster:
    """One cluster with the servers of its ResourceManager."""

    manager: ModelledResourceManager
    web: WebService
    client: ModelledClientService
    masters: MasterService


@dataclass(frozen=True, slots=True)
class DirectCalls:
    """An ApplicationMaster's connection to its own ResourceManager, with nothing between."""

    session: HomeSession

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self.session.call(REGISTER, payload_untrusted)

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self.session.call(ALLOCATE, payload_untrusted)

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self.session.call(FINISH, payload_untrusted)


@dataclass(slots=True)
class ModelledFederation:
    """The clusters of a run.

    Attributes:
        jobs: What applications run, by the program that their submission names.
        accounts: What each application's masters saw, by the same.
        starts: Where each application's ApplicationMasters were started, in that order.
        connect: Replaced by whoever puts Heddle between.
    """

    clusters: Mapping[SubClusterId, ModelledCluster]
    clock: Clock
    jobs: dict[str, ModelledJob] = field(default_factory=dict)
    accounts: dict[str, MasterAccount] = field(default_factory=dict)
    starts: dict[ApplicationId, list[SubClusterId]] = field(default_factory=dict)
    connect: Connect | None = None
    settings: MasterSettings = field(default_factory=MasterSettings)
    _clusters_of: dict[NodeId, SubClusterId] = field(default_factory=dict)
    _launched: dict[ContainerId, NodeId] = field(default_factory=dict)

    @classmethod
    def of(
        cls, specs: Sequence[ModelledClusterSpec], clock: Clock, seed: int, settings: MasterSettings | None = None
    ) -> "ModelledFederation":
        """Make the clusters; nothing runs yet.

        Args:
            settings: How ApplicationMasters behave.
        """
        made: dict[SubClusterId, ModelledCluster] = {}
        federation = cls(made, clock, settings=settings or MasterSettings())
        for spec in specs:
            made[spec.name] = federation._cluster(spec, seeded(seed, f"cluster/{spec.name}"))
            federation._clusters_of |= dict.fromkeys((node.id for node in spec.nodes), spec.name)
        return federation

    def _cluster(self, spec: ModelledClusterSpec, rng: random.Random) -> ModelledCluster:
        async def program(application: Application, attempt: ApplicationAttemptId) -> None:
            await self._run_master(spec.name, application, attempt)

        manager = ModelledResourceManager(spec, self.clock, rng, program)
        return ModelledCluster(manager, WebService(manager), ModelledClientService(manager), MasterService(manager))

    def __getitem__(self, name: str) -> ModelledCluster:
        return self.clusters[SubClusterId(name)]

    def begin(self) -> None:
        """Start every cluster."""
        for cluster in self.clusters.values():
            cluster.manager.begin()

    def add(self, job: ModelledJob) -> MasterAccount:
        """Know a job: a submission that names it as its program runs it."""
        self.jobs[job.name] = job
        return self.accounts.setdefault(job.name, MasterAccount())

    def launch(self, node: NodeId, container: ContainerId, runs_s: float, life: int) -> None:
        """Start a program in a container on a node of any cluster.

        Raises:
            UnavailableError: The node will not.
        """
        self.clusters[self._clusters_of[node]].manager.nodes[node].start(container, runs_s, life=life)
        self._launched[container] = node

    def is_running(self, container: ContainerId) -> bool:
        """True if some node runs a container that `launch` started."""
        node = self._launched.get(container)
        if node is None:
            return False
        is_running = container in self.clusters[self._clusters_of[node]].manager.nodes[node].running
        if not is_running:
            del self._launched[container]
        return is_running

    def running(self) -> dict[ContainerId, SubClusterId]:
        """Containers that nodes run, with their clusters."""
        return {
            container: name
            for name, cluster in self.clusters.items()
            for node in cluster.manager.nodes.values()
            for container in node.running
        }

    async def _run_master(self, cluster: SubClusterId, application: Application, attempt: ApplicationAttemptId) -> None:
        self.starts.setdefault(application.order.id, []).append(cluster)
        job = self.jobs.get(application.order.program)
        if job is None:
            raise InvariantViolationError(f"{application.order.id} names no job: {application.order.program!r}")

        async def connect(of: ApplicationAttemptId) -> MasterCalls:
            if self.connect is None:
                return DirectCalls(MasterLogin(self.clusters[cluster].masters, of))
            return await self.connect(cluster, of)

        master = ModelledMaster(
            attempt,
            job,
            connect=connect,
            launch=self.launch,
            pings=self.is_running,
            now_s=self.clock.monotonic_s,
            account=self.accounts[job.name],
            settings=self.settings,
        )
        await master.run()
