"""Addresses and ports of a lab's daemons. Pure arithmetic on a base port and a first loopback octet.

Nodes have a loopback address each (127.0.CLUSTER.NODE): a ResourceManager matches asks with nodes by host name, so
nodes that share one could not be told apart. ResourceManagers share 127.0.0.1 and differ by port.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from shim.lab.spec import ClusterSpec, LabSpec

__all__ = [
    "PORTS_PER_CLUSTER",
    "PORTS_PER_LAB",
    "ClusterLayout",
    "NodeLayout",
    "ResourceManagerLayout",
    "hosts_file",
    "lay_out",
]

PORTS_PER_CLUSTER = 100
PORTS_PER_LAB = 1000

_RM_HOST = "127.0.0.1"
_STANDBY_OFFSET = 10
_SHUFFLE_OFFSET = 60
_KDC_OFFSET = 21


@dataclass(frozen=True, slots=True)
class ResourceManagerLayout:
    """Addresses (`host:port`) of one ResourceManager, each for one protocol."""

    name: str
    web: str
    client_rpc: str
    scheduler_rpc: str
    tracker_rpc: str
    admin_rpc: str

    def addresses(self) -> tuple[str, ...]:
        """All that it listens on."""
        return (self.web, self.client_rpc, self.scheduler_rpc, self.tracker_rpc, self.admin_rpc)


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """Addresses of one NodeManager."""

    name: str
    host: str
    rpc: str
    localizer: str
    web: str
    collector: str
    shuffle_port: int

    def addresses(self) -> tuple[str, ...]:
        """All that it listens on. The shuffle handler takes every address of the machine."""
        return (self.rpc, self.localizer, self.web, f"0.0.0.0:{self.shuffle_port}")


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """One cluster: its ResourceManagers (the active one first) and its nodes.

    Attributes:
        kdc: `host:port` of the lab's KDC, if the cluster is the lab's first and any of them has a realm; else empty.
    """

    id: str
    epoch: int
    resource_managers: tuple[ResourceManagerLayout, ...]
    nodes: tuple[NodeLayout, ...]
    kdc: str = ""

    @property
    def primary(self) -> ResourceManagerLayout:
        """The ResourceManager that is active first."""
        return self.resource_managers[0]

    def addresses(self) -> tuple[str, ...]:
        """All that its daemons listen on."""
        of_masters = (address for rm in self.resource_managers for address in rm.addresses())
        of_nodes = (address for node in self.nodes for address in node.addresses())
        return (*of_masters, *of_nodes, *filter(None, (self.kdc,)))


def hosts_file(clusters: Iterable[ClusterLayout], hostname: str) -> str:
    """Names of all addresses of a lab, in the form of /etc/hosts: each node's name is its address.

    Resolvers such as systemd's call every 127.* address `localhost`; a ResourceManager would then see one host.
    """
    nodes = (node.host for cluster in clusters for node in cluster.nodes)
    return f"127.0.0.1 localhost {hostname}\n" + "".join(f"{host} {host}\n" for host in nodes)


def lay_out(spec: LabSpec, *, base_port: int, first_octet: int) -> tuple[ClusterLayout, ...]:
    """Give every daemon of `spec` its addresses.

    Cluster number `i` gets the ports from `base_port + 100 * i`, whose last two digits are Hadoop's own (88 web, 32
    client, 30 scheduler, 31 tracker, 33 admin), and the loopback network `127.0.(first_octet + i).*`.
    """
    first, *others = (
        _cluster(cluster, index, base=base_port + PORTS_PER_CLUSTER * index, octet=first_octet + index)
        for index, cluster in enumerate(spec.clusters)
    )
    return (replace(first, kdc=f"{_RM_HOST}:{base_port + _KDC_OFFSET}") if spec.realms else first, *others)


def _cluster(spec: ClusterSpec, index: int, *, base: int, octet: int) -> ClusterLayout:
    names = ("rm1", "rm2") if spec.standby else ("rm",)
    return ClusterLayout(
        id=spec.id,
        # container ids carry the epoch: equal ones would collide when an application spans clusters
        epoch=1000 * (index + 1),
        resource_managers=tuple(
            _resource_manager(f"{spec.id}-{name}", base + _STANDBY_OFFSET * number) for number, name in enumerate(names)
        ),
        nodes=tuple(_node(spec.id, number, base=base, octet=octet) for number in range(1, spec.nodes + 1)),
    )


def _resource_manager(name: str, base: int) -> ResourceManagerLayout:
    return ResourceManagerLayout(
        name=name,
        web=f"{_RM_HOST}:{base + 88}",
        client_rpc=f"{_RM_HOST}:{base + 32}",
        scheduler_rpc=f"{_RM_HOST}:{base + 30}",
        tracker_rpc=f"{_RM_HOST}:{base + 31}",
        admin_rpc=f"{_RM_HOST}:{base + 33}",
    )


def _node(cluster: str, number: int, *, base: int, octet: int) -> NodeLayout:
    host = f"127.0.{octet}.{number}"
    return NodeLayout(
        name=f"{cluster}-nm{number}",
        host=host,
        rpc=f"{host}:{base + 50}",
        localizer=f"{host}:{base + 51}",
        web=f"{host}:{base + 52}",
        collector=f"{host}:{base + 53}",
        shuffle_port=base + _SHUFFLE_OFFSET + number - 1,
    )
