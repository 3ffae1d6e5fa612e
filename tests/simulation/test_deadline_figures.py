"""Deadlines in a queue over modelled clusters, by Heddle's own code: figures of policies.md on half the jobs."""

from scripts.deadline_figures import found_with, made_jobs


def test_by_jockey_fewer_deadlines_are_missed_than_by_fair_shares():
    work = made_jobs(1, 15)
    fair, jockey = (found_with(order, work, 1) for order in ("fair", "jockey"))
    assert fair.due == jockey.due == 5
    assert jockey.missed <= 1 < fair.missed
