"""Altruism in modelled clusters, by Heddle's own code: jobs put tasks off there, and all of them end."""

from scripts.altruism_in_yarn import found_with, made_jobs


def test_jobs_yield_by_times_that_they_learnt_and_none_is_lost():
    jobs = made_jobs(1, 6)
    fair, altruistic = (found_with(order, jobs, 1) for order in ("fair", "fair, altruism"))
    assert altruistic.each_s.keys() == fair.each_s.keys()
    assert altruistic.each_s != fair.each_s, "something was put off"
    assert found_with("fair, altruism", jobs, 1) == altruistic, "the same seed, the same run"
