"""Plans are read once, looked for a few times at once, and then now and again."""

from dataclasses import replace

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.errors import MalformedJobGraphError
from shim.queues.engines import EngineGraphs
from shim.queues.job_plans import JobPlanReader
from shim.queues.job_reading import PlannedFor
from tests.doubles.clock import FakeClock

JOB, EAST = ApplicationId(1, 1), SubClusterId("east")
STAGES = StagesOfJob(JobGraph.of("dag", (Stage("a", 1, 512, 1),)), {2: 0})


class Shelf:
    """Plans by their application; implements `JobPlans`."""

    engine = "TEZ"

    def __init__(self):
        self.plans, self.asked = {}, []

    def read(self, application, user, known):
        self.asked.append((application, user) if known is None else (application, user, known.part))
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


async def test_a_plan_that_does_not_come_is_looked_for_now_and_again():
    reading = Reading(JOB)
    assert "no plan where" in await reading.look(8)
    await reading.look(7)
    assert len(reading.shelf.asked) == 8
    await reading.look(17)
    assert len(reading.shelf.asked) == 11


async def test_an_application_that_idles_before_it_has_a_plan_is_planned_then():
    reading = Reading(JOB)
    await reading.look(60)
    reading.shelf.plans[JOB] = first = replace(STAGES, has_parts=True)
    assert await reading.look(8) is first
    reading.shelf.plans[JOB] = second = replace(first, part=2)
    assert await reading.look() is second, "from then on it is looked for the next at every look"


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
        assert len({job for job, *_ in reading.shelf.asked}) == read, looks


async def test_of_an_application_with_parts_the_next_is_looked_for():
    first = replace(STAGES, has_parts=True)
    second = replace(first, part=2)
    reading = Reading(JOB)
    reading.shelf.plans[JOB] = first
    assert await reading.look(2) is first
    reading.shelf.plans[JOB] = second
    assert await reading.look() is second
    assert reading.shelf.asked == [(JOB, "ada"), (JOB, "ada", 1), (JOB, "ada", 1)]


async def test_a_part_that_cannot_be_read_leaves_what_is_known():
    reading = Reading(JOB)
    reading.shelf.plans[JOB] = known = replace(STAGES, has_parts=True)
    await reading.look()
    reading.shelf.plans[JOB] = MalformedJobGraphError("the file system is gone")
    assert await reading.look(20) is known


async def test_applications_with_parts_let_others_be_read():
    reading = Reading(*(ApplicationId(1, number) for number in range(1, 41)))
    for number in range(1, 21):
        reading.shelf.plans[ApplicationId(1, number)] = replace(STAGES, has_parts=True)
    await reading.look(4)
    assert len({job for job, *_ in reading.shelf.asked}) == 40
