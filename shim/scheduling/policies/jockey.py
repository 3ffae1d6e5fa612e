"""Jockey: each job with a deadline may count on as many containers as its deadline takes, and on no more.

Once in a control period the least allocation is looked for that ends the job in time, by what former runs say of jobs
that have come so far (`completion_table.py`). A job that is ahead gives back. Who has least slack goes first; then come
jobs without a deadline, and what is left over goes to anybody. A job of which nothing can be predicted may count on all
that it asks for: the paper has no such jobs, as it admits none without a former run.

Source: Ferguson et al., EuroSys 2012.

The number of containers that a deadline takes: the least that are worth most, smoothed over control periods.

Source: Ferguson et al., EuroSys 2012, section 4.4.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shim.scheduling.completion_table import JobForecast
from shim.scheduling.durations import ENOUGH_FINISHED, FloatArray
from shim.scheduling.former_runs import FormerStage, of_size
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.knowledge import StageOutline
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import Plan, Reason, ReasonCode
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, fewest_running
from shim.scheduling.snapshot import Column, RequestColumn, RequestTime, Snapshot

_EQUAL = 1e-9
_LATE, _VERY_LATE, _LOSS = 10.0, 1000.0, 1000.0


@dataclass(frozen=True, slots=True)
class DeadlineRules:
    """Constants of the control loop."""

    slack: float = parameter(1.2, least=0.1, section="section 4.4", meaning="What is predicted counts so many times.")
    dead_periods: float = parameter(
        3.0,
        unit="periods",
        section="section 4.4",
        meaning="A job is steered towards a deadline that is so many control periods earlier.",
    )
    hysteresis: float = parameter(
        0.5,
        least=0.01,
        most=1.0,
        section="section 4.4 (alpha)",
        published=0.2,
        meaning="Part of the way to a new allocation that is gone in one period. With the paper's, and a fortieth of "
        "the deadline as the period, it is an eighth of the deadline behind what is needed.",
    )
    periods: int = parameter(
        40,
        least=1,
        most=10_000,
        meaning="Control periods up to the deadline. The paper's period of a minute is 40 for jobs of 40 minutes.",
    )


@dataclass(frozen=True, slots=True)
class DeadlineControl:
    """A job's allocation until the next control period.

    Attributes:
        allocation: Smoothed; `containers` are whole.
        until_s: When the period ends.
        slack_s: From the predicted end to the deadline.
    """

    arrived_s: float
    allocation: float
    progress: float
    until_s: float
    slack_s: float

    @property
    def containers(self) -> int:
        """Whole containers, at least one."""
        return max(1, math.ceil(self.allocation - 1e-9))


def utility_of_end(end: float, deadline: float, unit: float = 1.0) -> float:
    """Worth of an end at a time: 1 up to the deadline, -1 ten units later, then about -1 for each unit.

    As long as it falls, its shape after the deadline decides nothing: the soonest of late ends is worth most.
    """
    late = (end - deadline) / unit
    if late <= 0.0:
        return 1.0
    if late <= _LATE:
        return 1.0 - 2.0 * late / _LATE
    return -1.0 - (_LOSS - 1.0) * (late - _LATE) / (_VERY_LATE - _LATE)


def raw_allocation(
    grid: Sequence[int], left: FloatArray, elapsed: float, deadline: float, rules: DeadlineRules, unit: float = 1.0
) -> int:
    """The least allocation whose predicted end is worth most.

    Args:
        grid: Allocations to choose from, rising.
        elapsed: Since submission.
        deadline: Since submission.
        unit: Length of a control period.
    """
    target = deadline - rules.dead_periods * unit
    worth = np.array([utility_of_end(elapsed + rules.slack * float(each), target, unit) for each in left])
    return grid[int(np.argmax(worth >= worth.max() - _EQUAL))]


def smoothed(before: float | None, raw: int, hysteresis: float) -> float:
    """Go a part of the way from the former allocation to a new one; the first is taken as it is."""
    return float(raw) if before is None else before + hysteresis * (raw - before)


_BACKED = Reason(ReasonCode.POLICY, (("text", "its deadline takes it"),))
_SPARE = Reason(ReasonCode.POLICY, (("text", "nobody else could use this room"),))
_CONTROLS = "allocations of jobs"


@dataclass(frozen=True, slots=True)
class JockeyRules:
    """Rules that the policy steers by.

    Attributes:
        control: Constants of the loop.
    """

    control: DeadlineRules = field(default_factory=DeadlineRules)
    uses_table: bool = parameter(
        default=True,
        meaning="Whether C(p, a), from simulated runs, is used; else Amdahl's estimate.",
    )
    adapts: bool = parameter(default=True, meaning="Whether the first allocation of a job is ever changed.")
    fixed: int = parameter(
        0,
        unit="containers",
        meaning="For each job with a deadline, whatever it needs; 0 for as many as its deadline takes.",
    )
    keeps_pace: bool = parameter(
        default=True,
        published=False,
        meaning="Whether predictions are stretched by how much slower than expected the ended tasks of this run were. "
        "The paper reads progress alone: a run that is slow from its begin is late before that shows.",
    )
    trusted_pace: float = parameter(
        3.0,
        least=1.0,
        meaning="Where ended tasks took so many times as long as those of the former run, or that part of it, the "
        "former run does not describe this one: what is left is estimated by this run's own times, and as long as "
        "these are not known all that the job asks for is backed.",
    )


@dataclass(frozen=True, slots=True)
class _Kernel:
    rules: JockeyRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:
        controls = self._controls(snapshot, memory, turns)
        room, spent = FreeCapacity(snapshot), dict[int, int]()
        rows = defaultdict[int, list[int]](list)
        for row in turns:
            rows[int(snapshot.requests.numbers[RequestColumn.JOB, row])].append(row)
        for job in sorted(controls, key=lambda job: (controls[job].slack_s, controls[job].allocation, job)):
            spent[job] = int(snapshot.jobs[Column.RUNNING, job])
            for row in rows[job]:
                most = max(0, controls[job].containers - spent[job])
                spent[job] += self._fill(room, row, min(most, room.left(row)), _BACKED)
        for has_deadline, reason in ((False, Reason(ReasonCode.ROOM)), (True, _SPARE)):
            for job in rows:
                for row in rows[job] if (job in controls) is has_deadline else ():
                    self._fill(room, row, room.left(row), reason)
        shares = {job: control.containers for job, control in controls.items()}
        for job in controls:
            text = f"its deadline takes {shares[job]} containers, and others wait"
            for row in rows[job]:
                room.hold(row, Reason(ReasonCode.POLICY, (("text", text),)), controls[job].until_s)
        return replace(room.plan(), shares=shares)

    def rank(
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int], plan: Plan
    ) -> Iterator[tuple[int, int]]:
        """Rank what deadlines still take, then jobs without one; see `RankKernel`.

        What jobs with deadlines want beyond that is held: it starts where nobody else could use a place.
        """
        controls = self._controls(snapshot, memory, turns)
        granted, numbers = plan.granted(), snapshot.requests.numbers
        left, rows, spent = dict[int, int](), defaultdict[int, list[int]](list), dict[int, int]()
        for row in turns:
            job, count = numbers[[RequestColumn.JOB, RequestColumn.COUNT], row].tolist()
            rows[job].append(row)
            left[row] = count - granted.get(row, 0)
            spent[job] = spent.get(job, int(snapshot.jobs[Column.RUNNING, job])) + granted.get(row, 0)
        for job in sorted(controls, key=lambda job: (controls[job].slack_s, controls[job].allocation, job)):
            for row in rows[job]:
                backed = max(0, min(left[row], controls[job].containers - spent[job]))
                spent[job] += backed
                yield row, backed
        yield from ((row, left[row]) for job in rows if job not in controls for row in rows[job])

    def _fill(self, room: FreeCapacity, row: int, count: int, reason: Reason) -> int:
        return room.fill(row, np.flatnonzero(room.slots(row)), count, reason) if count and room.has_room(row) else 0

    def _controls(
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]
    ) -> dict[int, DeadlineControl]:
        """Allocations of the jobs with deadlines; those whose control period is over are computed anew."""
        before = memory.get(_CONTROLS)
        known: dict[int, DeadlineControl] = before if isinstance(before, dict) else {}
        waiting = {int(snapshot.requests.numbers[RequestColumn.JOB, row]): row for row in turns}
        found = {job: known[job] for job in known if job in snapshot.knowledge.finished}
        for job, row in waiting.items():
            arrived_s, deadline_s = snapshot.jobs[[Column.ARRIVED_S, Column.DEADLINE_S], job].tolist()
            last = found.pop(job, None)
            if last is not None and last.arrived_s != arrived_s:
                last = None  # another job of the same row
            if last is not None and not (self.rules.adapts and snapshot.now_s >= last.until_s):
                found[job] = last
            elif deadline_s > arrived_s:
                forecast = forecast_of(snapshot, job, row)
                steered = None if forecast is None else self._steer(snapshot, job, forecast, last)
                found[job] = steered or _all_of_it(snapshot, job)
        memory[_CONTROLS] = found
        return found

    def _steer(
        self, snapshot: Snapshot, job: int, forecast: JobForecast, last: DeadlineControl | None
    ) -> DeadlineControl:
        rules = self.rules.control
        arrived_s, deadline_s = snapshot.jobs[[Column.ARRIVED_S, Column.DEADLINE_S], job].tolist()
        unit_s, elapsed_s = (deadline_s - arrived_s) / rules.periods, snapshot.now_s - arrived_s
        finished = snapshot.knowledge.finished.get(job, (int(snapshot.jobs[Column.FINISHED, job]),))
        if len(finished) != len(forecast.stages):
            return _all_of_it(snapshot, job)  # nobody can say how far it is
        pace = slowdown_of(snapshot, job, forecast.stages, finished)
        trusted = self.rules.trusted_pace
        if sum(finished) >= ENOUGH_FINISHED and not 1.0 / trusted <= pace <= trusted:
            own = _by_own_times(snapshot, job)
            if own is None:
                return _all_of_it(snapshot, job)
            forecast, pace = own, 1.0
        progress, parts = forecast.progress(finished)
        progress = progress if last is None else max(progress, last.progress)
        model = forecast if self.rules.uses_table else replace(forecast, table=None)
        grid, left_s = model.left_s(progress, parts, max(1, int(snapshot.jobs[Column.TASKS, job])))
        left_s = left_s * pace if self.rules.keeps_pace else left_s
        raw = self.rules.fixed or raw_allocation(grid, left_s, elapsed_s, deadline_s - arrived_s, rules, unit_s)
        allocation = smoothed(None if last is None else last.allocation, raw, rules.hysteresis)
        expected_s = rules.slack * float(np.interp(allocation, grid, left_s))
        return DeadlineControl(
            arrived_s, allocation, progress, snapshot.now_s + unit_s, deadline_s - snapshot.now_s - expected_s
        )


def _all_of_it(snapshot: Snapshot, job: int) -> DeadlineControl:
    """Back all that a job asks for, of which nothing can be predicted; the nearer its deadline, the sooner."""
    arrived_s, deadline_s, waiting, running = snapshot.jobs[
        [Column.ARRIVED_S, Column.DEADLINE_S, Column.WAITING, Column.RUNNING], job
    ].tolist()
    return DeadlineControl(arrived_s, waiting + running, 0.0, snapshot.now_s, deadline_s - snapshot.now_s)


def jockey(rules: JockeyRules, name: str = "jockey") -> Policy:
    kernel = _Kernel(rules)
    return Policy(
        name,
        Ordering(fewest_running),
        Placement(CellChoice.BY_ROOM, kernel=kernel, rank=kernel.rank),
        summary="as many containers for each job as its deadline takes, by what former runs say",
        source="Ferguson et al., EuroSys 2012",
        needs=frozenset({Fact.DEADLINES, Fact.ESTIMATES}),
        uses=frozenset({Fact.DAG}),
        rules=rules,
        remake=lambda others: jockey(others, name),
    )


JOCKEY = jockey(JockeyRules())


# Forecast of a job by what is known of it, and the pace of its present run beside what was expected.

_TRUSTED_PART = 0.01
"""Of a job's work: so much counts as if it had run as expected, lest the first ends of tasks decide."""


def forecast_of(snapshot: Snapshot, job: int, row: int) -> JobForecast | None:
    """Predict by former runs; without any, by what is stated of each stage, or of the request's own tasks.

    Former runs are of no use if they had other stages. If this run has another number of tasks in one, the simulated
    runs are of another job: what is left is then estimated anew, from their times and this run's numbers.
    """
    graph, told = snapshot.knowledge.graphs.get(job), snapshot.knowledge.forecasts.get(job)
    finished = snapshot.knowledge.finished.get(job)
    if told is not None and len(told.stages) == len(graph or finished or told.stages):
        return told if graph is None else _of_this_size(told, graph)
    if graph is not None:
        return _by_own_times(snapshot, job)
    expected_s = float(snapshot.requests.times[RequestTime.EXPECTED_S, row])
    n_tasks = int(snapshot.jobs[Column.TASKS, job])
    return JobForecast((FormerStage((expected_s,), n_tasks),)) if expected_s > 0.0 else None


def _by_own_times(snapshot: Snapshot, job: int) -> JobForecast | None:
    """By what is known of each stage of this run, without any other; None where that is not known of all."""
    graph = snapshot.knowledge.graphs.get(job, ())
    if not graph or any(stage.expected_s <= 0.0 for stage in graph):
        return None
    return JobForecast(tuple(FormerStage((each.expected_s,), each.n_tasks, each.parents) for each in graph))


def _of_this_size(told: JobForecast, graph: Sequence[StageOutline]) -> JobForecast:
    stages = of_size(told.stages, [outline.n_tasks for outline in graph])
    return told if stages == told.stages else replace(told, stages=stages, table=None)


def slowdown_of(snapshot: Snapshot, job: int, stages: Sequence[FormerStage], finished: Sequence[int]) -> float:
    """Run time of a job's ended tasks as a multiple of what was expected of them; 1 where nothing was expected.

    Where tasks of stages were timed these times count: a container may run several tasks, and end with the last.

    Args:
        snapshot: Tells what its ended tasks ran in all.
        stages: What was expected of it.
        finished: Ended tasks by stage.
    """
    whole_s, took_s = sum(stage.work_s for stage in stages), float(snapshot.jobs[Column.FINISHED_S, job])
    ran_s = snapshot.knowledge.ran_s.get(job, ())
    if len(ran_s) == len(finished) == len(stages):
        finished = [done if each else 0 for done, each in zip(finished, ran_s, strict=True)]
        took_s = sum(done * each for done, each in zip(finished, ran_s, strict=True))
    if len(stages) != len(finished) or whole_s <= 0.0 or took_s <= 0.0:
        return 1.0
    ended_s = sum(done * stage.work_s / max(1, stage.n_tasks) for done, stage in zip(finished, stages, strict=True))
    trusted_s = _TRUSTED_PART * whole_s
    return (took_s + trusted_s) / (ended_s + trusted_s)
