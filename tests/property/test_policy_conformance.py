"""Rules that every policy of the registry keeps, whatever it decides."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from shim.concurrency.solver_child import SolverChild
from shim.domain.resources import Need
from shim.scheduling.cycle import CycleState
from shim.scheduling.knowledge import Knowledge
from shim.scheduling.plan import MadeBy
from shim.scheduling.policies.medea import MEDEA_IN_QUEUES
from shim.scheduling.policies.orders import FIFO
from shim.scheduling.policy import Fact
from shim.scheduling.registry import KINDS
from shim.scheduling.snapshot import Column, Queues, RequestColumn, Scope
from shim.scheduling.solving import run_solved_cycle
from shim.scheduling.tag_constraints import ServiceFacts, TagConstraint, TagCount
from shim.simulation.engine import seeded
from shim.simulation.policy_runs import ModelledSite, PolicyJob, StageTasks, run_policy
from tests.support import solver_children
from tests.support.cycle_scenes import CycleScene

POLICIES = [*(kind.policy for kind in KINDS.values() if kind.policy is not None), MEDEA_IN_QUEUES]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
MANY = 100_000


def scene_of(seed):
    rng = seeded(seed, "conformance")
    scene = CycleScene([(rng.randint(0, 6), rng.randint(0, 6)) for _ in range(6)], racks=[0, 0, 0, 1, 1, 1])
    for number in range(8):
        nodes = [(node, rng.randint(1, 3)) for node in rng.sample(range(6), rng.randint(0, 2))]
        scene.ask(
            rng.randint(1, 5),
            (rng.randint(1, 3), rng.randint(1, 3)),
            nodes=nodes,
            racks=[(node // 3, count) for node, count in nodes],
            strict=bool(nodes) and rng.random() < 0.3,
            arrived_s=float(number),
            expected_s=rng.choice((0.0, 5.0, 50.0)),
        )
    return scene


def amounts(scene, plan):
    """Resources granted by node and containers by request; a grant of a cluster is of one node here."""
    used, granted = np.zeros_like(scene.free), {}
    for grant in plan.grants:
        if policy_names_nodes(grant):
            used[grant.place] += np.array(scene.requests.needs[grant.request].demand) * grant.count
        granted[grant.request] = granted.get(grant.request, 0) + grant.count
    return used, granted


def policy_names_nodes(grant):
    return grant.scope.value == "node"


@each_policy
@pytest.mark.parametrize("seed", range(12))
def test_never_above_what_is_free_or_wanted_and_strict_places_are_kept(policy, seed):
    scene = scene_of(seed)
    for now_s in (0.0, 4.0, 30.0):
        plan = scene.decide(policy, now_s)
        used, granted = amounts(scene, plan)
        assert (used <= scene.free).all()
        assert all(0 < count <= scene.requests.count(request) for request, count in granted.items())
        requests = scene.requests.requests()
        for grant in plan.grants:
            strict = requests.numbers[RequestColumn.STRICT, grant.request]
            if strict and policy.placement.kernel is not None and policy.name in {"delay", "quincy"}:
                near = {each.place for each in requests.prefers(grant.request) if each.scope.value == "node"}
                racks = {each.place for each in requests.prefers(grant.request) if each.scope.value == "rack"}
                assert grant.place in near or scene.racks[grant.place] in racks


@each_policy
@pytest.mark.parametrize("seed", range(6))
def test_labels_and_attributes_are_kept(policy, seed):
    rng = seeded(seed, "labels")
    names = ("label:gpu", "attribute:os=linux")
    drawn = [frozenset(name for name in names if rng.random() < 0.5) for _ in range(6)]
    properties = [frozenset(names), frozenset(), *drawn]
    scene = CycleScene([(rng.randint(1, 6), rng.randint(1, 6)) for _ in range(8)], properties=properties)
    for number in range(10):
        requires = rng.choice(((), ("label:gpu",), ("label:gpu", "attribute:os=linux")))
        avoids = () if requires else rng.choice(((), ("label:gpu",)))
        nodes = [(rng.randrange(8), 1)] if rng.random() < 0.5 else []
        scene.ask(rng.randint(1, 4), (1, 1), nodes=nodes, arrived_s=float(number), requires=requires, avoids=avoids)
    n_granted, at_nodes = 0, replace(policy, placement=replace(policy.placement, scope=Scope.NODE))
    for now_s in (0.0, 20.0, 40.0):
        for request, node, count in scene.carry_out(at_nodes, now_s):
            assert scene.requests.needs[request].admits(properties[node])
            n_granted += count
    assert n_granted


@each_policy
def test_the_same_snapshot_gives_the_same_plan(policy):
    plans = []
    for _ in range(2):
        scene = scene_of(3)
        plans.append([(grant.request, grant.place, grant.count) for grant in scene.decide(policy).grants])
    assert plans[0] == plans[1]


@each_policy
def test_nothing_waits_or_nothing_is_free(policy):
    assert not CycleScene([(4, 4)]).decide(policy).grants
    full = CycleScene([(0, 0)])
    full.ask(3, (1, 1))
    assert not full.decide(policy).grants
    one = CycleScene([(4, 4)])
    one.ask(1, (1, 1))
    assert sum(grant.count for grant in one.decide(policy).grants) == 1


@each_policy
def test_a_hundred_thousand_requests_are_one_snapshot(policy):
    scene = CycleScene([(4, 4)] * 20)
    job = scene.job()
    for _ in range(MANY):
        scene.requests.add(job, Need((1, 1)), 1, expected_s=5.0)
    scene.jobs.put(Column.TASKS, job, MANY)
    assert sum(grant.count for grant in scene.decide(policy).grants) == 80


@each_policy
def test_everybody_is_served_in_the_end_also_without_a_solver(policy):
    rng = seeded(5, "starvation")
    jobs = [
        PolicyJob(
            float(number),
            (
                StageTasks(
                    (rng.randint(1, 3), rng.randint(1, 3)),
                    tuple(rng.uniform(2.0, 9.0) for _ in range(rng.randint(1, 4))),
                    5.0,
                    places=() if number % 2 else tuple((rng.randrange(4),) for _ in range(4)),
                ),
            ),
        )
        for number in range(24)
    ]
    found = run_policy(jobs, ModelledSite(4, (4, 4), 2), policy, solve=None)
    assert np.isfinite(found.response_s).all()
    assert found.longest_wait_s < 400.0


@each_policy
def test_on_jobs_that_it_is_not_for_no_policy_is_worse_than_first_come_first_served_by_more_than_a_twentieth(policy):
    # one stage, one size of containers, no data, no deadline, no tags: plain YARN serves them in their order
    rng, jobs, at_s = seeded(1, "plain jobs"), list[PolicyJob](), 0.0
    for _ in range(40):
        n_tasks, task_s = rng.choice((1, 2, 3, 5, 10, 20, 40)), rng.uniform(5.0, 30.0)
        at_s += rng.expovariate(0.5)
        durations = tuple(task_s * rng.uniform(0.8, 1.2) for _ in range(n_tasks))
        jobs.append(PolicyJob(at_s, (StageTasks((1, 1), durations, task_s),)))
    site = ModelledSite(20, (4, 4))
    assert run_policy(jobs, site, policy).mean_s <= 1.05 * plain_mean_s(tuple(jobs), site)


@cache
def plain_mean_s(jobs, site):
    return run_policy(list(jobs), site, FIFO).mean_s


@each_policy
@pytest.mark.parametrize(
    "answer", [None, "rubbish", np.zeros(2), np.full(4, np.nan)], ids=["none", "text", "short", "nan"]
)
def test_whatever_a_solver_answers_no_node_gets_too_much(policy, answer):
    scene = scene_of(1)
    state = CycleState(seeded(1, "solver"))
    plan = run_solved_cycle(scene.snapshot(9.0), policy, state, lambda *_: answer, 1.0)
    used, _ = amounts(scene, plan)
    assert (used <= scene.free).all()


@pytest.mark.parametrize("policy", [each for each in POLICIES if each.solver], ids=lambda policy: policy.name)
@pytest.mark.parametrize("work", ["never_starts", "dies", "dies_between", "dies_while_it_answers"])
def test_a_solver_that_is_killed_at_any_moment_leaves_the_policys_own_plan(policy, work):
    scene, plans = solvable_scene(policy), []
    child = SolverChild(getattr(solver_children, work))
    asked = []

    def solve(name, arrays, limit_s):
        asked.append(name)
        return child.solve(name, arrays, limit_s)

    try:
        for each in (None, solve):
            state = CycleState(seeded(1, "solver"))
            plan = run_solved_cycle(scene.snapshot(9.0), policy, state, each, 20.0)
            plans.append([(grant.request, grant.place, grant.count) for grant in plan.grants])
    finally:
        child.close()
    assert asked
    assert plans[0] == plans[1]
    assert plan.made_by is MadeBy.GREEDY


def solvable_scene(policy):
    """Some requests that leave a choice, so that the policy asks its solver."""
    scene = CycleScene([(4, 4)] * 4, racks=[0, 0, 1, 1])
    rows = [
        scene.ask(
            3,
            (2, 2),
            nodes=[(number, 2)],
            job=scene.job(deadline_s=30.0 + number, arrived_s=-10.0),
            expected_s=10.0,
            deadline_s=30.0 + number,
            since_s=-10.0,
        )
        for number in range(4)
    ]
    if Fact.CONSTRAINTS in policy.needs:
        apart = TagConstraint(frozenset({"a"}), ((TagCount(frozenset({"a"}), 0, 0),),))
        services = ServiceFacts(dict.fromkeys(rows, frozenset({"a"})), (), (apart,))
        scene.knowledge = Knowledge(services=services)
    return scene


@each_policy
def test_the_limits_of_a_queue_in_a_cluster_are_kept(policy):
    if Fact.DIRECT_LAUNCH in policy.needs:
        pytest.skip("masters that launch by themselves have no queues of clusters")
    scene = CycleScene([(8, 8)] * 3)
    scene.ask(20, (1, 1), job=scene.job(queue=0))
    limits = np.array([[[5, 5]]], dtype=np.int64)
    zeros = np.zeros((1, 2))
    queues = Queues(("a",), np.ones(1), zeros, np.zeros((1, 1, 2)), np.ones(2) * 24, np.zeros(1, dtype=bool), limits)
    assert sum(grant.count for grant in scene.decide(policy, queues=queues).grants) <= 5


@pytest.mark.parametrize("other", POLICIES, ids=lambda policy: policy.name)
def test_two_queues_with_different_policies_get_no_more_than_there_is(other):
    scene = scene_of(2)
    first = next(policy for policy in POLICIES if policy.name == "delay")
    rows = scene.requests.requests().live.tolist()
    before = scene.free.copy()
    held = {row: scene.requests.count(row) for row in rows[::2]}
    for row in held:  # the first queue's cycle looks at its own requests alone
        scene.requests.set_count(row, 0)
    scene.carry_out(first, 0.0)
    left = scene.free.copy()
    for row, count in held.items():
        scene.requests.set_count(row, count)
    for row in rows[1::2]:
        scene.requests.set_count(row, 0)
    used, _ = amounts(scene, scene.decide(other, 0.0))
    assert (used <= left).all()
    assert (left <= before).all()
