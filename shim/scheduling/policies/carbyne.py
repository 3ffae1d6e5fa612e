"""Carbyne: each job has what it takes to end when its fair share would end it; the rest goes to who ends soonest.

What dominant resource fairness would have done is followed beside the real clusters: jobs that ended early keep their
share there until they would have ended. So each job has a *fair end*, as jobs come and go. Of what it asks for only so
much is *due* as that end takes. Stages that are waited for by none for a while, and jobs that are ahead, are due less
than their share. What is not due is leftover of all jobs together, known in the same cycle, and goes to the job with
least work left: first as far as it ends sooner by it, then whatever else it asks for.

Source: Grandl et al., "Altruistic Scheduling in Multi-Resource Clusters", OSDI 2016. Fairness is followed as in
Friedman and Henderson's fair sojourn protocol, SIGMETRICS 2003.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shim.domain.wishes import NO_WISHES
from shim.scheduling.durations import FloatArray
from shim.scheduling.former_runs import paths_behind_s
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import Plan, Reason, ReasonCode
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, least_share
from shim.scheduling.snapshot import Column, RequestColumn, RequestTime, Snapshot

_DUE = Reason(ReasonCode.POLICY, (("text", "its fair end takes it"),))
_LEFTOVER = Reason(ReasonCode.POLICY, (("text", "no other job needs it now, and this one has least work left"),))
_FAIR = "what fairness would have done"
_EQUAL = 1e-9
_ROUNDING = 0.5
_HALVINGS = 40
_HALF = 0.5
"""Of a task that runs so much is expected to be left."""


@dataclass(frozen=True, slots=True)
class CarbyneRules:
    """What jobs give."""

    altruism: float = parameter(
        1.0,
        name="gives",
        most=1.0,
        section="section 5.4.4, P(altruism)",
        meaning="Part of what a job can give that it gives; with 0 each has its share as soon as it wants it. The tag "
        "heddle-altruism of an application goes before it. The paper draws how often a job gives.",
    )
    floor: float = parameter(
        0.8,
        most=1.0,
        published=1.0,
        meaning="Part of what its fair end takes that a job has at each moment, while it is not late.",
    )
    patience: float = parameter(
        1.2,
        least=1.0,
        published=1.0,
        meaning="A job whose fair end takes more than so many times its share by now is late: all of it is due.",
    )
    keeps_floor: bool = parameter(
        default=True,
        meaning="Whether anything is due. Without, all goes to who has least work left, whatever others have: SRTF.",
    )


@dataclass(slots=True)
class _Fair:
    """A job as fairness would have served it; times are container-seconds.

    Attributes:
        arrived_s: Of the job, whose row may be another's later.
        demand: Of one of its containers, in the mean of what it asked for; float64 of shape (R,).
        running: Containers that it has.
        size: Dominant part of the capacity that one of its containers is.
        whole_s: What it is expected to be in all.
        served_s: What it would have had of that.
        width: Most containers that it could have used at once.
        share: Containers that it has by fairness now.
    """

    arrived_s: float
    demand: FloatArray
    running: float = 0.0
    size: float = _EQUAL
    whole_s: float = 0.0
    served_s: float = 0.0
    width: float = 1.0
    share: float = 1.0

    @property
    def left_s(self) -> float:
        """What it would have left."""
        return max(0.0, self.whole_s - self.served_s)


@dataclass(slots=True)
class _Followed:
    """What fairness would have done: jobs that are here, by row, and those that ended sooner than they would have."""

    at_s: float
    capacity: FloatArray
    jobs: dict[int, _Fair] = field(default_factory=dict)
    ahead: list[_Fair] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _StageLeft:
    """What is left of a stage: container-seconds, those of one task, the path behind it, and what of it runs."""

    left_s: float
    task_s: float
    tail_s: float = 0.0
    running: float = 0.0
    can_run: bool = True

    @property
    def path_s(self) -> float:
        """Until the job can end at the soonest, once a task of this stage begins."""
        return self.task_s + self.tail_s

    def takes(self, ends_s: float) -> float:
        """Containers that have to run for the job to end in so long."""
        return self.left_s / max(ends_s - self.tail_s, self.task_s, _EQUAL) if self.can_run else 0.0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a job wants now.

    Attributes:
        rows: Its requests, what is on the longest path first.
        due: How many of each are due; `helps` likewise by how many it ends sooner.
        work: What it has left: parts of the capacity times seconds.
        size: See `_Fair`.
        held: Dominant part of the capacity that it has.
    """

    rows: Sequence[int]
    due: Mapping[int, int]
    helps: Mapping[int, int]
    work: float
    size: float
    held: float

    def due_by_share(self) -> Iterator[tuple[float, int]]:
        """What is due, container by container, with the share that the job has before each."""
        at = self.held
        for row in self.rows:
            for _ in range(self.due[row]):
                yield at, row
                at += self.size


@dataclass(frozen=True, slots=True)
class _Kernel:
    rules: CarbyneRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:
        room = FreeCapacity(snapshot)
        for row, wanted, reason in self._order(snapshot, memory, turns):
            count = min(wanted, room.left(row)) if room.has_room(row) else 0
            if count:
                room.fill(row, np.flatnonzero(room.slots(row)), count, reason)
        return room.plan()

    def rank(
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int], plan: Plan
    ) -> Iterator[tuple[int, int]]:
        """Rank what waits: what is due, then leftover; see `RankKernel`."""
        granted = dict(plan.granted())
        for row, count, _ in self._order(snapshot, memory, turns):
            had = min(count, granted.get(row, 0))
            granted[row] = granted.get(row, 0) - had
            if count > had:
                yield row, count - had

    def _order(
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]
    ) -> Iterator[tuple[int, int, Reason]]:
        """What is to start, the first first: rows of requests, each with how many of its containers, and why."""
        wanted, given = self._wanted(snapshot, memory, turns), dict[int, int]()
        if self.rules.keeps_floor:
            by_share = ((at, job, row) for job, each in wanted.items() for at, row in each.due_by_share())
            for _, _, row in sorted(by_share):
                given[row] = given.get(row, 0) + 1
                yield row, 1, _DUE
        soonest = sorted(wanted, key=lambda job: (wanted[job].work, job))
        counts = snapshot.requests.numbers[RequestColumn.COUNT]
        for ends_sooner in (True, False):
            for row in (row for job in soonest for row in wanted[job].rows):
                job = int(snapshot.requests.numbers[RequestColumn.JOB, row])
                more = (wanted[job].helps[row] if ends_sooner else int(counts[row])) - given.get(row, 0)
                if more > 0:
                    given[row] = given.get(row, 0) + more
                    yield row, more, _LEFTOVER

    def _wanted(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> dict[int, _Wanted]:
        by_job: dict[int, list[int]] = {}
        for row in turns:
            by_job.setdefault(int(snapshot.requests.numbers[RequestColumn.JOB, row]), []).append(row)
        left = {job: _stages_left(snapshot, job, rows) for job, rows in by_job.items()}
        followed, found = _follow(snapshot, memory, by_job, left), dict[int, _Wanted]()
        for job, unsorted in by_job.items():
            fair, stages = followed.jobs[job], left[job]
            of_row = {row: stages[_stage_of(snapshot, row, len(stages))] for row in unsorted}
            rows = sorted(unsorted, key=lambda row: -of_row[row].path_s)
            longest_s = max((each.path_s for each in stages if each.left_s), default=0.0)
            counts = {row: int(snapshot.requests.numbers[RequestColumn.COUNT, row]) for row in rows}
            helps = {
                row: max(0, min(counts[row], math.ceil(stage.takes(longest_s) - stage.running - _EQUAL)))
                for row, stage in of_row.items()
            }
            rest, due = self._due(snapshot, job, fair, stages, longest_s), dict[int, int]()
            for row in rows:
                due[row] = max(0, min(counts[row], rest))
                rest -= due[row]
            work = sum(each.left_s for each in stages) * fair.size
            found[job] = _Wanted(rows, due, helps, work, fair.size, fair.running * fair.size)
        return found

    def _due(self, snapshot: Snapshot, job: int, fair: _Fair, stages: Sequence[_StageLeft], longest_s: float) -> int:
        """Containers that a job has to be given now, for its fair end."""
        wish = snapshot.knowledge.wishes.get(job, NO_WISHES).altruism
        altruism = self.rules.altruism if wish is None else wish
        ends_s = max(longest_s, fair.left_s / max(fair.share, _EQUAL))
        takes = sum(stage.takes(ends_s) for stage in stages)
        is_late = takes > self.rules.patience * max(1.0, fair.share)
        least = takes if is_late else self.rules.floor * takes
        return math.ceil(altruism * least + (1.0 - altruism) * max(takes, fair.share) - fair.running - _ROUNDING)


def _stage_of(snapshot: Snapshot, row: int, n_stages: int) -> int:
    stage = int(snapshot.requests.numbers[RequestColumn.STAGE, row])
    return stage if 0 <= stage < n_stages else 0


def _stages_left(snapshot: Snapshot, job: int, rows: Sequence[int]) -> list[_StageLeft]:
    """By the graph where it is known; else one stage of all that waits and runs."""
    graph, finished = snapshot.knowledge.graphs.get(job, ()), snapshot.knowledge.finished.get(job, ())
    if not graph or len(finished) != len(graph):
        waiting, running = snapshot.jobs[[Column.WAITING, Column.RUNNING], job].tolist()
        task_s = max(1.0, float(snapshot.requests.times[RequestTime.EXPECTED_S, rows[0]]))
        return [_StageLeft((waiting + _HALF * running) * task_s, task_s, running=running)]
    asked = [0] * len(graph)
    for row in rows:
        asked[_stage_of(snapshot, row, len(graph))] += int(snapshot.requests.numbers[RequestColumn.COUNT, row])
    has_ended = [done >= stage.n_tasks for done, stage in zip(finished, graph, strict=True)]
    tails_s = paths_behind_s([stage.parents for stage in graph], [stage.expected_s for stage in graph])
    found: list[_StageLeft] = []
    for stage, done, waits, tail_s in zip(graph, finished, asked, tails_s, strict=True):
        left = max(0, stage.n_tasks - done)
        can_run = left > 0 and all(has_ended[parent] for parent in stage.parents)
        running = float(max(0, left - waits)) if can_run else 0.0
        found.append(
            _StageLeft((left - _HALF * running) * stage.expected_s, stage.expected_s, tail_s, running, can_run)
        )
    return found


def _follow(
    snapshot: Snapshot,
    memory: dict[str, object],
    by_job: Mapping[int, Sequence[int]],
    left: Mapping[int, Sequence[_StageLeft]],
) -> _Followed:
    """Follow what fairness would have done up to now; shares are as of now."""
    before, free = memory.get(_FAIR), np.maximum(snapshot.nodes.free, 0).sum(axis=0).astype(np.float64)
    if not isinstance(before, _Followed) or before.capacity.shape != free.shape:
        before = _Followed(snapshot.now_s, free)
    known = memory[_FAIR] = before
    step_s, known.at_s = max(0.0, snapshot.now_s - known.at_s), max(known.at_s, snapshot.now_s)
    for fair in (*known.jobs.values(), *known.ahead):
        fair.served_s += fair.share * step_s
    for job, fair in list(known.jobs.items()):
        arrived_s, running, waiting = snapshot.jobs[[Column.ARRIVED_S, Column.RUNNING, Column.WAITING], job].tolist()
        fair.running = running
        if fair.arrived_s != arrived_s or (job not in by_job and not running and not waiting):
            known.ahead.append(known.jobs.pop(job))
            fair.running = 0.0
    known.ahead = [fair for fair in known.ahead if fair.left_s > _EQUAL]
    for job, rows in by_job.items():
        arrived_s, running, waiting, finished_s = snapshot.jobs[
            [Column.ARRIVED_S, Column.RUNNING, Column.WAITING, Column.FINISHED_S], job
        ].tolist()
        fair = known.jobs.setdefault(job, _Fair(arrived_s, _mean_demand(snapshot, rows)))
        fair.running, fair.width = running, max(1.0, running + waiting)
        fair.whole_s = finished_s + sum(each.left_s for each in left[job])
    held = sum((fair.running * fair.demand for fair in known.jobs.values()), np.zeros_like(free))
    known.capacity = np.maximum(known.capacity, free + held)
    _divide([*known.jobs.values(), *known.ahead], known.capacity)
    return known


def _mean_demand(snapshot: Snapshot, rows: Sequence[int]) -> FloatArray:
    """Mean demand of the containers that a job asks for."""
    counts = np.maximum(snapshot.requests.numbers[RequestColumn.COUNT, list(rows)], 1).astype(np.float64)
    demands = np.array([snapshot.requests.needs[row].demand for row in rows], dtype=np.float64)
    mean: FloatArray = counts @ demands / counts.sum()
    return mean


def _divide(jobs: Sequence[_Fair], capacity: FloatArray) -> None:
    """Divide the capacity: equal dominant shares, as large as can be, but to none more than it could use."""
    if not jobs:
        return
    parts = np.array([fair.demand for fair in jobs]) / np.where(capacity > 0, capacity, np.inf)
    sizes = np.maximum(parts.max(axis=1), _EQUAL)
    widths = np.array([fair.width if fair.left_s > _EQUAL else 0.0 for fair in jobs])
    least, most = 0.0, float((widths * sizes).max())
    for _ in range(_HALVINGS):
        middle = (least + most) / 2.0
        fits = bool((np.minimum(widths, middle / sizes) @ parts <= 1.0 + _EQUAL).all())
        least, most = (middle, most) if fits else (least, middle)
    everybody_fits = bool((widths @ parts <= 1.0 + _EQUAL).all())
    shares = widths if everybody_fits else np.minimum(widths, least / sizes)
    for fair, size, share in zip(jobs, sizes.tolist(), shares.tolist(), strict=True):
        fair.size, fair.share = size, share


def carbyne(rules: CarbyneRules, name: str = "carbyne") -> Policy:
    """Carbyne with other rules."""
    kernel = _Kernel(rules)
    return Policy(
        name,
        Ordering(least_share, learns_durations=True, reads_shares=True),
        Placement(CellChoice.BY_ROOM, kernel=kernel, rank=kernel.rank),
        summary="to each job what its fair end takes; the leftover of all to who has least work left",
        source="Grandl et al., OSDI 2016",
        needs=frozenset({Fact.VECTORS, Fact.ESTIMATES}),
        uses=frozenset({Fact.DAG}),
        rules=rules,
        remake=lambda others: carbyne(others, name),
    )


CARBYNE = carbyne(CarbyneRules())
