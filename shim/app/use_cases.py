"""Assembly of Heddle's use cases, each with its collaborators."""

from collections.abc import Callable
from dataclasses import dataclass

from shim.app.assembly import (
    Containers,
    Foundation,
    Listening,
    Overrides,
    Submitting,
    containers_on,
    decider,
    foundation_on,
    listening_on,
    submitting_on,
)
from shim.app.directory import directory_trouble
from shim.app.hardening import check_lines
from shim.app.hardening_facts import gather
from shim.app.kerberos import kerberos_facts
from shim.app.multicluster import Spans
from shim.app.peers import GlobalMasterParts
from shim.app.queues import SharesOfQueues
from shim.app.runtime import Runtime
from shim.app.settings import reconciliation_settings
from shim.app.tls import cluster_tls_facts, master_tls_facts, tls_facts
from shim.calls.aggregated_logs import AggregatedLogs
from shim.calls.container_logs import ContainerLogs
from shim.calls.control import ControlService
from shim.config.queues import PolicyConfig
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.wishes import WorkLeft
from shim.federation.administration import AdministrationService
from shim.federation.documents import DocumentReading
from shim.federation.findings import LineResult
from shim.federation.inspection import Inspection, InspectionSettings
from shim.federation.poll_workers import WorkerPollers
from shim.federation.poller import SubClusterPollers
from shim.federation.routing import ContainerPlaces, Routing, RoutingSettings
from shim.federation.tls_findings import ClusterTLSFacts, MasterTLSFacts
from shim.identity.service import IdentityService
from shim.multicluster.ask_log import AskLog
from shim.multicluster.core.crossings import Crossings
from shim.multicluster.splitters import AttemptMatching
from shim.peers.following import Following
from shim.peers.overview import MastersOverview
from shim.queues.altruism import AltruismService
from shim.queues.altruism_reports import AltruismReports
from shim.queues.credits import CreditKeeping
from shim.queues.job_counts import JobCountReader
from shim.queues.job_plans import JobPlanReader
from shim.queues.outline_reader import OutlineReader
from shim.queues.preemption import PreemptionService
from shim.queues.starting import Starting
from shim.queues.usage import UsageKeeping, UsageReports
from shim.scheduling.durations import recurring_key
from shim.server.rest.asks_shown import shown_asks
from shim.server.rest.backend import Backend
from shim.store.postgresql import unverified_server
from shim.submission.application_ids import ApplicationIds
from shim.submission.entrance import TakesSubmissions
from shim.submission.lost_time import RestoreGap
from shim.submission.reconciliation import Reconciliation
from shim.submission.repair import Repair
from shim.submission.retirement import RetirementService
from shim.submission.service import SubmissionService
from shim.submission.tools import SubmissionTools
from shim.submission.waiting import HomeWaits
from shim.telemetry.application_life import ApplicationLives
from shim.telemetry.recent_decisions import RecentDecisions

_ANY = "*"
_SERVERS = ("client_rpc", "scheduler_rpc", "admin_rpc")


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    """Every use case of a Heddle.

    Attributes:
        submissions: Of this process; `backend.submissions` may pass on what another one owns.
    """

    runtime: Runtime
    backend: Backend
    administration: AdministrationService
    inspection: Inspection
    identity: IdentityService
    pollers: SubClusterPollers | WorkerPollers | Following
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
    altruism_reports: AltruismReports
    credits: CreditKeeping
    job_plans: JobPlanReader
    job_counts: JobCountReader
    outlines: OutlineReader
    matching: AttemptMatching
    spans: Spans
    asks: AskLog
    lost_time: RestoreGap
    usage: UsageKeeping
    usage_reports: UsageReports
    logs: ContainerLogs
    aggregated_logs: AggregatedLogs
    decisions: RecentDecisions

    async def hardening(self) -> list[LineResult]:
        """Check the lines of the hardening guide."""
        return check_lines(await gather(self.runtime, self.masters))


def assemble(
    runtime: Runtime, *, global_master: GlobalMasterParts | None = None, overrides: Overrides | None = None
) -> UseCases:
    """Put the use cases together; nothing of them runs yet.

    Args:
        global_master: Where this Heddle is one of several; None where it has its Local Masters inside.
        overrides: Parts that are otherwise than in production.
    """
    foundation = foundation_on(runtime, global_master, overrides or Overrides())
    submitting = submitting_on(foundation)
    # Launches and cycles get a report before lives and usage do: listeners are called in the order of `listen`.
    containers = containers_on(foundation)
    listening = listening_on(foundation)
    return _use_cases(foundation, submitting, containers, listening)


def _use_cases(base: Foundation, submitting: Submitting, containers: Containers, listening: Listening) -> UseCases:
    runtime, shares, service = base.runtime, base.shares, containers.spans.service
    backend = _backend(base, submitting, containers.matching)
    return UseCases(
        runtime=runtime,
        backend=backend,
        administration=base.administration,
        inspection=_inspection(base, submitting.waiting, containers.spans.crossings),
        identity=base.identity,
        pollers=base.pollers,
        tools=submitting.tools,
        submissions=submitting.submissions,
        repair=submitting.repair,
        reconciliation=_reconciliation(runtime, submitting.repair, listening.lives),
        retirement=_retirement(base, submitting),
        masters=None if base.global_master is None else base.global_master.overview,
        shares=shares,
        starting=shares.starting(submitting.submissions, decider(base.global_master)),
        preemption=shares.preemption(service, containers.altruism),
        altruism=containers.altruism,
        altruism_reports=AltruismReports(shares.policy, containers.altruism, shares.credits),
        credits=shares.credits,
        job_plans=shares.job_plans(service),
        job_counts=shares.job_counts(service),
        outlines=shares.outline_reader(service),
        matching=containers.matching,
        spans=containers.spans,
        asks=AskLog(containers.matching, runtime.stores.asks, runtime.clock, shown_asks),
        lost_time=submitting.lost_time,
        usage=listening.usage,
        usage_reports=UsageReports(
            runtime.stores.usage, runtime.stores.credits, runtime.clock, base.identity.is_operator
        ),
        logs=_logs(base, backend),
        aggregated_logs=AggregatedLogs(runtime.clusters.archives, base.identity),
        decisions=RecentDecisions(runtime.clock),
    )


def _reconciliation(runtime: Runtime, repair: Repair, lives: ApplicationLives) -> Reconciliation:
    return Reconciliation(
        repair=repair,
        view=runtime.view,
        managers=runtime.managers,
        store=runtime.stores.state,
        clock=runtime.clock,
        settings=reconciliation_settings(runtime.config.history),
        ended=lives.ended,
    )


def _retirement(base: Foundation, submitting: Submitting) -> RetirementService:
    tools, submissions, repair = submitting.tools, submitting.submissions, submitting.repair
    unfenced, attempts = base.runtime.clusters.managers, base.runtime.stores.spans
    return RetirementService(tools, submissions, repair.resending, base.administration, unfenced, attempts)


def _logs(base: Foundation, backend: Backend) -> ContainerLogs:
    runtime = base.runtime
    ask_node = runtime.clusters.ask_node
    return ContainerLogs(backend.routing, runtime.managers, ask_node, base.applications, base.identity)


def _backend(base: Foundation, submitting: Submitting, matching: AttemptMatching) -> Backend:
    """Assemble the use cases that the servers call."""
    runtime, managers, applications = base.runtime, base.runtime.managers, base.applications
    global_master, submissions = base.global_master, submitting.submissions
    view, store, clock = runtime.view, runtime.stores.state, runtime.clock
    within_s = base.reading.answer_within_s
    takes_submissions: TakesSubmissions = submissions
    if global_master is not None:
        takes_submissions = global_master.pass_on(submissions, applications, answer_within_s=within_s)
    places = ContainerPlaces(runtime.stores.spans)
    routing = Routing(
        view,
        managers,
        store,
        clock,
        RoutingSettings(answer_within_s=within_s),
        places=places,
        reservations=base.reservation_issuers,
    )
    return Backend(
        view=view,
        applications=applications,
        documents=DocumentReading(view, managers, clock, base.reading),
        routing=routing,
        ids=ApplicationIds(
            store,
            listed=lambda: [document.summary.application_id for document in view.applications.newest_first()],
            is_known=lambda application_id: view.applications.find(application_id) is not None,
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
        maximum_allocation=submitting.limits.told_to,
        waiting=submitting.waiting,
        work_left=_work_left(base, matching),
    )


def _work_left(base: Foundation, matching: AttemptMatching) -> Callable[[ApplicationId], WorkLeft | None]:
    """Give the lookup of what is left: by the cycle of its queue, and before it has begun by its last run."""

    def left(application_id: ApplicationId) -> WorkLeft | None:
        found, document = matching.work_left(application_id), base.runtime.view.applications.find(application_id)
        if found is not None or document is None:
            return found
        room = base.shares.room
        run = room.former_runs.of(room.access.full_path(document.summary.queue), recurring_key(document.summary))
        return None if run is None else WorkLeft(run.containers, run.container_s, 0, run.runs)

    return left


def _inspection(base: Foundation, waiting: HomeWaits, crossings: Crossings) -> Inspection:
    runtime, shares = base.runtime, base.shares
    masters = None if base.global_master is None else base.global_master.overview
    security = runtime.config.security
    wildcards = (
        user for user, rule in security.proxyuser.items() if _ANY in rule.hosts and _ANY in rule.users + rule.groups
    )
    with_tickets = {SubClusterId(each.id) for each in runtime.config.subclusters if each.principal}
    return Inspection(
        view=runtime.view,
        managers=runtime.managers,
        descriptions=runtime.clusters.descriptions,
        admissions=base.administration.current,
        words=base.administration.words,
        store=runtime.stores.state,
        clock=runtime.clock,
        ask_node=runtime.clusters.ask_node,
        settings=InspectionSettings(
            tuple(wildcards),
            allow_anonymous=security.allow_anonymous,
            application_acls=security.application_acls,
            scheduler_rpc=runtime.config.server.scheduler_rpc,
            servers=tuple(server for server in _SERVERS if getattr(runtime.config.server, server)),
            policy=lambda: shares.policies.current.queues,
            spanning=lambda: tuple(queue.path for queue in shares.policies.current.spanning),
            kerberos=lambda: kerberos_facts(runtime.config, runtime.clock),
            directory=lambda: directory_trouble(security.ldap),
            ticket_user=security.kerberos.principal.partition("/")[0],
            tls=lambda: tls_facts(runtime.config.server, runtime.clock.now_s()),
            cluster_tls=lambda: _cluster_tls(runtime),
            master_tls=lambda: None if masters is None else _master_tls(runtime, masters),
            policy_trouble=lambda: str(shares.policies.difference() or ""),
            list_trouble=runtime.list_trouble,
            file_has_policy=runtime.config.policy != PolicyConfig(),
            unverified_store=unverified_server(runtime.config.store.url),
            with_logs=frozenset(runtime.clusters.archives),
            stopped=lambda: [(each.home, str(each)) for each in crossings.stopped()],
            overtaken=lambda: [
                (str(each.application_id), each.subcluster, each.finding) for each in waiting.overtaken()
            ],
        ),
        unfenced=runtime.clusters.managers,
        by_ticket={id_: rpc for id_, rpc in runtime.clusters.rpcs.items() if id_ in with_tickets},
    )


def _cluster_tls(runtime: Runtime) -> list[ClusterTLSFacts]:
    """The files as they are now: they may have changed since the start."""
    now_s, descriptions = runtime.clock.now_s(), runtime.clusters.descriptions
    told = (
        cluster_tls_facts(each, descriptions[SubClusterId(each.id)].web, now_s) for each in runtime.config.subclusters
    )
    return [each for each in told if each is not None]


def _master_tls(runtime: Runtime, masters: MastersOverview) -> MasterTLSFacts:
    addresses = [each.address for each in masters.now().masters]
    return master_tls_facts(runtime.config.masters, addresses, runtime.clock.now_s())
