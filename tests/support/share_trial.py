"""Two queues that start on different clusters and go on with more work than there is room: what each holds over time.

`prod` is entitled to three times what `dev` is. Each first fills a cluster of its own; then both have a backlog.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import httpx

from shim.lab import Lab
from tests.support.backlogs import Backlogs, Held, held_by_queues
from tests.support.client_jars import compile_program
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import spanning_secret
from tests.support.stock_client import StockClient

STARTS = {"prod": "east", "dev": "west"}
"""Where the first jobs of each queue run."""

ENTITLED = 0.75
"""What `prod` shall hold of what both hold."""

POLICY = """
[shares]
interval_s = 0.3
pending_per_cluster = 1
[[queue]]
name = "root.prod"
weight = 3
[[queue]]
name = "root.dev"
weight = 1
"""
_PREEMPTION = """
preemptable = true
preempted_per_minute = 60
[shares]
interval_s = 0.3
pending_per_cluster = 1
preempt_after_s = 5
preempt_grace_s = 10
"""
_STARTS_WITHIN_S = 300.0
_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Jobs:
    """How many, of each kind."""

    shells: int
    maps: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How much work there is.

    Attributes:
        first: Jobs of each queue that fill its own cluster.
        backlog: Jobs that follow, by queue.
        containers: Of each job, beside its master.
        container_mib: Memory of each of them, and of the master.
        seconds: That each container sleeps.
        waits: Whether the first jobs begin to sleep only when both queues have their backlogs: on a busy machine some
            may have ended before the last of them begins.
        starts_with: Part of what the first jobs will hold that must be held before the backlogs come.
    """

    first: Jobs
    backlog: Mapping[str, Jobs]
    containers: int
    container_mib: int
    seconds: float
    starts_with: float = 0.5
    waits: bool = False

    @property
    def fills_mib(self) -> int:
        """What the first jobs of a queue hold once all of them have what they want."""
        return (self.first.shells + self.first.maps) * (1 + self.containers) * self.container_mib


@dataclass(frozen=True, slots=True)
class Sample:
    """What the queues hold, so many seconds after both had their backlog."""

    at_s: float
    held: Held

    @property
    def total_mib(self) -> int:
        """What both hold."""
        return sum(sum(clusters.values()) for clusters in self.held.values())

    @property
    def share(self) -> float:
        """What `prod` holds of what both hold."""
        return sum(self.held["prod"].values()) / self.total_mib if self.total_mib else 0.0


@dataclass(frozen=True, slots=True)
class ShareTrial:
    """One run; it has begun: both queues have their first jobs running and their backlogs waiting."""

    lab: Lab
    http: httpx.Client

    def samples(self) -> Iterator[Sample]:
        """What the queues hold from now on, for ever."""
        began_s = time.monotonic()
        while True:
            held = held_by_queues(self.http, self.lab, tuple(STARTS))
            yield Sample(time.monotonic() - began_s, held)
            time.sleep(_EVERY_S)

    def until_shared(self, *, over_s: float, near: float, within_s: float) -> float:
        """Wait until `prod` has held its share, but for `near`, in the mean of some seconds; the mean.

        Raises:
            AssertionError: If that does not come to hold in time.
        """
        seen: list[Sample] = []
        for sample in self.samples():
            seen = [*(one for one in seen if one.at_s > sample.at_s - over_s), sample]
            assert any(one.total_mib for one in seen), "both queues have nothing left to do"
            mean = fmean(one.share for one in seen)
            if sample.at_s >= over_s and abs(mean - ENTITLED) <= near:
                return mean
            assert sample.at_s < within_s, f"prod holds {mean:.0%} of what both hold: {sample}"
        raise AssertionError("samples never end")


@contextmanager
def through_heddle(lab: Lab, folder: Path, plan: Plan, *, policy: str = POLICY) -> Iterator[ShareTrial]:
    """Both queues submit to Heddle; cordons see to it that they start on different clusters."""
    with HeddleProcess(lab, folder, more=policy) as heddle, _http() as http:

        def admit(verb: str, cluster: str) -> None:
            answer = http.post(f"{heddle.url}/heddle/v1/clusters/{cluster}/{verb}", params={"user.name": "root"})
            assert answer.is_success, answer.text

        client = StockClient(lab, folder / "client", heddle)
        both = Backlogs(heddle.url, client, _program(lab, folder), container_mib=plan.container_mib)
        with _gate(folder) as gate:
            for queue, cluster in reversed(STARTS.items()):
                for other in lab.clusters:
                    admit("undrain" if other == cluster else "cordon", other)
                _start(lab, http, both, plan, queue, gate)
            _submit_backlogs(plan, dict.fromkeys(STARTS, both))
        for cluster in lab.clusters:
            admit("undrain", cluster)
        yield ShareTrial(lab, http)


@contextmanager
def through_heddle_with_preemption(lab: Lab, folder: Path, plan: Plan) -> Iterator[ShareTrial]:
    """The same, and what `dev` holds beyond its share is taken back."""
    weights = POLICY.partition("[[queue]]")
    policy = "".join(weights[1:]).rstrip() + _PREEMPTION
    with spanning_secret(folder), through_heddle(lab, folder, plan, policy=policy) as trial:
        yield trial


@contextmanager
def without_heddle(lab: Lab, folder: Path, plan: Plan) -> Iterator[ShareTrial]:
    """Each queue submits to the ResourceManager of its own cluster."""
    program = _program(lab, folder)
    with _http() as http:
        own: dict[str, Backlogs] = {}
        with _gate(folder) as gate:
            for queue, id_ in reversed(STARTS.items()):
                cluster = lab.cluster(id_)
                client = StockClient(lab, folder / id_, cluster)
                own[queue] = Backlogs(cluster.url, client, program, container_mib=plan.container_mib)
                _start(lab, http, own[queue], plan, queue, gate)
            _submit_backlogs(plan, own)
        yield ShareTrial(lab, http)


def _http() -> httpx.Client:
    return httpx.Client(timeout=30, trust_env=False)


def _program(lab: Lab, folder: Path) -> Path:
    jars = next(iter(lab.clusters.values())).jars
    return compile_program("SleepingMaps", [jars], folder)


@contextmanager
def _gate(folder: Path) -> Iterator[Path]:
    """A file that is there afterwards, whatever happens: jobs wait for it."""
    gate = folder / "both-have-a-backlog"
    try:
        yield gate
    finally:
        gate.touch()


def _start(lab: Lab, http: httpx.Client, backlogs: Backlogs, plan: Plan, queue: str, gate: Path) -> None:
    """Let the first jobs of a queue fill its cluster."""
    _submit(backlogs, plan, queue, plan.first, gate if plan.waits else None)
    cluster = STARTS[queue]

    def is_there() -> bool:
        return held_by_queues(http, lab, [queue])[queue][cluster] >= plan.starts_with * plan.fills_mib

    until(is_there, f"{queue} runs on {cluster}", within_s=_STARTS_WITHIN_S)


def _submit_backlogs(plan: Plan, servers: Mapping[str, Backlogs]) -> None:
    """First some that are submitted quickly, of both: what a queue wants while no other does is no share."""
    head = plan.first.shells
    for queue in STARTS:
        _submit(servers[queue], plan, queue, Jobs(head, 0))
    for queue in STARTS:
        jobs = plan.backlog[queue]
        _submit(servers[queue], plan, queue, Jobs(jobs.shells - head, jobs.maps))


def _submit(backlogs: Backlogs, plan: Plan, queue: str, jobs: Jobs, gate: Path | None = None) -> None:
    if jobs.maps:
        backlogs.maps(queue, jobs.maps, maps=plan.containers, seconds=plan.seconds, gate=gate)
    if jobs.shells:
        backlogs.shells(queue, jobs.shells, containers=plan.containers, seconds=plan.seconds, gate=gate)
