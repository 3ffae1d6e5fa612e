"""Runs jobs on a site under one policy: cycles of the scheduling core on snapshots of what the model knows.

A cycle runs when tasks ended, jobs arrived or a hold is over, at most once in `every_s`. What it grants starts at once
and runs for the task's time, longer away from its data. Whatever the cycle may not know (true times) is not in the
snapshot. How long tasks run is learnt as Global Masters learn it (`JobBook`): from tasks that have ended.
"""

import math
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from shim.concurrency.solver_child import solve_here
from shim.domain.resources import Need
from shim.errors import InvariantViolationError
from shim.scheduling.cycle import CycleState
from shim.scheduling.durations import DurationModel
from shim.scheduling.knowledge import Knowledge, StageOutline
from shim.scheduling.node_index import Cell, index_nodes
from shim.scheduling.plan import MadeBy, PlannedGrant
from shim.scheduling.policy import Policy
from shim.scheduling.service_round import broken_part
from shim.scheduling.snapshot import (
    Column,
    JobTable,
    Preferred,
    RequestTable,
    Running,
    Scope,
    Snapshot,
    expect_durations,
)
from shim.scheduling.solvers import SolveFunction
from shim.scheduling.solving import run_solved_cycle
from shim.scheduling.tag_constraints import NO_SERVICES, ServiceFacts, TaggedContainers
from shim.simulation.engine import Engine, seeded
from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob
from shim.simulation.policy_runs.results import RunFigures

_ANYWHERE = ()
_LIMIT_S = 60.0
"""Far above what any of these problems takes: a limit in wall time could not be repeated."""


@dataclass(slots=True)
class _Stage:
    """A stage of a job that began; `left` are its tasks that did not."""

    job: int
    number: int
    row: int
    left: list[int]
    since_s: float
    hosts: Counter[int] = field(default_factory=Counter)
    has_started: bool = False


@dataclass(slots=True)
class _Job:
    """A job that arrived."""

    row: int
    finished: list[int]
    open_stages: set[int] = field(default_factory=set)


def run_policy(
    jobs: list[PolicyJob],
    site: ModelledSite,
    policy: Policy,
    *,
    every_s: float = 1.0,
    until_s: float = math.inf,
    solve: SolveFunction | None = solve_here,
) -> RunFigures:
    """Run all jobs to their end, or until a time.

    Raises:
        InvariantViolationError: If a plan grants more than is free, or more than is wanted.
    """
    run = _Run(jobs, site, policy, every_s, solve)
    run.engine.run(until_s)
    return run.close()


class _Run:
    def __init__(
        self,
        jobs: list[PolicyJob],
        site: ModelledSite,
        policy: Policy,
        every_s: float,
        solve: SolveFunction | None,
    ) -> None:
        self.engine = Engine()
        self._solve = solve
        self._jobs, self._site, self._every_s = jobs, site, every_s
        # nobody else picks a node here
        self._policy = replace(policy, placement=replace(policy.placement, scope=Scope.NODE))
        free = np.repeat(np.array([site.capacity], dtype=np.int64), site.n_nodes, axis=0)
        self._nodes = index_nodes(free, [Cell(0, 0, site.n_nodes)])
        self._nodes.racks = site.racks
        self._table, self._requests = JobTable(), RequestTable()
        self._durations = DurationModel()
        self._running: dict[int, _Job] = {}
        self._by_row: dict[int, _Stage] = {}
        self._begun: dict[int, tuple[int, int, tuple[int, ...], float, float]] = {}
        self._starts = 0
        self._state = CycleState(seeded(1, "policy"))
        self._next_s, self._looks_at = -math.inf, math.inf
        self._shares: dict[int, tuple[int, float]] = {}
        self._tagged: Counter[tuple[int, frozenset[str]]] = Counter()
        self._used, self._since_s, self._used_s = np.zeros(len(site.capacity)), 0.0, np.zeros(len(site.capacity))
        self.figures = RunFigures(np.full(len(jobs), np.nan))
        for number, job in enumerate(jobs):
            self.engine.at(job.arrival_s, self._arrive, number)

    # ------------------------------------------------------------------ events

    def _arrive(self, number: int) -> None:
        job, row = self._jobs[number], self._table.add()
        for column, value in (
            (Column.TASKS, job.n_tasks),
            (Column.ARRIVED_S, job.arrival_s),
            (Column.QUEUE, job.queue),
            (Column.DEADLINE_S, 0.0 if math.isinf(job.deadline_s) else job.deadline_s),
        ):
            self._table.put(column, row, float(value))
        self._running[number] = _Job(row, [0] * len(job.stages))
        for stage, work in enumerate(job.stages):
            if not work.parents:
                self._open(number, stage)
        self._cycle_soon()

    def _open(self, number: int, stage: int) -> None:
        job, work = self._running[number], self._jobs[number].stages[stage]
        need, count = Need(work.demand), len(work.durations_s)
        row = self._requests.add(
            job.row,
            need,
            count,
            since_s=self.engine.now_s,
            priority=stage,
            stage=stage,
            gang=number * 1000 + stage + 1 if work.is_gang else 0,
            expected_s=work.stated_s,
            deadline_s=self._jobs[number].deadline_s,
        )
        found = _Stage(number, stage, row, list(range(count)), self.engine.now_s)
        found.hosts.update(node for places in work.places for node in places)
        self._by_row[row] = found
        job.open_stages.add(stage)
        self._prefer(found)
        self._waiting(job.row, count)
        self._table.put(Column.ESTIMATE_S, job.row, work.stated_s)

    def _waiting(self, row: int, change: int) -> None:
        self._table.set_waiting(row, is_waiting=self._table.shift(Column.WAITING, row, change) > 0)

    def _prefer(self, stage: _Stage) -> None:
        if not stage.hosts:
            return
        racks: Counter[int] = Counter()
        for node, count in stage.hosts.items():
            racks[int(self._site.racks[node])] += count
        nodes = [Preferred(Scope.NODE, node, count) for node, count in sorted(stage.hosts.items()) if count]
        near = [Preferred(Scope.RACK, rack, count) for rack, count in sorted(racks.items()) if count]
        self._requests.prefer(stage.row, [*nodes, *near])

    def _end(self, number: int, stage: int, node: int, ran_for_s: float, start: int) -> None:
        del self._begun[start]
        job, work = self._running[number], self._jobs[number].stages[stage]
        self._nodes.shift(node, work.demand, +1)
        self._use(work.demand, -1)
        if work.tags:
            self._tagged[node, work.tags] -= 1
        self._table.shift(Column.RUNNING, job.row, -1.0)
        self._table.shift(Column.STARTED_S, job.row, -(self.engine.now_s - ran_for_s))
        if self._table.count_ended(job.row, ran_for_s, self._durations.resemblance):
            self._durations.observe(ran_for_s)
        job.finished[stage] += 1
        if job.finished[stage] == len(work.durations_s):
            self._stage_done(number)
        self._cycle_soon()

    def _stage_done(self, number: int) -> None:
        job, stages = self._running[number], self._jobs[number].stages
        done = {each for each, work in enumerate(stages) if job.finished[each] == len(work.durations_s)}
        for each, work in enumerate(stages):
            if each not in job.open_stages and done.issuperset(work.parents):
                self._open(number, each)
        if len(done) == len(stages):
            self._table.compare(job.row, self._durations.resemblance)
            self._table.remove(job.row)
            del self._running[number]
            self.figures.response_s[number] = self.engine.now_s - self._jobs[number].arrival_s
            self.figures.makespan_s = self.engine.now_s
            self._promise(job.row, 0)
            if math.isfinite(self._jobs[number].deadline_s):
                self.figures.promised_work_s += self._jobs[number].work_s
                is_late = self.engine.now_s > self._jobs[number].deadline_s + 1e-9
                self.figures.missed += is_late
                allowed_s = self._jobs[number].deadline_s - self._jobs[number].arrival_s
                self.figures.beside_deadline.append(float(self.figures.response_s[number]) / allowed_s)
                self.figures.met += not is_late

    # ------------------------------------------------------------------ cycles

    def _cycle_soon(self) -> None:
        at_s = max(self.engine.now_s, self._next_s)
        if at_s < self._looks_at:
            self._looks_at = at_s
            self.engine.at(at_s, self._cycle, at_s)

    def _cycle(self, at_s: float) -> None:
        if at_s != self._looks_at:
            return
        self._looks_at, self._next_s = math.inf, self.engine.now_s + self._every_s
        snapshot = self._snapshot()
        plan = run_solved_cycle(snapshot, self._policy, self._state, self._solve, _LIMIT_S)
        self.figures.cycles += 1
        self.figures.solver_plans += plan.made_by is not MadeBy.GREEDY
        for grant in plan.grants:
            self._start(grant)
        if any(grant.request in snapshot.knowledge.services.tags for grant in plan.grants):
            self.figures.broken.append(broken_part(self._snapshot()))
        for row, count in plan.shares.items():
            self._promise(row, count)
        looks = [hold.until_s for hold in plan.holds if hold.until_s is not None]
        if looks and self._by_row:
            next_s = max(min(looks), self._next_s)
            self._looks_at = next_s
            self.engine.at(next_s, self._cycle, next_s)

    def _promise(self, row: int, count: int) -> None:
        """A job may count on so many containers from now on."""
        before, since_s = self._shares.pop(row, (0, 0.0))
        self.figures.promised_s += before * (self.engine.now_s - since_s)
        if count:
            self._shares[row] = (count, self.engine.now_s)

    def _snapshot(self) -> Snapshot:
        if self._policy.ordering.learns_durations and not self._table.is_idle:
            expect_durations(self._table, self._durations, self.engine.now_s)
        return Snapshot(
            self.engine.now_s,
            self._nodes,
            self._table.all_columns,
            self._requests.requests(),
            running=self._what_runs(),
            knowledge=self._knowledge(),
        )

    def _what_runs(self) -> Running:
        """Running tasks, with what their stages stated."""
        begun = self._begun.values()
        return Running(
            np.array([job for job, _, _, _, _ in begun], dtype=np.int64),
            np.zeros(len(begun), dtype=np.int64),
            np.array([node for _, node, _, _, _ in begun], dtype=np.int64),
            np.array([demand for _, _, demand, _, _ in begun], dtype=np.int64).reshape(-1, len(self._site.capacity)),
            np.array([since_s for _, _, _, since_s, _ in begun]),
            np.array([stated_s for _, _, _, _, stated_s in begun]),
        )

    def _knowledge(self) -> Knowledge:
        graphs = {
            job.row: tuple(
                StageOutline(len(each.durations_s), each.stated_s, each.demand, each.parents)
                for each in self._jobs[number].stages
            )
            for number, job in self._running.items()
        }
        finished = {job.row: tuple(job.finished) for job in self._running.values()}
        forecasts = {
            job.row: told for number, job in self._running.items() if (told := self._jobs[number].forecast) is not None
        }
        return Knowledge(graphs, finished, forecasts, self._services())

    def _services(self) -> ServiceFacts:
        if not self._site.constraints:
            return NO_SERVICES
        stages = self._by_row.items()
        tags = {row: tags for row, stage in stages if (tags := self._jobs[stage.job].stages[stage.number].tags)}
        running = (TaggedContainers(node, tags, count) for (node, tags), count in self._tagged.items() if count)
        return ServiceFacts(tags, tuple(running), self._site.constraints, keep_free=self._site.keep_free)

    def _start(self, grant: PlannedGrant) -> None:
        stage = self._by_row.get(grant.request)
        if stage is None or grant.count > len(stage.left) or grant.scope is not Scope.NODE:
            raise InvariantViolationError(f"{self._policy.name} granted what nobody waits for: {grant}")
        job, work = self._running[stage.job], self._jobs[stage.job].stages[stage.number]
        if not stage.has_started:
            stage.has_started = True
            waited_s = self.engine.now_s - stage.since_s
            self.figures.longest_wait_s = max(self.figures.longest_wait_s, waited_s)
            self.figures.service_waits_s += [waited_s] if work.tags else []
        for _ in range(grant.count):
            self._nodes.shift(grant.place, work.demand, -1)
            if min(self._nodes.free_of(grant.place)) < 0:
                raise InvariantViolationError(f"{self._policy.name} granted more than node {grant.place} has: {grant}")
            task = self._pick(stage, work.places, grant.place)
            factor = self._factor(work.places[task] if work.places else _ANYWHERE, grant.place)
            duration_s = work.durations_s[task] * factor
            self._use(work.demand, +1)
            if self._table.shift(Column.RUNNING, job.row, +1.0) == 1.0:
                self._table.expect_anew(job.row)
            self._table.shift(Column.STARTED_S, job.row, self.engine.now_s)
            self._starts += 1
            self._begun[self._starts] = (job.row, grant.place, work.demand, self.engine.now_s, work.stated_s)
            self.engine.after(duration_s, self._end, stage.job, stage.number, grant.place, duration_s, self._starts)
        if work.tags:
            self._tagged[grant.place, work.tags] += grant.count
        self._requests.set_count(grant.request, len(stage.left))
        self._waiting(job.row, -grant.count)
        self._prefer(stage)
        if not stage.left:
            self._requests.remove(grant.request)
            del self._by_row[grant.request]

    def _pick(self, stage: _Stage, places: tuple[tuple[int, ...], ...], node: int) -> int:
        """The next task for a node: one with its data there, else in its rack, else the first."""
        if not places:
            return stage.left.pop()
        at = min(
            range(len(stage.left)),
            key=lambda each: self._site.distance(places[stage.left[each]], node),
        )
        task = stage.left.pop(at)
        stage.hosts.subtract(places[task])
        return task

    def _factor(self, places: tuple[int, ...], node: int) -> float:
        if not places:
            return 1.0
        distance = self._site.distance(places, node)
        self.figures.starts[distance] += 1
        return (1.0, self._site.rack_factor, self._site.far_factor)[distance]

    # ------------------------------------------------------------------ figures

    def _use(self, demand: tuple[int, ...], sign: int) -> None:
        self._used_s += self._used * (self.engine.now_s - self._since_s)
        self._since_s = self.engine.now_s
        self._used += sign * np.array(demand, dtype=np.float64)

    def close(self) -> RunFigures:
        """The figures, once the engine has stopped."""
        total = np.array(self._site.capacity, dtype=np.float64) * self._site.n_nodes
        exists = total > 0
        self.figures.busy = float(np.max(self._used_s[exists] / total[exists]) / max(self._since_s, 1e-9))
        return self.figures
