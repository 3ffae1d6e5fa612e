"""Specification of a lab: how many clusters and nodes, of which Hadoop, with which scheduler. Values only."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from shim.errors import LabError

CLUSTER_NAMES = ("east", "west", "north", "south", "up", "down", "left", "right", "near", "far")
"""Ids of the clusters of a lab, in order; their number is also the limit."""

DEFAULT_VERSION = "3.4.2"
SUPPORTED_VERSIONS = ("2.10.2", "3.1.1", "3.2.4", "3.3.6", DEFAULT_VERSION, "3.5.0")

MAX_NODES = 20
NODE_MEMORY_MIB = 4096
NODE_VCORES = 4

STATE_FILE = "lab.json"
"""File in a lab's folder with what runs there."""

LAB_REALM = "HEDDLE.LAB"
"""Kerberos realm of secured clusters that are given no other."""

PROTECTIONS = ("authentication", "integrity", "privacy")
"""Values of `hadoop.rpc.protection`."""


_REALM = re.compile(r"[A-Z0-9]+([.-][A-Z0-9]+)*")


class SchedulerKind(StrEnum):
    """The scheduler of a ResourceManager."""

    CAPACITY = "capacity"
    FAIR = "fair"


class Tuning(StrEnum):
    """Aims for which daemons are tuned."""

    BOOT = "boot"
    """Fast start and little memory: only the first compiler, few handlers of RPC. For tests and trying out."""

    THROUGHPUT = "throughput"
    """Java's and Hadoop's own defaults: slower to start, faster when warm. For measuring a ResourceManager fairly."""


class HostKind(StrEnum):
    """Hosts of a lab's daemons."""

    AUTO = "auto"
    """Hosts of their own where this machine can have them, else loopback."""

    OWN = "own"
    """A network namespace for each ResourceManager and each node, which Hadoop does not take for localhost."""

    LOOPBACK = "loopback"
    """Addresses of the loopback interface: all of them are one host."""


class NodeCondition(StrEnum):
    """State of a node that is not well, as its ResourceManager tells it."""

    UNHEALTHY = "UNHEALTHY"
    DECOMMISSIONING = "DECOMMISSIONING"
    LOST = "LOST"


@dataclass(frozen=True, slots=True)
class LabNode:
    """One NodeManager that is not as the others.

    Attributes:
        memory_mib: What it offers; `vcores` too.
        properties: Further ones of its `yarn-site.xml`.
        condition: What becomes of it once it has run.
    """

    memory_mib: int = NODE_MEMORY_MIB
    vcores: int = NODE_VCORES
    properties: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    condition: NodeCondition | None = None


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One YARN cluster to be.

    Attributes:
        version: Hadoop version, one of `SUPPORTED_VERSIONS`.
        scheduler: Its ResourceManager's scheduler.
        standby: Whether a second ResourceManager stands by (manual failover).
        overrides: Properties to add or replace, by file name (`yarn-site.xml`, `core-site.xml`,
            `capacity-scheduler.xml`, `mapred-site.xml`, `resource-types.xml`), for its ResourceManager and its nodes.
        realm: Kerberos realm of its daemons, which then ask for tickets; empty if they believe names.
        protection: Of its calls, one of `PROTECTIONS`; means something with a realm alone.
        node_specs: Its first nodes, if they differ; labels and conditions are for `shim.lab.presets.bring_about`.
        fair_allocations: Queues of a fair scheduler, as its file has them; empty for the usual ones.
    """

    id: str
    version: str = DEFAULT_VERSION
    nodes: int = 2
    scheduler: SchedulerKind = SchedulerKind.CAPACITY
    standby: bool = False
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    realm: str = ""
    protection: str = PROTECTIONS[0]
    node_specs: tuple[LabNode, ...] = ()
    fair_allocations: str = ""

    def __post_init__(self) -> None:
        if self.version not in SUPPORTED_VERSIONS:
            allowed = ", ".join(SUPPORTED_VERSIONS)
            raise LabError(f"cluster {self.id}: Hadoop {self.version} is not supported; choose one of {allowed}")
        if len(self.node_specs) > self.nodes:
            raise LabError(f"cluster {self.id}: {len(self.node_specs)} nodes are described, and it has {self.nodes}")
        if not 1 <= self.nodes <= MAX_NODES:
            raise LabError(f"cluster {self.id}: {self.nodes} nodes; a lab's cluster has 1 to {MAX_NODES}")
        if self.protection not in PROTECTIONS:
            raise LabError(f"cluster {self.id}: protection {self.protection!r}; choose one of {', '.join(PROTECTIONS)}")
        if self.realm and not _REALM.fullmatch(self.realm):
            raise LabError(f"cluster {self.id}: {self.realm!r} is no realm: capital letters, digits, dots and dashes")


@dataclass(frozen=True, slots=True)
class LabSpec:
    """A whole lab to be.

    Attributes:
        clusters: At least one, ids unique.
        base_port: First port of the lab's block of 100 ports per cluster; `None` finds a free block.
        hdfs: Whether they share an HDFS, with Kerberos if they have it; else their files are this machine's.
    """

    clusters: tuple[ClusterSpec, ...]
    base_port: int | None = None
    tuning: Tuning = Tuning.BOOT
    hosts: HostKind = HostKind.AUTO
    hdfs: bool = False

    def __post_init__(self) -> None:
        ids = [cluster.id for cluster in self.clusters]
        if not 1 <= len(ids) <= len(CLUSTER_NAMES):
            raise LabError(f"{len(ids)} clusters; a lab has 1 to {len(CLUSTER_NAMES)}")
        if len(set(ids)) != len(ids):
            raise LabError(f"cluster ids must differ: {', '.join(ids)}")
        unsecured = [cluster.id for cluster in self.clusters if not cluster.realm]
        if self.hdfs and self.realms and unsecured:
            raise LabError(f"an HDFS that asks for tickets is of no use to {', '.join(unsecured)}: secure all clusters")

    @property
    def versions(self) -> tuple[str, ...]:
        """The Hadoop versions that it needs, each once."""
        of_hdfs = (DEFAULT_VERSION,) if self.hdfs else ()
        return tuple(dict.fromkeys((*(cluster.version for cluster in self.clusters), *of_hdfs)))

    @property
    def realms(self) -> tuple[str, ...]:
        """The Kerberos realms of its clusters, each once; empty if none is secured."""
        return tuple(dict.fromkeys(cluster.realm for cluster in self.clusters if cluster.realm))

    @property
    def daemons(self) -> int:
        """Number of daemons, the KDC of all realms included."""
        hadoop = sum(cluster.nodes + (2 if cluster.standby else 1) for cluster in self.clusters)
        return hadoop + (1 if self.realms else 0) + (2 if self.hdfs else 0)

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
        realm: str = "",
        protection: str = PROTECTIONS[0],
        hosts: HostKind | str = HostKind.AUTO,
        hdfs: bool = False,
    ) -> "LabSpec":
        """A lab of equal clusters with the usual names.

        Args:
            hadoop: One version, or `east=3.3.6,west=3.5.0`; clusters that are not named get the default.
            standby: Whether each has a standby ResourceManager.
            overrides: See `ClusterSpec`; the same for each.
            realm: One Kerberos realm, or `east=ONE.LAB,west=OTHER.LAB`; clusters that are not named stay unsecured.
            protection: One, or `east=integrity,west=privacy`.

        Raises:
            LabError: If a number, version or name is not allowed.
        """
        if not 1 <= clusters <= len(CLUSTER_NAMES):
            raise LabError(f"{clusters} clusters; a lab has 1 to {len(CLUSTER_NAMES)}")
        ids = CLUSTER_NAMES[:clusters]
        versions = parse_versions(hadoop, ids)
        realms = parse_by_cluster(realm, ids, "--realm", default="")
        protections = parse_by_cluster(protection, ids, "--protection", default=PROTECTIONS[0])
        return cls(
            clusters=tuple(
                ClusterSpec(
                    id=id_,
                    version=versions[id_],
                    nodes=nodes,
                    scheduler=SchedulerKind(scheduler),
                    standby=standby,
                    overrides=overrides or {},
                    realm=realms[id_],
                    protection=protections[id_],
                )
                for id_ in ids
            ),
            base_port=base_port,
            tuning=Tuning(tuning),
            hosts=HostKind(hosts),
            hdfs=hdfs,
        )


def parse_versions(text: str, ids: Sequence[str]) -> dict[str, str]:
    """The Hadoop version of each cluster from `VERSION` or `CLUSTER=VERSION,...`; raises as `parse_by_cluster`."""
    return parse_by_cluster(text, ids, "--hadoop", default=DEFAULT_VERSION, form="VERSION")


def parse_by_cluster(
    text: str, ids: Sequence[str], option: str, *, default: str, form: str = "VALUE"
) -> dict[str, str]:
    """The value of each cluster from `VALUE`, for all of them, or `CLUSTER=VALUE,...`.

    Args:
        option: For the message: where it was written.
        form: For the message: what stands for a value.

    Raises:
        LabError: If a part is not readable or names a cluster that the lab does not have.
    """
    if "=" not in text:
        return dict.fromkeys(ids, text.strip())
    given = dict.fromkeys(ids, default)
    for part in text.split(","):
        id_, separator, value = (piece.strip() for piece in part.partition("="))
        if not separator or not value:
            raise LabError(f"{option}: cannot read {part!r}; write {form} or CLUSTER={form},...")
        if id_ not in given:
            raise LabError(f"{option}: no cluster {id_!r} in this lab; it has {', '.join(ids)}")
        given[id_] = value
    return given
