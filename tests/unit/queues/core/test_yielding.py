"""From plans to numbers of containers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from altruism import JobPlan, Packing, PlannedJob, Progress, StageGraph
from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.domain.resources import ResourceVector
from shim.queues.core.job_watch import StageFacts
from shim.queues.core.yielding import QueueJob, QueueYields, YieldRules, may_wait
from shim.queues.engines import EngineGraphs

ONE, TWO, STRANGE = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2, 3))
UNIT = ResourceVector(1024, 1)
TOTAL = ResourceVector(8 * 1024, 8)
MAP, FAILED, REDUCE = (AskKey(priority, -1, is_opportunistic=False, resource=UNIT) for priority in (20, 5, 10))
STAGES = StagesOfJob(
    JobGraph.of("two", (Stage("map", None, 0, 0), Stage("reduce", None, 0, 0, (0,), (0,)))),
    {20: 0, 5: 0, 10: 1},
    frozenset({5}),
)
RULES = YieldRules(lead_s=0.0)


def job(attempt, maps, reduces=0, *, running=(), reducing=(), seconds=(10.0, 10.0), asks=None, yields=True):
    asks = {MAP: maps, REDUCE: reduces} if asks is None else asks
    facts = (StageFacts(maps, running, 0, seconds[0], UNIT), StageFacts(reduces, reducing, 0, seconds[1], UNIT))
    held = ResourceVector(1024 * len(running + reducing), len(running + reducing))
    return QueueJob(attempt, {key: count for key, count in asks.items() if count}, held, STAGES, facts, yields)


def look(*jobs, at_s=0.0, yields=None, rules=RULES):
    return (yields or QueueYields()).look(jobs, TOTAL, rules, at_s)


def test_reduces_wait_for_their_maps():
    found = look(job(ONE, 2, 3, running=(0.0,) * 6))[ONE]
    assert found.held_back == {REDUCE: 3}
    (stage,) = found.stages
    assert (stage.name, stage.count, stage.waits_for) == ("reduce", 3, ("map",))
    assert stage.next_start_s == pytest.approx(10.0)
    assert found.ends_by_s == pytest.approx(20.0)


def test_reduces_are_asked_for_ahead_of_the_end_of_the_maps():
    running = (0.0,) * 8
    assert look(job(ONE, 0, 3, running=running), at_s=4.0, rules=YieldRules(lead_s=5.0))[ONE].held_back == {REDUCE: 3}
    assert look(job(ONE, 0, 3, running=running), at_s=6.0, rules=YieldRules(lead_s=5.0))[ONE].held_back == {}


def test_a_job_that_has_not_changed_is_told_the_same_until_it_asks_for_less_or_is_due():
    yields, rules, same = QueueYields(), YieldRules(lead_s=5.0), job(ONE, 0, 3, running=(0.0,) * 8)
    first = look(same, at_s=1.0, yields=yields, rules=rules)[ONE]
    assert first.held_back == {REDUCE: 3}
    assert look(same, at_s=2.0, yields=yields, rules=rules)[ONE] is first, "nothing is worked out again"
    same.asks[REDUCE] = 2
    assert look(same, at_s=3.0, yields=yields, rules=rules)[ONE].held_back == {REDUCE: 2}
    assert look(same, at_s=6.0, yields=yields, rules=rules)[ONE].held_back == {}


def test_what_a_job_holds_is_a_larger_part_of_a_queue_that_has_become_smaller():
    yields, holder, other = QueueYields(), job(ONE, 0, 3, running=(0.0,) * 8), job(TWO, 3)
    before, after = (
        yields.look((holder, other), ResourceVector(1024 * places, places), RULES, at_s)[ONE]
        for places, at_s in ((16, 1.0), (12, 2.0))
    )
    assert (before.beyond, after.beyond) == (0.0, pytest.approx(8 / 12 - 1 / 2))


def test_what_a_large_job_puts_off_goes_to_a_small_one():
    """Each has a share of four. Of its five maps the large one has to start one now; the small one has all five."""
    found = look(job(ONE, 5, seconds=(20.0, 1.0)), job(TWO, 5))
    assert found[ONE].held_back == {MAP: 2}, "what then is left it has itself"
    assert found[ONE].not_due == {MAP: 4}, "what it has itself, too, it does not need as yet"
    assert found[TWO].held_back == {}
    assert found[ONE].given > 0


def test_what_is_asked_for_is_not_given():
    """Of its share of four it holds none, asks for three and puts two off: one was free for others."""
    found = look(job(ONE, 5, seconds=(20.0, 1.0)), job(TWO, 5))[ONE]
    assert sum(found.held_back.values()) == 2
    assert found.given == pytest.approx(1 / 8)


def test_a_job_that_does_not_yield_asks_for_all_of_its_share():
    found = look(job(ONE, 5, seconds=(20.0, 1.0), yields=False), job(TWO, 5))
    assert found[ONE].held_back == {}


def test_maps_are_not_put_off_while_reduces_run():
    """Their ApplicationMaster would end the reduces to make room for them."""
    found = look(job(ONE, 5, 0, reducing=(0.0,), seconds=(20.0, 100.0)), job(TWO, 5))
    assert found[ONE].held_back == {}


WIDE, LONG = (AskKey(priority, -1, is_opportunistic=False, resource=UNIT) for priority in (8, 11))
JOINED = JobGraph.of(
    "joined", (Stage("wide", 8, 512, 1), Stage("long", 1, 512, 1), Stage("after", 1, 512, 1, (0, 1), (0, 1)))
)


def joined(wide, long, *, reuses):
    """Short tasks and a long one, which the engine serves last, before a join; what does not wait runs."""
    facts = (
        StageFacts(wide, (), 8 - wide, 5.0, UNIT),
        StageFacts(long, (0.0,) * (1 - long), 0, 60.0, UNIT),
        StageFacts(1, (), 0, 1.0, UNIT),
    )
    stages = StagesOfJob(JOINED, {8: 0, 7: 0, 11: 1, 10: 1, 26: 2}, frozenset({7, 10}), reuses_containers=reuses)
    asks = {key: count for key, count in ((WIDE, wide), (LONG, long)) if count}
    return QueueJob(ONE, asks, ResourceVector(), stages, facts)


def test_an_engine_that_reuses_containers_puts_off_only_what_it_serves_last():
    """It would run the short tasks one after the other in the few containers that it has, and the long one last."""
    others = job(TWO, 8, running=(0.0,) * 4)
    assert set(look(joined(8, 1, reuses=False), others)[ONE].held_back) >= {WIDE}
    assert set(look(joined(8, 1, reuses=True), others)[ONE].held_back) <= {LONG}
    assert set(look(joined(8, 0, reuses=True), others)[ONE].held_back) == {WIDE}, "the long one runs"


def test_tasks_that_failed_before_are_never_put_off():
    found = look(job(ONE, 5, seconds=(20.0, 1.0), asks={FAILED: 2, MAP: 3}), job(TWO, 5))[ONE]
    assert found.held_back == {MAP: 2}


def test_a_job_of_which_too_little_is_known_puts_nothing_off_and_keeps_its_share():
    unknown = QueueJob(STRANGE, {MAP: 8}, ResourceVector(), facts="nobody knows it")
    found = look(unknown, job(ONE, 9, 2))
    assert found[STRANGE].held_back == {}
    assert found[STRANGE].reason == "nobody knows it"
    assert found[ONE].held_back == {MAP: 5, REDUCE: 2}, "of eight it may have four"


def test_a_promise_is_kept_from_look_to_look():
    yields = QueueYields()
    first = look(job(ONE, 9, 2), yields=yields)[ONE]
    later = look(job(ONE, 1, 2, running=(0.0,) * 8), at_s=5.0, yields=yields)[ONE]
    assert later.ends_by_s <= first.ends_by_s + 1e-6


def test_a_job_that_grows_gets_a_new_promise():
    yields = QueueYields()
    first = look(job(ONE, 8, 0), yields=yields)[ONE]
    later = look(job(ONE, 24, 4), at_s=1.0, yields=yields)[ONE]
    assert later.ends_by_s > first.ends_by_s


BRANCH, LINKS = ResourceVector(4096, 4), ResourceVector(3072, 3)
CHAINED = JobGraph.of(
    "chained",
    (
        Stage("branch", 3, 4096, 4),
        Stage("first", 1, 3072, 3),
        Stage("second", 1, 3072, 3, (1,), (1,)),
        Stage("third", 1, 3072, 3, (2,), (2,)),
    ),
)


@pytest.mark.parametrize(("is_ranked", "ends_s"), [(False, 7.0), (True, 6.0)])
def test_a_queue_may_plan_by_the_order_that_packs_shortest(is_ranked, ends_s):
    """The branch fits best and goes first; the chain, which takes longer, has to."""
    facts = (
        StageFacts(3, (), 0, 1.0, BRANCH),
        *(StageFacts(1, (), 0, 2.0, LINKS) for _ in range(3)),
    )
    stages = StagesOfJob(CHAINED, {number: number for number in range(4)})
    asks = {AskKey(0, -1, is_opportunistic=False, resource=BRANCH): 3}
    planned = QueueJob(ONE, asks, ResourceVector(), stages, facts)
    yields, rules = QueueYields(), YieldRules(lead_s=0.0, is_ranked=is_ranked)
    assert look(planned, yields=yields, rules=rules)[ONE].ends_by_s == pytest.approx(ends_s)
    slower = (facts[0], *(replace(each, seconds=4.0) for each in facts[1:]))
    again = look(replace(planned, facts=slower), yields=yields, rules=rules)[ONE]
    assert again.ends_by_s == pytest.approx(ends_s + 6.0), "estimates have changed"


def test_what_a_stage_will_ask_for_waits_ahead():
    """Eight maps run; reduces of known size have not asked as yet."""
    waiting = replace(job(ONE, 0, 3, running=(0.0,) * 8, asks={}), form=MAP)
    found = look(waiting)[ONE]
    assert found.held_back == {}
    assert found.ahead == {REDUCE: 3}
    assert found.given == 0, "it asks for nothing"


def test_without_a_share_nothing_is_put_off():
    found = QueueYields().look([job(ONE, 5, 2)], ResourceVector(), RULES, 0.0)[ONE]
    assert found.held_back == {}
    assert found.reason


@pytest.mark.parametrize("ended_meanwhile", range(5))
def test_reduces_that_are_asked_for_as_maps_end_are_put_off_no_longer_than_maps_run(ended_meanwhile):
    """The job has no more tasks than before then, but more of a stage: the plan in force knows none of these."""
    size, queue, attempt = ResourceVector(2048, 1), QueueYields(), ApplicationAttemptId(ApplicationId(1, 1), 1)
    stages = EngineGraphs().stages(attempt.application, "MAPREDUCE")
    reduces = AskKey(10, -1, is_opportunistic=False, resource=size)

    def held(maps, running, wanted, now_s):
        facts = (StageFacts(maps, running, 30 - maps, 5.0, size), StageFacts(wanted, (), 0, 5.0, size))
        asks = {reduces: wanted} if wanted else {}
        job = QueueJob(attempt, asks, size, stages=stages, facts=facts, containers=len(running))
        return queue.look([job], ResourceVector(8192, 8), YieldRules(), now_s)[attempt].held_back

    held(20, (1000.0,) * 3, 0, 1000.0)
    held(20 - ended_meanwhile, (1001.0,) * 3, 2, 1001.0)
    held(0, (1030.0,), 2, 1034.0)
    assert held(0, (), 2, 1100.0) == {}


def crowd(count):
    """Jobs of which nothing is known, and which have their share all the same."""
    attempts = (ApplicationAttemptId(ApplicationId(2, number), 1) for number in range(count))
    return [QueueJob(each, {MAP: 9}, UNIT, None, "its stages are not known") for each in attempts]


def test_a_job_whose_share_falls_after_it_put_something_off_puts_off_no_more():
    """Alone with its share it would have done by then what it has put off."""
    yields = QueueYields()
    slow = job(ONE, 6, seconds=(20.0, 1.0))
    before = look(slow, *crowd(1), yields=yields)[ONE]
    assert before.held_back
    at_fall = look(slow, *crowd(3), at_s=2.0, yields=yields)[ONE]
    assert at_fall.ends_by_s > before.ends_by_s + 5.0
    for at_s in (3.0, 30.0):
        found = look(slow, *crowd(3), at_s=at_s, yields=yields)[ONE]
        assert found.held_back == {}
        assert found.given == 0.0
    assert look(slow, *crowd(1), at_s=31.0, yields=yields)[ONE].held_back == {}, "it still ends later than promised"


@pytest.mark.parametrize("later", [job(ONE, 6, seconds=(40.0, 1.0)), job(ONE, 9, seconds=(20.0, 1.0))])
def test_new_estimates_or_tasks_are_a_reason_for_another_promise(later):
    yields = QueueYields()
    assert look(job(ONE, 6, seconds=(20.0, 1.0)), *crowd(1), yields=yields)[ONE].held_back
    look(later, *crowd(3), at_s=2.0, yields=yields)
    assert look(later, *crowd(3), at_s=3.0, yields=yields)[ONE].held_back


def test_estimates_that_drift_by_little_from_look_to_look_are_new_ones_in_the_end():
    yields = QueueYields()
    assert look(job(ONE, 6, seconds=(20.0, 1.0)), *crowd(1), yields=yields)[ONE].held_back
    late, *_, drifted = (
        look(job(ONE, 6, seconds=(seconds, 1.0)), *crowd(3), at_s=at_s, yields=yields)[ONE]
        for at_s, seconds in ((2.0, 20.0), (3.0, 20.0), (4.0, 21.5), (5.0, 23.1), (6.0, 24.8))
    )
    assert late.ends_by_s > 45.0, "its share fell"
    assert drifted.held_back


def test_a_job_that_has_put_nothing_off_is_promised_by_the_share_that_it_has():
    yields = QueueYields()
    slow = job(ONE, 6, seconds=(20.0, 1.0))
    assert look(replace(slow, yields=False), *crowd(1), yields=yields)[ONE].held_back == {}
    look(slow, *crowd(3), at_s=2.0, yields=yields)
    assert look(slow, *crowd(3), at_s=3.0, yields=yields)[ONE].held_back


def planned(parents, waiting, running=()):
    """A job by the parents of each stage, what of it waits, and the stages of which one task runs."""
    stages = range(len(parents))
    needs = [[parent in parents[child] for parent in stages] for child in stages]
    graph = StageGraph.of(needs, [9] * len(parents), [[0.1]] * len(parents), [1.0] * len(parents))
    progress = Progress.of(waiting, running, [1] * len(running), [1.0] * len(running))
    return PlannedJob(graph, progress, JobPlan(0.0, 0.0, Packing.of(0.0, [])))


def stages_of(parents, by_priority, *, reuses):
    stages = tuple(Stage(f"s{each}", None, 0, 0, above, above) for each, above in enumerate(parents))
    return StagesOfJob(JobGraph.of("job", stages), by_priority, reuses_containers=reuses)


CHAIN = ((), (0,), (1,))
DIAMOND = ((), (0,), (0,), (1, 2))


@pytest.mark.parametrize(
    ("parents", "running", "expected"),
    [
        (CHAIN, (), [True, True, True]),
        (CHAIN, (0,), [True, True, True]),
        (CHAIN, (1,), [False, True, True]),
        (CHAIN, (2,), [False, False, True]),
        (DIAMOND, (1,), [False, True, True, True]),
        (DIAMOND, (3,), [False, False, False, True]),
        (((), ()), (1,), [True, True]),
    ],
)
def test_a_stage_does_not_wait_while_something_below_it_runs(parents, running, expected):
    job = planned(parents, [1] * len(parents), running)
    stages = stages_of(parents, {each: each for each in range(len(parents))}, reuses=False)
    assert may_wait(stages, job) == expected


SIDE_BY_SIDE = ((), (), (0, 1))


@pytest.mark.parametrize(
    ("waiting", "by_priority", "expected"),
    [
        ((1, 1, 1), {5: 0, 8: 1, 11: 2}, [False, True, True]),  # the first is served before the second, which is due
        ((1, 1, 1), {8: 0, 5: 1, 11: 2}, [True, False, True]),
        ((1, 0, 1), {5: 0, 8: 1, 11: 2}, [True, True, True]),  # of the second nothing waits
        ((0, 0, 1), {5: 0, 8: 1, 11: 2}, [False, False, True]),
        ((1, 1, 1), {5: 0, 8: 1, 9: 0, 11: 2}, [True, False, True]),  # the latest priority of a stage counts
        ((1, 1, 1), {5: 0, 8: 1}, [False, True, True]),  # of whose priority nothing is known is as the last
    ],
)
def test_where_containers_are_used_again_only_what_is_served_last_waits(waiting, by_priority, expected):
    assert may_wait(stages_of(SIDE_BY_SIDE, by_priority, reuses=True), planned(SIDE_BY_SIDE, waiting)) == expected


@given(
    waiting=st.lists(st.integers(0, 2), min_size=4, max_size=4),
    running=st.lists(st.integers(0, 3), unique=True),
    priorities=st.permutations(range(4)),
)
def test_reuse_never_lets_more_wait(waiting, running, priorities):
    job, by_priority = planned(DIAMOND, waiting, tuple(running)), dict(zip(priorities, range(4), strict=True))
    plain = may_wait(stages_of(DIAMOND, by_priority, reuses=False), job)
    reused = may_wait(stages_of(DIAMOND, by_priority, reuses=True), job)
    assert all(each or not other for each, other in zip(plain, reused, strict=True))
