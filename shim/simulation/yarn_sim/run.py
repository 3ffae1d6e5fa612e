"""A workload over modelled clusters in virtual time: through Heddle, or by the clusters' own means."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from shim.config.loader import Config, parse
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.errors import HeddleError
from shim.simulation.cluster.applications import Application, Order
from shim.simulation.cluster.federation import ModelledFederation
from shim.simulation.cluster.jobs import ModelledJob
from shim.simulation.cluster.master_account import MasterAccount
from shim.simulation.cluster.masters import MasterCalls, MasterSettings
from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.engine import seeded
from shim.simulation.figures_file import FiguresFile
from shim.simulation.lives import JobLife, life_of, memory_over_time
from shim.simulation.results import Summary
from shim.simulation.stores import in_memory_stores
from shim.simulation.virtual_time import EPOCH_S, VirtualClock, VirtualTimeLoop, own_tasks, run_in_virtual_time
from shim.simulation.yarn_sim.heddle import ModelledHeddle, ModelledLocalMaster
from shim.simulation.yarn_sim.links import ModelledLinks
from shim.simulation.yarn_sim.network import ModelledNetwork
from shim.simulation.yarn_sim.stores import StoreFaults
from shim.simulation.yarn_sim.world import HeddleWorld

# Processes of Heddle that clients and ApplicationMasters meet in turn, as by a name with several addresses.


@dataclass(frozen=True, slots=True)
class Proposals:
    """Fate of proposals for containers, at all processes.

    Attributes:
        verdicts: What Local Masters said, by the verdict.
        repairs: Promised containers that were not granted in time.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    repairs: int = 0


class ModelledFront:
    """`heddle serve` as one process, or Global Masters with a Local Master for each cluster.

    Args:
        global_masters: How many; 0 for `heddle serve`.
    """

    def __init__(self, world: HeddleWorld, global_masters: int = 0) -> None:
        names = [f"gm{number + 1}" for number in range(global_masters)] or ["heddle"]
        self._heddles = [ModelledHeddle(world, name, is_master=global_masters > 0) for name in names]
        clusters = world.federation.clusters if global_masters else ()
        self._local_masters = [ModelledLocalMaster(world, name, f"lm-{name}") for name in clusters]
        self._turn = 0

    def start(self) -> None:
        for local_master in self._local_masters:
            local_master.start()
        for heddle in self._heddles:
            heddle.start()

    def _next(self) -> ModelledHeddle:
        self._turn += 1
        return self._heddles[self._turn % len(self._heddles)]

    async def connect(self, cluster: SubClusterId, attempt: ApplicationAttemptId) -> MasterCalls:
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
            repairs += status.repairs
        return Proposals(found.verdicts, found.conflicts, repairs)


_RETRY_S = 1.0
_MOST_S = 7 * 86_400.0
_LOOK_S = 1.0
_WATCH_S = 60.0
_WARM_UP_S = 10.0
_ROUTER_HEARD_S = 10.0
"""Age up to which the Router knows clusters' metrics: `yarn.federation.state-store.heartbeat-interval-secs` is 300 by
default, in which time all jobs would go to one cluster."""


Submit = Callable[[ModelledJob], Awaitable[ApplicationId]]


class SimulatedFront(Enum):
    """Fronts that a run may put before the clusters."""

    HEDDLE = "heddle"
    """Heddle, with the configuration of the setting."""
    DEALT = "dealt"
    """Nothing: jobs are dealt to the clusters in turn, as many as each has room for, and stay there."""
    USERS = "users"
    """Nothing: each user has one of the clusters, dealt likewise."""
    ROUTER_LOAD = "router-load"
    """Hadoop's Router with `LoadBasedRouterPolicy`: the cluster with most memory free by its last heartbeat."""
    ROUTER_RANDOM = "router-random"
    """Hadoop's Router with `WeightedRandomRouterPolicy`, clusters weighted by their size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YarnSetting:
    """One run.

    Attributes:
        config: Sections of `heddle.toml`, without the sub-clusters; or all of it, with those that are modelled.
        hop_s: How long a message takes.
        masters: How ApplicationMasters behave.
        global_masters: How many, with a Local Master for each cluster; 0 for one `heddle serve`.
    """

    clusters: tuple[ModelledClusterSpec, ...]
    front: SimulatedFront = SimulatedFront.HEDDLE
    config: str | Config = ""
    seed: int = 1
    hop_s: float = 0.0005
    masters: MasterSettings = field(default_factory=MasterSettings)
    shares_files: bool = False
    global_masters: int = 0


@dataclass(frozen=True, slots=True)
class ManagerTimes:
    """Times and use that a ResourceManager tells of an application, in seconds from the arrival of its job.

    Attributes:
        launched_s: When its first ApplicationMaster was launched.
        mib_s: Memory times seconds of all its containers; `vcore_s` likewise.
    """

    launched_s: float
    ended_s: float
    mib_s: float
    vcore_s: float


@dataclass(slots=True)
class YarnOutcome:
    """Outcomes of the jobs.

    Attributes:
        completions_s: Of each job, from its arrival to the end of its last task as its master knew it.
        delays_s: The same less the longest path through its stages.
        waits_s: Of each task, from the arrival of its job to its start.
        starts_s: When each task of a job started, by the job, stage and task; from its arrival.
        at_data: Part of the tasks with data on some host that started at one that has it; 1 if there are none.
        used: Container-seconds of memory (MiB x s) by cluster and queue.
        surplus: Containers that ApplicationMasters got and gave back, as their last ask came after the grant.
        times: Of each job that succeeded, by its name.
        failed: Jobs that did not succeed, with the reason.
        proposals: What became of proposals for containers.
        turns: Steps of the loop: what a run costs, the same on any machine.
        ended_s: When the last job had ended, in virtual time.
    """

    jobs: Sequence[ModelledJob]
    completions_s: tuple[float, ...] = ()
    delays_s: tuple[float, ...] = ()
    waits_s: tuple[float, ...] = ()
    starts_s: dict[str, Mapping[tuple[int, int], float]] = field(default_factory=dict)
    at_data: float = 1.0
    used: Counter[tuple[SubClusterId, str]] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    surplus: int = 0
    times: dict[str, ManagerTimes] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    proposals: Proposals = field(default_factory=Proposals)
    turns: int = 0
    ended_s: float = 0.0

    @property
    def completion(self) -> Summary:
        """Of all jobs that succeeded."""
        return Summary.of(self.completions_s)

    @property
    def delay(self) -> Summary:
        """Of all jobs that succeeded."""
        return Summary.of(self.delays_s)


def a_config(clusters: Sequence[ModelledClusterSpec], text: str = "", *, shares_files: bool = False) -> Config:
    """A configuration of modelled clusters.

    Args:
        text: Sections in TOML.
        shares_files: Whether the clusters name one file system together, so that applications span by themselves.

    Raises:
        ConfigError: If a key is unknown or a value is not allowed.
    """
    secret = "" if "[security]" in text else '\n[security]\nsecret_file = "modelled"\n'
    systems = 'filesystems = ["hdfs://modelled"]\n' if shares_files else ""
    listed = "".join(
        f'\n[[subcluster]]\nid = "{each.name}"\nweb = "http://rm.{each.name}:8088"\n{systems}' for each in clusters
    )
    return parse(text + secret + listed, source="the configuration", environment={})


def play(
    setting: YarnSetting, jobs: Sequence[ModelledJob], advance: Callable[[int], None] = lambda _: None
) -> YarnOutcome:
    """Run jobs to their ends.

    Args:
        advance: Told once in a virtual minute how many more jobs have ended.
    """
    return run_in_virtual_time(_play(setting, jobs, advance))


async def _play(setting: YarnSetting, jobs: Sequence[ModelledJob], advance: Callable[[int], None]) -> YarnOutcome:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)  # noqa: S101 - `play` made it
    loop.set_task_factory(own_tasks)
    clock = VirtualClock()
    federation = ModelledFederation.of(setting.clusters, clock, setting.seed, setting.masters)
    network = ModelledNetwork(seeded(setting.seed, "network"), hop_s=setting.hop_s)
    federation.begin()
    submit, heddle = _Dealt(federation, setting.front, seeded(setting.seed, "front")).submit, None
    if setting.front is SimulatedFront.HEDDLE:
        heddle = ModelledFront(
            HeddleWorld(
                config=_whole(setting),
                clock=clock,
                federation=federation,
                network=network,
                stores=in_memory_stores(clock),
                faults=StoreFaults(seeded(setting.seed, "store")),
                seed=setting.seed,
                links=ModelledLinks(network),
            ),
            setting.global_masters,
        )
        heddle.start()
        federation.connect = heddle.connect
        submit = _Submitting(heddle).submit
    begun_s = await _warm_up(clock)
    accounts = [federation.add(job) for job in jobs]
    clients = [asyncio.create_task(_client(clock, begun_s, job, submit)) for job in jobs]
    watch = asyncio.create_task(_watch(clock, accounts, advance))
    names = await asyncio.gather(*clients)
    ends = _Ends(federation, names)
    while not ends.are_all_over and clock.monotonic_s() < _MOST_S:
        await clock.sleep(_LOOK_S)
    watch.cancel()
    outcome = _outcome(begun_s, jobs, accounts, ends)
    outcome.proposals = Proposals() if heddle is None else heddle.proposals()
    outcome.messages, outcome.turns, outcome.ended_s = network.messages, loop.turns, clock.monotonic_s() - begun_s
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()
    return outcome


def _whole(setting: YarnSetting) -> Config:
    told = setting.config
    return told if isinstance(told, Config) else a_config(setting.clusters, told, shares_files=setting.shares_files)


async def _watch(clock: VirtualClock, accounts: Sequence[MasterAccount], advance: Callable[[int], None]) -> None:
    """Tell how many jobs have ended, until the run is over."""
    told = 0
    while True:
        ended = sum(account.done_s is not None for account in accounts)
        advance(ended - told)
        told = ended
        await clock.sleep(_WATCH_S)


async def _warm_up(clock: VirtualClock) -> float:
    """Let nodes register and Heddle poll; returns when the first job may arrive."""
    await clock.sleep(_WARM_UP_S)
    return clock.monotonic_s()


async def _client(clock: VirtualClock, begun_s: float, job: ModelledJob, submit: Submit) -> ApplicationId:
    """Submit a job when it arrives, again and again until it is acknowledged."""
    await clock.sleep(begun_s + job.arrival_s - clock.monotonic_s())
    return await submit(job)


@dataclass(slots=True)
class _Dealt:
    """Clients that know the clusters, or a Router: a job stays where it was sent to."""

    federation: ModelledFederation
    front: SimulatedFront
    rng: random.Random
    count: int = 0
    _dealt: Counter[SubClusterId] = field(default_factory=Counter)
    _of_users: dict[str, SubClusterId] = field(default_factory=dict)
    _free_mib: dict[SubClusterId, int] = field(default_factory=dict)
    _heard_s: float = float("-inf")

    async def submit(self, job: ModelledJob) -> ApplicationId:
        """To the cluster that the front chooses."""
        chosen = self.federation.clusters[self._chosen(job)]
        self.count += 1
        name = ApplicationId(chosen.manager.started_on_ms, self.count)
        order = Order(name, job.user, job.name, job.queue, job.name, job.master, keeps_containers=job.keeps_containers)
        chosen.manager.submit(order)
        return name

    def _chosen(self, job: ModelledJob) -> SubClusterId:
        sizes = {name: each.manager.spec.capacity.memory_mib for name, each in self.federation.clusters.items()}
        if self.front is SimulatedFront.USERS:
            return self._of_users.get(job.user) or self._of_users.setdefault(job.user, self._next(sizes))
        if self.front is SimulatedFront.ROUTER_LOAD:
            self._hear()
            return max(self._free_mib, key=lambda name: self._free_mib[name])
        if self.front is SimulatedFront.ROUTER_RANDOM:
            return self.rng.choices(tuple(sizes), weights=tuple(sizes.values()))[0]
        return self._next(sizes)

    def _next(self, sizes: Mapping[SubClusterId, int]) -> SubClusterId:
        chosen = min(sizes, key=lambda name: (self._dealt[name] + 1) / sizes[name])
        self._dealt[chosen] += 1
        return chosen

    def _hear(self) -> None:
        now_s = self.federation.clock.monotonic_s()
        if now_s - self._heard_s >= _ROUTER_HEARD_S:
            self._heard_s = now_s
            for name, each in self.federation.clusters.items():
                manager = each.manager
                self._free_mib[name] = manager.scheduler.capacity.memory_mib - manager.used().memory_mib


@dataclass(slots=True)
class _Submitting:
    """Clients that know Heddle."""

    heddle: ModelledFront

    async def submit(self, job: ModelledJob) -> ApplicationId:
        """Until it is acknowledged; under the same id, once there is one."""
        name: ApplicationId | None = None
        while True:
            try:
                if name is None:
                    name = await self.heddle.issue()
                await self.heddle.submit(name, job)
            except HeddleError:
                await asyncio.sleep(_RETRY_S)
            else:
                return name


@dataclass(frozen=True, slots=True)
class _Ends:
    """Ends of applications."""

    federation: ModelledFederation
    names: Sequence[ApplicationId]

    def of(self, name: ApplicationId) -> Application | None:
        """Return the cluster's record of an application, if that has ended."""
        for cluster in self.federation.clusters.values():
            known = cluster.manager.applications.get(name)
            if known is not None and not known.order.is_unmanaged and known.is_over:
                return known
        return None

    @property
    def are_all_over(self) -> bool:
        return all(self.of(name) is not None for name in self.names)


def _outcome(
    begun_s: float, jobs: Sequence[ModelledJob], accounts: Sequence[MasterAccount], ends: _Ends
) -> YarnOutcome:
    outcome = YarnOutcome(jobs)
    completions: list[float] = []
    delays: list[float] = []
    waits: list[float] = []
    for job, account, name in zip(jobs, accounts, ends.names, strict=True):
        known = ends.of(name)
        if known is None or known.final_status != "SUCCEEDED" or account.done_s is None:
            outcome.failed[job.name] = "it has not ended" if known is None else f"{known.state}: {known.diagnostics}"
            continue
        arrived_s = begun_s + job.arrival_s
        completions.append(account.done_s - arrived_s)
        delays.append(account.done_s - arrived_s - job.longest_path_s)
        outcome.times[job.name] = ManagerTimes(
            known.launched_ms / 1000.0 - EPOCH_S - arrived_s,
            known.finished_ms / 1000.0 - EPOCH_S - arrived_s,
            known.mib_s,
            known.vcore_s,
        )
        waits += [at_s - arrived_s for at_s in account.started_s.values()]
        outcome.starts_s[job.name] = {task: at_s - arrived_s for task, at_s in account.started_s.items()}
    outcome.completions_s, outcome.delays_s, outcome.waits_s = tuple(completions), tuple(delays), tuple(waits)
    outcome.surplus = sum(account.surplus for account in accounts)
    named = sum(account.named for account in accounts)
    outcome.at_data = sum(account.at_data for account in accounts) / named if named else 1.0
    for subcluster, cluster in ends.federation.clusters.items():
        for application in cluster.manager.applications.values():
            outcome.used[subcluster, application.order.queue] += int(application.mib_s)
    return outcome


# Figures of runs of jobs over modelled clusters, for plots and for the console.


def yarn_figures(
    outcomes: Mapping[str, YarnOutcome], columns: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, str]]
) -> FiguresFile:
    """Gather the figures of one workload behind each front.

    Args:
        outcomes: By the front's name.
        columns: Heading and key of each column of the table.
        rows: Its rows, as texts.
    """
    n_jobs = max(len(outcome.jobs) for outcome in outcomes.values())
    figures = FiguresFile(f"modelled clusters: {n_jobs} jobs", columns, rows)
    figures.add_distribution("completion (s)", {name: each.completions_s for name, each in outcomes.items()})
    figures.add_distribution("wait of tasks (s)", {name: each.waits_s for name, each in outcomes.items()})
    lives = {name: lived for name, each in outcomes.items() if (lived := list(_lives(each)))}
    figures.add_over_time("memory (GiB)", {name: memory_over_time(each) for name, each in lives.items()})
    for name, lived in lives.items():
        figures.add_jobs(name, [each.bar for each in lived])
    return figures


def _lives(outcome: YarnOutcome) -> Iterable[JobLife]:
    for job in outcome.jobs:
        times = outcome.times.get(job.name)
        if times is not None:
            yield life_of(f"{job.name} ({job.queue})", job.arrival_s, times.launched_s, times.ended_s, times.mib_s)
