"""Facts of a federation that the doctor's checks look at; `inspection` gathers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from shim.domain.queues import FederatedQueue
from shim.domain.resources import ResourceVector
from shim.federation.kerberos_findings import KerberosFacts
from shim.federation.queue_findings import QueueFacts
from shim.federation.tls_findings import NO_TLS, ClusterTLSFacts, MasterTLSFacts, TLSFacts
from shim.protocol.wire_values import UNREADABLE


@dataclass(frozen=True, slots=True)
class HadoopSetting:
    """A property of a Hadoop daemon's effective configuration, as its `/conf` tells it."""

    value: str
    is_final: bool = False


Settings = Mapping[str, HadoopSetting]


@dataclass(frozen=True, slots=True)
class SubClusterFacts:
    """Facts of one sub-cluster.

    Attributes:
        is_reachable: Whether its ResourceManager is active and its heartbeat in time.
        trouble: Why it is not; empty otherwise.
        is_retired: Whether an operator has declared it dead.
        closed: Who has closed it to applications, since when and why; empty if nobody has.
        is_back: Whether its ResourceManager answers all the same.
        life: When its ResourceManager started, and its nodes: two that say the same are one. None if not known.
        lacking: Addresses that nobody has told, of those that Heddle's own servers lead to: `client_rpc`, ...
        proxy_user: Heddle's own user, if it acts for others by `doAs` there; else empty.
        taken_as: As whom its web services take a request in the name of `PROBE_USER`; empty if they refuse it, None if
            they do not tell.
        excess: Amounts of which it tells more than its nodes sum up to, as `name: told, of nodes`.
        left_out: Rows of its last report that are more than is taken in, by what they are of.
        grants: The largest container of each leaf queue, by its path, and that of the cluster by the empty one.
        labels: Its node labels; `types` are the resource types beside memory and virtual cores that it tells of.
        manager_settings: Of its ResourceManager; None if they could not be read.
        node_settings: Of one of its NodeManagers; None if they could not be read.
        acting: Its refusal of a call for `PROBE_USER` over RPC, empty if it takes it; None where Heddle has no ticket.
        leaves: Its leaf queues, with what ended in them.
    """

    id: str
    is_reachable: bool
    trouble: str = ""
    is_retired: bool = False
    closed: str = ""
    is_back: bool = False
    life: tuple[int, frozenset[str]] | None = None
    version: str = ""
    clock_skew_s: float = 0.0
    queues: frozenset[str] = frozenset()
    lacking: tuple[str, ...] = ()
    proxy_user: str = ""
    taken_as: str | None = None
    excess: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    grants: Mapping[str, ResourceVector] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    manager_settings: Settings | None = None
    node_settings: Settings | None = None
    acting: str | None = None
    has_logs: bool = False
    leaves: Sequence[QueueFacts] = ()


@dataclass(frozen=True, slots=True)
class FederationFacts:
    """Facts of the whole federation.

    Attributes:
        store_trouble: Why the store cannot be used; empty if it can.
        wildcard_proxy_users: Users of Heddle's own configuration that may act for anybody from anywhere.
        allow_anonymous: Whether changing calls may come without a user.
        has_acls: Whether Heddle shows and changes applications by their access lists.
        scheduler_rpc: Where Heddle takes ApplicationMasters; empty if it does not.
        spanning: Queues whose applications may hold containers of several sub-clusters.
        directory_trouble: Why the directory of groups cannot be asked; empty if it can, None if there is none.
        tls: Of the web services.
        cluster_tls: Of https towards sub-clusters that have it, or have files for it.
        master_tls: Of links to other masters; None where all are in one process.
        policy_trouble: How the policy that holds differs from that of the configuration file; empty if it does not.
        list_trouble: Why the newest list of sub-clusters in the store is not served; empty if it is.
        file_has_policy: Whether the configuration file names queues or mappings.
        unverified_store: Another machine's database that anybody on the way could pose as; empty if there is none.
        overtaken: Applications that wait where others of their queue start elsewhere: id, sub-cluster, and what is so.
        stopped: Ways between sub-clusters that applications do not take by themselves any more: from where, and why.
        ticket_user: Heddle's own user by its ticket; empty where it has none.
    """

    subclusters: Sequence[SubClusterFacts]
    store_trouble: str = ""
    wildcard_proxy_users: tuple[str, ...] = ()
    allow_anonymous: bool = False
    has_acls: bool = False
    scheduler_rpc: str = ""
    spanning: tuple[str, ...] = ()
    policy: Sequence[FederatedQueue] = ()
    kerberos: KerberosFacts | None = None
    directory_trouble: str | None = None
    tls: TLSFacts = NO_TLS
    cluster_tls: Sequence[ClusterTLSFacts] = ()
    master_tls: MasterTLSFacts | None = None
    policy_trouble: str = ""
    list_trouble: str = ""
    file_has_policy: bool = False
    unverified_store: str = ""
    ticket_user: str = ""
    overtaken: Sequence[tuple[str, str, str]] = ()
    stopped: Sequence[tuple[str, str]] = ()
    reachable: Sequence[SubClusterFacts] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reachable", tuple(each for each in self.subclusters if each.is_reachable))


# Settings of a Hadoop daemon, as its `/conf` tells them.


class _Property(msgspec.Struct):
    key: str
    value: str | None = None
    isFinal: bool = False  # noqa: N815 - Hadoop's name


class _ConfDocument(msgspec.Struct):
    properties: list[_Property]


def decode_settings(body: bytes) -> Mapping[str, HadoopSetting] | None:
    """Read a `/conf` in JSON; None if it is none."""
    try:
        properties = msgspec.json.decode(body, type=_ConfDocument).properties
    except UNREADABLE:
        return None
    return {each.key: HadoopSetting(each.value or "", each.isFinal) for each in properties}
