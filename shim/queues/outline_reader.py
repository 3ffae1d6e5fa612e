"""Keeps the outlines of jobs up to date, in queues whose policy goes by graphs.

Nothing here is on the path of an allocate call or of a cycle: jobs are planned beside the event loop, for a tenth of
the time at most. Until a job is planned its policy treats it as one whose graph is not known.

Where a policy predicts, what a run was is learnt when it has ended, and the next one of its name is simulated from it:
anew where this one has other numbers of tasks.
"""

import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import structlog

from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.domain.job_graphs import StagesOfJob
from shim.errors import StoreError
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.job_graphs import JobGraphs
from shim.ports.queue_stores import FormerRunStore, KeptRun
from shim.queues.core.outlining import OutlinedStages, former_stages, outlined
from shim.queues.job_sights import JobObservations, SeenAttempt
from shim.scheduling.completion_table import JobForecast, build_forecast
from shim.scheduling.durations import FloatArray, FormerRun, FormerRuns, KnownRun, recurring_key
from shim.scheduling.former_runs import FormerStage, of_size
from shim.scheduling.job_outlines import JobOutline, JobOutlines
from shim.scheduling.knowledge import StageOutline
from shim.scheduling.virtual_space import stage_weights

_PAUSE = 9.0
"""Rest after a look, in times of its length."""
_PIECES = 480
_FEWEST_PIECES, _MOST_PIECES = 8, 48
"""Of the stages of a plan together, and of each: a graph of 20 stages takes a third of a second, one of 60 half."""
_MOST_TASKS = 400
"""Of a plan; a stage that has more is planned as one of fewer and longer ones."""
_MOST_AT_ONCE = 8
"""Jobs that are planned in one look: the others keep their plans until the next."""
_MOST_SIMULATED_TASKS, _SIMULATED_TASKS = 10_000, 4_000
"""A job that has more tasks is estimated, not simulated; of one allocation so many are simulated in all."""
_MOST_RUNS_OF_ONE, _FEWEST_RUNS_OF_ONE = 8, 2
_MOST_TABLES = 256
_Graph = tuple[StageOutline, ...]
_Run = tuple[FormerStage, ...]


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be planned of a job; nothing of what is None.

    Attributes:
        graph: Whose stages are put in order.
        run: What its predictions are made from.
    """

    graph: _Graph | None = None
    run: _Run | None = None


@dataclass(slots=True)
class _Planned:
    """What was planned of a job."""

    graph: _Graph = ()
    weights: Mapping[int, float] = field(default_factory=dict)
    run: _Run = ()
    forecast: JobForecast | None = None


@dataclass(frozen=True, slots=True)
class OutlineWorld:
    """Collaborators of the reader.

    Attributes:
        goes_by_graphs: Whether the policy of a queue, in force or in the shadow, reads graphs.
        predicts: Whether it predicts jobs with deadlines by former runs.
        orders_stages: Whether it goes by the order in which a plan wants stages.
        runs: The former runs of all queues.
        interval_s: From one look to the next, at least.
    """

    goes_by_graphs: Callable[[str], bool]
    view: FederationView
    graphs: JobGraphs
    clock: Clock
    interval_s: float
    runs: FormerRuns = field(default_factory=FormerRuns)
    predicts: Callable[[str], bool] = lambda _: False
    orders_stages: Callable[[str], bool] = lambda _: True


class OutlineReader:
    """Looks, for ever. `run` does it until cancelled; `look` once."""

    def __init__(self, world: OutlineWorld, outlines: JobOutlines, spans: Callable[[], Sequence[SeenAttempt]]) -> None:
        self._world = world
        self._outlines = outlines
        self._spans = spans
        self._sights = JobObservations(world.view, world.graphs)
        self._planned: dict[ApplicationAttemptId, _Planned] = {}
        self._keys: dict[ApplicationAttemptId, tuple[str, str]] = {}
        self._ordered: set[ApplicationAttemptId] = set()
        self._tables: OrderedDict[_Run, JobForecast] = OrderedDict()
        self._work = OffLoop()

    async def run(self) -> None:
        clock = self._world.clock
        while True:
            seen, began_s = self._seen(), clock.monotonic_s()
            changed = self._changed(seen)
            plan = partial(_plans, changed, self._capacity(), dict(self._tables))
            planned = await self._work.run_own(plan) if changed else {}
            spent_s = clock.monotonic_s() - began_s
            self._put(seen, planned)
            await clock.sleep(max(self._world.interval_s, _PAUSE * spent_s))

    def look(self) -> None:
        """Look once, and plan within the call."""
        seen = self._seen()
        self._put(seen, _plans(self._changed(seen), self._capacity(), self._tables))

    def _seen(self) -> dict[ApplicationAttemptId, OutlinedStages]:
        """Outline the jobs whose stages are known; forget those that are gone, and learn from their runs."""
        found: dict[ApplicationAttemptId, OutlinedStages] = {}
        self._ordered.clear()
        now_s, here = self._world.clock.now_s(), set[ApplicationAttemptId]()
        for span in self._spans():
            queue = span.attempt.queue
            if not self._world.goes_by_graphs(queue):
                continue
            here.add(span.attempt.id)
            if self._world.orders_stages(queue):
                self._ordered.add(span.attempt.id)
            sight = self._sights.look(span, now_s)
            if isinstance(sight.stages, StagesOfJob) and sight.is_current:
                stages = outlined(sight.stages, sight.seen)
                if stages is not None:
                    found[span.attempt.id] = stages
            if self._world.predicts(queue) and span.attempt.id not in self._keys:
                self._keys[span.attempt.id] = queue, self._key_of(span.attempt.id.application)
        for run in self._sights.keep(here, now_s):
            if run.attempt in self._keys:
                self._world.runs.observe_stages(*self._keys[run.attempt], former_stages(run))
        self._outlines.keep(found.keys())
        self._planned = {attempt: known for attempt, known in self._planned.items() if attempt in here}
        kept = here.union(self._sights.unsettled())
        self._keys = {attempt: key for attempt, key in self._keys.items() if attempt in kept}
        return found

    def _key_of(self, application: ApplicationId) -> str:
        document = self._world.view.applications.find(application)
        return "" if document is None else recurring_key(document.summary)

    def _changed(self, seen: Mapping[ApplicationAttemptId, OutlinedStages]) -> dict[ApplicationAttemptId, _Work]:
        """Choose the jobs to be planned now: those without a plan first."""
        found: dict[ApplicationAttemptId, _Work] = {}
        for attempt, stages in seen.items():
            known, run = self._planned.get(attempt, _Planned()), self._former_run(attempt, stages)
            graph = stages.stages if attempt in self._ordered and stages.stages != known.graph else None
            if graph is not None or (run and run != known.run):
                found[attempt] = _Work(graph, run if run and run != known.run else None)
        chosen = sorted(found, key=lambda attempt: attempt in self._planned)[:_MOST_AT_ONCE]
        return {attempt: found[attempt] for attempt in chosen}

    def _former_run(self, attempt: ApplicationAttemptId, stages: OutlinedStages) -> _Run:
        """What its last run was, for as many tasks as it has now; nothing if that had other stages."""
        run = self._world.runs.stages_of(*self._keys[attempt]) if attempt in self._keys else ()
        if [each.parents for each in run] != [each.parents for each in stages.stages]:
            return ()
        return of_size(run, [each.n_tasks for each in stages.stages])

    def _capacity(self) -> FloatArray:
        """Memory and virtual cores of all clusters."""
        whole = self._world.view.capacity(self._world.clock.now_s())
        return np.array([whole.memory_mib, whole.vcores], dtype=np.float64)

    def _put(
        self,
        seen: Mapping[ApplicationAttemptId, OutlinedStages],
        planned: Mapping[ApplicationAttemptId, _Planned],
    ) -> None:
        for attempt, new in planned.items():
            known = self._planned.setdefault(attempt, _Planned())
            if new.graph:
                known.graph, known.weights = new.graph, new.weights
            if new.forecast is not None:
                known.run, known.forecast = new.run, new.forecast
                self._tables[new.run] = new.forecast
        while len(self._tables) > _MOST_TABLES:
            self._tables.popitem(last=False)
        for attempt, stages in seen.items():
            mine = self._planned.get(attempt, _Planned())
            if mine.graph or attempt not in self._ordered:
                self._outlines.put(attempt, _outline(stages, mine))


def _outline(stages: OutlinedStages, planned: _Planned) -> JobOutline:
    has_times = stages.has_times or planned.forecast is not None
    return JobOutline(
        stages.stages, stages.finished, stages.by_priority, planned.weights, has_times, planned.forecast, stages.ran_s
    )


def _plans(
    work: Mapping[ApplicationAttemptId, _Work], capacity: FloatArray, tables: Mapping[_Run, JobForecast]
) -> dict[ApplicationAttemptId, _Planned]:
    """Plan jobs, each by itself on an empty pool; the more stages a graph has, the less exactly."""
    found: dict[ApplicationAttemptId, _Planned] = {}
    made: dict[_Run, JobForecast] = {}
    for attempt, each in work.items():
        planned = found[attempt] = _Planned()
        if each.graph:
            planned.graph, planned.weights = each.graph, _weights(each.graph, capacity)
        if each.run is not None:
            if each.run not in made:
                made[each.run] = tables.get(each.run) or _forecast(each.run)
            planned.run, planned.forecast = each.run, made[each.run]
    return found


def _forecast(run: _Run) -> JobForecast:
    """C(p, a) of a run; Amdahl's estimate of one that is too large to be simulated. The same run gives the same."""
    tasks = sum(stage.n_tasks for stage in run)
    if tasks > _MOST_SIMULATED_TASKS:
        return JobForecast(run)
    n_runs = max(_FEWEST_RUNS_OF_ONE, min(_MOST_RUNS_OF_ONE, _SIMULATED_TASKS // tasks))
    draw = Random(tasks).randrange  # noqa: S311 - repeatable on purpose
    return build_forecast(run, tasks, draw, n_runs=n_runs)


def _weights(graph: _Graph, capacity: FloatArray) -> Mapping[int, float]:
    pieces = max(_FEWEST_PIECES, min(_MOST_PIECES, _PIECES // max(1, len(graph))))
    most = max(pieces, _MOST_TASKS // max(1, len(graph)))
    return stage_weights([_with_fewer_tasks(stage, most) for stage in graph], capacity, pieces)


def _with_fewer_tasks(stage: StageOutline, most: int) -> StageOutline:
    """The same work in no more than so many tasks: a job may say that it has any number."""
    if stage.n_tasks <= most:
        return stage
    return replace(stage, n_tasks=most, expected_s=stage.expected_s * stage.n_tasks / most)


# Former runs in the store, so that a restart of Heddle, or another owner of a queue, has them. They are a ground of
# predictions, not a promise: what cannot be read is as if the job had never run.

_log = structlog.get_logger("heddle.queues")
_TURN_S = 10.0
_LISTEN_EVERY_S = 60.0
_FORGET_EVERY_S = 3600.0
_OVERLAP_MS = 120_000
"""Clocks of other processes may be behind by as much: what they wrote meanwhile is read twice."""
RUNS_KEPT_FOR_MS = 400 * 24 * 3_600_000
MOST_KEPT = 16 * 1024
_Key = tuple[str, str]


class FormerRunKeeping:
    """Writes what was learnt, and reads what others wrote. `run` does it for ever, `turn` once.

    Args:
        runs: Of all queues.
        store: Where they are kept.
        clock: For times.
    """

    def __init__(self, runs: FormerRuns, store: FormerRunStore, clock: Clock) -> None:
        self._runs = runs
        self._store = store
        self._clock = clock
        self._due: dict[_Key, KnownRun] = {}
        self._read_to_ms = 0
        self._listen_at_s = float("-inf")
        self._forget_at_s = float("-inf")

    async def run(self) -> None:
        """Keep until cancelled."""
        while True:
            await self.turn()
            await self._clock.sleep(_TURN_S)

    async def turn(self) -> None:
        """Write what has changed, and now and then read; what the store does not take now is written later."""
        now_s = self._clock.now_s()
        now_ms = int(now_s * 1000)
        self._due |= self._runs.changed()
        due = self._due = dict(list(self._due.items())[-MOST_KEPT:])
        try:
            if due:
                await self._store.keep([_kept(key, known, now_ms) for key, known in due.items()])
                self._due = {}
            if now_s >= self._listen_at_s:
                await self._listen(now_ms)
                self._listen_at_s = now_s + _LISTEN_EVERY_S
            if now_s >= self._forget_at_s:
                await self._store.forget(now_ms - RUNS_KEPT_FOR_MS, MOST_KEPT)
                self._forget_at_s = now_s + _FORGET_EVERY_S
        except StoreError as exc:
            _log.warning("former runs of jobs are not kept, or not read, yet", runs=len(self._due), reason=str(exc))

    async def _listen(self, now_ms: int) -> None:
        for kept in await self._store.since(self._read_to_ms, MOST_KEPT):
            for key, known in _read(kept.text):
                self._runs.restore(key, known)
        self._read_to_ms = max(self._read_to_ms, now_ms - _OVERLAP_MS)


def _kept(key: _Key, known: KnownRun, now_ms: int) -> KeptRun:
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    run = None if known.run is None else [known.run.containers, known.run.container_s, known.run.runs]
    stages = [
        [stage.durations_s, stage.n_tasks, stage.parents, stage.queued_s, stage.begins_s, stage.ends_s]
        for stage in known.stages
    ]
    return KeptRun(name, now_ms, json.dumps({"queue": key[0], "job": key[1], "run": run, "stages": stages}))


def _read(text: str) -> Iterator[tuple[_Key, KnownRun]]:
    """What a text says, if it says anything: rows of the store may be of any hand."""
    try:
        told = json.loads(text)
        run = None if told["run"] is None else _run(told["run"])
        stages = tuple(_stage(number, row) for number, row in enumerate(told["stages"]))
        key = str(told["queue"]), str(told["job"])
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
        _log.warning("a former run that is kept cannot be read", beginning=text[:100])
        return
    yield key, KnownRun(run, stages)


def _run(row: Sequence[Any]) -> FormerRun:
    containers, container_s, runs = int(row[0]), _seconds(row[1]), int(row[2])
    if containers < 1 or runs < 1:
        raise ValueError("a run has a container at least")
    return FormerRun(containers, container_s, runs)


def _stage(number: int, row: Sequence[Any]) -> FormerStage:
    durations_s, n_tasks = tuple(map(_seconds, row[0])), int(row[1])
    parents = tuple(map(int, row[2]))
    if not durations_s or n_tasks < 1 or any(not 0 <= parent < number for parent in parents):
        raise ValueError("a stage has a task at least, and comes after its parents")
    return FormerStage(durations_s, n_tasks, parents, *map(_seconds, row[3:6]))


def _seconds(value: Any) -> float:
    found = float(value)
    if not math.isfinite(found) or found < 0.0:
        raise ValueError("a length of time is a number, and not below 0")
    return found
