"""Altruism at work: looks at the jobs of altruistic queues, and has ledgers hold back what the jobs put off.

Nothing here is on the path of an allocate call. Whatever is in doubt holds nothing back: an old view, an unknown stage,
a stopped Heddle (a hold-back lapses in the ledger by itself).
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import structlog

from altruism import LeftoverOrder
from shim.concurrency.off_loop import OffLoop
from shim.domain.credits import NO_CREDITS, Credits
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.job_graphs import Stage, StagesOfJob
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.wishes import job_times
from shim.federation.core.federation_view import FederationView
from shim.multicluster.core import HeldBack, Recall
from shim.ports.attempt_calls import Attempt
from shim.ports.clock import Clock
from shim.ports.job_graphs import JobGraphs
from shim.ports.queue_stores import CreditRow
from shim.ports.random_source import RandomSource
from shim.queues.admission import AdmissionQueue
from shim.queues.core.job_watch import StageSeen
from shim.queues.core.lent import LentContainers, QueueJobHeld
from shim.queues.core.lent_recalls import LenderNeed, need_of
from shim.queues.core.yielding import QueueJob, QueueYields, Yield, YieldedStage, YieldRules
from shim.queues.credits import CreditBook
from shim.queues.job_sights import JobObservations, SeenAttempt

# Altruistic jobs from look to look, and how they are told to people with their debits and credits.

_MS = 1000


@dataclass(slots=True)
class AltruismAccount:
    """State of a job.

    Attributes:
        has_given: Whether anything of its share was ever free for others.
        is_shadow: Whether it is only told so.
        stages: Its graph; None if that is not known.
    """

    queue: str
    user: str
    latest: Yield = field(default_factory=Yield)
    is_shadow: bool = False
    has_given: bool = False
    stages: StagesOfJob | None = None
    seen: tuple[StageSeen, ...] = ()


def shown_account(
    account: AltruismAccount, parts: Sequence[CreditRow], lent: Mapping[ContainerId, float]
) -> dict[str, Any]:
    """Give an account as a plain JSON object.

    Args:
        parts: What it gave and received.
    """
    latest, stages = account.latest, account.stages
    credits_ = sum((part.credits for part in parts), start=NO_CREDITS)
    return {
        "queue": account.queue,
        "shadow": account.is_shadow,
        "unknown": latest.reason,
        "graph": "" if stages is None else stages.graph.name,
        "graph_from": "" if stages is None else stages.source,
        "ends_by_ms": None if latest.ends_by_s is None else int(latest.ends_by_s * _MS),
        "share": round(latest.share, 4),
        "given_s": round(credits_.given_s, 1),
        "received_s": round(credits_.received_s, 1),
        "lent_containers": len(lent),
        "lent_since_ms": int(min(lent.values()) * _MS) if lent else None,
        "puts_off": [_shown_yield(stage) for stage in latest.stages],
        "stages": [] if stages is None else _shown_stages(stages, account.seen),
    }


def _shown_yield(stage: YieldedStage) -> dict[str, Any]:
    return {
        "stage": stage.name,
        "containers": stage.count,
        "next_at_ms": None if stage.next_start_s == float("inf") else int(stage.next_start_s * _MS),
        "waits_for": list(stage.waits_for),
    }


def _shown_stages(stages: StagesOfJob, seen: tuple[StageSeen, ...]) -> list[dict[str, Any]]:
    graph = stages.graph.stages
    return [_shown_stage(stage, graph, each) for stage, each in zip(graph, seen, strict=True)]


def _shown_stage(stage: Stage, graph: tuple[Stage, ...], seen: StageSeen) -> dict[str, Any]:
    return {
        "stage": stage.name,
        "tasks": seen.tasks,
        "memory_mib": seen.size.memory_mib,
        "vcores": seen.size.vcores,
        "waits_for": [graph[parent].name for parent in stage.waits_for],
        "waiting": seen.waiting,
        "running": len(seen.running_since_s),
        "ended": seen.ended,
        "task_s": None if seen.seconds is None else round(seen.seconds, 1),
        "sure": _sureness(seen),
    }


def _sureness(seen: StageSeen) -> str:
    counted = "tasks counted by its ApplicationMaster; " if seen.is_counted else ""
    times = counted + f"times of {seen.times_from} ({seen.n_times})" if seen.times_from else "no times as yet"
    return times if seen.waiting is not None else f"{times}; tasks left not known"


_log = structlog.get_logger("heddle.altruism")
_MOST_ACCOUNTS = 4096
_MOST_STEP_S = 5.0
"""A longer time between two looks counts as this: what happened meanwhile is not known."""
_GRAPHENE = "graphene"
"""Packer of a queue's plans that goes by `stage_ranks`."""
_PAUSE = 9.0
"""Rest after a look, in times of its length: planning takes a tenth of a processor at most."""


class AltruisticAttempt(SeenAttempt, Protocol):
    """The part of `MultiClusterAttempt` that is used here."""

    def tell(self, event: Recall) -> None: ...


@dataclass(frozen=True, slots=True)
class AltruismWorld:
    """Collaborators of altruism.

    Attributes:
        credits: Takes down what jobs give and receive.
    """

    policy: Callable[[], SharePolicy]
    view: FederationView
    room: AdmissionQueue
    graphs: JobGraphs
    random: RandomSource
    clock: Clock
    credits: CreditBook
    interval_s: float


@dataclass(frozen=True, slots=True)
class _Looked:
    """Findings of one look, by queue."""

    at_s: float
    step_s: float
    queues: dict[str, FederatedQueue] = field(default_factory=dict)
    totals: dict[str, ResourceVector] = field(default_factory=dict)
    jobs: dict[str, list[QueueJob]] = field(default_factory=dict)
    spans: dict[ApplicationAttemptId, AltruisticAttempt] = field(default_factory=dict)


class AltruismService:
    """Looks, for ever. `run` does it until cancelled; `look` once."""

    def __init__(self, world: AltruismWorld, spans: Callable[[], Sequence["AltruisticAttempt"]]) -> None:
        self._world = world
        self._spans = spans
        self._sights = JobObservations(world.view, world.graphs)
        self._queues: dict[str, QueueYields] = {}
        self._lent: dict[str, LentContainers] = {}
        self._holding: set[ApplicationAttemptId] = set()
        self._accounts: OrderedDict[ApplicationId, AltruismAccount] = OrderedDict()
        self._needs: list[LenderNeed] = []
        self._shares: dict[ApplicationAttemptId, ResourceVector] = {}
        self._looked_s: float | None = None
        self._work = OffLoop()

    async def run(self) -> None:
        """Look until cancelled, and plan beside the event loop: at most for a tenth of the time."""
        clock = self._world.clock
        while True:
            looked = self._gather()
            began_s = clock.monotonic_s()
            yields = await self._work.run_own(partial(self._plan, looked)) if looked.jobs else {}
            spent_s = clock.monotonic_s() - began_s
            self._tell(looked, yields)
            await clock.sleep(max(self._world.interval_s, _PAUSE * spent_s))

    def look(self) -> None:
        looked = self._gather()
        self._tell(looked, self._plan(looked))

    def _gather(self) -> "_Looked":
        """Take in what the jobs of altruistic queues hold and want."""
        world, now_s = self._world, self._world.clock.now_s()
        policy = world.policy()
        altruistic = {queue.path: queue for queue in policy.queues if queue.altruism}
        spans = {span.attempt.id: span for span in self._spans()} if altruistic else {}
        queues = {id_: policy.find(span.attempt.queue) for id_, span in spans.items()}
        self._sights.keep(spans.keys(), now_s)
        self._holding &= spans.keys()
        self._queues = {path: self._queues.get(path) or QueueYields() for path in altruistic}
        self._lent = {path: self._lent.get(path) or LentContainers() for path in altruistic}
        step_s = min(_MOST_STEP_S, now_s - self._looked_s) if self._looked_s is not None else 0.0
        self._looked_s = now_s
        is_old, looked = bool(world.view.late(now_s)), _Looked(now_s, step_s)
        for id_, queue in queues.items():
            if queue is not None and queue.path in altruistic:
                job = self._job_of(spans[id_], queue, now_s)
                looked.queues[queue.path] = queue
                looked.totals.setdefault(queue.path, self._total(queue.path, now_s))
                looked.jobs.setdefault(queue.path, []).append(replace(job, yields=False) if is_old else job)
                looked.spans[id_] = spans[id_]
        return looked

    def _plan(self, looked: "_Looked") -> Mapping[ApplicationAttemptId, Yield]:
        """Decide what each job puts off; reads and writes nothing that the event loop does."""
        found: dict[ApplicationAttemptId, Yield] = {}
        for path, jobs in looked.jobs.items():
            found |= self._queues[path].look(jobs, looked.totals[path], rules_of(looked.queues[path]), looked.at_s)
        return found

    def _tell(self, looked: "_Looked", yields: Mapping[ApplicationAttemptId, Yield]) -> None:
        self._needs, self._shares = [], {}
        for path, jobs in looked.jobs.items():
            for job in jobs:
                span = looked.spans[job.attempt]
                self._count(span.attempt, looked.queues[path], looked)
                self._carry_out(span, looked.queues[path], yields[job.attempt])
            is_shadow = looked.queues[path].altruism_shadow
            held = [_held(looked.spans[job.attempt], yields[job.attempt], is_shadow=is_shadow) for job in jobs]
            self._lent[path].look(held, looked.totals[path], looked.at_s)
            if not is_shadow:
                self._needs += self._needs_of(path, jobs, held, looked.totals[path])
                self._shares |= {job.attempt: _part(looked.totals[path], job.share) for job in held if job.share > 0}

    def _job_of(self, span: AltruisticAttempt, queue: FederatedQueue, now_s: float) -> QueueJob:
        holdings, sight = span.holdings, self._sights.look(span, now_s)
        held = sum((each.grant.resource for each in holdings.held if each.grant is not None), start=ResourceVector())
        form = next((key for key in (*(each.key for each in sight.tasks), *holdings.asks) if key is not None), None)
        account = self._account_of(span.attempt, queue)
        stages = sight.stages if isinstance(sight.stages, StagesOfJob) else None
        account.stages, account.seen = stages, sight.seen
        job = QueueJob(span.attempt.id, holdings.asks, held, containers=len(sight.tasks), form=form, facts=sight.facts)
        if stages is None:
            return job
        altruism = self._altruism_of(span.attempt.id.application, queue)
        yields = altruism >= 1 or self._world.random.random() < altruism
        return replace(job, stages=stages, yields=yields)

    def _altruism_of(self, application: ApplicationId, queue: FederatedQueue) -> float:
        """Probability with which a job yields: what its tag says, else its queue's."""
        known = self._world.view.applications.find(application)
        told = None if known is None else job_times(0.0, known.summary.tags).wishes.altruism
        return queue.altruism if told is None else told

    def _total(self, path: str, now_s: float) -> ResourceVector:
        """The share of a queue when everybody wants everything: it does not fall as others come and go."""
        status = self._world.room.latest.statuses.get(path)
        return _part(self._world.view.capacity(now_s), 1.0 if status is None else status.share)

    def _account_of(self, attempt: Attempt, queue: FederatedQueue) -> AltruismAccount:
        account = self._accounts.setdefault(attempt.id.application, AltruismAccount(queue.path, attempt.user))
        self._accounts.move_to_end(attempt.id.application)
        while len(self._accounts) > _MOST_ACCOUNTS:
            self._accounts.popitem(last=False)
        return account

    def _count(self, attempt: Attempt, queue: FederatedQueue, looked: "_Looked") -> None:
        """Take down what a job gave and received since the look before, by what was found then."""
        latest, mib = self._account_of(attempt, queue).latest, looked.totals[queue.path].memory_mib
        if not queue.altruism_shadow:
            given_s, received_s = looked.step_s * latest.given, looked.step_s * latest.beyond
            more = Credits(given_s, received_s, given_s * mib, received_s * mib)
            at_ms = int(looked.at_s * 1000)
            self._world.credits.add(attempt.id.application, queue.path, attempt.user, more, at_ms)

    def _carry_out(self, span: AltruisticAttempt, queue: FederatedQueue, found: Yield) -> None:
        attempt = span.attempt
        account = self._account_of(attempt, queue)
        account.is_shadow = queue.altruism_shadow
        if bool(found.held_back) != bool(account.latest.held_back):
            counts = {stage.name: stage.count for stage in found.stages}
            _log.info("puts containers off", application=str(attempt.id.application), stages=counts, queue=queue.path)
        account.latest = found
        held = {**found.ahead, **found.held_back}
        if held and not queue.altruism_shadow:
            self._holding.add(attempt.id)
            span.tell(HeldBack(held))
        elif attempt.id in self._holding:
            self._holding.discard(attempt.id)
            span.tell(HeldBack({}))

    def _needs_of(
        self, path: str, jobs: Sequence[QueueJob], held: Sequence[QueueJobHeld], total: ResourceVector
    ) -> Iterator[LenderNeed]:
        """Find what jobs that gave lack now."""
        for job, its in zip(jobs, held, strict=True):
            account = self._accounts.get(job.attempt.application)
            if account is None:
                continue
            account.has_given = account.has_given or account.latest.given > 0
            later = account.latest.not_due  # for what only takes leftover no task of another is ended
            need = need_of(path, its, {key: count - later.get(key, 0) for key, count in job.asks.items()}, total)
            if account.has_given and need is not None:
                yield need

    def needs(self) -> Sequence[LenderNeed]:
        """Give what jobs that gave need now within their shares, and have not got."""
        return self._needs

    def shares(self) -> Mapping[ApplicationAttemptId, ResourceVector]:
        """Give what each job may have by its share of its queue, but for jobs of which no share is known."""
        return self._shares

    def lent(self) -> Mapping[ContainerId, float]:
        """Give the containers that jobs were lent, and when each was granted; seconds since the epoch."""
        return {container: since_s for marks in self._lent.values() for container, since_s in marks.since_s.items()}

    # ------------------------------------------------------------------ for people

    def shown(self, application: ApplicationId, parts: Sequence[CreditRow] | None = None) -> Mapping[str, Any] | None:
        """Give what is known of a job's altruism as a plain JSON object; None for a job of no altruistic queue.

        Args:
            parts: What it gave and received; None for what was counted here.
        """
        known = self._world.credits.parts(application) if parts is None else parts
        account = self._accounts.get(application)
        if account is None:
            return shown_account(_gone(known[-1]), known, {}) if known else None
        lent = {id_: since_s for id_, since_s in self.lent().items() if id_.attempt.application == application}
        return shown_account(account, known, lent)


def rules_of(queue: FederatedQueue) -> YieldRules:
    """Settings of a queue, as planning takes them."""
    is_ranked = queue.altruism_packer == _GRAPHENE
    return YieldRules(LeftoverOrder(queue.altruism_order), queue.altruism_slack, is_ranked=is_ranked)


def _part(whole: ResourceVector, part: float) -> ResourceVector:
    return ResourceVector(int(whole.memory_mib * part), int(whole.vcores * part))


def _gone(part: CreditRow) -> AltruismAccount:
    """A job of which only debits and credits are left: it ran before, or runs elsewhere."""
    return AltruismAccount(part.queue, part.user, latest=Yield(reason="this Heddle does not read its calls now"))


def _held(span: AltruisticAttempt, found: Yield, *, is_shadow: bool) -> QueueJobHeld:
    home = span.attempt.home_subcluster
    containers = [
        (each.id, each.grant.resource)
        for each in span.holdings.held
        if each.grant is not None and not (each.id.is_first and each.subcluster == home)
    ]
    return QueueJobHeld(span.attempt.id, containers, found.share, 0.0 if is_shadow else found.given)
