"""Quincy: the small graph to the digit, a brute force over all assignments, and plans whatever the solver answers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.scheduling.plan import MadeBy
from shim.scheduling.policies.quincy import QUINCY, DataCosts, FlowTasks, cost_of, quincy_graph
from shim.scheduling.solvers import min_cost_flow
from shim.scheduling.solving import run_solved_cycle
from tests.support.cycle_scenes import CycleScene
from tests.support.examples import examples

RACKS = np.array([0, 0, 1, 1])
# name: job, GB, computers with a replica, seconds waited; times ten: a rack switch 10 a GB, the core 20, a second 5
TASKS = {
    "a1": (0, 4, (0,), 12),
    "a2": (0, 4, (0,), 9),
    "a3": (0, 2, (2,), 8),
    "b1": (1, 1, (0, 3), 3),
    "b2": (1, 3, (1,), 5),
}


def task(name, waited_s=None, extra=None):
    job, size, replicas, waited = TASKS[name]
    near = {int(RACKS[each]) for each in replicas}
    computers = dict.fromkeys(replicas, (0, 1)) | (extra or {})
    waiting = 5 * (waited if waited_s is None else waited_s)
    return FlowTasks(job, 1, computers, dict.fromkeys(near, 10 * size), 20 * size, waiting)


def least_cost(tasks, bounds=None, slots=(1, 1, 1, 1)):
    graph, _ = quincy_graph(tasks, np.array(slots, dtype=np.int64), RACKS, bounds)
    flow = min_cost_flow(graph.arrays(), 10.0)
    return cost_of(graph, flow)


def by_force(tasks, slots=(1, 1, 1, 1)):
    """Every assignment of each task to a computer or to waiting."""
    best = None
    for chosen in product(range(5), repeat=len(tasks)):
        if any(chosen.count(computer) > places for computer, places in enumerate(slots)):
            continue
        cost = 0
        for each, place in zip(tasks, chosen, strict=True):
            if place == 4:
                cost += each.waiting
                continue
            rack = int(RACKS[place])
            cost += each.computers[place][0] if place in each.computers else each.racks.get(rack, each.anywhere)
        best = cost if best is None else min(best, cost)
    return best


def test_the_small_graph_costs_what_all_assignments_say():
    tasks = [task(name) for name in TASKS]
    assert least_cost(tasks) == by_force(tasks) == 45
    assert least_cost(tasks, {0: (2, 2), 1: (2, 2)}) == 45
    assert least_cost(tasks, {0: (0, 1)}) == 85
    assert least_cost(tasks, {0: (3, 3)}) == 65
    assert least_cost([task(name, 20 if name == "a2" else None) for name in TASKS]) == 60


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(TASKS)), st.integers(0, 30)), min_size=1, max_size=5),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_arcs_that_are_left_out_change_no_cost(drawn, slots):
    tasks = [task(name, waited_s) for name, waited_s in drawn]
    assert least_cost(tasks, slots=slots) == by_force(tasks, slots)


def test_no_arc_leads_where_nothing_is_free_or_to_what_costs_more_than_to_wait():
    tasks = [task("a1"), task("b2", 0)]
    graph, routes = quincy_graph(tasks, np.array([0, 1, 0, 0]), RACKS)
    assert [sorted(each) for each in routes.computers] == [[], [1]]
    assert [sorted(each) for each in routes.racks] == [[0], []]
    assert [each >= 0 for each in routes.anywhere] == [False, False]
    assert list(routes.down) == [1]
    everything, _ = quincy_graph(tasks, np.ones(4, dtype=np.int64), RACKS)
    assert len(graph.arcs) < len(everything.arcs)


@pytest.mark.parametrize(("ran_s", "cost"), [(1, 45), (6, 45), (8, 35), (10, 15)])
def test_a_running_task_moves_only_while_it_has_run_for_less_than_that_costs(ran_s, cost):
    running = {1: (0, 1), 0: (30 - 10 * ran_s, 1)}
    tasks = [task(name, extra=running if name == "b2" else None) for name in TASKS]
    found = least_cost(tasks)
    assert found == by_force(tasks) == cost


def test_capacity_more_never_costs_more():
    tasks = [task(name) for name in TASKS]
    costs = []
    for places in (1, 2, 3):
        graph, _ = quincy_graph(tasks, np.full(4, places), RACKS)
        costs.append(cost_of(graph, min_cost_flow(graph.arrays(), 10.0)))
    assert costs == sorted(costs, reverse=True)


def scene_of(nodes, asks):
    scene = CycleScene([[slots] for slots in nodes], racks=[at // 2 for at in range(len(nodes))])
    rows = [
        scene.ask(count, nodes=[(host, 1) for host in sorted(hosts)], racks=[(min(hosts) // 2, 1)], since_s=-waited)
        for count, hosts, waited in asks
    ]
    return scene, rows


ASKS = st.lists(
    st.tuples(st.integers(1, 3), st.sets(st.integers(0, 3), min_size=1, max_size=2), st.integers(0, 9)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), ASKS)
def test_a_solved_plan_costs_no_more_than_the_greedy_one(nodes, asks):
    scene, rows = scene_of(nodes, asks)
    greedy = scene.decide(QUINCY)
    solved = run_solved_cycle(scene.snapshot(), QUINCY, scene.state, lambda _, arrays, s: min_cost_flow(arrays, s), 5.0)
    policy = DataCosts()
    snapshot = scene.snapshot()
    assert policy.cost(snapshot, solved, rows) <= policy.cost(snapshot, greedy, rows)
    free = scene.free.copy()
    for grant in solved.grants:
        free[grant.place] -= grant.count
    assert (free >= 0).all()


@pytest.mark.parametrize(
    "answer", [None, "rubbish", np.zeros(3), np.full(1, np.nan), -1.0], ids=["none", "text", "short", "nan", "number"]
)
def test_whatever_the_solver_answers_the_greedy_plan_stands(answer):
    scene, _ = scene_of([1, 1, 0, 0], [(2, {0}, 9), (1, {1}, 2)])
    greedy = scene.decide(QUINCY)
    plan = run_solved_cycle(scene.snapshot(), QUINCY, scene.state, lambda *_: answer, 1.0)
    assert plan.made_by is MadeBy.GREEDY
    assert list(plan.grants) == list(greedy.grants)


@pytest.mark.parametrize("fill", [np.nan, -3.0, 1e9])
def test_an_answer_of_the_right_length_is_checked_too(fill):
    scene, _ = scene_of([1, 1, 0, 0], [(2, {0}, 9), (1, {1}, 2)])
    plan = run_solved_cycle(
        scene.snapshot(), QUINCY, scene.state, lambda _, arrays, __: np.full(len(arrays["tail"]), fill), 1.0
    )
    used = {}
    for grant in plan.grants:
        used[grant.place] = used.get(grant.place, 0) + grant.count
    assert all(count <= scene.free[node][0] for node, count in used.items())


def test_an_answer_that_costs_more_than_the_greedy_plan_is_left():
    scene, _ = scene_of([1, 1, 0, 0], [(2, {0}, 9), (1, {1}, 2)])
    greedy = scene.decide(QUINCY)
    nothing = run_solved_cycle(
        scene.snapshot(), QUINCY, scene.state, lambda _, arrays, __: np.zeros(len(arrays["tail"])), 1.0
    )
    assert greedy.grants
    assert list(nothing.grants) == list(greedy.grants)
