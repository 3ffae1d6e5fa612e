"""Medea: five rounds to the digit against every placement, whole services, rounds, and tasks that never wait."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.scheduling.knowledge import Knowledge
from shim.scheduling.plan import MadeBy
from shim.scheduling.policies.medea import MEDEA, MedeaRules, medea, place_by
from shim.scheduling.service_round import PlacementWeights, ServiceRound, broken_part
from shim.scheduling.solvers import mixed_integer
from shim.scheduling.solving import run_solved_cycle
from shim.scheduling.tag_constraints import (
    NO_MOST,
    ServiceFacts,
    TagConstraint,
    TagCount,
    TaggedContainers,
    without_cardinality,
)
from tests.support.cycle_scenes import CycleScene
from tests.support.examples import examples

AT_ONCE = medea(MedeaRules(every_s=0.0, gap=1e-9, search_nodes=5000, weights=PlacementWeights()))


def tags(*words):
    return frozenset(words)


def wants(subject, tag, least, most, group="node", weight=1.0):
    return TagConstraint(tags(subject), ((TagCount(tags(tag), least, most, group),),), weight)


APART = wants("hb", "hb", 0, 0)
NEAR = wants("mc", "hb", 1, NO_MOST)
IN_RACK = wants("hb", "hb", 1, 2, "rack")
MC_APART = wants("mc", "mc", 0, 0)


def scene_of(constraints, running=(), weight=None):
    """Nodes n1 n2 in one rack and n3 n4 in another, 4, 4, 4, 3 GB; 3 x 2 GB `hb` and 2 x 1 GB `mc`; keep 2 GB."""
    scene = CycleScene([[4], [4], [4], [3]], racks=[0, 0, 1, 1])
    rows = [scene.ask(3, (2,)), scene.ask(2, (1,), arrived_s=1.0)]
    names = dict(zip(rows, (tags("hb"), tags("mc")), strict=True))
    scene.knowledge = Knowledge(services=ServiceFacts(names, running, tuple(constraints), keep_free=(2,)))
    return scene, rows


def solved(scene, policy=AT_ONCE, now_s=0.0):
    solve = lambda _, arrays, limit_s: mixed_integer(arrays, limit_s)  # noqa: E731
    return run_solved_cycle(scene.snapshot(now_s), policy, scene.state, solve, 20.0)


def worth_of(scene, rows, plan):
    rounds = ServiceRound(scene.snapshot(), rows, PlacementWeights())
    return rounds.objective(rounds.placement_in(plan))


def best_of_all(rounds):
    """Every placement of all containers, and of one service alone; by the objective."""
    counts = [group.count for group in rounds.groups]
    best = rounds.objective(np.zeros((2, rounds.n_nodes), dtype=np.int64))
    for nodes in product(range(-1, rounds.n_nodes), repeat=sum(counts)):
        parts = np.split(np.array(nodes), np.cumsum(counts)[:-1])
        if any((part < 0).any() and not (part < 0).all() for part in parts):
            continue
        rows = [np.bincount(part[part >= 0], minlength=rounds.n_nodes) for part in parts]
        placement = np.array(rows, dtype=np.int64)
        if (rounds.left(placement) >= 0).all():
            best = max(best, rounds.objective(placement))
    return best


@pytest.mark.parametrize(
    ("constraints", "optimum"),
    [
        ((APART,), 1.1875),
        ((APART, NEAR), 1.1875),
        ((APART, NEAR, IN_RACK), 1.0208),
        ((APART, NEAR, MC_APART), 1.1250),
        ((APART, NEAR, IN_RACK, MC_APART), 1.0000),
    ],
)
def test_the_program_finds_the_optimum_of_every_placement(constraints, optimum):
    scene, rows = scene_of(constraints)
    rounds = ServiceRound(scene.snapshot(), rows, PlacementWeights())
    assert best_of_all(rounds) == pytest.approx(optimum, abs=5e-5)
    assert worth_of(scene, rows, solved(scene)) == pytest.approx(optimum, abs=5e-5)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(
        st.builds(
            wants,
            st.sampled_from(["hb", "mc"]),
            st.sampled_from(["hb", "mc"]),
            st.integers(0, 2),
            st.integers(0, 3),
            st.sampled_from(["node", "rack"]),
            st.sampled_from([0.0, 1.0, 5.0]),
        ).filter(lambda each: each.any_of[0][0].least <= each.any_of[0][0].most),
        max_size=3,
    ),
    st.lists(st.builds(TaggedContainers, st.integers(0, 3), st.sampled_from([tags("hb"), tags("mc")])), max_size=2),
)
def test_never_worse_than_each_heuristic_whole_or_not_at_all_and_within_room(constraints, running):
    scene, rows = scene_of(constraints, tuple(running))
    plan = solved(scene)
    rounds = ServiceRound(scene.snapshot(), rows, PlacementWeights())
    placement = rounds.placement_in(plan)
    assert (rounds.left(placement) >= 0).all()
    assert all(placement[row].sum() in {0, group.count} for row, group in enumerate(rounds.groups))
    for order in ("tag-popularity", "node-candidates"):
        assert rounds.objective(placement) >= rounds.objective(place_by(order, rounds)) - 1e-9
    assert rounds.objective(placement) == pytest.approx(best_of_all(rounds), abs=1e-6)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.builds(
        PlacementWeights,
        placed=st.sampled_from([1.0, 3.0]),
        fewer=st.sampled_from([0.0, 0.5, 2.0]),
        balanced=st.sampled_from([0.0, 0.5, 2.0]),
    ),
    st.booleans(),
    st.lists(st.builds(TaggedContainers, st.integers(0, 3), st.just(tags("db"))), max_size=2),
)
def test_the_program_finds_the_optimum_also_of_further_aims_and_of_soft_constraints(weights, is_soft, running):
    scene, rows = scene_of((APART, replace(NEAR, is_soft=is_soft)), tuple(running))
    plan = solved(scene, medea(MedeaRules(every_s=0.0, gap=1e-9, search_nodes=5000, weights=weights)))
    rounds = ServiceRound(scene.snapshot(), rows, weights)
    assert rounds.objective(rounds.placement_in(plan)) == pytest.approx(best_of_all(rounds), abs=1e-6)


def test_services_share_nodes_or_are_spread_as_the_aims_say():
    for weights, nodes in ((PlacementWeights(fewer=1.0), 2), (PlacementWeights(balanced=1.0), 4)):
        scene, rows = scene_of(())
        for solves in (False, True):
            rules = MedeaRules(every_s=0.0, solves=solves, search_nodes=5000, weights=replace(weights, roomy=0.0))
            plan = solved(scene, medea(rules))
            rounds = ServiceRound(scene.snapshot(), rows, weights)
            assert (rounds.placement_in(plan).sum(axis=0) > 0).sum() == nodes


@pytest.mark.parametrize("weight", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("n_soft", [1, 2])
def test_all_soft_constraints_together_cost_less_than_a_service_and_in_proportion_to_their_weights(n_soft, weight):
    soft = [replace(each, is_soft=True) for each in (APART, replace(MC_APART, weight=weight))[:n_soft]]
    scene, rows = scene_of((NEAR, *soft))
    rounds = ServiceRound(scene.snapshot(), rows, PlacementWeights())
    prices = [rounds.price(each) for each in soft]
    containers, services = 3 + 2, 2
    assert sum(prices) * containers * services == pytest.approx(0.5 * PlacementWeights().placed)
    assert prices == pytest.approx([sum(prices) * each.weight / sum(one.weight for one in soft) for each in soft])
    assert rounds.price(NEAR) == pytest.approx(PlacementWeights().violated), "the only hard one"


def test_constraints_of_services_that_are_not_there_change_nothing():
    scene, rows = scene_of((APART,))
    alone = ServiceRound(scene.snapshot(), rows, PlacementWeights())
    others = [wants(f"app-{number}", "hb", 0, 0) for number in range(50)]
    scene, rows = scene_of((APART, *others))
    crowded = ServiceRound(scene.snapshot(), rows, PlacementWeights())
    together = np.array([[3, 0, 0, 0], [2, 0, 0, 0]], dtype=np.int64)
    assert crowded.objective(together) == alone.objective(together)


def test_a_broken_constraint_outweighs_nodes_that_are_kept_free():
    near = [wants("mc", f"other-{number}", 0, 0) for number in range(10)]
    running = tuple(TaggedContainers(0, tags(f"other-{number}")) for number in range(10))
    scene, rows = scene_of([*near, wants("mc", "hb", 1, NO_MOST)], running)
    scene.free[:] = [[2], [4], [4], [3]]
    plan = solved(scene, medea(MedeaRules(every_s=0.0, search_nodes=5000)))
    rounds = ServiceRound(scene.snapshot(), rows, PlacementWeights())
    assert rounds.violations(rounds.placement_in(plan)) == 0.0


def test_kubernetes_knows_affinity_and_anti_affinity_alone():
    assert without_cardinality(APART) == APART
    assert without_cardinality(NEAR) == NEAR
    assert without_cardinality(wants("hb", "hb", 0, 3)) is None
    assert without_cardinality(wants("hb", "hb", 2, 5, "rack")) == wants("hb", "hb", 1, NO_MOST, "rack")
    scene, rows = scene_of([wants("hb", "hb", 0, 1)])
    scene.free[:] = [[8], [8], [8], [8]]
    kube = medea(MedeaRules(every_s=0.0, orders=("arrival",), solves=False, knows_cardinality=False))
    assert len([grant for grant in scene.decide(kube).grants if grant.request == rows[0]]) == 1
    knowing = medea(MedeaRules(every_s=0.0, orders=("arrival",), solves=False))
    assert len([grant for grant in scene.decide(knowing).grants if grant.request == rows[0]]) > 1


def test_what_runs_is_not_moved_and_what_it_wants_counts():
    lonely = TaggedContainers(0, tags("db"))
    scene, rows = scene_of([wants("db", "hb", 0, 0), wants("db", "mc", 0, 0)], (lonely,))
    plan = solved(scene)
    assert {grant.request for grant in plan.grants} == set(rows)
    assert all(grant.place != 0 for grant in plan.grants)


def test_one_of_several_conjunctions_is_enough():
    near_both = TagConstraint(
        tags("mc"),
        (
            (TagCount(tags("gpu"), 1), TagCount(tags("hb"), 1)),
            (TagCount(tags("ssd"), 1), TagCount(tags("mc"), 0, 0)),
        ),
        weight=10.0,
    )
    running = tuple(TaggedContainers(node, tags("ssd")) for node in (1, 3))
    scene, rows = scene_of([near_both], running)
    plan = solved(scene)
    assert sorted(grant.place for grant in plan.grants if grant.request == rows[1]) == [1, 3]


def test_a_count_of_several_tags_counts_containers_with_all_of_them():
    both = TagConstraint(tags("mc"), ((TagCount(tags("hb", "mem"), 1),),))
    running = (
        TaggedContainers(0, tags("hb")),
        TaggedContainers(1, tags("mem")),
        TaggedContainers(2, tags("hb", "mem")),
    )
    scene, rows = scene_of([both], running)
    assert {grant.place for grant in solved(scene).grants if grant.request == rows[1]} == {2}


def test_a_named_group_of_nodes_and_one_that_nobody_named():
    scene, rows = scene_of([wants("hb", "hb", 0, 0, "domain"), wants("mc", "mc", 5, 9, "nowhere")])
    services = scene.knowledge.services
    groups = {"domain": ((0, 3), (1,), (2,))}
    scene.knowledge = Knowledge(services=ServiceFacts(services.tags, (), services.constraints, groups, (2,)))
    places = [grant.place for grant in solved(scene).grants if grant.request == rows[0]]
    assert len({{0: 0, 3: 0, 1: 1, 2: 2}[place] for place in places}) == len(places) == 3


def test_a_service_that_does_not_fit_whole_waits_and_the_other_does_not():
    scene, rows = scene_of([APART])
    scene.requests.set_count(rows[0], 30)
    plan = solved(scene)
    assert {grant.request for grant in plan.grants} == {rows[1]}
    assert [(hold.request, hold.count) for hold in plan.holds] == [(rows[0], 30)]


def test_services_wait_for_the_next_round_and_tasks_for_nothing():
    scene, rows = scene_of([APART])
    task = scene.ask(1, (1,), arrived_s=2.0)
    plan = scene.decide(MEDEA, 3.0)
    assert {grant.request for grant in plan.grants} == {task}
    assert {(hold.request, hold.until_s) for hold in plan.holds} == {(row, 10.0) for row in rows}
    assert solved(scene, MEDEA, 3.0).made_by is MadeBy.GREEDY
    assert {grant.request for grant in scene.decide(MEDEA, 10.0).grants} == {*rows, task}


@pytest.mark.parametrize("answer", [None, "text", np.zeros(3), np.full(4, np.nan)])
def test_without_an_answer_the_heuristics_stand(answer):
    scene, rows = scene_of([APART, NEAR])
    plan = run_solved_cycle(scene.snapshot(), AT_ONCE, scene.state, lambda *_: answer, 1.0)
    assert plan.made_by is MadeBy.GREEDY
    assert {grant.request for grant in plan.grants} == set(rows)


def test_an_answer_above_what_is_free_or_of_half_a_service_is_none():
    scene, rows = scene_of([APART])

    def too_much(_, arrays, __):
        answer = np.zeros(len(arrays["value"]) + 1)
        answer[0] = 3.0
        return answer

    plan = run_solved_cycle(scene.snapshot(), AT_ONCE, scene.state, too_much, 1.0)
    assert plan.made_by is MadeBy.GREEDY
    assert {grant.request for grant in plan.grants} == set(rows)


def test_the_part_of_running_containers_that_break_something():
    running = (TaggedContainers(0, tags("hb"), 2), TaggedContainers(1, tags("hb")), TaggedContainers(2, tags("mc")))
    scene, _ = scene_of([APART], running)
    assert broken_part(scene.snapshot()) == 0.5
