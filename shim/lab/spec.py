"""What a lab shall be: how many clusters and nodes, of which Hadoop, with which scheduler. Values only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from shim.errors import LabError

__all__ = [
    "CLUSTER_NAMES",
    "DEFAULT_VERSION",
    "SUPPORTED_VERSIONS",
    "ClusterSpec",
    "LabSpec",
    "SchedulerKind",
    "Tuning",
    "parse_versions",
]

CLUSTER_NAMES = ("east", "west", "north", "south", "up", "down", "left", "right", "near", "far")
"""Ids of the clusters of a lab, in order; their number is also the limit."""

DEFAULT_VERSION = "3.4.2"
SUPPORTED_VERSIONS = ("2.10.2", "3.3.6", DEFAULT_VERSION, "3.5.0")

MAX_NODES = 20


class SchedulerKind(StrEnum):
    """The scheduler of a ResourceManager."""

    CAPACITY = "capacity"
    FAIR = "fair"


class Tuning(StrEnum):
    """What the JVMs are tuned for."""

    BOOT = "boot"
    """Fast start and little memory: only the first compiler. For tests and trying out."""

    THROUGHPUT = "throughput"
    """Java's own defaults: slower to start, faster when warm. For measuring a ResourceManager fairly."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One YARN cluster to be.

    Attributes:
        id: Its sub-cluster id.
        version: Hadoop version, one of `SUPPORTED_VERSIONS`.
        nodes: Number of NodeManagers.
        scheduler: Its ResourceManager's scheduler.
        standby: Whether a second ResourceManager stands by (manual failover).
        overrides: Properties to add or replace, by file name (`yarn-site.xml`, `core-site.xml`,
            `capacity-scheduler.xml`, `mapred-site.xml`), for its ResourceManager and its nodes.
    """

    id: str
    version: str = DEFAULT_VERSION
    nodes: int = 2
    scheduler: SchedulerKind = SchedulerKind.CAPACITY
    standby: bool = False
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.version not in SUPPORTED_VERSIONS:
            allowed = ", ".join(SUPPORTED_VERSIONS)
            raise LabError(f"cluster {self.id}: Hadoop {self.version} is not supported; choose one of {allowed}")
        if not 1 <= self.nodes <= MAX_NODES:
            raise LabError(f"cluster {self.id}: {self.nodes} nodes; a lab's cluster has 1 to {MAX_NODES}")


@dataclass(frozen=True, slots=True)
class LabSpec:
    """A whole lab to be.

    Attributes:
        clusters: At least one, ids unique.
        base_port: First port of the lab's block of 100 ports per cluster; `None` finds a free block.
        tuning: What the JVMs are tuned for.
    """

    clusters: tuple[ClusterSpec, ...]
    base_port: int | None = None
    tuning: Tuning = Tuning.BOOT

    def __post_init__(self) -> None:
        ids = [cluster.id for cluster in self.clusters]
        if not 1 <= len(ids) <= len(CLUSTER_NAMES):
            raise LabError(f"{len(ids)} clusters; a lab has 1 to {len(CLUSTER_NAMES)}")
        if len(set(ids)) != len(ids):
            raise LabError(f"cluster ids must differ: {', '.join(ids)}")

    @property
    def versions(self) -> tuple[str, ...]:
        """The Hadoop versions that it needs, each once."""
        return tuple(dict.fromkeys(cluster.version for cluster in self.clusters))

    @property
    def daemons(self) -> int:
        """How many daemons it has."""
        return sum(cluster.nodes + (2 if cluster.standby else 1) for cluster in self.clusters)

    @classmethod
    def of(
        cls,
        *,
        clusters: int = 2,
        nodes: int = 2,
        scheduler: SchedulerKind | str = SchedulerKind.CAPACITY,
        hadoop: str = DEFAULT_VERSION,
        standby: bool = False,
        base_port: int | None = None,
        tuning: Tuning | str = Tuning.BOOT,
        overrides: Mapping[str, Mapping[str, str]] | None = None,
    ) -> "LabSpec":
        """A lab of equal clusters with the usual names.

        Args:
            clusters: How many.
            nodes: NodeManagers of each.
            scheduler: Of each.
            hadoop: One version, or `east=3.3.6,west=3.5.0`; clusters that are not named get the default.
            standby: Whether each has a standby ResourceManager.
            base_port: See `LabSpec`.
            tuning: See `Tuning`.
            overrides: See `ClusterSpec`; the same for each.

        Raises:
            LabError: If a number, version or name is not allowed.
        """
        if not 1 <= clusters <= len(CLUSTER_NAMES):
            raise LabError(f"{clusters} clusters; a lab has 1 to {len(CLUSTER_NAMES)}")
        ids = CLUSTER_NAMES[:clusters]
        versions = parse_versions(hadoop, ids)
        kind = SchedulerKind(scheduler)
        return cls(
            clusters=tuple(
                ClusterSpec(
                    id=id_,
                    version=versions[id_],
                    nodes=nodes,
                    scheduler=kind,
                    standby=standby,
                    overrides=overrides or {},
                )
                for id_ in ids
            ),
            base_port=base_port,
            tuning=Tuning(tuning),
        )


def parse_versions(text: str, ids: Sequence[str]) -> dict[str, str]:
    """The Hadoop version of each cluster from `VERSION` or `CLUSTER=VERSION,...`.

    Raises:
        LabError: If a part is not readable or names a cluster that the lab does not have.
    """
    if "=" not in text:
        return dict.fromkeys(ids, text.strip())
    versions = dict.fromkeys(ids, DEFAULT_VERSION)
    for part in text.split(","):
        id_, separator, version = (piece.strip() for piece in part.partition("="))
        if not separator or not version:
            raise LabError(f"--hadoop: cannot read {part!r}; write VERSION or CLUSTER=VERSION,...")
        if id_ not in versions:
            raise LabError(f"--hadoop: no cluster {id_!r} in this lab; it has {', '.join(ids)}")
        versions[id_] = version
    return versions
