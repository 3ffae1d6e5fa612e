"""Short tasks in a queue over modelled clusters, by every policy that a queue may have: by Heddle's own code.

Such jobs are what no policy is for: one size of containers, no data, no deadlines, no graphs. The table of
docs/policies.md has more jobs.
"""

from functools import cache
from statistics import fmean

import pytest

from scripts.short_task_figures import DRAWS, made_jobs, mean_s
from shim.scheduling.queue_policies import QUEUE_POLICIES

JOBS, SEEDS = 30, (1, 2)


@cache
def mean_by(order):
    draw = DRAWS["crowded"]
    return fmean(mean_s(order, made_jobs(seed, draw, JOBS), seed) for seed in SEEDS)


@pytest.mark.parametrize("order", [name for name in QUEUE_POLICIES if name != "fifo"])
def test_no_policy_is_worse_on_short_tasks_than_first_come_first_served_by_more_than_a_twentieth(order):
    assert mean_by(order) <= 1.05 * mean_by("fifo")
