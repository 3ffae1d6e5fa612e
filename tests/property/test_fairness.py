"""What the literature promises of fair shares, held against the kernels and their plain twins."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairness import (
    PreemptionProblem,
    QueueTree,
    choose_victims,
    dominant_resource_fairness,
    dominant_share,
    hierarchical_entitlement,
    jain_index,
    weighted_max_min,
)
from tests.property import reference

amount = st.integers(0, 40).map(float)
positive = st.integers(1, 40).map(float)


@st.composite
def drf_problems(draw, *, capped=True, all_positive=False):
    """(demand, capacity, weights, max_tasks) of up to 6 jobs and 4 resources."""
    n_jobs, n_resources = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    entry = positive if all_positive else amount
    demand = [draw(st.lists(entry, min_size=n_resources, max_size=n_resources)) for _ in range(n_jobs)]
    capacity = draw(st.lists(positive if all_positive else amount, min_size=n_resources, max_size=n_resources))
    weights = draw(st.lists(st.integers(1, 5).map(float), min_size=n_jobs, max_size=n_jobs))
    limit = st.none() | st.integers(0, 9) if capped else st.none()
    max_tasks = draw(st.lists(limit, min_size=n_jobs, max_size=n_jobs))
    return demand, capacity, weights, max_tasks


def _run(demand, capacity, weights, max_tasks):
    limits = [np.inf if m is None else float(m) for m in max_tasks]
    return dominant_resource_fairness(demand, capacity, weights=weights, max_tasks=limits)


class TestDominantResourceFairness:
    @given(drf_problems())
    def test_gives_what_exact_arithmetic_gives(self, problem):
        expected = reference.dominant_resource_fairness(*problem)
        np.testing.assert_allclose(_run(*problem).tasks, expected, rtol=1e-7, atol=1e-7)

    @given(drf_problems())
    def test_never_gives_more_than_there_is(self, problem):
        demand, capacity, _, _ = problem
        used = _run(*problem).tasks @ np.array(demand)
        assert (used <= np.array(capacity) * (1 + 1e-9) + 1e-9).all()

    @given(drf_problems(capped=False, all_positive=True))
    def test_everybody_is_at_least_as_well_off_as_with_its_part_of_each_resource(self, problem):
        """Sharing incentive, DRF section 3."""
        demand, capacity, weights, _ = problem
        part = np.array(weights) / sum(weights)
        alone = (np.array(capacity)[None, :] * part[:, None] / np.array(demand)).min(axis=1)
        assert (_run(*problem).tasks >= alone * (1 - 1e-9)).all()

    @given(drf_problems(capped=False, all_positive=True))
    def test_nobody_would_rather_have_the_part_of_another_by_weight(self, problem):
        """Envy-freeness."""
        demand, _, weights, _ = problem
        tasks = _run(*problem).tasks
        needs, weight = np.array(demand), np.array(weights)
        for me, other in itertools.permutations(range(len(weights)), 2):
            bundle = tasks[other] * needs[other] * weight[me] / weight[other]
            assert (bundle / needs[me]).min() <= tasks[me] * (1 + 1e-7)

    @given(drf_problems(all_positive=True))
    def test_nobody_can_get_more_without_another_getting_less(self, problem):
        """Pareto efficiency: who is below its limit needs a resource that is used up."""
        demand, capacity, _, max_tasks = problem
        tasks = _run(*problem).tasks
        full = np.array(capacity) - tasks @ np.array(demand) <= np.array(capacity) * 1e-7
        for job, limit in enumerate(max_tasks):
            assert full.any() or (limit is not None and tasks[job] >= limit * (1 - 1e-9))

    @given(drf_problems(capped=False, all_positive=True), st.data())
    def test_claiming_another_demand_gains_nothing(self, problem, data):
        """Strategy-proofness."""
        demand, capacity, weights, max_tasks = problem
        honest = _run(*problem).tasks[0]
        lie = data.draw(st.lists(positive, min_size=len(capacity), max_size=len(capacity)))
        bundle = _run([lie, *demand[1:]], capacity, weights, max_tasks).tasks[0] * np.array(lie)
        assert (bundle / np.array(demand[0])).min() <= honest * (1 + 1e-7)

    @given(drf_problems(capped=False, all_positive=True))
    def test_who_leaves_takes_nothing_from_those_who_stay(self, problem):
        """Population monotonicity."""
        demand, capacity, weights, max_tasks = problem
        assume(len(demand) > 1)
        before = _run(*problem).tasks[1:]
        after = _run(demand[1:], capacity, weights[1:], max_tasks[1:]).tasks
        assert (after >= before * (1 - 1e-7)).all()

    @given(drf_problems(), st.randoms(use_true_random=False))
    def test_the_order_of_jobs_and_resources_does_not_matter(self, problem, random):
        demand, capacity, weights, max_tasks = problem
        rows, columns = list(range(len(demand))), list(range(len(capacity)))
        random.shuffle(rows)
        random.shuffle(columns)
        shuffled = _run(
            [[demand[r][c] for c in columns] for r in rows],
            [capacity[c] for c in columns],
            [weights[r] for r in rows],
            [max_tasks[r] for r in rows],
        )
        np.testing.assert_allclose(shuffled.tasks, _run(*problem).tasks[rows], rtol=1e-7, atol=1e-9)

    @given(drf_problems(), st.lists(st.sampled_from([0.001, 1024.0, 3.0]), min_size=4, max_size=4))
    def test_the_unit_of_a_resource_does_not_matter(self, problem, units):
        demand, capacity, weights, max_tasks = problem
        unit = np.array(units[: len(capacity)])
        scaled = _run(np.array(demand) * unit, np.array(capacity) * unit, weights, max_tasks)
        np.testing.assert_allclose(scaled.tasks, _run(*problem).tasks, rtol=1e-7, atol=1e-7)


class TestWeightedMaxMin:
    problems = st.integers(1, 7).flatmap(
        lambda n: st.tuples(
            st.lists(amount, min_size=n, max_size=n),
            st.lists(st.integers(1, 9).map(float), min_size=n, max_size=n),
            amount,
            st.lists(amount, min_size=n, max_size=n),
        )
    )

    @given(problems)
    def test_gives_what_bisection_gives(self, problem):
        demand, weights, capacity, guaranteed = problem
        given_out = weighted_max_min(demand, weights, capacity, guaranteed=guaranteed)
        expected = reference.weighted_max_min(demand, weights, capacity, guaranteed)
        np.testing.assert_allclose(given_out, expected, rtol=1e-6, atol=1e-6)

    @given(problems)
    def test_gives_out_all_that_there_is_or_all_that_is_wanted(self, problem):
        demand, weights, capacity, guaranteed = problem
        given_out = weighted_max_min(demand, weights, capacity, guaranteed=guaranteed)
        assert given_out.sum() == pytest.approx(min(capacity, sum(demand)))
        assert (given_out <= np.array(demand) + 1e-9).all()

    @given(problems)
    def test_more_to_divide_is_less_for_nobody(self, problem):
        """Resource monotonicity."""
        demand, weights, capacity, guaranteed = problem
        before = weighted_max_min(demand, weights, capacity, guaranteed=guaranteed)
        after = weighted_max_min(demand, weights, capacity + 5, guaranteed=guaranteed)
        assert (after >= before - 1e-9).all()

    def test_rows_of_no_weight_get_what_nobody_else_wants(self):
        np.testing.assert_allclose(weighted_max_min([4.0, 9.0, 9.0], [1.0, 0.0, 0.0], 10.0), [4.0, 3.0, 3.0])

    def test_a_weight_that_is_tiny_beside_anothers_costs_no_digits(self):
        given_out = weighted_max_min([9.0, 0.0, 9.0], [1e-6, 1e6, 1e-6], 10.0)
        np.testing.assert_allclose(given_out, [5.0, 0.0, 5.0], rtol=1e-12)


@st.composite
def queue_trees(draw):
    """(parent, weight, guaranteed, maximum, demand, capacity) of one resource."""
    n_queues = draw(st.integers(1, 8))
    parent = [-1, *(draw(st.integers(-1, i - 1)) for i in range(1, n_queues))]
    column = st.lists(amount, min_size=n_queues, max_size=n_queues)
    weight = draw(st.lists(st.integers(1, 5).map(float), min_size=n_queues, max_size=n_queues))
    maximum = draw(st.lists(positive, min_size=n_queues, max_size=n_queues))
    return parent, weight, draw(column), maximum, draw(column), draw(positive)


class TestHierarchicalEntitlement:
    @staticmethod
    def _entitled(parent, weight, guaranteed, maximum, demand, capacity):
        column = [np.array(x, dtype=np.float64)[:, None] for x in (guaranteed, maximum, demand)]
        tree = QueueTree(np.array(parent, dtype=np.int64), np.array(weight), column[0], column[1])
        return hierarchical_entitlement(tree, column[2], np.array([capacity]))[:, 0]

    @given(queue_trees())
    def test_gives_what_its_twin_gives(self, problem):
        np.testing.assert_allclose(
            self._entitled(*problem), reference.hierarchical_entitlement(*problem), rtol=1e-6, atol=1e-5
        )

    @given(queue_trees())
    def test_children_get_what_their_parent_has_and_nobody_exceeds_its_maximum(self, problem):
        parent, _, _, maximum, _, capacity = problem
        entitled = self._entitled(*problem)
        assert (entitled <= np.array(maximum) + 1e-6).all()
        for queue in range(-1, len(parent)):
            children = [c for c in range(len(parent)) if parent[c] == queue]
            limit = capacity if queue == -1 else entitled[queue]
            assert sum(entitled[c] for c in children) <= limit + 1e-6
            if queue >= 0 and children:
                assert sum(entitled[c] for c in children) == pytest.approx(entitled[queue], abs=1e-6)


@st.composite
def preemption_problems(draw):
    """A problem of up to 7 containers in 3 queues on 2 clusters, and a need."""
    n = draw(st.integers(0, 7))
    size = np.array([[draw(positive), draw(positive)] for _ in range(n)]).reshape(n, 2)
    queue = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int64)
    used = np.zeros((3, 2))
    np.add.at(used, queue, size)
    problem = PreemptionProblem(
        size=size,
        queue=queue,
        cluster=np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), dtype=np.int64),
        lost_work=np.array(draw(st.lists(amount, min_size=n, max_size=n)), dtype=np.float64),
        may_preempt=np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=np.bool_),
        used=used,
        entitlement=np.array([[draw(amount), draw(amount)] for _ in range(3)]),
        capacity=np.array([200.0, 200.0]),
    )
    return problem, np.array([draw(amount), draw(amount)])


class TestChooseVictims:
    @given(preemption_problems())
    def test_meets_the_need_whole_or_takes_nobody(self, drawn):
        problem, needed = drawn
        victims = choose_victims(problem, needed)
        assert victims.size == 0 or (problem.size[victims].sum(axis=0) >= needed - 1e-6).all()

    @given(preemption_problems())
    def test_takes_only_from_those_who_stay_entitled(self, drawn):
        problem, needed = drawn
        victims = choose_victims(problem, needed)
        assert problem.may_preempt[victims].all()
        left = problem.used.copy()
        np.subtract.at(left, problem.queue[victims], problem.size[victims])
        touched = np.unique(problem.queue[victims])
        owed = dominant_share(problem.entitlement, problem.capacity)
        assert (dominant_share(np.maximum(left, 0), problem.capacity)[touched] >= owed[touched] - 1e-6).all()

    @given(preemption_problems())
    def test_no_victim_is_superfluous(self, drawn):
        problem, needed = drawn
        victims = choose_victims(problem, needed)
        for spared in victims:
            rest = victims[victims != spared]
            assert not (problem.size[rest].sum(axis=0) >= needed).all()

    @given(preemption_problems())
    def test_stays_in_one_cluster_if_any_one_is_enough(self, drawn):
        problem, needed = drawn
        clusters = np.unique(problem.cluster[choose_victims(problem, needed)])
        if clusters.size > 1:
            for cluster in clusters:
                alone = problem.may_preempt & (problem.cluster == cluster)
                inside = PreemptionProblem(
                    size=problem.size,
                    queue=problem.queue,
                    cluster=problem.cluster,
                    lost_work=problem.lost_work,
                    may_preempt=alone,
                    used=problem.used,
                    entitlement=problem.entitlement,
                    capacity=problem.capacity,
                )
                assert choose_victims(inside, needed).size == 0

    def test_prefers_the_container_that_has_least_to_lose(self):
        problem = PreemptionProblem(
            size=np.full((3, 1), 2.0),
            queue=np.zeros(3, dtype=np.int64),
            cluster=np.zeros(3, dtype=np.int64),
            lost_work=np.array([30.0, 5.0, 20.0]),
            may_preempt=np.ones(3, dtype=np.bool_),
            used=np.array([[6.0]]),
            entitlement=np.array([[2.0]]),
            capacity=np.array([10.0]),
        )
        assert choose_victims(problem, np.array([2.0])).tolist() == [1]
        assert choose_victims(problem, np.array([4.0])).tolist() == [1, 2]
        assert choose_victims(problem, np.array([6.0])).size == 0

    def test_takes_two_small_ones_where_a_large_one_would_leave_too_little_to_give(self):
        problem = PreemptionProblem(
            size=np.array([[3.0], [2.0], [2.0]]),
            queue=np.zeros(3, dtype=np.int64),
            cluster=np.zeros(3, dtype=np.int64),
            lost_work=np.zeros(3),
            may_preempt=np.ones(3, dtype=np.bool_),
            used=np.array([[7.0]]),
            entitlement=np.array([[3.0]]),
            capacity=np.array([10.0]),
        )
        assert choose_victims(problem, np.array([4.0])).tolist() == [1, 2]


@given(st.lists(positive, min_size=1, max_size=9), st.sampled_from([1e-200, 1.0, 1e200]))
def test_jain_index_is_between_one_nth_and_one_in_any_unit(shares, unit):
    index = jain_index(np.array(shares) * unit)
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assert index == pytest.approx(sum(shares) ** 2 / (len(shares) * sum(s * s for s in shares)))
