"""Jockey: each job with a deadline may count on as many containers as its deadline takes, and on no more.

Once in a control period the least allocation is looked for that ends the job in time, by what former runs say of jobs
that have come so far (`completion_table.py`). A job that is ahead gives back. Who has least slack goes first; then come
jobs without a deadline, and what is left over goes to anybody. A job of which nothing can be predicted may count on all
that it asks for: the paper has no such jobs, as it admits none without a former run.

Source: Ferguson et al., EuroSys 2012.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shim.scheduling.completion_table import JobForecast
from shim.scheduling.deadline_control import DeadlineControl, DeadlineRules, raw_allocation, smoothed
from shim.scheduling.job_forecasts import forecast_of, slowdown_of
from shim.scheduling.job_table import Column
from shim.scheduling.open_room import OpenRoom
from shim.scheduling.orderings import fewest_running
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import Plan, Reason, ReasonCode, Turn
from shim.scheduling.policy import CellChoice, Fact, NodeChoice, Ordering, Placement, Policy
from shim.scheduling.snapshot import RequestColumn, Snapshot

__all__ = ["JOCKEY", "JockeyRules", "jockey"]

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


@dataclass(frozen=True, slots=True)
class _Kernel:
    rules: JockeyRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[Turn]) -> Plan:
        controls = self._controls(snapshot, memory, turns)
        room, spent = OpenRoom(snapshot), dict[int, int]()
        rows = defaultdict[int, list[int]](list)
        for turn in turns:
            rows[int(snapshot.requests.numbers[RequestColumn.JOB, turn.request])].append(turn.request)
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
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[Turn], plan: Plan
    ) -> Iterator[tuple[int, int]]:
        """Rank what deadlines still take, then jobs without one; see `RankKernel`.

        What jobs with deadlines want beyond that is held: it starts where nobody else could use a place.
        """
        controls = self._controls(snapshot, memory, turns)
        granted, numbers = plan.granted(), snapshot.requests.numbers
        left, rows, spent = dict[int, int](), defaultdict[int, list[int]](list), dict[int, int]()
        for turn in turns:
            job, count = numbers[[RequestColumn.JOB, RequestColumn.COUNT], turn.request].tolist()
            rows[job].append(turn.request)
            left[turn.request] = count - granted.get(turn.request, 0)
            spent[job] = spent.get(job, int(snapshot.jobs[Column.RUNNING, job])) + granted.get(turn.request, 0)
        for job in sorted(controls, key=lambda job: (controls[job].slack_s, controls[job].allocation, job)):
            for row in rows[job]:
                backed = max(0, min(left[row], controls[job].containers - spent[job]))
                spent[job] += backed
                yield row, backed
        yield from ((row, left[row]) for job in rows if job not in controls for row in rows[job])

    def _fill(self, room: OpenRoom, row: int, count: int, reason: Reason) -> int:
        return room.fill(row, np.flatnonzero(room.slots(row)), count, reason) if count and room.has_room(row) else 0

    def _controls(
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[Turn]
    ) -> dict[int, DeadlineControl]:
        """Allocations of the jobs with deadlines; those whose control period is over are computed anew."""
        before = memory.get(_CONTROLS)
        known: dict[int, DeadlineControl] = before if isinstance(before, dict) else {}
        waiting = {int(snapshot.requests.numbers[RequestColumn.JOB, turn.request]): turn.request for turn in turns}
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
        progress, parts = forecast.progress(finished)
        progress = progress if last is None else max(progress, last.progress)
        model = forecast if self.rules.uses_table else replace(forecast, table=None)
        grid, left_s = model.left_s(progress, parts, max(1, int(snapshot.jobs[Column.TASKS, job])))
        left_s = left_s * slowdown_of(snapshot, job, finished) if self.rules.keeps_pace else left_s
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
    """Jockey with other rules."""
    kernel = _Kernel(rules)
    return Policy(
        name,
        Ordering(fewest_running),
        Placement(CellChoice.BY_ROOM, NodeChoice.PACK, kernel=kernel, rank=kernel.rank),
        summary="as many containers for each job as its deadline takes, by what former runs say",
        source="Ferguson et al., EuroSys 2012",
        needs=frozenset({Fact.DEADLINES, Fact.ESTIMATES}),
        rules=rules,
        remake=lambda others: jockey(others, name),
    )


JOCKEY = jockey(JockeyRules())
