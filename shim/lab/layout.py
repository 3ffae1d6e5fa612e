"""Addresses and ports of a lab's daemons. Pure arithmetic on a base port and a network.

On hosts of their own, each ResourceManager and each node has an address of the lab's network; its first is that of
this machine, where Heddle and clients are.

Without, nodes have a loopback address each (127.0.CLUSTER.NODE): a ResourceManager matches asks with nodes by host
name, so nodes that share one could not be told apart. ResourceManagers share 127.0.0.1 and differ by port.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shim.lab.spec import ClusterSpec, LabSpec

PORTS_PER_CLUSTER = 100
PORTS_PER_LAB = 1000

_LOOPBACK = "127.0.0.1"
_STANDBY_OFFSET = 10
_SHUFFLE_OFFSET = 60
_KDC_OFFSET = 21
_NAME_NODE = {"rpc": 20, "web": 22}
_DATA_NODE = {"rpc": 24, "web": 25, "data": 23}
_FIRST_HOST = 2


@dataclass(frozen=True, slots=True)
class ResourceManagerLayout:
    """Addresses (`host:port`) of one ResourceManager, each for one protocol."""

    name: str
    web: str
    client_rpc: str
    scheduler_rpc: str
    tracker_rpc: str
    admin_rpc: str

    @property
    def host(self) -> str:
        """Its address without a port."""
        return self.web.rpartition(":")[0]

    def addresses(self) -> tuple[str, ...]:
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
class FileServerLayout:
    """Addresses of a daemon of HDFS: its NameNode, which has no `data`, or its DataNode."""

    name: str
    host: str
    rpc: str
    web: str
    data: str = ""

    def addresses(self) -> tuple[str, ...]:
        return (self.rpc, self.web, *filter(None, (self.data,)))


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """One cluster: its ResourceManagers (the active one first) and its nodes.

    Attributes:
        kdc: `host:port` of the lab's KDC, if the cluster is the lab's first and any of them has a realm; else empty.
        file_servers: The NameNode and the DataNode of the lab's HDFS, if it has one and the cluster is its first.
    """

    id: str
    epoch: int
    resource_managers: tuple[ResourceManagerLayout, ...]
    nodes: tuple[NodeLayout, ...]
    kdc: str = ""
    file_servers: tuple[FileServerLayout, ...] = ()

    @property
    def daemons(self) -> tuple["ResourceManagerLayout | NodeLayout | FileServerLayout", ...]:
        """Its ResourceManagers and its nodes, and those of HDFS that are counted with it."""
        return (*self.resource_managers, *self.nodes, *self.file_servers)

    @property
    def primary(self) -> ResourceManagerLayout:
        return self.resource_managers[0]

    def addresses(self) -> tuple[str, ...]:
        """All that its daemons listen on."""
        of_daemons = (address for daemon in self.daemons for address in daemon.addresses())
        return (*of_daemons, *filter(None, (self.kdc,)))


def has_hosts(clusters: Sequence[ClusterLayout]) -> bool:
    return not clusters[0].primary.host.startswith("127.")


def front_host(clusters: Sequence[ClusterLayout]) -> str:
    """The address of this machine for the daemons of a lab: where Heddle is, and clients are."""
    return f"{clusters[0].primary.host.rpartition('.')[0]}.1" if has_hosts(clusters) else _LOOPBACK


def hosts_file(clusters: Sequence[ClusterLayout], hostname: str) -> str:
    """Names of all addresses of a lab, in the form of /etc/hosts: the first name of each node is its address.

    Resolvers such as systemd's call every 127.* address `localhost`; a ResourceManager would then see one host. A host
    of its own has the daemon's name, too: it is what the machine calls itself there.
    """
    if not has_hosts(clusters):
        nodes = (node.host for cluster in clusters for node in cluster.nodes)
        return f"127.0.0.1 localhost {hostname}\n" + "".join(f"{host} {host}\n" for host in nodes)
    rows = [(daemon.host, daemon.name) for cluster in clusters for daemon in cluster.daemons]
    named = ((front_host(clusters), hostname), *rows)
    return "127.0.0.1 localhost\n" + "".join(f"{host} {host} {name}\n" for host, name in named)


def lay_out(spec: LabSpec, *, base_port: int, first_octet: int, network: str = "") -> tuple[ClusterLayout, ...]:
    """Give every daemon of `spec` its addresses.

    Cluster number `i` gets the ports from `base_port + 100 * i`, whose last two digits are Hadoop's own (88 web, 32
    client, 30 scheduler, 31 tracker, 33 admin).

    Args:
        first_octet: Cluster `i` has the loopback network `127.0.(first_octet + i).*`, if there is no `network`.
        network: First three numbers of the addresses of hosts of their own; empty for none.
    """
    numbers = itertools.count(_FIRST_HOST)

    def hosts(octet: int) -> _Hosts:
        if network:
            return _Hosts(lambda: f"{network}.{next(numbers)}", lambda _: f"{network}.{next(numbers)}")
        return _Hosts(lambda: _LOOPBACK, lambda number: f"127.0.{octet}.{number}")

    laid = [
        _cluster(cluster, index, base=base_port + PORTS_PER_CLUSTER * index, hosts=hosts(first_octet + index))
        for index, cluster in enumerate(spec.clusters)
    ]
    if spec.realms:
        laid[0] = replace(laid[0], kdc=f"{front_host(laid)}:{base_port + _KDC_OFFSET}")
    if spec.hdfs:
        of_server = hosts(first_octet).of_manager
        servers = (("namenode", of_server(), _NAME_NODE), ("datanode", of_server(), _DATA_NODE))
        laid[0] = replace(
            laid[0],
            file_servers=tuple(
                FileServerLayout(
                    name, host, **{which: f"{host}:{base_port + offset}" for which, offset in offsets.items()}
                )
                for name, host, offsets in servers
            ),
        )
    return tuple(laid)


class _Hosts(NamedTuple):
    """The hosts of one cluster: of its next ResourceManager, of a node by its number."""

    of_manager: Callable[[], str]
    of_node: Callable[[int], str]


def _cluster(spec: ClusterSpec, index: int, *, base: int, hosts: _Hosts) -> ClusterLayout:
    names = ("rm1", "rm2") if spec.standby else ("rm",)
    return ClusterLayout(
        id=spec.id,
        # container ids carry the epoch: equal ones would collide when an application spans clusters
        epoch=1000 * (index + 1),
        resource_managers=tuple(
            _resource_manager(f"{spec.id}-{name}", hosts.of_manager(), base + _STANDBY_OFFSET * number)
            for number, name in enumerate(names)
        ),
        nodes=tuple(
            _node(
                f"{spec.id}-nm{number}", hosts.of_node(number), base, shuffle_port=base + _SHUFFLE_OFFSET + number - 1
            )
            for number in range(1, spec.nodes + 1)
        ),
    )


def _resource_manager(name: str, host: str, base: int) -> ResourceManagerLayout:
    return ResourceManagerLayout(
        name=name,
        web=f"{host}:{base + 88}",
        client_rpc=f"{host}:{base + 32}",
        scheduler_rpc=f"{host}:{base + 30}",
        tracker_rpc=f"{host}:{base + 31}",
        admin_rpc=f"{host}:{base + 33}",
    )


def _node(name: str, host: str, base: int, *, shuffle_port: int) -> NodeLayout:
    return NodeLayout(
        name=name,
        host=host,
        rpc=f"{host}:{base + 50}",
        localizer=f"{host}:{base + 51}",
        web=f"{host}:{base + 52}",
        collector=f"{host}:{base + 53}",
        shuffle_port=shuffle_port,
    )
