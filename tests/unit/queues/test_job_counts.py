"""ApplicationMasters are asked beside their calls, and those that do not answer less often."""

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import CountedStages, JobGraph, Stage, StagesOfJob, TaskCounts
from shim.errors import MalformedJobGraphError
from shim.queues.engines import EngineGraphs
from shim.queues.job_counts import JobCountReader
from shim.queues.job_reading import PlannedFor
from tests.doubles.clock import FakeClock

JOB, EAST = ApplicationId(1, 1), SubClusterId("east")
STAGES = StagesOfJob(JobGraph.of("dag", (Stage("a", 1, 512, 1),)), {2: 0})
TOLD = (TaskCounts(4, 1, 2),)


class Masters:
    """ApplicationMasters of Tez that all answer alike; implements `JobCounts`."""

    engine, needs_plan = "TEZ", True

    def __init__(self):
        self.answer, self.asked = TOLD, []

    async def counts(self, application, home, user, known):
        self.asked.append((application, home, user, known))
        if isinstance(self.answer, Exception):
            raise self.answer
        return CountedStages(known, self.answer) if isinstance(self.answer, tuple) else self.answer


class Counting:
    """A reader, and jobs of which the graph is known."""

    def __init__(self, n_jobs=1):
        self.clock, self.masters, self.graphs = FakeClock(), Masters(), EngineGraphs()
        self.jobs = [PlannedFor(ApplicationId(1, number), "TEZ", "ada", EAST) for number in range(1, n_jobs + 1)]
        for job in self.jobs:
            self.graphs.put(job.application, STAGES)
        self.reader = JobCountReader(self.graphs, [self.masters], lambda: self.jobs, self.clock)

    async def after(self, seconds):
        await self.clock.advance(seconds)
        await self.reader.look()

    @property
    def counts(self):
        return self.graphs.counts(JOB, self.clock.now_s())


async def test_counts_are_taken_in_and_lapse():
    counting = Counting()
    await counting.reader.look()
    assert counting.counts == TOLD
    assert counting.masters.asked == [(JOB, EAST, "ada", STAGES)]
    await counting.clock.advance(7.0)
    assert "for long" in counting.counts


async def test_who_does_not_answer_is_asked_less_and_less_often_until_it_does():
    counting = Counting()
    counting.masters.answer = MalformedJobGraphError("nobody there")
    for _ in range(100):
        await counting.after(2.0)
    assert len(counting.masters.asked) == 8, "after 2, 4, 8, 16, 32, 60 and 60 s"
    counting.masters.answer = TOLD
    await counting.after(60.0)
    await counting.after(2.0)
    assert len(counting.masters.asked) == 10
    assert counting.counts == TOLD


async def test_every_job_is_asked_once_a_look():
    counting = Counting(n_jobs=50)
    await counting.reader.look()
    assert len(counting.masters.asked) == len({asked[0] for asked in counting.masters.asked}) == 50


async def test_only_jobs_whose_graph_is_known_are_asked():
    counting = Counting()
    counting.graphs.put(JOB, "its plan cannot be read")
    await counting.reader.look()
    counting.jobs = [PlannedFor(JOB, "SPARK", "ada", EAST)]
    await counting.reader.look()
    assert counting.masters.asked == []


async def test_after_an_answer_a_silence_begins_anew():
    counting = Counting()
    nobody = MalformedJobGraphError("nobody there")
    for answer in (nobody, TOLD, nobody):
        counting.masters.answer = answer
        await counting.after(4.0)
    await counting.after(4.0)
    assert len(counting.masters.asked) == 4


async def test_a_job_that_answers_and_does_not_know_is_asked_as_often_and_has_no_counts():
    counting = Counting()
    await counting.reader.look()
    counting.masters.answer = "its driver runs several jobs at once"
    for _ in range(3):
        await counting.after(2.0)
    assert counting.counts == "its driver runs several jobs at once"
    assert len(counting.masters.asked) == 4


async def test_one_lost_answer_does_not_undo_counts_that_are_new():
    counting = Counting()
    await counting.reader.look()
    counting.masters.answer = MalformedJobGraphError("nobody there")
    await counting.after(2.0)
    assert counting.counts == TOLD
    for _ in range(4):
        await counting.after(4.0)
    assert counting.counts == "nobody there"


async def test_an_engine_that_tells_its_stages_itself_is_asked_without_a_plan_and_believed():
    counting = Counting()
    counting.masters.needs_plan = False
    counting.graphs = EngineGraphs()
    counting.reader = JobCountReader(counting.graphs, [counting.masters], lambda: counting.jobs, counting.clock)
    counting.masters.answer = CountedStages(STAGES, TOLD)
    await counting.reader.look()
    assert counting.masters.asked == [(JOB, EAST, "ada", None)]
    assert counting.graphs.stages(JOB, "TEZ") is STAGES
    assert counting.counts == TOLD
