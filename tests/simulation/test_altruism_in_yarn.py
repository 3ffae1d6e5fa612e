"""Altruism in modelled clusters, by Heddle's own code: jobs put tasks off there, and all of them end."""

import pytest

from scripts.altruism_in_yarn import found_with, made_jobs, mean_jain
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage


@pytest.mark.parametrize("order", ["drf, altruism", "carbyne"])
def test_jobs_yield_by_times_that_they_learnt_and_none_is_lost(order):
    jobs = made_jobs(1, 6)
    fair, altruistic = (found_with(each, jobs, 1) for each in ("drf", order))
    assert altruistic.each_s.keys() == fair.each_s.keys()
    assert altruistic.each_s != fair.each_s, "something was put off"
    assert found_with(order, jobs, 1) == altruistic, "the same seed, the same run"


def test_jains_index_is_of_jobs_that_want_more_over_whole_windows():
    """Two jobs of ten tasks of 100 s: one has two places, the other one; for the first 50 s the other wants nothing."""
    one, other = (ModelledJob(name, at_s, (ModelledStage((100.0,) * 10),)) for name, at_s in (("a", 0.0), ("b", 50.0)))
    starts = {
        "a": {(0, task): 100.0 * (task // 2) for task in range(10)},
        "b": {(0, task): 100.0 * task for task in range(10)},
    }
    assert mean_jain([one, other], starts, 300.0) == pytest.approx(0.9)
    assert mean_jain([one], starts, 300.0) == 1.0
