"""Plans are read once, looked for a few times, and given up with a reason."""

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.errors import MalformedJobGraphError
from shim.queues.engines import EngineGraphs
from shim.queues.job_plans import JobPlanReader
from shim.queues.job_reading import PlannedFor
from shim.testing.clock import FakeClock

JOB, EAST = ApplicationId(1, 1), SubClusterId("east")
STAGES = StagesOfJob(JobGraph.of("dag", (Stage("a", 1, 512, 1),)), {2: 0})


class Shelf:
    """Plans by their application; implements `JobPlans`."""

    engine = "TEZ"

    def __init__(self):
        self.plans, self.asked = {}, []

    def read(self, application, user):
        self.asked.append((application, user))
        found = self.plans.get(application)
        if isinstance(found, Exception):
            raise found
        return found


class Reading:
    """A reader of a shelf, and the jobs that are here."""

    def __init__(self, *jobs):
        self.shelf, self.graphs = Shelf(), EngineGraphs()
        self.jobs = [PlannedFor(job, "TEZ", "ada", EAST) for job in jobs]
        self.reader = JobPlanReader(self.graphs, [self.shelf], lambda: self.jobs, FakeClock())

    async def look(self, times=1):
        for _ in range(times):
            await self.reader.look()
        return self.graphs.stages(JOB, "TEZ")


async def test_a_plan_is_read_once_and_for_its_user():
    reading = Reading(JOB)
    reading.shelf.plans[JOB] = STAGES
    assert await reading.look(3) is STAGES
    assert reading.shelf.asked == [(JOB, "ada")]


async def test_a_plan_may_come_late():
    reading = Reading(JOB)
    assert await reading.look(3) == "the stages of a TEZ job are not known"
    reading.shelf.plans[JOB] = STAGES
    assert await reading.look() is STAGES


async def test_a_plan_that_never_comes_is_given_up():
    reading = Reading(JOB)
    assert "no plan file" in await reading.look(8)
    await reading.look(5)
    assert len(reading.shelf.asked) == 8


async def test_a_plan_that_is_none_is_given_up_with_its_reason():
    reading = Reading(JOB)
    reading.shelf.plans[JOB] = MalformedJobGraphError("the DAG plan has no vertices")
    assert await reading.look(2) == "the DAG plan has no vertices"
    assert len(reading.shelf.asked) == 1


async def test_other_engines_are_not_looked_for():
    reading = Reading()
    reading.jobs = [PlannedFor(JOB, "SPARK", "ada", EAST)]
    assert await reading.look(2) == "the stages of a TEZ job are not known"
    assert reading.shelf.asked == []


async def test_a_look_reads_a_few_and_none_starves():
    reading = Reading(*(ApplicationId(1, number) for number in range(1, 41)))
    for looks, read in ((1, 16), (2, 32), (3, 40)):
        await reading.look()
        assert len({job for job, _ in reading.shelf.asked}) == read, looks
