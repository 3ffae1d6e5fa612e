"""What Heddle does, put together: every use case with what it stands on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from shim.app.kerberos import trouble_with
from shim.app.multicluster import Spans, open_spans
from shim.app.peers import GlobalMaster
from shim.app.queues import SharesOfQueues, open_shares
from shim.app.runtime import Runtime, heartbeat_settings
from shim.app.tls import tls_facts
from shim.calls.container_logs import ContainerLogs
from shim.calls.control import ControlService
from shim.config.loader import Config, is_loopback
from shim.domain.ids import SubClusterId
from shim.domain.shares import SharePolicy
from shim.federation.administration import AdministrationService
from shim.federation.container_places import ContainerPlaces
from shim.federation.doctor import KerberosFacts
from shim.federation.documents import DocumentReading
from shim.federation.inspection import Inspection, InspectionSettings
from shim.federation.poller import SubClusterPollers
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.federation.routing import Routing, RoutingSettings
from shim.identity.service import IdentityRules, IdentityService, ProxyRule
from shim.multicluster.ask_log import AskLog
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.multicluster.splitters import AttemptMatching
from shim.peers.following import Following
from shim.peers.launches import LaunchService
from shim.peers.overview import MastersOverview
from shim.ports.resource_manager import ResourceManager
from shim.protocol.rest.usage import UsageForm
from shim.queues.altruism import AltruismService
from shim.queues.job_counts import JobCountReader
from shim.queues.job_plans import JobPlanReader
from shim.queues.preemption import PreemptionService
from shim.queues.starting import Starting
from shim.queues.usage import UsageKeeping, UsageReports
from shim.server.rest.asks_shown import shown_asks
from shim.server.rest.backend import Backend
from shim.submission.application_ids import ApplicationIds
from shim.submission.core.home import HomeSettings
from shim.submission.gate import Gate
from shim.submission.homes import Homes, out_of_reach
from shim.submission.intent_ids import IntentIds
from shim.submission.lost_time import LostTime, LostTimeSettings, Past
from shim.submission.reconciliation import Reconciliation, ReconciliationSettings
from shim.submission.repair import Repair
from shim.submission.retirement import RetirementService
from shim.submission.service import Listing, SubmissionService, SubmissionSettings, SubmissionTools, TakesSubmissions
from shim.telemetry.application_life import ApplicationLives

__all__ = ["Overrides", "UseCases", "assemble"]

_ANY = "*"
_SERVERS = ("client_rpc", "scheduler_rpc", "admin_rpc")


_SHARE_OF_HOMES = 0.9
"""Part of a client's patience that homes may use up; the rest is for the way back to the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Parts in the place of those that are made otherwise; each is named by whoever wants it so.

    Attributes:
        homes: Makes the choice of homes, from what `Homes` is made of.
        listing: Shows applications that were submitted.
        gate: Stands before submissions, instead of the queues' policy.
        past: Whether the store was restored.
        policy: Holds whatever the configuration file and the store say.
        rules: Whom callers are taken for.
    """

    homes: type[Homes] = Homes
    listing: Listing | None = None
    gate: Gate | None = None
    past: Past | None = None
    policy: SharePolicy | None = None
    rules: IdentityRules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    """Everything that Heddle does, by use case.

    Attributes:
        submissions: Of this process; `backend.submissions` may pass on what another one owns.
        masters: What is known of all masters, where there are several.
    """

    runtime: Runtime
    backend: Backend
    administration: AdministrationService
    inspection: Inspection
    identity: IdentityService
    pollers: SubClusterPollers | Following
    tools: SubmissionTools
    submissions: SubmissionService
    repair: Repair
    reconciliation: Reconciliation
    retirement: RetirementService
    masters: MastersOverview | None
    shares: SharesOfQueues
    starting: Starting
    preemption: PreemptionService
    altruism: AltruismService
    job_plans: JobPlanReader
    job_counts: JobCountReader
    matching: AttemptMatching
    spans: Spans
    asks: AskLog
    lost_time: LostTime
    usage: UsageKeeping
    usage_reports: UsageReports
    logs: ContainerLogs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Federation:
    """Parts on which all others stand: what is known of sub-clusters, and what operators and queues allow."""

    runtime: Runtime
    global_master: GlobalMaster | None
    overrides: Overrides
    administration: AdministrationService
    shares: SharesOfQueues
    pollers: SubClusterPollers | Following
    reading: ReadingSettings
    applications: ApplicationReading
    identity: IdentityService

    @property
    def following(self) -> Following | None:
        """What Local Masters tell, where they are processes of their own."""
        return None if self.global_master is None else self.global_master.following


@dataclass(frozen=True, slots=True, kw_only=True)
class _Submitting:
    """Parts that bring submissions to their homes, and find out what became of them."""

    tools: SubmissionTools
    submissions: SubmissionService
    repair: Repair
    lost_time: LostTime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Containers:
    """Parts that deal with containers of running applications."""

    matching: AttemptMatching
    spans: Spans
    altruism: AltruismService


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listening:
    """Parts that hear of every report."""

    lives: ApplicationLives
    usage: UsageKeeping


def assemble(
    runtime: Runtime, *, global_master: GlobalMaster | None = None, overrides: Overrides | None = None
) -> UseCases:
    """Put the use cases together; nothing of them runs yet.

    Args:
        runtime: What they stand on.
        global_master: Where this Heddle is one of several; None where it has its Local Masters inside.
        overrides: Parts that are otherwise than in production.
    """
    federation = _federation(runtime, global_master, overrides or Overrides())
    submitting = _submitting(federation)
    # Launches and cycles hear of a report before lives and usage do: listeners are called in the order of `listen`.
    containers = _containers(federation)
    listening = _listening(federation)
    return _use_cases(federation, submitting, containers, listening)


def _federation(runtime: Runtime, global_master: GlobalMaster | None, overrides: Overrides) -> _Federation:
    view, clock, stores = runtime.view, runtime.clock, runtime.stores
    reading = _reading(runtime)
    administration = AdministrationService(view=view, store=stores.state, spans=stores.spans, clock=clock)
    following = None if global_master is None else global_master.following
    return _Federation(
        runtime=runtime,
        global_master=global_master,
        overrides=overrides,
        administration=administration,
        shares=open_shares(runtime, administration.current, overrides.policy),
        pollers=following or _pollers(runtime, runtime.managers),
        reading=reading,
        applications=ApplicationReading(view, runtime.managers, stores.state, clock, reading),
        identity=_identity(runtime, overrides.rules),
    )


def _submitting(base: _Federation) -> _Submitting:
    runtime, shares, overrides = base.runtime, base.shares, base.overrides
    view, managers, clock, stores = runtime.view, runtime.managers, runtime.clock, runtime.stores
    remembered = LostTimeSettings(history_s=runtime.config.history.records_s)
    lost_time = LostTime(stores.history, view, managers, clock, remembered)
    home_settings = HomeSettings(name_at=shares.name_at, out_of_reach=out_of_reach(runtime.clusters.rpcs))
    tools = SubmissionTools(
        homes=overrides.homes(view, clock, home_settings, base.administration.current, base.following),
        view=view,
        managers=managers,
        store=stores.state,
        listing=overrides.listing or base.applications,
        clock=clock,
        new_intent_id=IntentIds(runtime.random),
        crash_points=runtime.crash_points,
        past=overrides.past or lost_time,
    )
    settings = SubmissionSettings(answer_within_s=base.reading.answer_within_s)
    submissions = SubmissionService(tools, settings=settings, gate=overrides.gate or shares.room)
    return _Submitting(tools=tools, submissions=submissions, repair=Repair(tools, submissions), lost_time=lost_time)


def _containers(base: _Federation) -> _Containers:
    runtime, shares = base.runtime, base.shares
    matching = _matching(runtime, base.following, base.pollers, shares)
    spans = open_spans(runtime, runtime.managers, base.administration.current, matching, shares.policy)
    return _Containers(matching=matching, spans=spans, altruism=shares.altruism(spans.service))


def _listening(base: _Federation) -> _Listening:
    view, decides = base.runtime.view, _decider(base.global_master)
    lives = ApplicationLives()
    usage = UsageKeeping(view, view.accounts, UsageForm(), base.runtime.stores.usage, base.runtime.clock, decides)
    for listener in (lives, usage):
        base.pollers.listen(listener)
    return _Listening(lives=lives, usage=usage)


def _use_cases(base: _Federation, submitting: _Submitting, containers: _Containers, listening: _Listening) -> UseCases:
    runtime, shares, service = base.runtime, base.shares, containers.spans.service
    backend = _backend(base, submitting)
    return UseCases(
        runtime=runtime,
        backend=backend,
        administration=base.administration,
        inspection=_inspection(runtime, runtime.managers, base.administration, shares),
        identity=base.identity,
        pollers=base.pollers,
        tools=submitting.tools,
        submissions=submitting.submissions,
        repair=submitting.repair,
        reconciliation=_reconciliation(runtime, submitting.repair, listening.lives),
        retirement=_retirement(base, submitting),
        masters=None if base.global_master is None else base.global_master.overview,
        shares=shares,
        starting=shares.starting(submitting.submissions, _decider(base.global_master)),
        preemption=shares.preemption(service, containers.altruism),
        altruism=containers.altruism,
        job_plans=shares.job_plans(service),
        job_counts=shares.job_counts(service),
        matching=containers.matching,
        spans=containers.spans,
        asks=AskLog(containers.matching, runtime.stores.asks, runtime.clock, shown_asks),
        lost_time=submitting.lost_time,
        usage=listening.usage,
        usage_reports=UsageReports(runtime.stores.usage, runtime.clock, base.identity.is_admin),
        logs=_logs(base, backend),
    )


def _reconciliation(runtime: Runtime, repair: Repair, lives: ApplicationLives) -> Reconciliation:
    return Reconciliation(
        repair=repair,
        view=runtime.view,
        managers=runtime.managers,
        store=runtime.stores.state,
        clock=runtime.clock,
        settings=_remembers(runtime.config),
        ended=lives.ended,
    )


def _retirement(base: _Federation, submitting: _Submitting) -> RetirementService:
    tools, submissions, repair = submitting.tools, submitting.submissions, submitting.repair
    unfenced, attempts = base.runtime.clusters.managers, base.runtime.stores.spans
    return RetirementService(tools, submissions, repair, base.administration, unfenced, attempts)


def _logs(base: _Federation, backend: Backend) -> ContainerLogs:
    runtime = base.runtime
    ask_node = runtime.clusters.ask_node
    return ContainerLogs(backend.routing, runtime.managers, ask_node, base.applications, base.identity)


def _reading(runtime: Runtime) -> ReadingSettings:
    server = runtime.config.server
    return ReadingSettings(
        staleness_s=server.staleness_s,
        answer_within_s=_SHARE_OF_HOMES * server.answer_within_s,
        guarded=runtime.clusters.guarded,
    )


def _remembers(config: Config) -> ReconciliationSettings:
    history = config.history
    return ReconciliationSettings(history_s=history.records_s, history_count=history.records)


def _backend(base: _Federation, submitting: _Submitting) -> Backend:
    """What the servers call."""
    runtime, managers, applications = base.runtime, base.runtime.managers, base.applications
    global_master, submissions = base.global_master, submitting.submissions
    view, store, clock = runtime.view, runtime.stores.state, runtime.clock
    within_s = base.reading.answer_within_s
    takes_submissions: TakesSubmissions = submissions
    if global_master is not None:
        takes_submissions = global_master.pass_on(submissions, applications, answer_within_s=within_s)
    places = ContainerPlaces(runtime.stores.spans)
    routing = Routing(view, managers, store, clock, RoutingSettings(answer_within_s=within_s), places=places)
    return Backend(
        view=view,
        applications=applications,
        documents=DocumentReading(view, managers, clock, base.reading),
        routing=routing,
        ids=ApplicationIds(
            store,
            listed=lambda: [document.summary.application_id for document in view.applications()],
            is_known=lambda application_id: view.find(application_id) is not None,
        ),
        submissions=takes_submissions,
        control=ControlService(
            routing=routing,
            repair=submitting.repair,
            managers=managers,
            listing=applications,
            room=base.shares.room,
            answer_within_s=within_s,
        ),
        store=store,
        managers=managers,
        clock=clock,
        answer_within_s=within_s,
    )


def _matching(
    runtime: Runtime, following: Following | None, pollers: SubClusterPollers | Following, shares: SharesOfQueues
) -> AttemptMatching:
    """How asks of spanning applications find their sub-clusters."""
    span = runtime.config.span
    settings = SplitSettings(span.move_after_beats, span.oldest_view_s)
    if span.placement != "heddle":
        return AttemptMatching(settings)
    launches = LaunchService(runtime.view, runtime.clock, span.promise_s, following)
    cycle = CycleSettings(runtime.config.scheduling.cycle_s, span.starvation_s)
    cycles = QueueCycles(launches, shares.container_order, runtime.view, runtime.clock, _draws(runtime), cycle)
    for each in (launches, cycles):
        pollers.listen(each)
    return AttemptMatching(settings, launches, cycles)


def _draws(runtime: Runtime) -> Random:
    """Random numbers for policies: of the runtime's chance, so that a run can be repeated."""
    return Random(runtime.random.randbytes(8))  # noqa: S311 - chooses among equals, protects nothing


def _decider(global_master: GlobalMaster | None) -> Callable[[str], bool]:
    """Who lets start what waits in a queue: its owner, or anybody while nobody owns it."""
    if global_master is None:
        return lambda _: True
    master = global_master

    def is_mine(queue: str) -> bool:
        owner = master.owner_of(queue)
        return owner is None or owner.is_me

    return is_mine


def _pollers(runtime: Runtime, managers: Mapping[SubClusterId, ResourceManager]) -> SubClusterPollers:
    return SubClusterPollers(
        runtime.view,
        managers,
        runtime.clock,
        heartbeat_settings(runtime.config),
        random=runtime.random,
        listeners=runtime.listeners,
    )


def _inspection(
    runtime: Runtime,
    managers: Mapping[SubClusterId, ResourceManager],
    administration: AdministrationService,
    shares: SharesOfQueues,
) -> Inspection:
    security = runtime.config.security
    wildcards = (
        user for user, rule in security.proxyuser.items() if _ANY in rule.hosts and _ANY in rule.users + rule.groups
    )
    return Inspection(
        view=runtime.view,
        managers=managers,
        descriptions=runtime.clusters.descriptions,
        admissions=administration.current,
        store=runtime.stores.state,
        clock=runtime.clock,
        ask_node=runtime.clusters.ask_node,
        settings=InspectionSettings(
            tuple(wildcards),
            allows_anonymous=security.allow_anonymous,
            scheduler_server=runtime.config.server.scheduler_rpc,
            servers=tuple(server for server in _SERVERS if getattr(runtime.config.server, server)),
            policy=lambda: shares.policy().queues,
            spanning=lambda: tuple(queue.path for queue in shares.policy().spanning),
            kerberos=lambda: _kerberos(runtime.config),
            tls=lambda: tls_facts(runtime.config.server, runtime.clock),
            policy_trouble=lambda: str(shares.policies.difference() or ""),
            file_has_policy=bool(runtime.config.queues or runtime.config.mappings),
        ),
        unfenced=runtime.clusters.managers,
    )


def _kerberos(config: Config) -> KerberosFacts | None:
    """The keytab as it is now: it may have changed since the start."""
    kerberos, rest = config.security.kerberos, config.server.rest
    if not kerberos.principal:
        return None
    web = "" if is_loopback(rest) or kerberos.web_principal else rest
    return KerberosFacts(kerberos.principal, trouble_with(kerberos), kerberos.allow_simple, web)


def _identity(runtime: Runtime, rules: IdentityRules | None) -> IdentityService:
    security = runtime.config.security
    configured = IdentityRules(
        static_user=security.static_user,
        allow_anonymous=security.allow_anonymous,
        admins=(runtime.user, *security.admins),
        own_users=runtime.clusters.own_users,
        proxy_users={
            user: ProxyRule(hosts=rule.hosts, users=rule.users, groups=rule.groups)
            for user, rule in security.proxyuser.items()
        },
        cookie_validity_s=security.cookie_validity_s,
        is_encrypted=runtime.config.server.tls.certificate is not None,
        asks_for_tickets=bool(security.kerberos.web_principal),
    )
    return IdentityService(rules or configured, secret=runtime.secret, clock=runtime.clock, groups_of=runtime.groups_of)
