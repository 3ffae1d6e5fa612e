"""Graphene: plans of one job against bounds and a brute force over orders, and the order of its stages online."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.scheduling.knowledge import Knowledge, StageOutline
from shim.scheduling.policies.graphene import GRAPHENE
from shim.scheduling.virtual_space import VirtualSpace, ancestors_of, lower_bound_s, plan_graph
from tests.support.cycle_scenes import CycleScene
from tests.support.examples import examples

POOL = np.array([4.0, 4.0])
# two short stages feed two long ones: (0) 1 s -> (1) 10 s; (2) 6 s, wide -> (3) 1 s
GRAPH = (
    StageOutline(1, 1.0, (2, 2)),
    StageOutline(1, 10.0, (2, 2), (0,)),
    StageOutline(1, 6.0, (3, 3)),
    StageOutline(1, 1.0, (2, 2), (2,)),
)


def test_room_is_found_forwards_and_backwards():
    space = VirtualSpace(np.array([2.0]))
    one, two = np.array([1.0]), np.array([2.0])
    assert space.put(two, 4.0, 0.0, forwards=True) == (0.0, 4.0)
    assert space.put(one, 2.0, 1.0, forwards=True) == (4.0, 6.0)
    assert space.put(two, 3.0, 5.0, forwards=False) == (-3.0, 0.0)
    assert space.put(one, 1.0, 5.0, forwards=False) == (4.0, 5.0)


def test_a_plan_keeps_edges_and_is_no_shorter_than_it_can_be():
    begins, length_s = plan_graph(GRAPH, POOL)
    assert min(begins.values()) == 0.0
    assert begins[1] >= begins[0] + 1.0
    assert begins[3] >= begins[2] + 6.0
    assert lower_bound_s(GRAPH, POOL) == 11.0
    assert length_s == pytest.approx(17.0)
    assert length_s == pytest.approx(best_by_force(GRAPH))


def best_by_force(graph):
    """The shortest of all plans that place stages forwards, in any order that edges allow."""
    above, best = ancestors_of(graph), np.inf
    for order in permutations(range(len(graph))):
        if any(above[each] - set(order[:place]) for place, each in enumerate(order)):
            continue
        space, ends = VirtualSpace(POOL), {}
        for each in order:
            bound = max((ends[parent] for parent in graph[each].parents), default=0.0)
            for _ in range(graph[each].n_tasks):
                demand = np.array(graph[each].demand, dtype=float)
                end = space.put(demand, graph[each].expected_s, bound, forwards=True)[1]
                ends[each] = max(end, ends.get(each, 0.0))
        best = min(best, max(ends.values()))
    return best


@st.composite
def graphs(draw):
    stages = []
    for number in range(draw(st.integers(1, 5))):
        parents = draw(st.sets(st.integers(0, number - 1))) if number else set()
        demand = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
        n_tasks, seconds = draw(st.integers(1, 3)), draw(st.sampled_from([1.0, 2.0, 5.0]))
        stages.append(StageOutline(n_tasks, seconds, demand, tuple(sorted(parents))))
    return tuple(stages)


@settings(max_examples=examples(60), deadline=None)
@given(graphs())
def test_plans_are_between_the_bound_and_twice_the_best_order(graph):
    begins, length_s = plan_graph(graph, POOL)
    assert set(begins) == set(range(len(graph)))
    for number, stage in enumerate(graph):
        for parent in stage.parents:
            assert begins[number] >= begins[parent] + graph[parent].expected_s - 1e-6
    assert lower_bound_s(graph, POOL) - 1e-6 <= length_s <= 2.0 * best_by_force(graph) + 1e-6


def test_the_stage_that_the_plan_begins_with_goes_first():
    scene = CycleScene([[4, 4]])
    job = scene.job()
    scene.knowledge = Knowledge({job: GRAPH}, {job: (0, 0, 0, 0)})
    wide = scene.ask(1, (2, 2), job=job, stage=2)
    early = scene.ask(1, (2, 2), job=job, stage=0)
    begins, _ = plan_graph(GRAPH, POOL)
    first = early if begins[0] < begins[2] else wide
    assert scene.decide(GRAPHENE).grants[0].request == first


def test_without_a_graph_it_packs():
    scene = CycleScene([[4, 4]])
    request = scene.ask(2, (2, 2))
    assert [(grant.request, grant.count) for grant in scene.decide(GRAPHENE).grants] == [(request, 1)] * 2
