"""A history under the present configuration and clusters, and under changed ones.

Lengths of tasks where a history tells amounts alone, fitted so that the replay of the present takes as long.

A list of ended applications has neither the width of an application nor what it waited for containers; the time from
launch to end contains that waiting. Tasks as long as the application would wait a second time in a full replay. So the
present is replayed several times, and each application's tasks become shorter and more, or longer and fewer, by the
ratio of its real to its replayed time; its work stays the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shim.config.loader import Config
from shim.config.queues import PolicyConfig, check_policy
from shim.config.sections import SecurityConfig
from shim.config.subclusters import SubClusterConfig
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.what_if.clusters import leaves_of
from shim.simulation.what_if.comparison import (
    Figures,
    ReplayMatch,
    figures_of_history,
    figures_of_replay,
    match_of,
    row_of,
)
from shim.simulation.what_if.past_jobs import SHORTEST_S, PastJob, RecordedHistory, modelled
from shim.simulation.yarn_sim.run import ManagerTimes, YarnOutcome, YarnSetting, play

HISTORY = "history"
"""Column of what really happened."""
_PROBE_S = 1.0
_SMALL = ResourceVector(1, 1)
_ROOM = ResourceVector(8, 8)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the worlds that are compared.

    Attributes:
        config: With the sub-clusters that are modelled.
    """

    name: str
    clusters: tuple[ModelledClusterSpec, ...]
    config: Config


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Result of a comparison.

    Attributes:
        startup_s: What an application takes from its launch to its end beside its tasks, in the first side.
        failed: Applications that did not end well, by side, with the reason.
        errors_s: Mean error of completion in each replay of the present, the first before lengths were fitted.
    """

    columns: dict[str, dict[str, Figures]]
    match: dict[str, ReplayMatch]
    startup_s: float
    outcomes: dict[str, YarnOutcome] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)
    errors_s: list[float] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, Any]]:
        paths = sorted({path for column in self.columns.values() for path in column})
        return [row_of(path, self.columns) for path in paths]


def config_over(
    config: Config,
    clusters: Sequence[ModelledClusterSpec],
    policy: PolicyConfig | None = None,
    source: str = "--config",
) -> Config:
    """A configuration over modelled clusters: its own decisions, none of its addresses, files and secrets.

    Args:
        clusters: Instead of its sub-clusters.
        policy: Instead of its queues and mappings.
        source: Where these are written, for messages.

    Raises:
        ConfigError: If the queues name a cluster that there is not.
    """
    names = [str(each.name) for each in clusters]
    systems = {each.id: each.filesystems for each in config.subclusters}
    tables = policy or config.policy
    check_policy(tables, names, source)
    return Config(
        security=SecurityConfig(secret_file=Path("modelled")),
        poll=config.poll,
        shares=config.shares,
        span=config.span,
        scheduling=config.scheduling,
        subclusters=tuple(
            SubClusterConfig(name, web=(f"http://rm.{name}:8088",), filesystems=systems.get(name, ())) for name in names
        ),
        queues=tables.queues,
        mappings=tables.mappings,
        constraints=tables.constraints,
        node_groups=tables.node_groups,
    )


def compare(
    history: RecordedHistory,
    sides: Sequence[Side],
    *,
    seed: int = 1,
    task_s: float = 0.0,
    rounds: int = 0,
    advance: Callable[[int], None] = lambda _: None,
) -> WhatIf:
    """Replay a history under each side; the first one is the present.

    Args:
        rounds: See `fit_lengths`.
        advance: Told how many more applications have ended, over all sides.

    Raises:
        BadRequestError: If a queue is unknown, or an application asks for more than any node has.
    """
    present = sides[0]
    leaves = leaves_of(present.clusters)
    for side in sides:
        check_sizes(modelled(history.jobs, leaves_of(side.clusters), startup_s=0.0, task_s=task_s), side)
    startup_s = _startup_s(present, seed)
    capacity_mib = sum(each.capacity.memory_mib for each in present.clusters)
    found = WhatIf({HISTORY: figures_of_history(history.jobs, leaves, capacity_mib)}, {}, startup_s)

    def replay(side: Side, lengths_s: Mapping[str, float]) -> YarnOutcome:
        paths = leaves_of(side.clusters)
        jobs = modelled(history.jobs, paths, startup_s=startup_s, task_s=task_s, lengths_s=lengths_s)
        return play(YarnSetting(clusters=side.clusters, config=side.config, seed=seed), jobs, advance)

    fitted = fit_lengths(history.jobs, lambda lengths_s: replay(present, lengths_s), startup_s=startup_s, rounds=rounds)
    found.errors_s.extend(fitted.errors_s)
    for side in sides:
        outcome = fitted.outcome if side is present else replay(side, fitted.lengths_s)
        paths = leaves_of(side.clusters)
        found.columns[side.name] = figures_of_replay(history.jobs, paths, side.clusters, outcome)
        found.outcomes[side.name], found.failed[side.name] = outcome, dict(outcome.failed)
    found.match.update(match_of(history.jobs, fitted.outcome))
    return found


def _startup_s(side: Side, seed: int) -> float:
    """Measure how long an application of one task takes beside it in two empty nodes, from its launch."""
    first = side.clusters[0]
    spec = ModelledClusterSpec.even(first.name, nodes=2, size=_ROOM, epoch=first.epoch, timing=first.timing)
    job = ModelledJob("probe", 0.0, (ModelledStage((_PROBE_S,), size=_SMALL),), master=_SMALL)
    alone = replace(side.config, queues=(), mappings=())
    outcome = play(YarnSetting(clusters=(spec,), config=config_over(alone, (spec,)), seed=seed), [job])
    times = outcome.times.get("probe")
    return 0.0 if times is None else times.ended_s - times.launched_s - _PROBE_S


def check_sizes(jobs: Sequence[ModelledJob], side: Side) -> None:
    """Find out before a replay of days that an application would wait for ever.

    Raises:
        BadRequestError: If it would.
    """
    nodes = {node.size for each in side.clusters for node in each.nodes}
    wholes = {each.capacity for each in side.clusters}
    for job in jobs:
        for size in (job.master, *(stage.size for stage in job.stages)):
            if not any(size.fits_in(each) for each in nodes):
                told = f"containers of {size.memory_mib} MiB and {size.vcores} vcores, more than any node ({side.name})"
                raise BadRequestError(f"{job.name} has {told}")
            if not any((job.master + size).fits_in(each) for each in wholes):
                raise BadRequestError(f"{job.name} does not fit into any cluster beside its ApplicationMaster")


_SHORTEST_PART = 1.0 / 8.0
"""Of its whole run: no application becomes more than eight times as wide as it was in the mean."""


@dataclass(frozen=True, slots=True)
class FittedReplay:
    """The replay of the present that is nearest to what happened.

    Attributes:
        lengths_s: Of the tasks of applications, by name.
        errors_s: Mean error of completion in each round, the first before anything was fitted.
    """

    lengths_s: Mapping[str, float]
    outcome: YarnOutcome
    errors_s: tuple[float, ...]


def is_fittable(job: PastJob) -> bool:
    """True if amounts are all that is known of its work, and its times are told."""
    return not job.stages and job.took_s is not None


def fit_lengths(
    jobs: Sequence[PastJob],
    replay: Callable[[Mapping[str, float]], YarnOutcome],
    *,
    startup_s: float,
    rounds: int,
) -> FittedReplay:
    """Replay the present until `rounds` corrections have been tried; the best replay counts.

    Args:
        replay: The present with tasks of these lengths, by the names of applications; others have their whole run.
        rounds: Corrections; with 0 the present is replayed once. Fewer are made where none could help.
    """
    wanted = [job for job in jobs if is_fittable(job)]
    lengths_s: dict[str, float] = {}
    best = FittedReplay({}, replay({}), ())
    errors_s = [_error_s(jobs, best.outcome)]
    last = best
    for _ in range(rounds if wanted else 0):
        lengths_s = {job.name: _corrected_s(job, last, startup_s) for job in wanted}
        last = FittedReplay(lengths_s, replay(lengths_s), ())
        errors_s.append(_error_s(jobs, last.outcome))
        if errors_s[-1] < min(errors_s[:-1]):
            best = last
    return FittedReplay(best.lengths_s, best.outcome, tuple(errors_s))


def _error_s(jobs: Sequence[PastJob], outcome: YarnOutcome) -> float:
    match = match_of(jobs, outcome).get("completion")
    return match.error_s if match else 0.0


def _corrected_s(job: PastJob, last: FittedReplay, startup_s: float) -> float:
    """The length of its tasks in the next round; never longer than it ran."""
    longest_s = max(SHORTEST_S, job.run_s - startup_s)
    length_s = last.lengths_s.get(job.name, longest_s)
    times = last.outcome.times.get(job.name)
    if times is None:
        return length_s
    replayed_s = max(SHORTEST_S, _run_s(job, times) - startup_s)
    return min(longest_s, max(_SHORTEST_PART * longest_s, length_s * longest_s / replayed_s))


def _run_s(job: PastJob, times: ManagerTimes) -> float:
    """Take from a replay the counterpart of `PastJob.run_s`."""
    return times.ended_s if job.waited_s is None else times.ended_s - times.launched_s
