"""The pool refuses what no policy may do, and takes exactly the time that tasks take."""

import numpy as np
import pytest

from altruism import StageGraph
from scripts.papers.dag_pool import GREEDY_ORDERS, GreedyPolicy, PoolJob, run_pool
from scripts.papers.dag_pool.comparison import POLICIES, policy_named
from scripts.papers.dag_pool.jobs import arriving, joining_jobs, map_reduce_jobs, misjudged, queries, work_of
from shim.errors import InvariantViolationError
from shim.simulation.engine import seeded

CHAIN = StageGraph.of([[False, False], [True, False]], [4, 1], [[0.25], [0.5]], [2.0, 3.0])


class Told:
    """Starts what it is told, at every look."""

    def __init__(self, stage, count):
        self.stage, self.count = stage, count

    def launches(self, jobs, free, now_s):  # noqa: ARG002 - the form of the port
        assert (free >= -1e-9).all()
        return [(job, self.stage, self.count) for job in jobs]

    def next_look_s(self, now_s):  # noqa: ARG002 - the form of the port
        return float("inf")


def test_a_stage_does_not_start_before_what_it_needs_has_ended():
    with pytest.raises(InvariantViolationError, match="stage 1 was started before"):
        run_pool([PoolJob.known("one", 0.0, CHAIN)], Told(1, 1))


def test_a_policy_that_starts_nothing_is_found_out():
    with pytest.raises(InvariantViolationError, match="starts nothing"):
        run_pool([PoolJob.known("one", 0.0, CHAIN)], Told(0, 0))


def test_no_more_runs_than_fits():
    wide = StageGraph.of([[False]], [6], [[0.4]], [2.0])
    assert run_pool([PoolJob.known("one", 0.0, wide)], Told(0, 6)).completions_s == (6.0,)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_does_all_work_whatever_it_believes(policy):
    jobs = misjudged(arriving(map_reduce_jobs(seeded(1, "pool"), 12, 20), seeded(2, "pool"), 1.5), 0.5)
    outcome = run_pool(jobs, policy_named(policy, 1))
    assert len(outcome.completions_s) == len(jobs)
    assert outcome.makespan_s >= np.sum([work_of(job.graph) for job in jobs], axis=0).max()
    for job, took_s in zip(jobs, outcome.completions_s, strict=True):
        assert took_s >= job.graph.duration.max() - 1e-9


@pytest.mark.parametrize("order", GREEDY_ORDERS)
def test_a_job_alone_has_the_whole_pool(order):
    assert run_pool([PoolJob.known("one", 3.0, CHAIN)], GreedyPolicy(order)).completions_s == (5.0,)


def test_the_same_seed_gives_the_same_run():
    first, second = (
        run_pool(queries(seeded(3, "pool"), 4, 20), policy_named("carbyne P=0.5", 7)).completions_s for _ in range(2)
    )
    assert first == second


def test_branches_stand_before_the_chain_in_about_half_of_the_joins():
    graphs = [job.graph for job in joining_jobs(seeded(1, "pool"), 30, 20)]
    roots = [int(np.flatnonzero(~graph.needs.any(axis=1)).size) for graph in graphs]
    assert all(count >= 3 for count in roots)
    begins_with_chain = sum(bool(graph.needs[1, 0]) for graph in graphs)
    assert 8 <= begins_with_chain <= 22
    assert all(graph.needs[-1].sum() == count for graph, count in zip(graphs, roots, strict=True))
