"""Order of a queue's applications for containers, on real clusters: step 3 of a cycle.

Each attempt that waits is a row of the same table by which the masters of the simulator order jobs, under the same
kernels (`ordering.py`). How long containers run is learnt by the same model (`durations.py`), from the grant to the end
of each; that is soft state, and begins anew with a Global Master. An attempt holds nobody up where it could not have
what it waits for, nor after it has not called for long; and one that was overtaken for too long goes first, so that in
the end everybody is served.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shim.domain.allocations import AskKey, PendingRequest, PlacementConstraint, TaggedSpot
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.launches import WorkEstimate
from shim.domain.resources import ResourceVector
from shim.domain.wishes import NO_WISHES, JobTimes, JobWishes, WorkLeft, arrival_by_id
from shim.scheduling.completion_table import JobForecast
from shim.scheduling.durations import ENOUGH_FINISHED, FloatArray, RecurringJobModels, work_left
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.knowledge import Knowledge
from shim.scheduling.queue_policies import container_ordering, queue_policy
from shim.scheduling.queue_rows import HeldContainer
from shim.scheduling.snapshot import Column, JobTable, Snapshot, expect_durations

# Containers that an attempt of a queue has, with their sizes and since when it has them.

_NO_TAGS = PlacementConstraint()


@dataclass(slots=True)
class HeldContainers:
    """Containers of one attempt; its ApplicationMaster's own is none of these. Times are seconds by one clock.

    Attributes:
        resource: Sum of the sizes, as far as they are known.
    """

    began_in_all_s: float = 0.0
    resource: ResourceVector = field(default_factory=ResourceVector)
    _began_s: dict[ContainerId, float] = field(default_factory=dict)
    _sizes: dict[ContainerId, ResourceVector] = field(default_factory=dict)
    _spots: dict[ContainerId, TaggedSpot] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._began_s)

    def put(
        self, container: ContainerId, since_s: float, resource: ResourceVector | None, spot: TaggedSpot | None = None
    ) -> None:
        """Take in a container, or since when it is there, said anew; the first size that is told counts."""
        if spot is not None:
            self._spots[container] = spot
        if resource is not None and container not in self._sizes:
            self._sizes[container] = resource
            self.resource += resource
        self.began_in_all_s += since_s - self._began_s.pop(container, 0.0)
        self._began_s[container] = since_s

    def pop(self, container: ContainerId) -> float | None:
        """Forget a container; return since when it was there, None if it is not known."""
        began_s = self._began_s.pop(container, None)
        if began_s is not None:
            self.began_in_all_s -= began_s
            self.resource -= self._sizes.pop(container, ResourceVector())
            self._spots.pop(container, None)
        return began_s

    def of_known_size(self) -> Iterator[tuple[float, ResourceVector, NodeId | None]]:
        """List since when each container of known size is there, the size, and its node as far as it is known."""
        for container, size in self._sizes.items():
            spot = self._spots.get(container)
            yield self._began_s[container], size, None if spot is None else spot.node

    def tagged(self) -> Sequence[TaggedSpot]:
        return tuple(spot for spot in self._spots.values() if spot.placement != _NO_TAGS)


_SILENT_AFTER_S = 15.0
"""An ApplicationMaster calls every few seconds; one that does not would take no container either."""
_HOLDS_FOR_S = 0.25
"""An order is computed again after so long though nothing was told: time alone lets the overtaken go first."""
_LEARNS_EVERY_S = 2.0
"""What others teach is taken up so often: with 1,000 that wait, each with a model of its own, that takes 0.1 s."""


@dataclass(slots=True)
class _Attempt:
    """Knowledge of an attempt.

    Attributes:
        heard_at_s: When it told last what it wants; `held` is how many containers it had then.
        overtaken_at_s: Since when something of it is withheld, and it was granted nothing; None if nothing is.
        job_key: By what its application is known again; empty if that is not known.
        has_times: Whether it is known when it was submitted, and its deadline.
    """

    id: ApplicationAttemptId
    row: int
    heard_at_s: float
    waits: dict[AskKey, PendingRequest] = field(default_factory=dict)
    held: int = 0
    overtaken_at_s: float | None = None
    containers: HeldContainers = field(default_factory=HeldContainers)
    job_key: str = ""
    has_times: bool = False
    wishes: JobWishes = NO_WISHES


def _counts(request: PendingRequest | None) -> tuple[int, int, int, int] | None:
    """Return what the order of attempts goes by; where else a request may go makes no other order."""
    return None if request is None else (request.wanted, request.unallocated, request.withheld, request.held)


class WaitingTable:
    """The attempts of one queue. It never reads a clock: times are told, in seconds by one clock.

    Args:
        overtaken_s: An attempt that was overtaken for longer goes before those that were not.
        recurring_jobs: What applications of the queue have taught.
        recurring_key: By what an application is known again; empty if that is not known (yet).
        times_of: When an application was submitted, and its deadline; None if that is not known.
    """

    def __init__(
        self,
        overtaken_s: float,
        recurring_jobs: RecurringJobModels,
        recurring_key: Callable[[ApplicationId], str],
        times_of: Callable[[ApplicationId], JobTimes | None] = lambda _: None,
    ) -> None:
        self._overtaken_s = overtaken_s
        self._recurring_jobs = recurring_jobs
        self._job_key_of = recurring_key
        self._times_of = times_of
        self._table = JobTable()
        self._keys: dict[str, dict[int, float]] = {}
        self._learnt_at_s = float("-inf")
        self._learnt_from = 0
        self._attempts: dict[ApplicationAttemptId, _Attempt] = {}
        self._by_row: dict[int, _Attempt] = {}
        self._ordered: tuple[str, float, list[_Attempt]] | None = None

    # ------------------------------------------------------------------ what attempts tell

    def tell(self, attempt: ApplicationAttemptId, request: PendingRequest, at_s: float) -> None:
        """Take in what an attempt wants of one kind; it takes the place of what it told of it before."""
        known = self._attempts.get(attempt)
        if known is None:
            if not request.wanted:
                return
            known = self._add(attempt, at_s)
        known.heard_at_s = at_s
        before = known.waits.pop(request.key, None)
        if request.wanted:
            known.waits[request.key], known.held = request, request.held
        if not any(each.unallocated for each in known.waits.values()):
            known.overtaken_at_s = None
        elif request.withheld and known.overtaken_at_s is None:
            known.overtaken_at_s = at_s
        if _counts(before) != _counts(known.waits.get(request.key)):
            self._count(known)

    def granted(self, attempt: ApplicationAttemptId, at_s: float) -> None:
        """A scheduler gave an attempt a container: its patience begins anew."""
        known = self._attempts.get(attempt)
        if known is not None and known.overtaken_at_s is not None:
            known.overtaken_at_s = at_s
            self._ordered = None

    def begun(
        self,
        attempt: ApplicationAttemptId,
        container: ContainerId,
        since_s: float,
        resource: ResourceVector | None = None,
        spot: TaggedSpot | None = None,
    ) -> None:
        """An attempt has a container since then; its ApplicationMaster's own is none of these."""
        known = self._attempts.get(attempt) or self._add(attempt, since_s)
        known.containers.put(container, since_s, resource, spot)
        self._count(known)

    def ended(self, attempt: ApplicationAttemptId, container: ContainerId, at_s: float, *, is_whole: bool) -> None:
        """Note the end of a container; nothing is learnt of one that did not run for as long as it was wanted."""
        known = self._attempts.get(attempt)
        began_s = None if known is None else known.containers.pop(container)
        if known is None or began_s is None:
            return
        ran_for_s = max(0.0, at_s - began_s)
        if is_whole and self._table.count_ended(known.row, ran_for_s, self._recurring_jobs.resemblance):
            self._recurring_jobs.observe(self._job_key(known), ran_for_s)
        self._count(known)

    def leave(self, attempt: ApplicationAttemptId) -> None:
        known = self._attempts.pop(attempt, None)
        if known is not None:
            ended, ended_s = (self._table.get(each, known.row) for each in (Column.FINISHED, Column.FINISHED_S))
            self._recurring_jobs.observe_run(self._job_key(known), int(ended), ended_s)
            self._table.compare(known.row, self._recurring_jobs.resemblance)
            self._table.remove(known.row)
            del self._by_row[known.row]
            self._forget_key(known.row)
            self._ordered = None

    # ------------------------------------------------------------------ who is before whom

    def containers(self) -> Iterator[HeldContainer]:
        for known in self._attempts.values():
            for since_s, resource, node in known.containers.of_known_size():
                yield HeldContainer(known.row, since_s, resource, node)

    def tagged(self) -> Mapping[ApplicationAttemptId, Sequence[TaggedSpot]]:
        """List where each attempt has containers with tags."""
        return {known.id: spots for known in self._attempts.values() if (spots := known.containers.tagged())}

    def note_shares(self, total: ResourceVector) -> None:
        """Write the dominant share that each attempt has of all nodes, its ApplicationMaster's own left out."""
        for known in self._attempts.values():
            share = known.containers.resource.dominant_share_of(total)
            if share != self._table.get(Column.SHARE, known.row):
                self._table.put(Column.SHARE, known.row, share)
                self._ordered = None

    @property
    def jobs(self) -> JobTable:
        """Knowledge of the attempts, learnt included; brought up to date by `in_order`. Not to be written."""
        return self._table

    def row_of(self, attempt: ApplicationAttemptId) -> int:
        return self._attempts[attempt].row

    def heard(self, attempt: ApplicationAttemptId, at_s: float) -> None:
        """The ApplicationMaster of an attempt calls: it would take a container."""
        known = self._attempts.get(attempt)
        if known is not None:
            known.heard_at_s = at_s

    def is_overdue(self, attempt: ApplicationAttemptId) -> bool:
        """Return whether an attempt was overtaken for too long, as of the newest order."""
        known = self._attempts.get(attempt)
        return known is not None and self._table.get(Column.PRIORITY, known.row) > 0.0

    def in_order(self, order: str, at_s: float) -> Sequence[ApplicationAttemptId]:
        """Attempts with something that is not granted, the first of them first; without those that are silent.

        Args:
            order: A policy of `queue_policy`.
        """
        return [each.id for each in self._in_order(order, at_s) if each.heard_at_s + _SILENT_AFTER_S >= at_s]

    def _in_order(self, order: str, at_s: float) -> list[_Attempt]:
        """Attempts with something that is not granted, by being overtaken, then by key, then by arrival."""
        known = self._ordered
        if known is not None and known[0] == order and 0.0 <= at_s - known[1] < _HOLDS_FOR_S:
            return known[2]
        for each in self._attempts.values():
            if not each.has_times:
                self._look_up_times(each)
            since_s = at_s if each.overtaken_at_s is None else each.overtaken_at_s
            waited_s = at_s - since_s
            self._table.put(Column.PRIORITY, each.row, waited_s if waited_s >= self._overtaken_s else 0.0)
        rows = self._table.waiting_rows()
        rows = rows[np.argsort(self._table.column(Column.ARRIVED_S)[rows], kind="stable")]
        keys = self._keys_of(order, rows, at_s)
        positions = np.lexsort((keys, -self._table.column(Column.PRIORITY)[rows]))
        ordered = [self._by_row[row] for row in rows[positions].tolist()]
        self._ordered = (order, at_s, ordered)
        return ordered

    def _keys_of(self, order: str, rows: NDArray[np.intp], at_s: float) -> FloatArray:
        """One key for each row; of learnt ones, each of which may have a model of its own, those that changed."""
        ordering, known = container_ordering(order), self._keys.setdefault(order, {})
        if not ordering.learns_durations:
            return ordering.kernel(Snapshot.of_jobs(self._table, rows, at_s), rows)
        self._forget_old_keys(rows, at_s)
        unknown: dict[str, list[int]] = {}
        for row in rows.tolist():
            if row not in known:
                unknown.setdefault(self._job_key(self._by_row[row]), []).append(row)
        for job_key, alike in unknown.items():
            model, of_job_key = self._recurring_jobs.model(job_key), np.array(alike, dtype=np.intp)
            expect_durations(self._table, model, at_s, of_job_key)
            keys = ordering.kernel(Snapshot.of_jobs(self._table, of_job_key, at_s), of_job_key)
            known.update(zip(alike, keys.tolist(), strict=True))
        return np.array([known[row] for row in rows.tolist()], dtype=np.float64)

    def _forget_old_keys(self, rows: NDArray[np.intp], at_s: float) -> None:
        """Forget expectations that are out of date, and now and then those that go by what others have taught."""
        old = self._table.column(Column.EXPECTED_UNTIL_S)[rows] < at_s
        if (
            not 0.0 <= at_s - self._learnt_at_s < _LEARNS_EVERY_S
            and self._learnt_from != self._recurring_jobs.queue.evidence
        ):
            self._learnt_at_s, self._learnt_from = at_s, self._recurring_jobs.queue.evidence
            old |= self._table.column(Column.FINISHED)[rows] < ENOUGH_FINISHED
        for row in rows[old].tolist():
            self._forget_key(row)

    def _forget_key(self, row: int) -> None:
        for keys in self._keys.values():
            keys.pop(row, None)

    def _job_key(self, known: _Attempt) -> str:
        if not known.job_key:
            known.job_key = self._job_key_of(known.id.application)
        return known.job_key

    def estimate(self, attempt: ApplicationAttemptId, order: str, at_s: float) -> WorkEstimate | None:
        """Return the order's expectation of an attempt; None if it does not learn, or the attempt wants nothing."""
        known = self._attempts.get(attempt)
        policy = queue_policy(order)
        if known is None or not known.waits or policy is None or not policy.ordering.learns_durations:
            return None
        self._in_order(order, at_s)
        job_key = self._job_key(known)
        return WorkEstimate(
            work_s=self._keys[order][known.row],
            container_s=self._table.get(Column.EXPECTED_S, known.row),
            ended=int(self._table.get(Column.FINISHED, known.row)),
            running=len(known.containers),
            alike=self._recurring_jobs.observed(job_key),
            others=self._recurring_jobs.observed_in_all,
        )

    def work_left(self, attempt: ApplicationAttemptId) -> WorkLeft | None:
        """Return what is left of its containers; None where neither it nor an earlier run has taught anything."""
        known = self._attempts.get(attempt)
        return None if known is None else self._work_left(known)

    def _work_left(self, known: _Attempt) -> WorkLeft | None:
        """By the mean of its own that ended, and by its last run while these are few."""
        ended, ended_s = (self._table.get(each, known.row) for each in (Column.FINISHED, Column.FINISHED_S))
        asked = len(known.containers) + sum(each.wanted for each in known.waits.values())
        run = self._recurring_jobs.former_run(self._job_key(known))
        return work_left(int(ended), ended_s, len(known.containers), asked, run)

    def container_s(self) -> FloatArray:
        """Estimate how long containers of each attempt run, from its own and its earlier runs: shape (n_rows,).

        0 where neither has taught anything: what is expected of any job would make near deadlines look lost.
        """
        found = np.zeros(self._table.width)
        for known in self._attempts.values():
            left = self._work_left(known)
            found[known.row] = 0.0 if left is None else left.container_s
        return found

    def knowledge(self) -> Knowledge:
        """Of each attempt with a deadline: what ended, and what is predicted of the rest by runs; and `wishes`."""
        finished, forecasts = dict[int, tuple[int, ...]](), dict[int, JobForecast]()
        for known in self._attempts.values():
            if self._table.get(Column.DEADLINE_S, known.row):
                ended = int(self._table.get(Column.FINISHED, known.row))
                finished[known.row] = (ended,)
                left = self._work_left(known)
                if left is not None:
                    forecasts[known.row] = JobForecast((FormerStage((left.container_s,), ended + left.containers),))
        return Knowledge(finished=finished, forecasts=forecasts, wishes=self.wishes())

    def wishes(self) -> Mapping[int, JobWishes]:
        """Wishes of those attempts that have some, by row."""
        return {known.row: known.wishes for known in self._attempts.values() if known.wishes != NO_WISHES}

    def _add(self, attempt: ApplicationAttemptId, at_s: float) -> _Attempt:
        known = _Attempt(attempt, self._table.add(), at_s)
        self._attempts[attempt] = self._by_row[known.row] = known
        self._look_up_times(known)
        return known

    def _look_up_times(self, known: _Attempt) -> None:
        """Write when it was submitted and its deadline; a report that tells them may be later than its first ask."""
        told = self._times_of(known.id.application)
        known.has_times = told is not None
        times = told or JobTimes(arrival_by_id(known.id.application))
        self._table.put(Column.ARRIVED_S, known.row, times.submitted_s)
        self._table.put(Column.DEADLINE_S, known.row, times.deadline_s)
        known.wishes = times.wishes

    def _count(self, known: _Attempt) -> None:
        """Bring its row up to date.

        While nothing runs, what is promised counts as running: it is tried already, and not to be tried once more.
        """
        row, table = known.row, self._table
        wanted = sum(each.wanted for each in known.waits.values())
        waiting = sum(each.unallocated for each in known.waits.values())
        running, started_s = len(known.containers), known.containers.began_in_all_s
        if not running:
            running, started_s = wanted - waiting, (wanted - waiting) * known.heard_at_s
        if bool(running) != bool(table.get(Column.RUNNING, row)):
            table.expect_anew(row)
        tasks = table.get(Column.FINISHED, row) + known.held + wanted
        columns = (Column.TASKS, Column.WAITING, Column.RUNNING, Column.STARTED_S)
        for column, value in zip(columns, (tasks, waiting, running, started_s), strict=True):
            table.put(column, row, float(value))
        table.set_waiting(row, is_waiting=bool(known.waits))
        self._forget_key(row)
        self._ordered = None
