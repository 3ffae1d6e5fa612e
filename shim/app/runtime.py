"""All that the use cases reach outside themselves, as one value.

Production fills a `Runtime` with the machine's clock, sockets and a database; tests and the simulator fill it with
doubles and models. `shim.app.use_cases.assemble` then puts the same use cases on either. Tasks need no port: they are
spawned on the running event loop, and whoever wants time to stand still brings a loop that does.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from shim.app.settings import view_settings
from shim.config.loader import Config
from shim.domain.ids import SubClusterId
from shim.federation.core.account_book import AccountBook
from shim.federation.core.federation_view import FederationView
from shim.federation.fence import FencedResourceManager, FencedRPC
from shim.federation.inspection import SubClusterDescription
from shim.federation.poll_workers import Exchange, PollDuty, PollProcess
from shim.federation.poller import PollListener
from shim.ports.clock import Clock
from shim.ports.log_archive import LogArchive
from shim.ports.node_managers import AskNode
from shim.ports.random_source import RandomSource
from shim.ports.resource_manager import ResourceManager
from shim.ports.resource_manager_rpc import ResourceManagerRPC
from shim.ports.scheduler_login import SchedulerLogins
from shim.ports.solver import Solve
from shim.ports.web_tickets import TicketProof
from shim.protocol.rest.usage import UsageForm
from shim.store.stores import Stores
from shim.submission.crash_points import CrashPoints, nothing_happens


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachableClusters:
    """The sub-clusters, by the ways in which they are reached; nothing is fenced here.

    Attributes:
        managers: Each one's web services, with its RPC for what came by RPC; in the configured order.
        logins: Schedulers, for sessions of applications with containers in several sub-clusters.
        rpcs: Client RPC, of those whose address is known.
        admins: Operators' RPC, likewise.
        guarded: Those whose answers depend on who asks (`yarn.acl.enable`).
        own_users: As whom Heddle speaks to those that believe its `doAs`.
        ask_node: Web services of NodeManagers.
        archives: Aggregated logs, of those whose folder is known.
        prove: Makes a login by a ticket at the web service of a host; None without Kerberos.
    """

    managers: Mapping[SubClusterId, ResourceManager]
    logins: SchedulerLogins
    rpcs: Mapping[SubClusterId, ResourceManagerRPC] = field(default_factory=dict)
    admins: Mapping[SubClusterId, ResourceManagerRPC] = field(default_factory=dict)
    descriptions: Mapping[SubClusterId, SubClusterDescription] = field(default_factory=dict)
    guarded: frozenset[SubClusterId] = frozenset()
    own_users: frozenset[str] = frozenset()
    ask_node: Mapping[SubClusterId, AskNode] = field(default_factory=dict)
    archives: Mapping[SubClusterId, LogArchive] = field(default_factory=dict)
    prove: Callable[[str], TicketProof] | None = None


@dataclass(frozen=True, slots=True)
class PollsBeside:
    """Processes that poll.

    Attributes:
        exchange: Told of their exchanges with ResourceManagers.
    """

    count: int
    begin: Callable[[PollDuty], Awaitable[PollProcess]]
    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Collaborators that the use cases of one process share.

    Attributes:
        random: For intents' names and for the spread of polls; of a server also for nonces.
        view: What is known of the sub-clusters; nothing yet.
        user: Whom this process runs as.
        secret: Signs cookies and tokens.
        other_secrets: What was signed with them is good, too: while a secret is changed there are two.
        listeners: Told of every report and failure.
        crash_points: Called at each step of each submission.
        solve: Reaches solvers; None where policies go by their greedy plans alone.
        shadow_solve: Reaches those of policies in the shadow, likewise.
        list_trouble: Why the newest list of sub-clusters in the store is not served; empty if it is.
        polls: Processes that poll; None where this one does.
    """

    config: Config
    clock: Clock
    random: RandomSource
    clusters: ReachableClusters
    stores: Stores
    view: FederationView
    groups_of: Callable[[str], frozenset[str]]
    user: str
    secret: bytes
    other_secrets: tuple[bytes, ...] = ()
    listeners: tuple[PollListener, ...] = ()
    crash_points: CrashPoints = nothing_happens
    solve: Solve | None = None
    shadow_solve: Solve | None = None
    list_trouble: Callable[[], str] = str
    polls: PollsBeside | None = None

    @property
    def managers(self) -> Mapping[SubClusterId, ResourceManager]:
        """The ResourceManagers, each out of reach while its sub-cluster is retired."""
        is_retired = self.view.is_retired
        return {id_: FencedResourceManager(each, is_retired) for id_, each in self.clusters.managers.items()}

    @property
    def rpcs(self) -> Mapping[SubClusterId, ResourceManagerRPC]:
        """Client RPC, out of reach while the sub-cluster is retired."""
        return {id_: FencedRPC(each, self.view.is_retired) for id_, each in self.clusters.rpcs.items()}


def new_view(config: Config) -> FederationView:
    """A view of the configured sub-clusters, in which nothing is yet."""
    subclusters = tuple(SubClusterId(each.id) for each in config.subclusters)
    return FederationView(subclusters, view_settings(config), AccountBook(UsageForm()))
