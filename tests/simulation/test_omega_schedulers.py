"""Parallel schedulers on one shared state by Omega: the table of policies.md on a quarter of the jobs."""

from functools import cache

import pytest

from scripts.omega_figures import found_with
from scripts.papers.omega_conflicts import batch_workload, in_parallel
from shim.simulation.omega import OmegaThinking

JOBS = 150


@cache
def found(rate, n_schedulers, seed=1):
    return found_with(rate, n_schedulers, seed, JOBS)


@pytest.mark.parametrize("n_schedulers", [2, 4, 8])
def test_more_conflicts_the_more_jobs_come(n_schedulers):
    fractions = [found(rate, n_schedulers).conflict_fraction for rate in (1.0, 4.0, 16.0)]
    assert fractions == sorted(fractions)
    assert fractions[-1] > 1.5 * fractions[0]


def test_more_conflicts_the_more_schedulers_share_the_jobs_and_none_of_one():
    found_by = [found(16.0, n_schedulers) for n_schedulers in (1, 2, 4, 8)]
    fractions, lost = zip(*((each.conflict_fraction, each.claims_lost) for each in found_by), strict=True)
    assert fractions[0] == lost[0] == found_by[0].redoing == 0.0
    assert list(fractions) == sorted(fractions)
    assert list(lost) == sorted(lost)


def test_conflicts_cost_less_than_more_schedulers_gain():
    one, four = found(16.0, 1), found(16.0, 4)
    assert one.busy > 0.95, "it is saturated"
    assert four.busy < 0.8
    assert four.redoing < 0.25 * four.busy
    assert four.wait_s < 0.1 * one.wait_s


def test_what_is_counted_adds_up():
    each = in_parallel(batch_workload(1, 100.0, 1.0, 0.5), 1, OmegaThinking(1.0, 0.0), 1, 100.0)
    assert 0.0 <= each.redoing <= each.busy <= 1.0
    assert 0.0 <= each.claims_lost <= each.conflict_fraction <= 1.0
