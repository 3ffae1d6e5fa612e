"""Outlines of jobs: whose are kept, when they are planned anew, and that nothing waits for a plan."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import AskKey
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob, TaskCounts
from shim.domain.resources import ResourceVector
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.ports.attempt_calls import Attempt
from shim.ports.queue_stores import KeptRun
from shim.queues import outline_reader
from shim.queues.engines import EngineGraphs
from shim.queues.outline_reader import FormerRunKeeping, OutlineReader, OutlineWorld
from shim.scheduling.durations import FormerRuns
from shim.scheduling.former_runs import FormerStage
from shim.scheduling.job_outlines import JobOutlines
from shim.simulation.stores import InMemoryFormerRunStore
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual
from tests.unit.queues.test_altruism import EAST, JOB, ListedJob

SHORT, LONG = (AskKey(priority, -1, is_opportunistic=False, resource=ResourceVector(1024, 1)) for priority in (20, 30))
STAGES = StagesOfJob(
    JobGraph.of("two", (Stage("short", 4, 1024, 1), Stage("long", 4, 1024, 1), Stage("join", 1, 1024, 1, (1,), (1,)))),
    {20: 0, 30: 1, 40: 2},
)


class HeardOutlines(JobOutlines):
    """Outlines that tell when one was put."""

    def __init__(self):
        super().__init__()
        self.heard = asyncio.Event()

    def put(self, attempt, outline):
        super().put(attempt, outline)
        self.heard.set()


class OneQueue:
    """A cluster, and a job of a short stage beside a long one with a join behind it."""

    def __init__(self, queue="root.etl", *, predicts=False):
        self.clock, self.graphs, self.outlines = FakeClock(1000.0), EngineGraphs(), HeardOutlines()
        self.sequence, self.first = 1, 0
        self.view = FederationView((EAST,), usual(ViewSettings, late_after_s=5.0))
        self.view.apply(a_report(EAST, 1, polled_at_s=self.clock.now_s()))
        self.job = ListedJob(Attempt(JOB, EAST, queue, "ada"))
        self.jobs = [self.job]
        self.runs = FormerRuns()
        world = OutlineWorld(
            lambda path: path == "root.etl",
            self.view,
            self.graphs,
            self.clock,
            1.0,
            runs=self.runs,
            predicts=lambda _: predicts,
            orders_stages=lambda _: not predicts,
        )
        self.reader = OutlineReader(world, self.outlines, lambda: self.jobs)

    def look(self):
        self.reader.look()
        return self.outlines.of(JOB)

    def run_tasks(self, key, seconds, first):
        """Four tasks of an ask run and end."""
        self.job.held = dict.fromkeys(range(first, first + 4), key)
        self.look()
        self.clock.wall_s += seconds
        self.job.held = {}
        return self.look()


@pytest.fixture
def queue():
    found = OneQueue()
    found.graphs.put(JOB.application, STAGES)
    return found


def test_a_job_is_planned_by_how_long_its_tasks_run(queue):
    queue.job.asks = {SHORT: 4, LONG: 4}
    queue.run_tasks(SHORT, 1.0, 2)
    outline = queue.run_tasks(LONG, 64.0, 10)
    assert [stage.expected_s for stage in outline.stages[:2]] == [1.0, 64.0]
    assert outline.finished == (4, 4, 0)
    assert outline.by_priority == {20: 0, 30: 1, 40: 2}
    assert outline.weights[1] > outline.weights[2], "what the join waits for comes before it"
    assert max(outline.weights.values()) == 1.0


def test_a_job_is_planned_anew_only_if_what_is_expected_of_it_has_changed(queue, monkeypatch):
    planned = []
    plan = outline_reader.stage_weights
    monkeypatch.setattr(outline_reader, "stage_weights", lambda *given: planned.append(given[0]) or plan(*given))
    queue.look()
    first = queue.run_tasks(LONG, 16.0, 2)
    assert len(planned) == 2, "once by nothing, and once by times"
    again = queue.run_tasks(LONG, 16.5, 10)
    assert len(planned) == 2
    assert (first.finished, again.finished) == ((0, 4, 0), (0, 4, 0)), "no more than it has"


@pytest.mark.parametrize("tasks", [10, 1_000, 10**9])
def test_however_many_tasks_a_job_says_that_it_has_few_are_planned_and_their_work_is_the_same(
    queue, monkeypatch, tasks
):
    planned = []
    plan = outline_reader.stage_weights
    monkeypatch.setattr(outline_reader, "stage_weights", lambda *given: planned.extend(given[0]) or plan(*given))
    stages = [Stage(f"stage {number}", tasks, 4096, 1) for number in range(10)]
    queue.graphs.put(JOB.application, StagesOfJob(JobGraph.of("wide", stages), {20 + each: each for each in range(10)}))
    outline = queue.look()
    assert {stage.n_tasks for stage in outline.stages} == {tasks}
    assert sum(stage.n_tasks for stage in planned) <= 480
    for stage, told in zip(outline.stages, planned, strict=True):
        assert told.n_tasks * told.expected_s == pytest.approx(stage.n_tasks * stage.expected_s)


def test_nothing_is_kept_of_other_queues_of_jobs_that_are_gone_or_whose_stages_are_not_known(queue):
    assert queue.look() is not None
    queue.graphs.put(JOB.application, "its plan cannot be read")
    assert queue.look() is None
    queue.graphs.put(JOB.application, STAGES)
    assert queue.look() is not None
    queue.jobs = []
    assert queue.look() is None
    elsewhere = OneQueue("root.other")
    elsewhere.graphs.put(JOB.application, STAGES)
    assert elsewhere.look() is None


def test_of_a_session_only_what_is_counted_now_is_taken_for_what_runs(queue):
    queue.graphs.put(JOB.application, replace(STAGES, has_parts=True))
    assert queue.look() is None
    counts = tuple(TaskCounts(stage.tasks, 0, 0) for stage in STAGES.graph.stages)
    queue.graphs.count(JOB.application, counts, queue.clock.now_s())
    assert [stage.n_tasks for stage in queue.look().stages] == [4, 4, 1]


def a_document_of_the_job(state):
    document = a_document(JOB.application.sequence, "east", state, timestamp=JOB.application.cluster_timestamp)
    return document.but(summary=replace(document.summary, name="nightly-20261128", queue="root.etl"))


def a_run(queue, *, wide=4, state="FINISHED"):
    """A run of the job: short tasks for 10 s, then long ones for 60 s, then the join, with which it ends."""
    queue.sequence += 1
    queue.view.apply(a_report(EAST, queue.sequence, applications=[a_document_of_the_job("RUNNING")]))
    queue.jobs = [queue.job]
    join = replace(LONG, priority=40)
    queue.job.asks = {SHORT: 4, LONG: wide}
    queue.look()
    for key, count, seconds in ((SHORT, 4, 10.0), (LONG, wide, 60.0), (join, 1, 5.0)):
        queue.job.asks = {LONG: wide} if key is SHORT else {}
        queue.first += 100
        queue.job.held = {number + queue.first: key for number in range(count)}
        queue.look()
        queue.clock.wall_s += seconds
    queue.jobs = []
    queue.sequence += 1
    queue.view.apply(a_report(EAST, queue.sequence, applications=[a_document_of_the_job(state)]))
    queue.look()
    return queue.runs.stages_of("root.etl", "alice YARN nightly-#")


@pytest.fixture
def predicting():
    found = OneQueue(predicts=True)
    found.graphs.put(JOB.application, STAGES)
    return found


def test_a_run_that_ended_well_is_what_the_next_is_predicted_by(predicting):
    run = a_run(predicting)
    assert [(stage.n_tasks, stage.parents) for stage in run] == [(4, ()), (4, ()), (1, (1,))]
    assert [stage.longest_s for stage in run] == [10.0, 60.0, 5.0]
    assert [(stage.begins_s, stage.ends_s) for stage in run] == [(0.0, 10.0), (10.0, 70.0), (70.0, 75.0)]
    assert run[1].queued_s == 0.0
    predicting.jobs, predicting.job.held, predicting.job.asks = [predicting.job], {}, {SHORT: 4, LONG: 4}
    outline = predicting.look()
    assert [stage.durations_s for stage in outline.forecast.stages] == [stage.durations_s for stage in run]
    grid, left_s = outline.forecast.left_s(0.0, (0.0, 0.0, 0.0), 100)
    assert dict(zip(grid, left_s.tolist(), strict=True))[8] == 65.0, "all at once: the long ones, and the join"
    assert outline.weights == {}, "no order of stages is planned for who reads none"


@pytest.mark.parametrize("state", ["FAILED", "KILLED"])
def test_nothing_is_predicted_by_a_run_that_did_not_end_well(predicting, state):
    assert a_run(predicting, state=state) == ()


def test_a_run_of_which_not_all_tasks_were_seen_is_none(predicting):
    assert a_run(predicting, wide=3) == ()


def test_where_the_input_has_grown_a_run_is_simulated_anew_for_as_many_tasks(predicting):
    a_run(predicting)
    predicting.jobs, predicting.job.held = [predicting.job], {}

    def forecast(long_tasks):
        stages = [replace(STAGES.graph.stages[1], tasks=long_tasks)]
        grown = JobGraph.of("two", (STAGES.graph.stages[0], *stages, STAGES.graph.stages[2]))
        predicting.graphs.put(JOB.application, replace(STAGES, graph=grown))
        predicting.job.asks = {SHORT: 4, LONG: long_tasks}
        return predicting.look().forecast

    usual, grown = forecast(4), forecast(40)
    assert [stage.n_tasks for stage in grown.stages] == [4, 40, 1]
    assert grown.table is not None, "simulated, not estimated"
    assert usual.left_s(0.0, (0.0,) * 3, 1)[1][0] == 285.0
    assert grown.left_s(0.0, (0.0,) * 3, 1)[1][0] == 2445.0
    assert forecast(4) is usual, "what was simulated once is kept"


async def test_it_goes_on_looking_and_plans_beside_the_loop(queue):
    queue.job.asks = {SHORT: 4}
    looking = asyncio.create_task(queue.reader.run())
    async with asyncio.timeout(120.0):
        await queue.outlines.heard.wait()
    looking.cancel()
    assert queue.outlines.of(JOB).finished == (0, 0, 0)


# Former runs outlive the process that learnt them, and reach whoever owns their queue next.

NIGHTLY = "ada SPARK nightly-#"
RUN = (FormerStage((1.0, 2.5), 8, (), 3.0, 0.0, 9.0), FormerStage((4.0,), 1, (0,), 0.0, 9.0, 13.0))


class Heddles:
    """Processes over one store."""

    def __init__(self):
        self.clock, self.store = FakeClock(1_000_000.0), InMemoryFormerRunStore()

    def start(self):
        runs = FormerRuns()
        return runs, FormerRunKeeping(runs, self.store, self.clock)


@pytest.fixture
def heddles():
    return Heddles()


async def test_a_restart_has_the_runs_of_the_life_before(heddles):
    runs, keeping = heddles.start()
    runs.observe("root.etl", NIGHTLY, 9, 20.0)
    runs.observe_stages("root.etl", NIGHTLY, RUN)
    await keeping.turn()
    again, keeping = heddles.start()
    assert again.of("root.etl", NIGHTLY) is None
    await keeping.turn()
    assert again.of("root.etl", NIGHTLY) == runs.of("root.etl", NIGHTLY)
    assert again.stages_of("root.etl", NIGHTLY) == RUN
    assert again.of("root.other", NIGHTLY) is None


async def test_what_the_store_did_not_take_is_written_later(heddles):
    runs, keeping = heddles.start()
    runs.observe_stages("root.etl", NIGHTLY, RUN)
    heddles.store.is_away = True
    await keeping.turn()
    runs.observe("root.etl", "ada SPARK other", 2, 4.0)
    heddles.store.is_away = False
    await keeping.turn()
    again, keeping = heddles.start()
    await keeping.turn()
    assert again.stages_of("root.etl", NIGHTLY) == RUN
    assert again.of("root.etl", "ada SPARK other").containers == 2


async def test_one_process_hears_of_what_another_has_learnt(heddles):
    (mine, keeping), (others, their_keeping) = heddles.start(), heddles.start()
    await keeping.turn()
    others.observe_stages("root.etl", NIGHTLY, RUN)
    await their_keeping.turn()
    heddles.clock.wall_s += 70.0
    await keeping.turn()
    assert mine.stages_of("root.etl", NIGHTLY) == RUN
    assert dict(mine.changed()) == {}, "what was heard is not written once more"


async def test_what_was_learnt_here_goes_before_what_is_kept(heddles):
    runs, keeping = heddles.start()
    runs.observe("root.etl", NIGHTLY, 9, 20.0)
    await keeping.turn()
    again, keeping = heddles.start()
    again.observe("root.etl", NIGHTLY, 3, 3.0)
    heddles.store.is_away = True
    await keeping.turn()
    heddles.store.is_away = False
    heddles.clock.wall_s += 100.0
    await keeping.turn()
    assert again.of("root.etl", NIGHTLY).containers == 3


WELL = {"queue": "root.etl", "job": NIGHTLY, "run": [9, 2.0, 1], "stages": [[[1.0], 8, [], 0, 0, 1]]}
BAD = [
    "", "[]", "null", "{}", "[" * 100_000,
    *(
        json.dumps(WELL | part)
        for part in (
            {"run": [0, 2.0, 1]}, {"run": [9, -1.0, 1]}, {"run": [9, "nan", 1]}, {"run": 7}, {"run": [1e400, 1.0, 1]},
            {"stages": [[[], 8, [], 0, 0, 1]]}, {"stages": [[[1.0], 0, [], 0, 0, 1]]}, {"stages": [7]},
            {"stages": [[[1.0], 8, [0], 0, 0, 1]]},
            {"stages": [[[1.0], 8, [-1], 0, 0, 1]]}, {"stages": [[["inf"], 8, [], 0, 0, 1]]},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
async def test_a_row_that_no_heddle_wrote_is_as_if_the_job_had_never_run(heddles, text):
    await heddles.store.keep([KeptRun("a", 1, text), KeptRun("b", 2, json.dumps(WELL | {"job": "other"}))])
    runs, keeping = heddles.start()
    await keeping.turn()
    assert runs.of("root.etl", NIGHTLY) is None
    assert runs.stages_of("root.etl", NIGHTLY) == ()
    assert runs.of("root.etl", "other").containers == 9


@given(st.text(max_size=50), st.text(max_size=50))
async def test_any_name_of_a_queue_or_job_comes_back(queue, name):
    heddles = Heddles()
    runs, keeping = heddles.start()
    runs.observe_stages(queue, f"ada SPARK {name}", RUN)
    await keeping.turn()
    assert all(kept.text.isascii() for kept in heddles.store.runs.values())
    again, keeping = heddles.start()
    await keeping.turn()
    assert again.stages_of(queue, f"ada SPARK {name}") == RUN
