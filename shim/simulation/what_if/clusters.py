"""Clusters of a replay: as a file describes them, or as large as a history needed them to be."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shim.config.text_files import text_of
from shim.config.tree import Key, Origin, key, read
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError, ConfigError
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.what_if.past_jobs import PastJob, RecordedHistory, modelled

_MOST_BYTES = 1 << 20
_MOST_NODES = 4_000
_MOST_CLUSTERS = 64
_EPOCHS = 1000
_VCORES = 16
_NO_LIMIT = 1000.0
_AM_SHARE, _MASTER_S = 0.3, 10.0
_PLACES, _MIB_OF_PLACE = 8, 4096


@dataclass(frozen=True, slots=True)
class ReplayQueue:
    """`[[cluster.queue]]`: a leaf queue; amounts as `capacity-scheduler.xml` has them, of the whole cluster."""

    name: str = key(about=Key("Full path.", pattern=r"root(\.[^\s.]+)+", form='the full path of a leaf: "root.etl"'))
    capacity: float = key(100.0, about=Key("Percent of the cluster.", least=0.0, most=100.0))
    maximum_capacity: float = key(100.0, about=Key("Percent of the cluster.", least=0.0, most=100.0))
    minimum_user_limit_percent: float = key(100.0, about=Key("Percent of the queue.", least=0.0, most=100.0))
    user_limit_factor: float = key(1.0, about=Key("In capacities of the queue.", least=0.0, most=_NO_LIMIT))
    maximum_am_resource_percent: float = key(
        0.1, about=Key("Part of the queue that ApplicationMasters may have.", least=0.0, most=1.0)
    )


@dataclass(frozen=True, slots=True)
class ReplayCluster:
    """`[[cluster]]`: equal nodes, and queues; without these each queue of the history has an equal part."""

    id: str = key(about=Key("As `[[subcluster]]` has it.", pattern=r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", form="an id"))
    nodes: int = key(about=Key("How many.", least=1, most=_MOST_NODES))
    memory_mib: int = key(about=Key("Of each node, for containers.", least=1, most=1 << 30))
    vcores: int = key(about=Key("Of each node.", least=1, most=1 << 20))
    racks: int = key(1, about=Key("To which nodes are dealt in turn.", least=1, most=_MOST_NODES))
    queues: tuple[ReplayQueue, ...] = key((), about=Key("Its leaf queues.", name="queue"))


@dataclass(frozen=True, slots=True)
class ClustersFile:
    """The file that `--present` and `--clusters` name."""

    clusters: tuple[ReplayCluster, ...] = key((), about=Key("`[[cluster]]`", name="cluster"))


def read_clusters(file: Path, queues: Sequence[str]) -> tuple[ModelledClusterSpec, ...]:
    """Read a description of clusters.

    Args:
        file: TOML, `[[cluster]]` tables.

    Raises:
        ConfigError: If it cannot be read, or is wrong.
        BadRequestError: If it is larger than one may be.
    """
    source = str(file)
    try:
        tables: dict[str, Any] = tomllib.loads(text_of(file, _MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(source, "(file)", f"is no readable TOML: {error}") from error
    found = read(ClustersFile, tables, Origin(source, Path())).clusters
    names = [each.id for each in found]
    if not found or len(set(names)) < len(names) or len(names) > _MOST_CLUSTERS:
        raise ConfigError(source, "cluster", f"describe 1 to {_MOST_CLUSTERS} [[cluster]], each with its own id")
    if sum(each.nodes for each in found) > _MOST_NODES:
        raise ConfigError(source, "cluster.nodes", f"a replay has at most {_MOST_NODES} nodes in all")
    return tuple(_spec(each, number, queues, source) for number, each in enumerate(found))


def _spec(cluster: ReplayCluster, number: int, queues: Sequence[str], source: str) -> ModelledClusterSpec:
    made = {
        each.name: QueueSpec(
            each.capacity,
            each.maximum_capacity,
            each.minimum_user_limit_percent,
            each.user_limit_factor,
            each.maximum_am_resource_percent,
        )
        for each in cluster.queues
    }
    if sum(each.percent for each in made.values()) > 100.0 + 1e-6:
        raise ConfigError(source, "cluster.queue.capacity", f"those of {cluster.id} add up to more than 100")
    return ModelledClusterSpec.even(
        cluster.id,
        nodes=cluster.nodes,
        size=ResourceVector(cluster.memory_mib, cluster.vcores),
        racks=cluster.racks,
        epoch=_EPOCHS * (number + 1),
        queues=made or _equal(queues),
    )


def _equal(queues: Sequence[str]) -> dict[str, QueueSpec]:
    """Equal capacities, and no other limits than those of ApplicationMasters."""
    return {path: QueueSpec(100.0 / len(queues), user_limit_factor=_NO_LIMIT) for path in queues}


def leaves_of(clusters: Sequence[ModelledClusterSpec]) -> tuple[str, ...]:
    """Leaf queues that any of the clusters has."""
    return tuple(sorted({path for each in clusters for path in each.queues}))


def estimated_clusters(
    jobs: Sequence[PastJob], names: Sequence[str], queues: Sequence[str]
) -> tuple[ModelledClusterSpec, ...]:
    """As many nodes of 16 vcores as the history's applications used at their peak, in equal parts.

    Raises:
        BadRequestError: If the history does not tell when applications ran, or needs too many nodes.
    """
    if any(job.run_s <= 0.0 or job.waited_s is None for job in jobs):
        message = "the history does not tell how much ran when: describe the clusters that it ran on with --present"
        raise BadRequestError(message)
    peak_mib, peak_vcores = _peak(jobs)
    nodes = max(1, math.ceil(peak_vcores / (_VCORES * len(names))))
    if not math.isfinite(peak_vcores) or nodes * len(names) > _MOST_NODES:
        raise BadRequestError(f"the history used {peak_vcores:g} vcores at once: describe its clusters with --present")
    largest_mib = max(2 * job.container.memory_mib for job in jobs)  # a container beside its ApplicationMaster
    size = ResourceVector(max(largest_mib, math.ceil(peak_mib / (nodes * len(names)))), _VCORES)
    return tuple(
        ModelledClusterSpec.even(name, nodes=nodes, size=size, epoch=_EPOCHS * (number + 1), queues=_equal(queues))
        for number, name in enumerate(names)
    )


def _peak(jobs: Sequence[PastJob]) -> tuple[float, float]:
    """The largest memory and the largest number of vcores that ran at once, each application at its mean."""
    changes: list[tuple[float, float, float]] = []
    for job in jobs:
        begun_s = job.arrival_s + (job.waited_s or 0.0)
        mib, vcores = job.mib_s / job.run_s, max(1.0, job.vcore_s / job.run_s)
        changes += [(begun_s, mib, vcores), (begun_s + job.run_s, -mib, -vcores)]
    now = most = (0.0, 0.0)
    for _, mib, vcores in sorted(changes):
        now = (now[0] + mib, now[1] + vcores)
        most = (max(most[0], now[0]), max(most[1], now[1]))
    return most


def clusters_at_load(history: RecordedHistory, names: Sequence[str], load: float) -> tuple[ModelledClusterSpec, ...]:
    """Equal clusters of which the history's work, with its ApplicationMasters, is a part while it arrives.

    Raises:
        BadRequestError: It would take more nodes than a replay may have.
    """
    jobs = modelled(history.jobs, history.queues, startup_s=0.0)
    sizes = [size for job in jobs for size in (job.master, *(stage.size for stage in job.stages))]
    node = ResourceVector(
        max(_PLACES * _MIB_OF_PLACE, *(2 * size.memory_mib for size in sizes)),
        max(_PLACES, *(2 * size.vcores for size in sizes)),
    )
    mib_s = vcore_s = 0.0
    for job in jobs:
        whole_s = job.longest_path_s + _MASTER_S
        mib_s += job.master.memory_mib * whole_s + sum(s.size.memory_mib * sum(s.durations_s) for s in job.stages)
        vcore_s += job.master.vcores * whole_s + sum(s.size.vcores * sum(s.durations_s) for s in job.stages)
    span_s = max(_MASTER_S, history.jobs[-1].arrival_s, *(job.longest_path_s for job in jobs))
    wanted = max(mib_s / node.memory_mib, vcore_s / node.vcores) / (load * span_s)
    each = max(1, math.ceil(wanted / len(names)))
    if not math.isfinite(wanted) or each * len(names) > _MOST_NODES:
        raise BadRequestError(f"the history would take {wanted:,.0f} nodes: describe its clusters with --present")
    queues = {path: QueueSpec(100.0 / len(history.queues), am_share=_AM_SHARE) for path in history.queues}
    return tuple(
        ModelledClusterSpec.even(name, nodes=each, size=node, epoch=_EPOCHS * (number + 1), queues=queues)
        for number, name in enumerate(names)
    )
