"""What containers tell of stages."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob, TaskCounts
from shim.domain.resources import ResourceVector
from shim.queues.core.job_watch import MOST_WAITING, JobWatch, StageContainer, TaskClocks

JOB, NEXT = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2))
UNIT = ResourceVector(1024, 1)
MAP, REDUCE = (AskKey(priority, -1, is_opportunistic=False, resource=UNIT) for priority in (20, 10))
STAGES = StagesOfJob(
    JobGraph.of("two", (Stage("map", None, 0, 0), Stage("reduce", None, 0, 0, (0,), (0,)))), {20: 0, 10: 1}
)
A = AskKey(8, -1, is_opportunistic=False, resource=UNIT)
TEZ = StagesOfJob(JobGraph.of("tez", (Stage("a", 3, 512, 1), Stage("b", 2, 512, 1, (0,), (0,)))), {8: 0, 17: 1})


def container(number, key=MAP, job=JOB):
    return StageContainer(ContainerId(job, number), key)


def after_four_maps(job=JOB, watch=None):
    """Maps that ran 10, 11, 12 and 13 seconds."""
    watch = watch or JobWatch()
    watch.observe(job, STAGES, "recurring_key", [container(number, job=job) for number in range(2, 6)], {MAP: 1}, 0.0)
    for gone in range(4):
        left = [container(number, job=job) for number in range(2 + gone + 1, 6)]
        watch.observe(job, STAGES, "recurring_key", left, {MAP: 1}, 10.0 + gone)
    return watch


def test_a_job_is_not_known_before_some_of_its_tasks_have_ended():
    watch = JobWatch()
    watch.observe(JOB, STAGES, "", [container(2)], {MAP: 3}, 0.0)
    assert "'map' run is not known" in watch.facts(JOB, STAGES, "", {MAP: 3})


def test_a_stage_runs_for_the_upper_quartile_of_what_its_tasks_ran():
    maps, reduces = after_four_maps().facts(JOB, STAGES, "recurring_key", {MAP: 1})
    assert (maps.seconds, maps.ended, maps.waiting, maps.running_since_s) == (12.0, 4, 1, ())
    assert (reduces.waiting, reduces.ended) == (0, 0)


def test_a_stage_of_which_nothing_is_known_runs_as_long_as_the_others_of_its_job():
    watch = after_four_maps()
    watch.observe(JOB, STAGES, "recurring_key", [container(9, REDUCE)], {REDUCE: 2}, 20.0)
    _, reduces = watch.facts(JOB, STAGES, "recurring_key", {REDUCE: 2})
    assert (reduces.seconds, reduces.waiting, reduces.running_since_s) == (12.0, 2, (20.0,))


def test_earlier_runs_of_the_same_job_teach():
    watch = after_four_maps()
    watch.keep([NEXT], 20.0)
    watch.observe(NEXT, STAGES, "recurring_key", [], {MAP: 5}, 100.0)
    assert watch.facts(NEXT, STAGES, "recurring_key", {MAP: 5})[0].seconds == 12.0
    assert isinstance(watch.facts(NEXT, STAGES, "another", {MAP: 5}), str)


def test_one_earlier_run_teaches_how_long_a_stage_of_few_tasks_runs():
    watch = JobWatch()
    counts = [TaskCounts(3, 0, 3), TaskCounts(2, 2, 0)]
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 0.0, counts)
    assert isinstance(watch.facts(JOB, TEZ, "recurring_key", {}, counts), str)
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 7.0, [TaskCounts(3, 0, 3), TaskCounts(2, 1, 1)])
    waiting = [TaskCounts(3, 0, 3), TaskCounts(2, 0, 0)]
    watch.observe(NEXT, TEZ, "recurring_key", [], {}, 8.0, waiting)
    assert isinstance(watch.facts(NEXT, TEZ, "recurring_key", {}, waiting), str), "one of two is half a run"
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 9.0, [TaskCounts(3, 0, 3), TaskCounts(2, 0, 2)])
    known = watch.facts(NEXT, TEZ, "recurring_key", {}, waiting)
    assert not isinstance(known, str)
    assert (known[1].seconds, known[1].waiting) == (9.0, 2)


def counts_of(a, b):
    """Running and succeeded tasks of both stages."""
    return [TaskCounts(3, *a), TaskCounts(2, *b)]


def seconds_of_next(watch):
    """How long tasks of the last stage are expected to run when the job is run once more; None if that is unknown."""
    before = counts_of((0, 3), (0, 0))
    watch.observe(NEXT, TEZ, "recurring_key", [], {}, 100.0, before)
    facts = watch.facts(NEXT, TEZ, "recurring_key", {}, before)
    return None if isinstance(facts, str) else facts[1].seconds


def test_the_last_tasks_of_a_job_that_is_over_have_run_no_longer_than_until_then():
    watch = JobWatch()
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 0.0, counts_of((1, 2), (0, 0)))
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 2.0, counts_of((0, 3), (2, 0)))
    watch.keep([], 5.0)
    watch.settle(lambda _: None, 6.0)
    assert seconds_of_next(watch) is None, "how it has ended is not known as yet"
    watch.keep([], 8.0)
    watch.settle(lambda attempt: attempt == JOB, 8.0)
    assert seconds_of_next(watch) == 3.0


def test_of_a_job_that_ended_well_all_that_was_left_has_run():
    watch = JobWatch()
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 0.0, counts_of((1, 2), (0, 0)))
    watch.keep([], 4.0)
    watch.settle(lambda _: True, 5.0)
    assert seconds_of_next(watch) == 4.0


@pytest.mark.parametrize(("has_succeeded", "within_s"), [(False, 0.0), (None, 30.1)])
def test_of_a_job_that_failed_or_whose_end_is_never_told_nothing_is_learnt(has_succeeded, within_s):
    watch = JobWatch()
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 2.0, counts_of((0, 3), (2, 0)))
    watch.keep([], 5.0)
    watch.settle(lambda _: has_succeeded, 5.0 + within_s)
    watch.settle(lambda _: True, 5.0 + within_s)
    assert seconds_of_next(watch) is None


def test_a_part_that_another_one_follows_is_over():
    watch, first = JobWatch(), replace(TEZ, has_parts=True, part=1)
    watch.observe(JOB, first, "recurring_key", [], {}, 0.0, counts_of((1, 2), (0, 0)))
    watch.observe(JOB, replace(first, part=2), "recurring_key", [], {}, 4.0)
    assert seconds_of_next(watch) is None, "something was left that its last stage waits for"
    watch.observe(JOB, first, "recurring_key", [], {}, 10.0, counts_of((0, 3), (0, 0)))
    watch.observe(JOB, replace(first, part=2), "recurring_key", [], {}, 14.0)
    assert seconds_of_next(watch) == 4.0


def test_of_a_job_that_was_counted_long_before_it_was_over_nothing_is_learnt():
    watch = JobWatch()
    watch.observe(JOB, TEZ, "recurring_key", [], {}, 2.0, counts_of((0, 3), (2, 0)))
    watch.keep([], 13.0)
    watch.settle(lambda _: True, 13.0)
    assert seconds_of_next(watch) is None


def test_an_ask_or_a_container_of_no_stage_makes_the_job_unknown():
    watch = after_four_maps()
    stranger = AskKey(7, -1, is_opportunistic=False, resource=UNIT)
    watch.observe(JOB, STAGES, "recurring_key", [], {stranger: 1}, 20.0)
    assert "no stage that is known" in watch.facts(JOB, STAGES, "recurring_key", {stranger: 1})
    watch.observe(JOB, STAGES, "recurring_key", [container(8, None)], {MAP: 1}, 21.0)
    assert "no stage that is known" in watch.facts(JOB, STAGES, "recurring_key", {MAP: 1})


def test_stages_that_have_not_asked_yet_wait_with_all_their_tasks():
    watch = JobWatch()
    first = AskKey(8, -1, is_opportunistic=False, resource=UNIT)
    for number in range(2, 6):
        watch.observe(JOB, TEZ, "", [container(number, first)], {first: 2}, 5.0 * number)
    watch.observe(JOB, TEZ, "", [], {first: 2}, 40.0)
    asked, later = watch.facts(JOB, TEZ, "", {first: 2})
    assert (asked.waiting, later.waiting) == (2, 2)
    assert later.size == ResourceVector(512, 1)


CHAIN = StagesOfJob(
    JobGraph.of(
        "chain",
        (Stage("a", 3, 512, 1), Stage("b", 2, 512, 1, (0,), (0,)), Stage("c", 1, 512, 1, (1,), (1,))),
    ),
    {8: 0, 20: 1, 32: 2},
)
A, B, C = (AskKey(priority, -1, is_opportunistic=False, resource=UNIT) for priority in (8, 20, 32))


def waiting_of(*looks):
    """What waits of each stage of the chain after some looks at its asks."""
    watch = JobWatch()
    for at_s, asks in enumerate(looks):
        watch.observe(JOB, CHAIN, "", [], asks, float(at_s))
    return [each.waiting for each in watch.seen(JOB, CHAIN, "", looks[-1])]


def test_what_has_not_asked_is_ahead_only_while_its_source_asks():
    assert waiting_of({A: 3}) == [3, 2, 1]
    assert waiting_of({A: 3}, {B: 1}) == [0, 1, 1]
    assert waiting_of({A: 3}, {}) == [0, None, None], "its tasks may run in containers of the source"
    assert waiting_of({}) == [None, None, None]


def test_a_stage_whose_tasks_ran_elsewhere_is_not_waited_for():
    assert waiting_of({A: 3}, {A: 1, C: 1}) == [1, None, 1], "what it feeds has asked"
    watch = after_four_maps()
    for number in range(4):
        watch.observe(NEXT, CHAIN, "", [container(number + 2, A, NEXT)], {A: 1}, 10.0 * number)
    watch.observe(NEXT, CHAIN, "", [], {C: 1}, 50.0)
    assert "stage 'b' are left is not known" in watch.facts(NEXT, CHAIN, "", {C: 1})


def test_what_is_known_of_a_stage_says_whose_tasks_taught_it():
    maps, reduces = after_four_maps().seen(JOB, STAGES, "recurring_key", {MAP: 1})
    assert (maps.times_from, maps.n_times, maps.seconds) == ("its own tasks", 4, 12.0)
    assert (reduces.times_from, reduces.n_times) == ("other stages", 4)
    (first, *_) = JobWatch().seen(JOB, STAGES, "recurring_key", {MAP: 1})
    assert (first.times_from, first.seconds, first.waiting) == ("", None, 1)


def test_counts_of_an_application_master_go_before_what_containers_tell():
    watch = JobWatch()
    told = [
        [TaskCounts(6, 2, 0), TaskCounts(2, 0, 0), TaskCounts(None, 0, 0)],
        [TaskCounts(6, 2, 2), TaskCounts(2, 0, 0), TaskCounts(None, 0, 0)],
        [TaskCounts(6, 0, 6), TaskCounts(2, 1, 0), TaskCounts(1, 0, 0)],
    ]
    for at_s, counts in zip((0.0, 10.0, 30.0), told, strict=True):  # two containers run one task after the other
        watch.observe(JOB, CHAIN, "recurring_key", [container(2, A), container(3, A)], {}, at_s, counts)
    first, second, third = watch.facts(JOB, CHAIN, "recurring_key", {}, told[-1])
    assert (first.waiting, first.running_since_s, first.ended, first.seconds) == (0, (), 6, 20.0)
    assert (second.waiting, second.running_since_s, second.seconds) == (1, (30.0,), 20.0)
    assert (third.waiting, third.ended) == (1, 0)
    assert all(each.is_counted for each in watch.seen(JOB, CHAIN, "recurring_key", {}, told[-1]))


def test_containers_teach_no_times_where_tasks_are_counted():
    watch = JobWatch()
    counts = [TaskCounts(6, 1, 0), TaskCounts(2, 0, 0), TaskCounts(1, 0, 0)]
    for number in range(2, 8):
        watch.observe(JOB, CHAIN, "recurring_key", [container(number, A)], {A: 1}, 10.0 * number, counts)
    assert "how long" in watch.facts(JOB, CHAIN, "recurring_key", {A: 1}, counts)


# ---------------------------------------------------------------------------------------------- parts, and executors

PARTS = replace(TEZ, has_parts=True)


def test_an_application_with_parts_is_known_by_its_counts_alone():
    watch = JobWatch()
    watch.observe(JOB, PARTS, "recurring_key", [], {}, 0.0, None)
    assert "not counted" in watch.facts(JOB, PARTS, "recurring_key", {}, None)


def test_another_part_begins_anew_and_learns_from_stages_of_the_same_name():
    watch = JobWatch()
    for at_s, running, done in ((0.0, 3, 0), (5.0, 0, 3)):
        counts = [TaskCounts(3, running, done), TaskCounts(2, 0, 0)]
        watch.observe(JOB, PARTS, "recurring_key", [container(2, A)], {}, at_s, counts)
    second = replace(PARTS, part=2)
    counts = [TaskCounts(3, 0, 0), TaskCounts(2, 0, 0)]
    watch.observe(JOB, second, "recurring_key", [container(2, A)], {}, 6.0, counts)
    seen = watch.seen(JOB, second, "recurring_key", {}, counts)
    assert (seen[0].seconds, seen[0].times_from, seen[0].ended) == (5.0, "earlier runs", 0)


def test_a_container_that_an_earlier_part_left_is_no_stranger():
    watch, stranger = JobWatch(), AskKey(99, -1, is_opportunistic=False, resource=UNIT)
    counts = [TaskCounts(3, 0, 3), TaskCounts(2, 0, 2)]
    watch.observe(JOB, PARTS, "recurring_key", [container(2, stranger)], {}, 0.0, counts)
    assert not isinstance(watch.facts(JOB, PARTS, "recurring_key", {}, counts), str)
    watch.observe(JOB, PARTS, "recurring_key", [], {stranger: 1}, 1.0, counts)
    assert "no stage that is known" in watch.facts(JOB, PARTS, "recurring_key", {stranger: 1}, counts)


EXECUTORS = replace(PARTS, slots=2)
EXECUTOR = AskKey(0, -1, is_opportunistic=False, resource=ResourceVector(2048, 4))


def test_a_task_of_an_executor_has_its_part_of_it_whatever_stage_it_is_of():
    watch, counts = JobWatch(), [TaskCounts(3, 0, 3), TaskCounts(2, 0, 0)]
    for at_s, done in ((0.0, 0), (4.0, 3)):
        then = [TaskCounts(3, 3 - done, done), TaskCounts(2, 0, 0)]
        watch.observe(JOB, EXECUTORS, "recurring_key", [container(2, EXECUTOR)], {EXECUTOR: 3}, at_s, then)
    first, second = watch.seen(JOB, EXECUTORS, "recurring_key", {EXECUTOR: 3}, counts)
    assert (first.size, second.size) == (ResourceVector(1024, 2), ResourceVector(1024, 2))
    assert (first.seconds, second.waiting) == (4.0, 2)


def test_executors_of_two_sizes_are_not_planned():
    watch, counts = JobWatch(), [TaskCounts(3, 0, 0), TaskCounts(2, 0, 0)]
    watch.observe(JOB, EXECUTORS, "recurring_key", [container(2, MAP)], {EXECUTOR: 3}, 0.0, counts)
    assert "no stage that is known" in watch.facts(JOB, EXECUTORS, "recurring_key", {EXECUTOR: 3}, counts)


def test_a_job_that_tells_of_endless_tasks_is_not_planned():
    watch = after_four_maps()
    asks = {MAP: MOST_WAITING + 1}
    watch.observe(JOB, STAGES, "recurring_key", [], asks, 20.0)
    assert "so many are not planned" in watch.facts(JOB, STAGES, "recurring_key", asks)


def one(running, succeeded):
    return [TaskCounts(100, running, succeeded)]


def test_the_task_that_began_first_ends_first():
    clocks = TaskClocks()
    assert clocks.take(one(1, 0), 0.0) == []
    assert clocks.take(one(3, 0), 4.0) == []
    assert clocks.running(0) == (0.0, 4.0, 4.0)
    assert clocks.take(one(3, 2), 10.0) == [(0, 10.0), (0, 6.0)]
    assert clocks.running(0) == (4.0, 10.0, 10.0)


def test_a_task_between_two_counts_ran_no_longer_than_from_one_to_the_next():
    clocks = TaskClocks()
    clocks.take(one(0, 0), 5.0)
    assert clocks.take(one(0, 2), 7.0) == [(0, 2.0), (0, 2.0)]


def test_nothing_is_known_of_what_had_ended_before():
    assert TaskClocks().take(one(2, 40), 100.0) == []


def test_a_task_that_was_killed_begins_anew():
    clocks = TaskClocks()
    clocks.take(one(2, 0), 0.0)
    assert clocks.take(one(1, 0), 3.0) == []
    clocks.take(one(2, 0), 5.0)
    assert clocks.running(0) == (0.0, 5.0)


def test_a_count_without_bounds_teaches_a_bounded_number_of_times():
    clocks = TaskClocks()
    clocks.take(one(0, 0), 0.0)
    assert len(clocks.take(one(0, 2**31 - 1), 1.0)) == 64


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=30))
def test_clocks_are_as_many_as_tasks_run_and_no_time_is_negative(told):
    clocks = TaskClocks()
    for at_s, (running, succeeded) in enumerate(told):
        assert all(0 < seconds <= at_s for _, seconds in clocks.take(one(running, succeeded), float(at_s)))
        assert len(clocks.running(0)) == running
        assert list(clocks.running(0)) == sorted(clocks.running(0))
