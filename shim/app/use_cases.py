"""What Heddle does, put together: every use case with what it stands on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shim.app.connections import SubCluster
from shim.app.groups import group_directory
from shim.app.host import current_user, read_secret
from shim.app.kerberos import trouble_with
from shim.app.peers import GlobalMaster
from shim.app.queues import SharesOfQueues, open_shares
from shim.calls.control import ControlService
from shim.config.loader import Config, is_loopback
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import SubClusterReport
from shim.errors import HeddleError
from shim.federation.administration import AdministrationService
from shim.federation.container_places import SpanPlaces
from shim.federation.core.federation_view import Applied, FederationView
from shim.federation.doctor import KerberosFacts
from shim.federation.documents import DocumentReading
from shim.federation.inspection import Inspection, InspectionSettings
from shim.federation.poller import Heartbeats, HeartbeatSettings
from shim.federation.polling import PollSettings
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.federation.routing import Routing, RoutingSettings
from shim.identity.service import IdentityRules, IdentityService, ProxyRule
from shim.multicluster.ask_log import AskLog
from shim.multicluster.core.matching import MatchSettings
from shim.multicluster.splitters import SpanMatching
from shim.peers.container_order import ContainerOrders
from shim.peers.following import Following
from shim.peers.launches import LaunchService
from shim.peers.overview import MastersOverview
from shim.ports.act_store import ActStore
from shim.ports.ask_store import AskStore
from shim.ports.clock import Clock
from shim.ports.history_store import HistoryStore
from shim.ports.lease_store import LeaseStore
from shim.ports.policy_store import PolicyStore
from shim.ports.resource_manager import ResourceManager
from shim.ports.resource_manager_rpc import ResourceManagerRPC
from shim.ports.span_store import SpanStore
from shim.ports.state_store import StateStore
from shim.ports.token_store import TokenStore
from shim.ports.usage_store import UsageStore
from shim.protocol.rest.usage import UsageForm
from shim.queues.admission import WaitingRoom
from shim.queues.starting import Starting
from shim.queues.usage import UsageKeeping, UsageReports
from shim.server.rest.asks_shown import shown_asks
from shim.server.rest.backend import Backend
from shim.submission.application_ids import ApplicationIds
from shim.submission.core.home import HomeSettings
from shim.submission.crash_points import CrashPoints
from shim.submission.homes import Homes, out_of_reach
from shim.submission.lost_time import LostTime, LostTimeSettings
from shim.submission.reconciliation import Reconciliation, ReconciliationSettings
from shim.submission.repair import Repair
from shim.submission.retirement import RetirementService
from shim.submission.service import SubmissionService, SubmissionSettings, SubmissionTools, TakesSubmissions
from shim.telemetry import Metrics
from shim.telemetry.application_life import ApplicationLives
from shim.telemetry.repair import RepairCollector

__all__ = ["PollCounter", "UseCases", "World", "assemble"]

_ANY = "*"
_SERVERS = ("client_rpc", "scheduler_rpc", "admin_rpc")


_SHARE_OF_HOMES = 0.9
"""Part of a client's patience that homes may use up; the rest is for the way back to the client."""


@dataclass(frozen=True, slots=True)
class World:
    """What the use cases stand on; `unfenced` reaches what is retired, too."""

    config: Config
    clock: Clock
    subclusters: Mapping[SubClusterId, SubCluster]
    managers: Mapping[SubClusterId, ResourceManager]
    unfenced: Mapping[SubClusterId, ResourceManager]
    rpcs: Mapping[SubClusterId, ResourceManagerRPC]
    store: StateStore
    policies: PolicyStore
    tokens: TokenStore
    spans: SpanStore
    acts: ActStore
    usage: UsageStore
    asks: AskStore
    leases: LeaseStore
    history: HistoryStore
    view: FederationView
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class PollCounter:
    """Counts polls by how they ended."""

    metrics: Metrics

    def reported(self, report: SubClusterReport, applied: Applied) -> None:  # noqa: ARG002 - the listener's signature
        """See `HeartbeatListener`."""
        self.metrics.poll(report.subcluster, "reported")

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `HeartbeatListener`."""
        self.metrics.poll(subcluster, type(error).__name__)


@dataclass(frozen=True, slots=True)
class UseCases:
    """Everything that Heddle does, by use case; `masters` where there are several."""

    backend: Backend
    administration: AdministrationService
    inspection: Inspection
    identity: IdentityService
    heartbeats: Heartbeats | Following
    reconciliation: Reconciliation
    retirement: RetirementService
    homes: Homes
    masters: MastersOverview | None
    shares: SharesOfQueues
    starting: Starting
    matching: SpanMatching
    asks: AskLog
    lost_time: LostTime
    usage: UsageKeeping
    usage_reports: UsageReports
    repair_collector: RepairCollector


def assemble(world: World, crash_points: CrashPoints, global_master: GlobalMaster | None = None) -> UseCases:
    """Put the use cases together; nothing of them runs yet.

    Args:
        world: What they stand on.
        crash_points: Called at each step of each submission.
        global_master: Where this Heddle is one of several; None where it has its Local Masters inside.

    Raises:
        ConfigError: If there is a secret file that cannot be used.
    """
    view, managers, store, clock = world.view, world.managers, world.store, world.clock
    reading = _reading(world)
    applications = ApplicationReading(view, managers, store, clock, reading)
    administration = AdministrationService(view=view, store=store, spans=world.spans, clock=clock)
    following = None if global_master is None else global_master.following
    shares = open_shares(world.config, view, administration.current, store, world.policies, world.acts, clock)
    home_settings = HomeSettings(name_at=shares.name_at, out_of_reach=out_of_reach(world.rpcs))
    homes = Homes(view, clock, home_settings, administration.current, following)
    heartbeats = following or _heartbeats(world)
    lives = ApplicationLives()
    heartbeats.listen(lives)
    lost_time = LostTime(
        world.history, view, managers, clock, LostTimeSettings(history_s=world.config.history.records_s)
    )
    tools = SubmissionTools(homes, view, managers, store, applications, clock, crash_points, lost_time)
    submissions = SubmissionService(
        tools, settings=SubmissionSettings(answer_within_s=reading.answer_within_s), gate=shares.room
    )
    matching = _matching(world, following, heartbeats, shares)
    repair = Repair(tools, submissions)
    identity = _identity(world)
    usage = UsageKeeping(view, view.accounts, UsageForm(), world.usage, clock, _decider(global_master))
    heartbeats.listen(usage)
    return UseCases(
        backend=_backend(world, reading, applications, submissions, repair, shares.room, global_master),
        administration=administration,
        inspection=_inspection(world, administration, shares),
        identity=identity,
        heartbeats=heartbeats,
        reconciliation=Reconciliation(
            repair=repair,
            view=view,
            managers=managers,
            store=store,
            clock=clock,
            settings=_remembers(world.config),
            ended=lives.ended,
        ),
        retirement=RetirementService(tools, submissions, repair, administration, world.unfenced, world.spans),
        homes=homes,
        masters=None if global_master is None else global_master.overview,
        shares=shares,
        starting=shares.starting(submissions, _decider(global_master)),
        matching=matching,
        asks=AskLog(matching, world.asks, clock, shown_asks),
        lost_time=lost_time,
        usage=usage,
        usage_reports=UsageReports(world.usage, clock, identity.is_admin),
        repair_collector=RepairCollector(
            lambda: len(submissions.attempts.failing), lambda: submissions.attempts.given_up
        ),
    )


def _reading(world: World) -> ReadingSettings:
    server = world.config.server
    return ReadingSettings(
        staleness_s=server.staleness_s,
        answer_within_s=_SHARE_OF_HOMES * server.answer_within_s,
        guarded=frozenset(id_ for id_, each in world.subclusters.items() if each.is_guarded),
    )


def _remembers(config: Config) -> ReconciliationSettings:
    history = config.history
    return ReconciliationSettings(history_s=history.records_s, history_count=history.records)


def _backend(
    world: World,
    reading: ReadingSettings,
    applications: ApplicationReading,
    submissions: SubmissionService,
    repair: Repair,
    room: WaitingRoom,
    global_master: GlobalMaster | None,
) -> Backend:
    """What the servers call."""
    view, managers, store, clock = world.view, world.managers, world.store, world.clock
    within_s = reading.answer_within_s
    takes_submissions: TakesSubmissions = submissions
    if global_master is not None:
        takes_submissions = global_master.pass_on(submissions, applications, answer_within_s=within_s)
    places = SpanPlaces(world.spans)
    routing = Routing(view, managers, store, clock, RoutingSettings(answer_within_s=within_s), places=places)
    return Backend(
        view=view,
        applications=applications,
        documents=DocumentReading(view, managers, clock, reading),
        routing=routing,
        ids=ApplicationIds(
            store,
            listed=lambda: [document.summary.application_id for document in view.applications()],
            is_known=lambda application_id: view.find(application_id) is not None,
        ),
        submissions=takes_submissions,
        control=ControlService(
            routing=routing,
            repair=repair,
            managers=managers,
            listing=applications,
            room=room,
            answer_within_s=within_s,
        ),
        store=store,
        managers=managers,
        clock=clock,
        answer_within_s=within_s,
    )


def _matching(
    world: World, following: Following | None, heartbeats: Heartbeats | Following, shares: SharesOfQueues
) -> SpanMatching:
    """How asks of spanning applications find their sub-clusters."""
    span = world.config.span
    has_masters = span.placement == "heddle"
    service = LaunchService(world.view, world.clock, span.promise_s, following) if has_masters else None
    if service is not None:
        heartbeats.listen(service)
    orders = ContainerOrders(shares.container_order, world.clock, span.overtaken_s, world.view)
    return SpanMatching(service, MatchSettings(span.patience, span.oldest_view_s), orders)


def _decider(global_master: GlobalMaster | None) -> Callable[[str], bool]:
    """Who lets start what waits in a queue: its owner, or anybody while nobody owns it."""
    if global_master is None:
        return lambda _: True
    master = global_master

    def is_mine(queue: str) -> bool:
        owner = master.owner_of(queue)
        return owner is None or owner.is_me

    return is_mine


def _heartbeats(world: World) -> Heartbeats:
    poll = world.config.poll
    settings = HeartbeatSettings(interval_s=poll.interval_s, poll=PollSettings(timeout_s=poll.timeout_s))
    return Heartbeats(world.view, world.managers, world.clock, settings, listeners=[PollCounter(world.metrics)])


def _inspection(world: World, administration: AdministrationService, shares: SharesOfQueues) -> Inspection:
    security = world.config.security
    wildcards = (
        user for user, rule in security.proxyuser.items() if _ANY in rule.hosts and _ANY in rule.users + rule.groups
    )
    return Inspection(
        view=world.view,
        managers=world.managers,
        descriptions={id_: each.description for id_, each in world.subclusters.items()},
        admissions=administration.current,
        store=world.store,
        clock=world.clock,
        read_node_settings={id_: each.read_node_settings for id_, each in world.subclusters.items()},
        settings=InspectionSettings(
            tuple(wildcards),
            allows_anonymous=security.allow_anonymous,
            scheduler_server=world.config.server.scheduler_rpc,
            servers=tuple(server for server in _SERVERS if getattr(world.config.server, server)),
            policy=lambda: shares.policy().queues,
            spanning=lambda: tuple(queue.path for queue in shares.policy().spanning),
            kerberos=lambda: _kerberos(world.config),
            policy_trouble=lambda: str(shares.policies.difference() or ""),
            file_has_policy=bool(world.config.queues or world.config.mappings),
        ),
        unfenced=world.unfenced,
    )


def _kerberos(config: Config) -> KerberosFacts | None:
    """The keytab as it is now: it may have changed since the start."""
    kerberos, rest = config.security.kerberos, config.server.rest
    if not kerberos.principal:
        return None
    web = "" if is_loopback(rest) else rest
    return KerberosFacts(kerberos.principal, trouble_with(kerberos), kerberos.allow_simple, web)


def _identity(world: World) -> IdentityService:
    security = world.config.security
    rules = IdentityRules(
        static_user=security.static_user,
        allow_anonymous=security.allow_anonymous,
        admins=(current_user(), *security.admins),
        own_users=frozenset(each.settings.user for each in world.subclusters.values() if each.settings.is_proxy),
        proxy_users={
            user: ProxyRule(hosts=rule.hosts, users=rule.users, groups=rule.groups)
            for user, rule in security.proxyuser.items()
        },
        cookie_validity_s=security.cookie_validity_s,
    )
    return IdentityService(
        rules, secret=read_secret(security.secret_file), clock=world.clock, groups_of=group_directory()
    )
