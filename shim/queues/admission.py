"""The policy of shares at work: who may start, who waits, and what those who wait are told.

What waits is in the store; this is what one Heddle knows of it, brought up to date by `sync`. What is known here may be
old: whether somebody starts is decided by who writes the intent over the waiting record first.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from shim.domain.applications import ApplicationSummary, FinalStatus
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, ApplicationDocument
from shim.domain.submissions import Submission, SubmissionRecord, SubmissionState
from shim.domain.wishes import deadline_of, job_times
from shim.errors import ForbiddenError, VersionConflictError
from shim.federation.core.federation_view import FederationView
from shim.federation.unplaced import unplaced_document
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore
from shim.queues.access import QueueAccess
from shim.queues.core.entitle import (
    Division,
    PendingApplication,
    Round,
    ShareSettings,
    decide_starts,
    division_of,
)
from shim.queues.core.queue_rules import GroupsOf, map_queue, may_administer
from shim.queues.core.share_load import ExpectedWork, FederationLoad, WorkHistory
from shim.queues.load_meter import LoadMeter
from shim.queues.share_preview import DEFAULT_QUEUE, SharePreview, pending_application_of
from shim.scheduling.durations import FormerRun, FormerRuns, recurring_key, recurring_key_of
from shim.scheduling.queue_policies import goes_by_deadlines
from shim.submission.homes import put_into
from shim.telemetry.application_life import LifeEvent, tell

# Place of an application among those that wait for their queue's turn, and what its client is told of it.


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """Place of an application among those that wait in its queue.

    Attributes:
        position: From 1.
        expected_s: Seconds until its turn, at the present rate of starts; None while there is none.
    """

    position: int
    count: int
    expected_s: float | None

    def told(self, reason: str) -> str:
        """Say why it waits, where, and for how long."""
        expected = f"; about {_duration(self.expected_s)} at the present rate" if self.expected_s is not None else ""
        return f"Waits in Heddle for its queue's turn, {self.position} of {self.count}{expected}: {reason}."


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


_MOST_LOOKED_AT = 1000  # of each queue in one round; entitlement does not change by more
_MOST_AT_THE_SERVER = 100
_TOKENS_LAST_S = 12 * 3600.0
"""Half of what a delegation token of HDFS is good for unless somebody renews it, as a ResourceManager does."""
_MOST_TOLD = 1000
_STARTED = (SubmissionState.INTENDED, SubmissionState.SUBMITTED)


@dataclass(frozen=True, slots=True)
class Kills:
    """Kills of applications that wait, by their killers.

    Attributes:
        is_admin: Whether the user operates Heddle.
    """

    user: str
    is_admin: bool = False


class AdmissionQueue:
    """Applications that wait for their queues; implements `Gate`.

    Args:
        view: What is known of the sub-clusters.
        clock: The machine's.

    Attributes:
        meter: What queues hold and want, as last measured.
    """

    def __init__(
        self,
        *,
        policy: Callable[[], SharePolicy],
        view: FederationView,
        admissions: Mapping[SubClusterId, Admission],
        store: StateStore,
        clock: Clock,
        groups_of: GroupsOf,
        settings: ShareSettings,
    ) -> None:
        self._policy = policy
        self._view = view
        self._store = store
        self._clock = clock
        self._groups_of = groups_of
        self.access = QueueAccess(policy, view, groups_of, clock)
        self._settings = settings
        self._records: dict[ApplicationId, SubmissionRecord] = {}
        self._counts: Counter[str] = Counter()
        self.meter = LoadMeter(view, admissions, clock, absent_after_s=settings.absent_after_s, expected=self._expected)
        self._told: dict[ApplicationId, str] = {}
        self._places: dict[ApplicationId, WaitingPlace] = {}
        self.former_runs = FormerRuns()
        self.work = WorkHistory()
        self.latest = Round()

    # -- the gate ----------------------------------------------------------------------------------------------------

    def queue_of(self, submission: Submission) -> str:
        policy = self._policy()
        return self._path_of(policy, submission) if policy.queues or policy.mappings else submission.queue

    def queue_of_user(self, user: str) -> str:
        """Path of the queue of a user's applications that name none."""
        policy = self._policy()
        if not policy.mappings:
            return DEFAULT_QUEUE
        mapped = map_queue(policy, queue="", user=user, application="", groups_of=self._groups_of)
        return self.access.full_path(mapped) or DEFAULT_QUEUE

    def _path_of(self, policy: SharePolicy, submission: Submission) -> str:
        """Path of the queue that a submission is mapped to; empty if it names none and is mapped to none."""
        queue, user, name = submission.queue, submission.user, submission.name
        mapped = map_queue(policy, queue=queue, user=user, application=name, groups_of=self._groups_of)
        return self.access.full_path(mapped)

    def enter(self, submission: Submission) -> Submission:
        policy = self._policy()
        if not policy.queues and not policy.mappings:
            return submission
        path = self._path_of(policy, submission)
        self.access.check_submission(submission.application_id, path or DEFAULT_QUEUE, submission.user)
        queue = policy.find(path or DEFAULT_QUEUE)
        if queue is not None:
            self._check_limits(queue, submission)
            warning = check_deadline(queue, submission, self._clock.now_s(), self.former_runs)
            if warning:
                tell(LifeEvent.DEADLINE_HOPELESS, submission.application_id, queue=queue.path, reason=warning)
        return put_into(submission, path)

    def _check_limits(self, queue: FederatedQueue, submission: Submission) -> None:
        user, application_id = submission.user, submission.application_id
        if not queue.max_applications and not queue.max_user_applications:
            return
        load = self.meter.current(self._policy()).queues[queue.path]
        count = load.running + self._waiting_in(queue)
        if 0 < queue.max_applications <= count:
            message = (
                f"Queue {queue.path} already has {count} applications, cannot accept submission of application: "
                f"{application_id}"
            )
            raise ForbiddenError(message)
        if not queue.max_user_applications:
            return
        waiting = (one for one in self._records.values() if self._queue_of(one) is queue)
        mine = load.users[user] + sum(one.submission.user == user for one in waiting)
        if queue.max_user_applications <= mine:
            message = (
                f"Queue {queue.path} already has {mine} applications from user {user}, cannot accept submission of "
                f"application: {application_id}"
            )
            raise ForbiddenError(message)

    def objection(self, submission: Submission) -> str:
        queue = self._queue_named(submission.queue)
        if queue is None or not (
            queue.is_sharing or queue.max_running or queue.max_user_running or queue.order == "work"
        ):
            return ""
        if self._waiting_in(queue):
            return self.latest.reasons.get(queue.path, f"others wait in queue {queue.path}")
        mine = self._pending(submission, queue, int(self._clock.now_s() * 1000))
        load = self.meter.current(self._policy())
        if queue.is_sharing:
            others = self._applications(_MOST_AT_THE_SERVER)
            outcome = decide_starts(self._policy(), load.copy(), [*others, mine], self._settings)
        else:  # others' queues do not matter to it, of which there may be a thousand
            alone = replace(load, queues={queue.path: load.queues[queue.path].copy()})
            outcome = decide_starts(SharePolicy((queue,)), alone, [mine], self._settings)
        if submission.application_id not in outcome.starters:
            return outcome.reasons.get(queue.path, f"queue {queue.path} is at a limit")
        load.queues[queue.path].start(submission.user, submission.resource)
        self.meter.note_start(queue, submission)
        return ""

    def note_waiting(self, record: SubmissionRecord) -> None:
        self._take(record)
        queue = self._queue_of(record)
        ahead = 1 if queue is None else self._waiting_in(queue)
        self._tell(record, WaitingPlace(ahead, ahead, None).told(record.decision.reason))

    # -- what waits --------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> frozenset[ApplicationId]:
        """Ids of the applications that wait, as far as this Heddle knows."""
        return frozenset(self._records)

    async def sync(self) -> None:
        """Bring what is known of those that wait up to date.

        Raises:
            StoreUnavailableError: What was known stands.
        """
        standing = {each.application_id for each in await self._store.waiting()}
        for application_id in sorted(standing - self._records.keys()):
            record = await self._store.find(application_id)
            if record is not None and record.state is SubmissionState.WAITING:
                self._take(record)
                self._tell(record, record.decision.reason)
        for application_id in sorted(self._records.keys() - standing):
            known_since_ms = self._records[application_id].intended_at_ms
            record = await self._store.find(application_id)
            if record is not None and record.state in _STARTED:  # elsewhere: listed until its home tells of it
                self._view.applications.submit_times.note(application_id, known_since_ms)
                self._view.applications.submit(unplaced_document(record, "", self._clock.now_s()))
            is_killed = record is not None and record.state is SubmissionState.KILLED
            self.forget(application_id, record if is_killed else None)

    def _expected(self, summary: ApplicationSummary) -> float:
        return self.expected_of(summary).mib_s

    def expected_of(self, summary: ApplicationSummary) -> ExpectedWork:
        """Expect the work of an application that has a home, whether the policy names its queue or not."""
        return self.work.expected(self._learnt_in(summary), recurring_key(summary))

    def expected_of_submission(self, submission: Submission) -> ExpectedWork:
        """Expect the work of an application that is submitted."""
        queue = self._queue_named(submission.queue)
        path = queue.path if queue is not None else _last_part(submission.queue or DEFAULT_QUEUE)
        job = recurring_key_of(submission.user, submission.application_type, submission.name)
        return self.work.expected(path, job)

    def learn(self, document: ApplicationDocument, mib_s: float) -> None:
        """Learn how much work an application was that has ended."""
        summary = document.summary
        if summary.final_status is FinalStatus.SUCCEEDED:
            self.work.learn(self._learnt_in(summary), recurring_key(summary), mib_s)

    def _learnt_in(self, summary: ApplicationSummary) -> str:
        """Path in the policy; where it has none, the last part of what schedulers tell, as some tell no more."""
        queue = self._policy().find_at(summary.home_subcluster, summary.queue)
        return queue.path if queue is not None else _last_part(summary.queue)

    def note_start(self, submission: Submission) -> None:
        """Note a start: counted until the view shows it, and for the rate of its queue."""
        queue = self._queue_named(submission.queue)
        if queue is not None:
            self.meter.note_start(queue, submission)

    async def kill(self, application_id: ApplicationId, by: Kills) -> bool:
        """End an application that waits; False if it does not.

        Raises:
            ForbiddenError: The user may not.
            StoreUnavailableError: It waits on; the call may be repeated.
        """
        record = await self._store.find(application_id)
        if record is None or record.state is not SubmissionState.WAITING:
            return False
        queue = self._queue_of(record)
        may = by.is_admin or by.user == record.submission.user
        if not may and (queue is None or not may_administer(queue, by.user, self._groups_of)):
            raise ForbiddenError(f"User {by.user} cannot perform operation MODIFY_APP on {application_id}")
        reason = f"Application {application_id} was killed by user {by.user} while it waited for its queue's turn"
        with suppress(VersionConflictError):
            await self._store.withdraw(application_id, reason=reason)
            tell(LifeEvent.ENDED, application_id, cluster="", state="KILLED", reason=reason)
            self.forget(application_id, replace(record, state=SubmissionState.KILLED, rejection=reason))
            return True
        return False

    def forget(self, application_id: ApplicationId, killed: SubmissionRecord | None = None) -> None:
        """Forget an application that waits no more: it has started, here or elsewhere, or was killed."""
        gone = self._records.pop(application_id, None)
        if gone is not None:
            name = gone.submission.queue
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]  # clients choose the names
        self._told.pop(application_id, None)
        final = unplaced_document(killed, killed.rejection, self._clock.now_s()) if killed is not None else None
        self._view.applications.end_waiting(application_id, final)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def look(self) -> list[ApplicationId]:
        """Return the applications that may start now; the others are told why not."""
        policy = self._policy()
        unplaced = [an_id for an_id, record in self._records.items() if self._queue_of(record) is None]
        load = self.meter.renew(policy)
        self.latest = decide_starts(policy, load, self._applications(_MOST_LOOKED_AT), self._settings)
        starters = set(self.latest.starters)
        by_queue: dict[str, list[ApplicationId]] = {path: [] for path in self.latest.queues}
        for an_id, record in self._records.items():
            queue = self._queue_of(record)
            if queue is not None and queue.path in by_queue and an_id not in starters:
                by_queue[queue.path].append(an_id)
        self._places.clear()
        for path, waiting in by_queue.items():
            self._tell_queue(path, waiting)
        return [*unplaced, *self.latest.starters]

    def preview(self) -> SharePreview:
        """Return the facts from which another process can compute the queues' standing under some policy."""
        return SharePreview(self.meter.snapshot(), tuple(self._records.values()), self._settings)

    def division(self) -> Division:
        """Divide the federation: every sharing queue's entitlement by present use and demand."""
        return division_of(self._policy(), self.load(), self._applications(_MOST_LOOKED_AT), self._settings)

    def count_withheld(self, source: Callable[[], Mapping[str, ResourceVector]]) -> None:
        """Ask this, from now on, for what queues want and no scheduler has been told."""
        self.meter.withheld = source

    def load(self) -> FederationLoad:
        """Use of the queues, as last measured."""
        return self.meter.current(self._policy())

    def queue_name(self, application_id: ApplicationId) -> str:
        """The queue that an application waits in, as submitted."""
        return self._records[application_id].submission.queue or DEFAULT_QUEUE

    def place_of(self, application_id: ApplicationId) -> WaitingPlace | None:
        """Place of an application by the last look; None where it does not wait, or stands behind the first 1,000."""
        return self._places.get(application_id) if application_id in self._records else None

    def counts(self) -> Mapping[str, int]:
        """Count the waiting applications of each queue of the policy that has some, by path."""
        found: Counter[str] = Counter()
        for name, count in self._counts.items():
            queue = self._queue_named(name)
            if queue is not None:
                found[queue.path] += count
        return found

    def rate(self, path: str) -> float | None:
        """Starts of a queue's applications in a second, lately; None if there were too few to tell."""
        return self.meter.rate(path)

    def _waiting_in(self, queue: FederatedQueue) -> int:
        """Count the waiting applications of a queue, by the few names that submissions have for it."""
        return self.counts().get(queue.path, 0)

    def _take(self, record: SubmissionRecord) -> None:
        if record.submission.application_id not in self._records:
            self._counts[record.submission.queue] += 1
        self._records[record.submission.application_id] = replace(
            record, submission=replace(record.submission, body=b"")
        )

    def _queue_of(self, record: SubmissionRecord) -> FederatedQueue | None:
        return self._queue_named(record.submission.queue)

    def _queue_named(self, name: str) -> FederatedQueue | None:
        return self._policy().find(name or DEFAULT_QUEUE)

    def _applications(self, most: int) -> list[PendingApplication]:
        counts: dict[str, int] = {}
        found = []
        for record in self._records.values():
            queue = self._queue_of(record)
            if queue is None or counts.get(queue.path, 0) >= most:
                continue
            counts[queue.path] = counts.get(queue.path, 0) + 1
            found.append(self._pending(record.submission, queue, record.intended_at_ms))
        return found

    def _pending(self, submission: Submission, queue: FederatedQueue, since_ms: int) -> PendingApplication:
        if queue.order != "work":  # what it is expected to be orders nothing there
            return pending_application_of(submission, queue, since_ms=since_ms)
        job = recurring_key_of(submission.user, submission.application_type, submission.name)
        waited_s = self._clock.now_s() - since_ms / 1000.0
        return pending_application_of(
            submission,
            queue,
            since_ms=since_ms,
            expected=self.work.expected(queue.path, job),
            is_overdue=waited_s > self._settings.overtaken_s,
            due_s=_due_s(queue, submission, since_ms / 1000.0, self._clock.now_s()),
            is_released=waited_s > _TOKENS_LAST_S,
            waited_s=waited_s,
        )

    # -- telling -----------------------------------------------------------------------------------------------------

    def _tell_queue(self, path: str, waiting: list[ApplicationId]) -> None:
        """Positions: first those that were looked at, in their order, then the others."""
        first = self.latest.queues.get(path, [])
        known = set(first)
        order = [*first, *(an_id for an_id in waiting if an_id not in known)]
        rate = self.meter.rate(path)
        reason = self.latest.reasons.get(path, f"queue {path} is at a limit")
        for position, application_id in enumerate(order[:_MOST_TOLD], start=1):
            place = WaitingPlace(position, len(order), position / rate if rate else None)
            self._places[application_id] = place
            self._tell(self._records[application_id], place.told(reason))

    def _tell(self, record: SubmissionRecord, diagnostics: str) -> None:
        application_id = record.submission.application_id
        if self._told.get(application_id) == diagnostics and self._view.applications.is_waiting(application_id):
            return
        self._told[application_id] = diagnostics
        self._view.applications.wait(unplaced_document(record, diagnostics, self._clock.now_s()))


def _last_part(queue: str) -> str:
    return queue.rpartition(".")[2]


# Rules on deadlines at submission: one that cannot be met is refused or taken, as its queue has it.


def check_deadline(queue: FederatedQueue, submission: Submission, now_s: float, runs: FormerRuns) -> str:
    """Give the warning that a deadline cannot be met; empty if it can, as far as is known, or if there is none.

    Raises:
        ForbiddenError: It cannot, and the queue refuses such ones.
    """
    job_key = recurring_key_of(submission.user, submission.application_type, submission.name)
    why_not = hopeless_deadline(submission, now_s, runs.of(queue.path, job_key))
    if why_not and queue.deadline == "refuse":
        raise ForbiddenError(f"Queue {queue.path} refuses {submission.application_id}: {why_not}")
    return why_not


def _due_s(queue: FederatedQueue, submission: Submission, submitted_s: float, now_s: float) -> float:
    """Tell the deadline, since the epoch, that a waiting application still has to meet; infinite for none.

    Only where containers of its queue go by deadlines, too: elsewhere the tag means nothing.
    """
    if not goes_by_deadlines(queue.containers):
        return math.inf
    deadline_s = job_times(submitted_s, submission.tags).deadline_s
    return deadline_s if deadline_s > now_s else math.inf


def hopeless_deadline(submission: Submission, now_s: float, run: FormerRun | None) -> str:
    """Say why a submission's deadline cannot be met; empty if it can, as far as is known, or if it has none.

    Args:
        submission: As it came; its tags are well-formed.
        now_s: Now: when it is submitted.
        run: Its last run, if it is a recurring job: a container takes its time, on however many it runs.

    Raises:
        BadRequestError: It names a deadline and is none.
    """
    deadline = deadline_of(submission.tags)
    if deadline is None:
        return ""
    left_s = deadline.at_s(now_s) - now_s
    if left_s <= 0.0:
        return f"its deadline is over for {-left_s:.0f} s"
    if run is not None and run.container_s > left_s:
        return (
            f"its deadline is in {left_s:.0f} s, and a container took {run.container_s:.0f} s in its last run: "
            "no number of them ends it in time"
        )
    return ""
