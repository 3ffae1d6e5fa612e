"""Altruism on a pool: what is promised is kept, and what the figures of docs/researchers/altruism.md say in small."""

from functools import cache

import numpy as np
import pytest

from altruism import Progress, StageGraph, drf_shares, pack_forward, stage_ranks
from scripts.papers.dag_pool import AltruismSettings, AltruisticPolicy, PoolJob, run_pool
from scripts.papers.dag_pool.comparison import ALTRUISTIC, Factors, compare, policy_named
from scripts.papers.dag_pool.jobs import arriving, map_reduce_jobs, misjudged, queries
from shim.simulation.engine import seeded

SEEDS = (1, 2)
PROMISING = [name for name in ALTRUISTIC if name.startswith("promises")]


def ends_alone(jobs, settings):
    """When each job ends with its first share alone."""
    shares = drf_shares([job.graph.mean_demand() for job in jobs], [1.0] * jobs[0].graph.demand.shape[1])
    found = []
    for job, share in zip(jobs, shares, strict=True):
        rank = stage_ranks(job.graph, np.ones(share.size)) if settings.is_ranked else None
        found.append(
            pack_forward(
                job.graph,
                Progress.at_start(job.graph),
                np.maximum(share, job.graph.demand.max(axis=0)),
                rank=rank,
            ).makespan
        )
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PROMISING)
@pytest.mark.parametrize("tightens", [True, False])
def test_no_job_of_those_that_came_together_ends_later_than_with_its_share_alone(name, seed, tightens):
    settings = AltruismSettings(
        probability=ALTRUISTIC[name].probability,
        order=ALTRUISTIC[name].order,
        reach=ALTRUISTIC[name].reach,
        is_ranked=ALTRUISTIC[name].is_ranked,
        tightens=tightens,
    )
    jobs = queries(seeded(seed, "pool"), 5, 15)
    ended = run_pool(jobs, AltruisticPolicy(settings, seeded(seed, "pool"))).completions_s
    assert all(end <= bound + 1e-6 for end, bound in zip(ended, ends_alone(jobs, settings), strict=True))


@cache
def queries_beside_drf(name: str) -> Factors:
    return Factors.mean_of([compare(queries(seeded(seed, "pool"), 7, 20), [name], seed=seed)[name] for seed in SEEDS])


def test_putting_off_in_the_room_of_all_is_near_the_bound_and_slows_nobody_badly():
    bound, pool = queries_beside_drf("srtf"), queries_beside_drf("promises, whole pool")
    assert pool.mean > 1.2
    assert pool.mean > 0.9 * bound.mean
    assert pool.slowed == 0


def test_putting_off_within_the_share_gains_less():
    within, pool = queries_beside_drf("promises"), queries_beside_drf("promises, whole pool")
    assert 1.0 < within.mean < pool.mean
    assert within.jain[0] > pool.jain[0]


def test_map_reduce_jobs_under_load_gain_too():
    jobs = arriving(map_reduce_jobs(seeded(1, "pool"), 40, 40), seeded(2, "pool"), 1.5)
    found = compare(jobs, ["carbyne", "promises, whole pool"], seed=1)
    assert all(each.mean > 1.05 for each in found.values())


def test_durations_that_are_believed_too_long_do_not_slow_jobs_badly():
    jobs = misjudged(queries(seeded(1, "pool"), 8, 24), 1.5)
    found = compare(jobs, ["promises, whole pool"], seed=1)["promises, whole pool"]
    assert found.mean > 1.0
    assert found.slowed <= 0.25


def test_the_factor_is_large_beside_shares_that_nobody_else_may_use():
    """Half of the factors of Carbyne's paper is in what it is compared with."""
    jobs = queries(seeded(1, "pool"), 8, 20, resources=2)
    found = compare(jobs, ["shares alone", "carbyne"], seed=1)
    assert found["shares alone"].mean < 1.0
    assert found["carbyne"].mean / found["shares alone"].mean > 1.2


def test_shares_alone_are_what_figure_2_of_the_paper_compares_with():
    first = StageGraph.of(
        [[False, False, False], [False, False, False], [True, True, False]],
        [2, 3, 1],
        [[0.04], [0.21], [0.21]],
        [1.0, 1.0, 0.1],
    )
    second = StageGraph.of([[False]], [2], [[0.29]], [1.0])
    jobs = [PoolJob.known("first", 0.0, first), PoolJob.known("second", 0.0, second)]
    ends = {
        name: run_pool(jobs, policy_named(name, 1)).completions_s for name in ("shares alone", "carbyne P=0", "carbyne")
    }
    assert ends["shares alone"] == pytest.approx((2.1, 2.0))
    assert ends["carbyne P=0"] == pytest.approx((1.1, 2.0))
    assert ends["carbyne"] == pytest.approx((2.1, 1.0))
