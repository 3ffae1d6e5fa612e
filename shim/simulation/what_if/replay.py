"""A history under the present configuration and clusters, and under changed ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shim.config.loader import Config
from shim.config.queues import PolicyConfig, check_queues
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
from shim.simulation.what_if.fitting import fit_lengths
from shim.simulation.what_if.past_jobs import RecordedHistory, modelled
from shim.simulation.yarn_sim.run import YarnOutcome, YarnSetting, play

__all__ = ["HISTORY", "Side", "WhatIf", "compare", "config_over"]

HISTORY = "history"
"""Column of what really happened."""
_PROBE_S = 1.0
_SMALL = ResourceVector(1, 1)
_ROOM = ResourceVector(8, 8)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the worlds that are compared.

    Attributes:
        name: Of its column.
        config: With the sub-clusters that are modelled.
    """

    name: str
    clusters: tuple[ModelledClusterSpec, ...]
    config: Config


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Result of a comparison.

    Attributes:
        columns: Figures by column and queue.
        match: Of the first side.
        outcomes: By side.
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
        """A row for each queue, that of all of them first."""
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
        config: As it is in production.
        clusters: Instead of its sub-clusters.
        policy: Instead of its queues and mappings.
        source: Where these are written, for messages.

    Raises:
        ConfigError: If the queues name a cluster that there is not.
    """
    names = [str(each.name) for each in clusters]
    tables = policy or PolicyConfig(config.queues, config.mappings)
    check_queues(tables.queues, tables.mappings, names, source)
    return Config(
        security=SecurityConfig(secret_file=Path("modelled")),
        poll=config.poll,
        shares=config.shares,
        span=config.span,
        scheduling=config.scheduling,
        subclusters=tuple(SubClusterConfig(name, web=(f"http://rm.{name}:8088",)) for name in names),
        queues=tables.queues,
        mappings=tables.mappings,
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
        history: What ran.
        sides: At least one.
        seed: Of all replays.
        task_s: See `modelled`.
        rounds: See `fit_lengths`.
        advance: Told how many more applications have ended, over all sides.

    Raises:
        BadRequestError: If a queue is unknown, or an application asks for more than any node has.
    """
    present = sides[0]
    leaves = leaves_of(present.clusters)
    for side in sides:
        _check_sizes(modelled(history.jobs, leaves_of(side.clusters), startup_s=0.0, task_s=task_s), side)
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


def _check_sizes(jobs: Sequence[ModelledJob], side: Side) -> None:
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
