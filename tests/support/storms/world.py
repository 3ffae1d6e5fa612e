"""The world of a storm: two small clusters, Heddle before them, clients, and the levers that break things."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.queues import UNORDERED
from shim.domain.resources import ResourceVector
from shim.errors import HeddleError
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.simulation.cluster.federation import ModelledFederation
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.masters import MasterCalls, MasterSettings
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec, Timing
from shim.simulation.engine import seeded
from shim.simulation.stores import in_memory_stores
from shim.simulation.virtual_time import VirtualClock
from shim.simulation.yarn_sim.heddle import ModelledHeddle, ModelledLocalMaster
from shim.simulation.yarn_sim.links import ModelledLinks
from shim.simulation.yarn_sim.network import ModelledNetwork
from shim.simulation.yarn_sim.run import a_config
from shim.simulation.yarn_sim.stores import StoreFaults
from shim.simulation.yarn_sim.world import HeddleWorld
from tests.support.storms.schedule import Fault, FaultKind, Schedule

_TIMING = Timing(
    node_heartbeat_s=0.5, recovery_s=1.0, node_expiry_s=30.0, master_expiry_s=120.0, allocation_expiry_s=60.0
)
_QUEUES = {"root.default": QueueSpec(50.0, 100.0, am_share=0.8, user_limit_factor=4.0), "root.span": QueueSpec(50.0)}
_CONFIG = """
[poll]
interval_s = 1.0
late_after_s = 4.0
timeout_s = 3.0
[span]
beat_s = 0.5
lost_after_s = 20.0
[[queue]]
name = "root.default"
{shares[0]}
[[queue]]
name = "root.span"
span = true
containers = "{containers}"
{shares[1]}
"""
_SHARES = (
    ("", ""),
    ("weight = 1.0", "weight = 2.0"),
    ("weight = 3.0\nmax_running = 1", "weight = 1.0\nmax_running = 1"),
)
"""Lines of both queues: without shares, with them, and with a bound on what runs, behind which the others wait."""
_CONTAINERS = (UNORDERED, *QUEUE_POLICIES)
_RETRY_S = 1.0
_LARGEST_GANG = 4
"""Two of these fit beside the ApplicationMasters, or one in what its queue is guaranteed."""
_CLIENT_PATIENCE_S = 15.0

_Levers = tuple[Callable[[], object], Callable[[], object]]
"""What breaks something, and what mends it."""


@dataclass(slots=True)
class Client:
    """One user with one job.

    Attributes:
        name: The id of its application; None before it has one.
        acknowledged_s: When it had its 202, in virtual time; None before.
        is_killed: Whether it asked for an end of its application, at whatever moment.
    """

    job: ModelledJob
    name: ApplicationId | None = None
    acknowledged_s: float | None = None
    is_killed: bool = False


@dataclass(slots=True)
class StormWorld:
    """Parts that a storm can break.

    Attributes:
        trace: What happened, in order: a run is equal to another one if their traces are.
    """

    schedule: Schedule
    clock: VirtualClock
    federation: ModelledFederation
    network: ModelledNetwork
    faults: StoreFaults
    world: HeddleWorld
    heddles: list[ModelledHeddle]
    local_masters: list[ModelledLocalMaster]
    clients: list[Client]
    trace: list[str] = field(default_factory=list)
    _turn: int = 0

    @classmethod
    def of(cls, schedule: Schedule, clock: VirtualClock) -> "StormWorld":
        """Make it; nothing runs yet."""
        seed = schedule.seed
        size = ResourceVector(4096, 4)
        specs = [
            ModelledClusterSpec.even(name, nodes=2, size=size, epoch=epoch, queues=_QUEUES, timing=_TIMING)
            for name, epoch in (("east", 1000), ("west", 2000))
        ]
        federation = ModelledFederation.of(specs, clock, seed, MasterSettings(heartbeat_s=0.5, task_timeout_s=40.0))
        network = ModelledNetwork(seeded(seed, "network"), hop_s=0.001)
        faults = StoreFaults(seeded(seed, "store"))
        world = HeddleWorld(
            config=a_config(specs, _drawn_config(seed)),
            clock=clock,
            federation=federation,
            network=network,
            stores=in_memory_stores(clock),
            faults=faults,
            seed=seed,
            links=ModelledLinks(network),
        )
        made = cls(schedule, clock, federation, network, faults, world, [], [], [])
        is_master = schedule.local_masters > 0
        made.heddles = [
            ModelledHeddle(world, f"heddle{number + 1}", is_master=is_master) for number in range(schedule.heddles)
        ]
        made.local_masters = [
            ModelledLocalMaster(world, spec.name, f"lm-{spec.name}{number + 1}")
            for number in range(schedule.local_masters)
            for spec in specs
        ]
        made.clients = [Client(job) for job in _jobs(schedule, [each.id.host for spec in specs for each in spec.nodes])]
        federation.connect = made.connect
        return made

    @property
    def processes(self) -> Sequence[ModelledHeddle | ModelledLocalMaster]:
        """All that is Heddle's."""
        return (*self.heddles, *self.local_masters)

    def note(self, what: str) -> None:
        """Write into the trace."""
        self.trace.append(f"{self.clock.monotonic_s():10.4f} {what}")

    def begin(self) -> None:
        """Start everything."""
        self.federation.begin()
        for process in self.processes:
            process.start()

    async def connect(self, cluster: SubClusterId, attempt: ApplicationAttemptId) -> MasterCalls:
        """An ApplicationMaster connects to the next process of Heddle, as by a name with several addresses."""
        self._turn += 1
        return await self.heddles[self._turn % len(self.heddles)].connect(f"{cluster} nodes", attempt)

    # -- clients -----------------------------------------------------------------------------------------------------

    async def run_client(self, client: Client) -> None:
        """Submit a job, again and again until it is acknowledged."""
        await self.clock.sleep(client.job.arrival_s)
        self.federation.add(client.job)
        while client.acknowledged_s is None:
            self._turn += 1
            heddle = self.heddles[self._turn % len(self.heddles)]
            try:
                async with asyncio.timeout(_CLIENT_PATIENCE_S):
                    if client.name is None:
                        client.name = await heddle.issue()
                    await heddle.submit(client.name, client.job)
            except (HeddleError, TimeoutError) as exc:
                self.note(f"{client.job.name} {client.name} not acknowledged: {type(exc).__name__}")
                await self.clock.sleep(_RETRY_S)
            else:
                client.acknowledged_s = self.clock.monotonic_s()
                self.note(f"{client.job.name} {client.name} acknowledged")

    async def _kill(self, client: Client) -> None:
        if client.name is None or client.acknowledged_s is None:
            return
        client.is_killed = True
        try:
            async with asyncio.timeout(_CLIENT_PATIENCE_S):
                await self.heddles[self._turn % len(self.heddles)].kill_application(client.name, client.job.user)
        except (HeddleError, TimeoutError) as exc:
            self.note(f"kill of {client.name} not acknowledged: {type(exc).__name__}")

    # -- levers ------------------------------------------------------------------------------------------------------

    async def play(self, fault: Fault) -> None:
        """Break something for a time."""
        await self.clock.sleep(fault.at_s)
        self.note(str(fault.kind.value))
        mend = await self._break(fault)
        await self.clock.sleep(fault.for_s)
        mend()
        self.note(f"{fault.kind.value}: over")

    async def _break(self, fault: Fault) -> Callable[[], object]:
        """Break something; returns what mends it."""
        if fault.kind is FaultKind.APPLICATION_KILLED:
            await self._kill(self.clients[fault.which % len(self.clients)])
            return _nothing
        processes = self._process_levers(fault)
        if fault.kind in processes:
            break_, mend = processes[fault.kind]
            break_()
            return mend
        subject, lever, value = self._value_levers(fault)[fault.kind]
        setattr(subject, lever, value)
        return lambda: setattr(subject, lever, 0.0)

    def _process_levers(self, fault: Fault) -> Mapping[FaultKind, _Levers]:
        """Return the acts on a process or a link, each with its undoing."""
        managers = [cluster.manager for cluster in self.federation.clusters.values()]
        manager = managers[fault.which % len(managers)]
        nodes = list(manager.nodes.values())
        node = nodes[fault.which // 7 % len(nodes)]
        heddle = self.heddles[fault.which % len(self.heddles)]
        return {
            FaultKind.RM_KILLED: (manager.kill, manager.start),
            FaultKind.RM_PAUSED: (manager.pause, manager.resume),
            FaultKind.HEDDLE_KILLED: (heddle.kill, heddle.start),
            FaultKind.HEDDLE_PAUSED: (heddle.gate.pause, heddle.gate.resume),
            FaultKind.NODE_DEAD: (node.die, node.revive),
            FaultKind.CLUSTER_CUT: self._cut((heddle.name, manager.spec.name)),
            FaultKind.ANSWERS_CUT: self._cut((manager.spec.name, heddle.name), both_ways=False),
            **self._master_levers(fault),
        }

    def _master_levers(self, fault: Fault) -> Mapping[FaultKind, _Levers]:
        """The same of masters, where there are several."""
        if not self.local_masters:
            return {}
        local_master = self.local_masters[fault.which % len(self.local_masters)]
        heddle = self.heddles[fault.which // 7 % len(self.heddles)]
        others = [each for each in self.processes if each is not heddle]
        other = others[fault.which // 3 % len(others)]
        gate = local_master.gate
        return {
            FaultKind.LOCAL_MASTER_KILLED: (local_master.kill, local_master.start),
            FaultKind.LOCAL_MASTER_PAUSED: (gate.pause, gate.resume),
            FaultKind.LOCAL_MASTER_CUT: self._cut((local_master.name, local_master.subcluster)),
            FaultKind.LINK_CUT: self._cut((heddle.name, other.name), both_ways=bool(fault.which % 2)),
        }

    def _cut(self, link: tuple[str, str], *, both_ways: bool = True) -> _Levers:
        cut, links = self.network.cut, {link, link[::-1]} if both_ways else {link}
        return lambda: cut.update(links), lambda: cut.difference_update(links)

    def _value_levers(self, fault: Fault) -> Mapping[FaultKind, tuple[object, str, float]]:
        """Return the values that faults set, with their amounts."""
        network, store, much = self.network, self.faults, fault.much
        clock = self.processes[fault.which % len(self.processes)].clock
        return {
            FaultKind.MESSAGES_LOST: (network, "loss", much),
            FaultKind.MESSAGES_LATE: (network, "jitter_s", much),
            FaultKind.REQUESTS_REPEATED: (network, "repeats", much),
            FaultKind.STORE_AWAY: (store, "refuses", 1.0),
            FaultKind.STORE_REFUSES: (store, "refuses", much),
            FaultKind.STORE_LOSES_ANSWERS: (store, "loses", much),
            FaultKind.CLOCK_SET: (clock, "step_s", much),
        }

    def heal(self) -> None:
        """Mend everything, whatever still lasts."""
        network, store = self.network, self.faults
        network.cut.clear()
        network.loss = network.jitter_s = network.repeats = store.refuses = store.loses = 0.0
        for cluster in self.federation.clusters.values():
            cluster.manager.resume()
            cluster.manager.start()
            for node in cluster.manager.nodes.values():
                if node.is_dead:
                    node.revive()
        for process in self.processes:
            process.gate.resume()
            process.start()
        self.note("quiet")


def _drawn_config(seed: int) -> str:
    containers, shares = (seeded(seed, what) for what in ("containers", "shares"))
    return _CONFIG.format(containers=containers.choice(_CONTAINERS), shares=shares.choice(_SHARES))


def _nothing() -> None:
    """There is nothing to mend."""


def _jobs(schedule: Schedule, hosts: Sequence[str]) -> list[ModelledJob]:
    """Small ones, every second in the queue that spans; some have their data on named hosts, some have gangs."""
    rng, data, gangs = (seeded(schedule.seed, what) for what in ("jobs", "data", "gangs"))
    jobs = []
    for number in range(schedule.setting.jobs):
        tasks = rng.randint(1, 8)
        copies = tuple(tuple(data.sample(hosts, 2)) for _ in range(tasks)) if data.random() < 0.5 else ()
        maps = ModelledStage(tuple(rng.uniform(0.5, 6.0) for _ in range(tasks)), hosts=copies)
        reduces = ModelledStage((rng.uniform(0.5, 3.0),), needs=(0,))
        jobs.append(
            ModelledJob(
                f"job-{number}",
                arrival_s=rng.uniform(0.0, schedule.setting.lasts_s * 0.7),
                stages=(maps, reduces) if rng.random() < 0.5 else (maps,),
                queue="root.span" if number % 2 else "root.default",
                keeps_containers=rng.random() < 0.5,
                most_attempts=8,
                gang=min(tasks, _LARGEST_GANG) if tasks > 1 and number % 2 and gangs.random() < 0.5 else 0,
                gang_s=20,
            )
        )
    return jobs
