"""The steps by which use cases are put together: what they all stand on, submissions, containers, listeners."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from shim.app.multicluster import Spans, open_spans
from shim.app.peers import GlobalMasterParts
from shim.app.queues import SharesOfQueues, open_shares
from shim.app.runtime import Runtime
from shim.app.settings import (
    cycle_settings,
    home_settings,
    identity_rules,
    poll_schedule,
    reading_settings,
    split_settings,
)
from shim.domain.ids import SubClusterId
from shim.domain.queues import SharePolicy
from shim.federation.administration import AdministrationService
from shim.federation.application_access import ApplicationAccess
from shim.federation.application_acls import ApplicationACLBook
from shim.federation.poll_workers import WorkerPollers
from shim.federation.poller import SubClusterPollers
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.federation.routing import ReservationIssuers
from shim.identity.service import IdentityRules, IdentityService
from shim.multicluster.queue_cycles import QueueCycles
from shim.multicluster.splitters import AttemptMatching
from shim.peers.following import Following
from shim.peers.launches import LaunchService
from shim.ports.resource_manager import ResourceManager
from shim.protocol.rest.usage import UsageForm
from shim.queues.altruism import AltruismService
from shim.queues.container_limits import ContainerLimits
from shim.queues.usage import UsageKeeping
from shim.queues.work_ahead import WorkAhead
from shim.submission.application_ids import IntentIds
from shim.submission.gate import Gate
from shim.submission.homes import Homes, out_of_reach
from shim.submission.lost_time import EarlierRun, RestoreGap, RestoreGapSettings
from shim.submission.repair import Repair
from shim.submission.reservations import Reservations
from shim.submission.service import SubmissionService, SubmissionSettings
from shim.submission.tools import Listing, SubmissionTools
from shim.submission.waiting import HomeWaits
from shim.telemetry.application_life import ApplicationLives


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
    past: EarlierRun | None = None
    policy: SharePolicy | None = None
    rules: IdentityRules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """Parts on which all others stand: what is known of sub-clusters, and what operators and queues allow."""

    runtime: Runtime
    global_master: GlobalMasterParts | None
    overrides: Overrides
    administration: AdministrationService
    shares: SharesOfQueues
    pollers: SubClusterPollers | WorkerPollers | Following
    reading: ReadingSettings
    applications: ApplicationReading
    identity: IdentityService
    reservation_issuers: ReservationIssuers

    @property
    def following(self) -> Following | None:
        """Reports of Local Masters, where they are processes of their own."""
        return None if self.global_master is None else self.global_master.following


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitting:
    """Parts that bring submissions to their homes, and find out what became of them."""

    tools: SubmissionTools
    submissions: SubmissionService
    repair: Repair
    lost_time: RestoreGap
    limits: ContainerLimits
    waiting: HomeWaits


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers:
    """Parts that deal with containers of running applications."""

    matching: AttemptMatching
    spans: Spans
    altruism: AltruismService


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Parts that get every report."""

    lives: ApplicationLives
    usage: UsageKeeping


def foundation_on(runtime: Runtime, global_master: GlobalMasterParts | None, overrides: Overrides) -> Foundation:
    view, clock, stores = runtime.view, runtime.clock, runtime.stores
    reading = reading_settings(runtime.config.server, runtime.clusters.guarded)
    administration = AdministrationService(view=view, store=stores.state, spans=stores.spans, clock=clock)
    following = None if global_master is None else global_master.following
    shares = open_shares(runtime, administration.current, overrides.policy)
    access = ApplicationAccess(
        ApplicationACLBook(view, stores.state, clock),
        view,
        shares.room.access.administers,
        runtime.groups_of,
        guarded=runtime.clusters.guarded,
        is_on=runtime.config.security.application_acls,
    )
    return Foundation(
        runtime=runtime,
        global_master=global_master,
        overrides=overrides,
        administration=administration,
        shares=shares,
        pollers=following or _pollers(runtime, runtime.managers),
        reading=reading,
        applications=ApplicationReading(view, runtime.managers, stores.state, clock, reading, access),
        identity=_identity(runtime, overrides.rules),
        reservation_issuers=ReservationIssuers(view),
    )


def submitting_on(base: Foundation) -> Submitting:
    runtime, shares, overrides = base.runtime, base.shares, base.overrides
    view, managers, clock, stores = runtime.view, runtime.managers, runtime.clock, runtime.stores
    remembered = RestoreGapSettings(records_s=runtime.config.history.records_s)
    lost_time = RestoreGap(stores.history, view, managers, clock, remembered)
    reservations = Reservations(base.reservation_issuers.issuer_of, managers, name_at=shares.name_at)
    limits = ContainerLimits(
        view, base.administration.current, clock, shares.policy, queue_of_user=shares.room.queue_of_user
    )
    ahead = WorkAhead(view, clock, shares.room.meter.live, shares.room.expected_of_submission)
    homes = replace(
        home_settings(runtime.config, shares.name_at),
        expected=ahead.expected,
        work_in=ahead.work_in,
        note_sent=ahead.note_sent,
        orders_asks=shares.orders_asks,
        out_of_reach=out_of_reach(runtime.clusters.rpcs),
        reserved_at=reservations.issuer_of,
        containers_up_to=limits.up_to,
    )
    tools = SubmissionTools(
        homes=overrides.homes(view, clock, homes, base.administration.current, base.following),
        view=view,
        managers=managers,
        store=stores.state,
        listing=overrides.listing or base.applications,
        clock=clock,
        new_intent_id=IntentIds(runtime.random),
        crash_points=runtime.crash_points,
        past=overrides.past or lost_time,
        reservations=reservations,
    )
    settings = SubmissionSettings(answer_within_s=base.reading.answer_within_s)
    submissions = SubmissionService(tools, settings=settings, gate=overrides.gate or shares.room)
    return Submitting(
        tools=tools,
        submissions=submissions,
        repair=Repair(tools, submissions),
        lost_time=lost_time,
        limits=limits,
        waiting=HomeWaits(view, clock, shares.policy),
    )


def containers_on(base: Foundation) -> Containers:
    """Make the parts of containers; cycles listen to reports from now on."""
    runtime, shares = base.runtime, base.shares
    matching = _matching(base)
    spans = open_spans(runtime, runtime.managers, base.administration.current, matching, shares.policy)
    return Containers(matching=matching, spans=spans, altruism=shares.altruism(spans.service))


def listening_on(base: Foundation) -> Listening:
    view, decides = base.runtime.view, decider(base.global_master)
    lives = ApplicationLives()
    usage = UsageKeeping(
        view,
        view.accounts,
        UsageForm(),
        base.runtime.stores.usage,
        base.runtime.clock,
        decides,
        base.shares.room.learn,
    )
    for listener in (lives, usage):
        base.pollers.listen(listener)
    return Listening(lives=lives, usage=usage)


def _matching(base: Foundation) -> AttemptMatching:
    """Make the matching of spanning applications' asks with sub-clusters."""
    runtime, shares, following = base.runtime, base.shares, base.following
    span = runtime.config.span
    settings = split_settings(runtime.config)
    if span.placement != "heddle":
        return AttemptMatching(settings)
    sender = "" if following is None else following.sender
    launches = LaunchService(runtime.view, runtime.clock, span.promise_s, following, sender)
    cycles = QueueCycles(
        launches,
        shares.container_order,
        runtime.view,
        runtime.clock,
        _draws(runtime),
        cycle_settings(runtime.config),
        shares.room.former_runs,
        solve=runtime.solve,
        shadow_solve=runtime.shadow_solve,
        shadow_of=shares.shadow_policy,
        outline_of=shares.outlines.of,
        masters_of=shares.left_to_masters,
        by_arrival=shares.by_arrival,
        rules_of=shares.rules,
    )
    for each in (launches, cycles):
        base.pollers.listen(each)
    if following is not None:
        following.subscribe_to_capacity(launches.claims_reported)
    return AttemptMatching(settings, launches, cycles)


def _draws(runtime: Runtime) -> Random:
    """Random numbers for policies: of the runtime's chance, so that a run can be repeated."""
    return Random(runtime.random.randbytes(8))  # noqa: S311 - chooses among equals, protects nothing


def decider(global_master: GlobalMasterParts | None) -> Callable[[str], bool]:
    """Return who starts applications that wait in a queue: its owner, or anybody while nobody owns it."""
    if global_master is None:
        return lambda _: True
    master = global_master

    def is_mine(queue: str) -> bool:
        owner = master.owner_of(queue)
        return owner is None or owner.is_me

    return is_mine


def _pollers(runtime: Runtime, managers: Mapping[SubClusterId, ResourceManager]) -> SubClusterPollers | WorkerPollers:
    beside = runtime.polls
    if beside is not None:
        return WorkerPollers(
            runtime.view,
            runtime.clock,
            beside.begin,
            beside.count,
            exchange=beside.exchange,
            listeners=runtime.listeners,
        )
    return SubClusterPollers(
        runtime.view,
        managers,
        runtime.clock,
        poll_schedule(runtime.config.poll),
        random=runtime.random,
        listeners=runtime.listeners,
    )


def _identity(runtime: Runtime, rules: IdentityRules | None) -> IdentityService:
    return IdentityService(
        rules or identity_rules(runtime.config, runtime.user, runtime.clusters.own_users),
        secret=runtime.secret,
        clock=runtime.clock,
        groups_of=runtime.groups_of,
        other_secrets=runtime.other_secrets,
    )
