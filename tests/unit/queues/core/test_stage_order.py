"""Which stages may be put off: none for which an engine would kill others, none that it serves before what is due."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from altruism import JobPlan, Packing, PlannedJob, Progress, StageGraph
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.queues.core.stage_order import may_wait


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
