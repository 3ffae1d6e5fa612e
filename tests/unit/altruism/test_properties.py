"""Properties of the kernels over random graphs; the oracles look at one task at a time."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from altruism import (
    JobPlan,
    LeftoverOrder,
    Packing,
    PlannedJob,
    Progress,
    RoomProfile,
    StageGraph,
    adopt_plans,
    drf_shares,
    due_tasks,
    justify_in_room,
    justify_right,
    pack_backward,
    pack_forward,
    plan_job,
    room_over_time,
    share_out,
    stage_ranks,
)
from tests.support.examples import examples
from tests.unit.altruism.aggregate_cluster import AggregateCluster, growing_shares, static_shares
from tests.unit.altruism.oracles import (
    adopted_plans,
    backward_packing,
    best_order,
    equal_dominant_shares,
    forward_packing,
    intervals,
    is_greedy,
    latest_starts,
    least_room,
    lent_tasks,
    precedence_is_kept,
    usage_is_within,
)
from tests.unit.altruism.strategies import (
    drawn_graph,
    drawn_progress,
    exact_jobs,
    jobs_with_capacity,
    stage_graphs,
)

SHARE = np.array([0.5, 0.5])


@st.composite
def jobs_under_way(draw):
    """A job of which some tasks run: of stages whose parents have not begun to wait, within the share."""
    graph = draw(stage_graphs(n_resources=2, largest=0.5))
    waiting, free = graph.tasks.copy(), SHARE.copy()
    rows = []
    for stage in graph.order:
        is_root = not graph.needs[stage].any()
        count = draw(st.integers(0, int(waiting[stage]))) if is_root else 0
        for _ in range(count):
            if (graph.demand[stage] <= free).all():
                free -= graph.demand[stage]
                waiting[stage] -= 1
                rows.append((stage, 1, draw(st.integers(1, 8)) / 2))
    stages, counts, rests = ([row[at] for row in rows] for at in range(3))
    return graph, Progress.of(waiting, stages, counts, rests)


@given(jobs_under_way())
def test_forward_packing_is_feasible(job):
    graph, progress = job
    packing = pack_forward(graph, progress, SHARE)
    tasks = intervals(graph, progress, packing)
    assert usage_is_within(SHARE, tasks)
    assert precedence_is_kept(graph, tasks)
    assert np.bincount(packing.stage, packing.count, graph.n_stages).tolist() == progress.waiting.tolist()
    assert packing.makespan == pytest.approx(max((end for _, end, *_ in tasks), default=0.0))


@given(stage_graphs(n_resources=2, largest=0.5))
def test_forward_packing_leaves_nothing_waiting_that_fits(graph):
    assert is_greedy(graph, SHARE, pack_forward(graph, Progress.at_start(graph), SHARE))


@given(jobs_under_way())
def test_justification_is_feasible_ends_when_the_packing_did_and_starts_nothing_earlier(job):
    graph, progress = job
    packing = pack_forward(graph, progress, SHARE)
    late = justify_right(graph, progress, SHARE, packing)
    tasks = intervals(graph, progress, late)
    assert usage_is_within(SHARE, tasks)
    assert precedence_is_kept(graph, tasks)
    assert max((end for _, end, *_ in tasks), default=0.0) <= packing.makespan + 1e-6
    for stage in range(graph.n_stages):
        starts = [
            np.repeat(each.start[each.stage == stage], each.count[each.stage == stage]) for each in (packing, late)
        ]
        assert (np.sort(starts[1]) >= np.sort(starts[0]) - 1e-6).all()


@given(stage_graphs(n_resources=2, largest=0.5))
def test_after_justification_no_single_task_could_start_later(graph):
    packing = pack_forward(graph, Progress.at_start(graph), SHARE)
    late = justify_right(graph, Progress.at_start(graph), SHARE, packing)
    assert latest_starts(graph, SHARE, packing.makespan, late) is None


@given(jobs_under_way())
def test_reversed_packing_is_feasible_or_refused(job):
    graph, progress = job
    makespan = pack_forward(graph, progress, SHARE).makespan
    late = pack_backward(graph, progress, SHARE, makespan)
    assume(late is not None)
    tasks = intervals(graph, progress, late)
    assert usage_is_within(SHARE, tasks)
    assert precedence_is_kept(graph, tasks)
    assert max((end for _, end, *_ in tasks), default=0.0) <= makespan + 1e-6


@given(jobs_under_way(), st.booleans())
def test_what_is_due_fits_into_the_share_and_a_job_that_does_not_yield_is_due_at_once(job, yields):
    graph, progress = job
    plan = plan_job(graph, progress, SHARE, 3.0, yields=yields)
    due = due_tasks(PlannedJob(graph, progress, plan), 3.0)
    assert (due @ graph.demand + progress.held(graph) <= SHARE + 1e-6).all()
    if not yields:
        assert due.tolist() == pack_forward(graph, progress, SHARE).starting_by(0.0, graph.n_stages).tolist()


@given(jobs_under_way(), st.sampled_from([0.5, 3.0, 10.0]))
def test_durations_scale_the_plan(job, factor):
    graph, progress = job
    slower = StageGraph.of(graph.needs, graph.tasks, graph.demand, graph.duration * factor)
    later = Progress.of(progress.waiting, progress.run_stage, progress.run_count, progress.run_rest * factor)
    plan, scaled = plan_job(graph, progress, SHARE, 0.0), plan_job(slower, later, SHARE, 0.0)
    assert scaled.ends_by_s == pytest.approx(plan.ends_by_s * factor)
    np.testing.assert_allclose(scaled.packing.start, plan.packing.start * factor, atol=1e-6)


@given(jobs_under_way())
def test_the_same_job_has_the_same_plan_and_is_left_as_it_was(job):
    graph, progress = job
    before = [array.copy() for array in (graph.needs, graph.tasks, graph.demand, graph.duration, progress.waiting)]
    first, second = (plan_job(graph, progress, SHARE, 0.0).groups() for _ in range(2))
    assert first == second
    for array, copy in zip(
        (graph.needs, graph.tasks, graph.demand, graph.duration, progress.waiting), before, strict=True
    ):
        np.testing.assert_array_equal(array, copy)


@given(jobs_with_capacity(), st.sampled_from(LeftoverOrder), st.booleans())
def test_what_is_due_and_lent_fits_now_and_in_strict_mode_beside_all_plans(drawn, order, strict):
    graphs, ones = drawn
    capacity = np.array(ones)
    jobs = [
        PlannedJob(
            graph, Progress.at_start(graph), plan_job(graph, Progress.at_start(graph), capacity / len(graphs), 0.0)
        )
        for graph in graphs
    ]
    lent = share_out(jobs, capacity, 0.0, order=order, strict=strict)
    starts = [due_tasks(job, 0.0) + more for job, more in zip(jobs, lent, strict=True)]
    assert all((count <= job.progress.waiting).all() for count, job in zip(starts, jobs, strict=True))
    assert (sum(count @ job.graph.demand for count, job in zip(starts, jobs, strict=True)) <= capacity + 1e-6).all()
    if not strict:
        return
    after = [
        PlannedJob(
            job.graph,
            Progress.of(
                job.progress.waiting - count, np.flatnonzero(count), count[count > 0], job.graph.duration[count > 0]
            ),
            job.plan.without_launched(job.progress.waiting - count, 0.0),
        )
        for count, job in zip(starts, jobs, strict=True)
    ]
    _, free = room_over_time(after, capacity, 0.0).steps()
    assert (free >= -1e-6).all()


@given(jobs_with_capacity())
def test_the_order_of_the_jobs_changes_nothing(drawn):
    """Jobs of equal remaining work aside: there the first goes first."""
    graphs, ones = drawn
    capacity = np.array(ones)
    work = [Progress.at_start(graph).remaining_work(graph) for graph in graphs]
    assume(len({round(each, 6) for each in work}) == len(work))
    jobs = [
        PlannedJob(
            graph, Progress.at_start(graph), plan_job(graph, Progress.at_start(graph), capacity / len(graphs), 0.0)
        )
        for graph in graphs
    ]
    lent, turned = share_out(jobs, capacity, 0.0), share_out(jobs[::-1], capacity, 0.0)
    assert [each.tolist() for each in lent] == [each.tolist() for each in turned[::-1]]
    plans = [job.plan for job in jobs]
    adopted, back = adopt_plans(jobs, plans, capacity, 0.0), adopt_plans(jobs[::-1], plans[::-1], capacity, 0.0)
    assert [job.plan.groups() for job in adopted] == [job.plan.groups() for job in back[::-1]]


def _graph(needs, tasks, demand, duration):
    edges = np.zeros((len(tasks), len(tasks)), dtype=bool)
    for child, parent in needs:
        edges[child, parent] = True
    return StageGraph.of(edges, tasks, demand, duration)


A_NEW_PLAN_IN_THE_WAY = (
    [
        _graph([], [1], [[0.005, 0.005]], [1]),
        _graph([(2, 0), (2, 1)], [1, 5, 1], [[0.005, 0.195], [0.005, 0.0125], [0.005, 0.005]], [6, 5, 1]),
        _graph([], [2, 4, 1], [[0.005, 0.06], [0.005, 0.1025], [0.005, 0.21]], [2, 2, 2]),
        _graph([(1, 0)], [1, 1], [[0.005, 0.005], [0.005, 0.005]], [1, 1]),
    ],
    [1.0, 1.0],
)
"""With growing shares, a plan that is taken without looking at what others run on leftover makes its job late."""


@pytest.mark.parametrize("kind", ["static", "growing", "drf"])
@example(drawn=A_NEW_PLAN_IN_THE_WAY)
@given(drawn=jobs_with_capacity())
@settings(max_examples=examples(60))
def test_no_job_ends_later_than_with_its_share_alone(kind, drawn):
    """The claim, against T_k: the end by the job's first share alone, not against work-conserving DRF."""
    graphs, capacity = drawn
    total, alone = np.array(capacity), []
    by_drf = drf_shares([graph.mean_demand() for graph in graphs], total)
    if kind == "drf":
        for graph, share in zip(graphs, by_drf, strict=True):
            assume((graph.demand <= share + 1e-9).all())
    for graph, share in zip(graphs, by_drf if kind == "drf" else [total / len(graphs)] * len(graphs), strict=True):
        alone.append(pack_forward(graph, Progress.at_start(graph), share).makespan)
    shares = {
        "static": static_shares(capacity, len(graphs)),
        "growing": growing_shares(capacity),
        "drf": lambda live: list(drf_shares([run.graph.mean_demand() for run in live], total)),
    }[kind]
    ended = AggregateCluster(graphs, capacity, shares).run()
    assert all(end <= bound + 1e-6 for end, bound in zip(ended, alone, strict=True)), (ended, alone)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(-3, 3)).map(lambda each: [x / 2 for x in each]),
        max_size=8,
    ),
    st.integers(0, 24),
    st.integers(1, 12),
    st.integers(0, 8),
)
def test_a_room_profile_is_the_capacity_less_every_reservation(reservations, begin, length, together):
    """Whether they came one by one, or some of them at once."""
    room, tasks = RoomProfile(np.array([5.0])), []
    rows = np.array(reservations, dtype=np.float64).reshape(-1, 3)
    one_by_one, at_once = rows[together:], rows[:together]
    for start, seconds, amount in one_by_one:
        room.reserve(start, start + seconds, np.array([amount]))
    room.reserve_all(at_once[:, 0], at_once[:, 0] + at_once[:, 1], at_once[:, 2:])
    for start, seconds, amount in reservations:
        tasks.append((start, start + seconds, np.array([amount]), 0))
    begin, end = begin / 2, (begin + length) / 2
    np.testing.assert_allclose(room.lowest(begin, end), least_room([5.0], tasks, begin, end))


WHOLE = np.ones(2)


def each_task(packing):
    return sorted((start, stage) for start, stage, count in packing.groups() for _ in range(count))


@given(exact_jobs())
def test_packings_are_those_of_their_slow_twins(jobs):
    (graph,) = jobs
    start = Progress.at_start(graph)
    forward = pack_forward(graph, start, WHOLE)
    assert each_task(forward) == sorted(forward_packing(graph, WHOLE))
    backward, slow = (
        pack_backward(graph, start, WHOLE, forward.makespan),
        backward_packing(graph, WHOLE, forward.makespan),
    )
    assert (backward is None) == (slow is None)
    if backward is not None:
        assert each_task(backward) == sorted(slow)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=5))
def test_shares_are_those_of_their_slow_twin(demands):
    np.testing.assert_allclose(drf_shares(demands, [90.0, 40.0]), equal_dominant_shares(demands, [90.0, 40.0]))


@pytest.mark.parametrize("order", LeftoverOrder)
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "as the paper lends"])
@pytest.mark.parametrize("lead", [0.0, 1.0])
def test_what_is_lent_is_what_its_slow_twin_lends(order, strict, lead):
    """Of jobs that are under way, by plans that were made before; seeded, so that each order matters in each run."""
    generator, total = np.random.default_rng(7), np.zeros(2)
    for _ in range(25):
        planned = []
        for _ in range(3):
            graph = drawn_graph(generator)
            progress = drawn_progress(generator, graph, WHOLE / 3)
            plan = plan_job(graph, progress, WHOLE / 3, 10.0)
            planned.append(PlannedJob(graph, progress, JobPlan(10.0 - lead / 2, plan.ends_by_s, plan.packing)))
        lent = share_out(planned, WHOLE, 10.0, order=order, strict=strict, lead_s=lead)
        twin = lent_tasks(planned, WHOLE, 10.0, order=order.value, strict=strict, lead=lead)
        assert [each.tolist() for each in lent] == [each.tolist() for each in twin]
        total += [sum(map(np.sum, lent)), sum(job.progress.waiting.sum() for job in planned)]
    assert 0 < total[0] < total[1]


def test_plans_that_are_adopted_are_those_of_their_slow_twin():
    """Of jobs under way with plans that were made before, earlier and later proposals, and some that are no others."""
    generator, changed, proposed = np.random.default_rng(13), 0, 0
    for _ in range(60):
        jobs, proposals = [], []
        for _ in range(3):
            graph = drawn_graph(generator, stages=(1, 3))
            progress = drawn_progress(generator, graph, WHOLE / 3)
            plan = plan_job(graph, progress, WHOLE * 0.75, 9.0)
            jobs.append(PlannedJob(graph, progress, plan))
            moved = JobPlan(9.0 + int(generator.integers(-2, 5)) / 2, plan.ends_by_s + 2.0, plan.packing)
            proposals.append(plan if generator.random() < 0.2 else moved)
        adopted = [job.plan for job in adopt_plans(jobs, proposals, WHOLE, 10.0)]
        twin = adopted_plans(jobs, proposals, WHOLE, 10.0)
        assert [id(plan) for plan in adopted] == [id(plan) for plan in twin]
        proposed += sum(new is not job.plan for new, job in zip(proposals, jobs, strict=True))
        changed += sum(plan is not job.plan for plan, job in zip(adopted, jobs, strict=True))
    assert 0.1 < changed / proposed < 0.95, "some are refused"


def test_without_jobs_all_is_free_and_nobody_borrows():
    assert [each.tolist() for each in room_over_time([], WHOLE, 5.0).steps()] == [[0.0], [[1.0, 1.0]]]
    assert share_out([], WHOLE, 5.0) == []
    assert adopt_plans([], [], WHOLE, 5.0) == []


@pytest.mark.parametrize("order", LeftoverOrder)
def test_a_score_is_of_the_demand_in_what_is_free(order):
    """One that is not symmetric, as the dot product is: the smaller task first."""
    graph = _graph([], [1, 1], [[0.25, 0.25], [0.5, 0.5]], [1, 1])
    plan = JobPlan(0.0, 9.0, Packing.of(9.0, [(4.0, 0, 1), (4.0, 1, 1)]))
    job = PlannedJob(graph, Progress.at_start(graph), plan)
    lent = share_out([job], np.array([0.5, 0.5]), 0.0, order=order, score=lambda demand, free: free[0] - 2 * demand[0])
    assert lent[0].tolist() == [1, 0]


def test_in_the_room_that_others_leave_no_task_could_start_later():
    """And what is left is the room without the plan: those that put off more than their share alone allows, too."""
    generator, moved = np.random.default_rng(11), 0
    for _ in range(40):
        graph, other = drawn_graph(generator, most=32), drawn_graph(generator, most=32)
        packing = pack_forward(graph, Progress.at_start(graph), SHARE)
        beside = intervals(other, Progress.at_start(other), pack_forward(other, Progress.at_start(other), SHARE))
        room = RoomProfile(WHOLE)
        for start, end, demand, _ in beside:
            room.reserve(start, end, demand)
        late = justify_in_room(graph, packing, room)
        tasks = intervals(graph, Progress.at_start(graph), late)
        assert usage_is_within(WHOLE, tasks + beside)
        assert precedence_is_kept(graph, tasks)
        assert latest_starts(graph, WHOLE, packing.makespan, late, beside) is None
        assert late.makespan == packing.makespan
        assert np.bincount(late.stage, late.count, graph.n_stages).tolist() == graph.tasks.tolist()
        assert all(early <= late for early, late in zip(each_task(packing), each_task(late), strict=True))
        for start, end, demand, _ in tasks + beside:
            room.reserve(start, end, -demand)
        np.testing.assert_allclose(room.steps()[1], 1.0)
        moved += each_task(late) != each_task(justify_right(graph, Progress.at_start(graph), SHARE, packing))
    assert moved > 10


def test_an_order_of_stages_is_the_one_that_its_slow_twin_finds():
    generator, found = np.random.default_rng(5), 0
    for _ in range(40):
        graph = drawn_graph(generator, stages=(5, 8), edges=0.2, tasks=3, most=40, longest=12)
        for share in (WHOLE, np.array([1.0, 0.75])):
            ranks = stage_ranks(graph, share)
            assert ranks == best_order(graph, share)
        found += ranks is not None
    assert found > 10, "orders that are shorter than the packer's own are rare"


@pytest.mark.parametrize(("demand", "is_adopted"), [(0.5, True), (0.6, False)])
def test_a_plan_is_adopted_that_uses_what_is_free_and_not_one_that_has_no_room(demand, is_adopted):
    task = StageGraph.of([[0]], [1], [[demand]], [1])
    start = Progress.at_start(task)
    first, second = (JobPlan(0.0, at + 1.0, Packing.of(at + 1.0, [(at, 0, 1)])) for at in (0.0, 1.0))
    jobs = [PlannedJob(task, start, first), PlannedJob(task, start, second)]
    adopted = adopt_plans(jobs, [first, first], np.ones(1), 0.0)
    assert [job.plan for job in adopted] == [first, first if is_adopted else second]
