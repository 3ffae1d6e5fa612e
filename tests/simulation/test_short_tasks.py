"""Short tasks in a queue over modelled clusters, by every policy that a queue may have: by Heddle's own code.

Such jobs are what no policy is for: no data, no deadlines, no graphs, and in the first draw one size of containers. The
table of docs/researchers/policies.md has more jobs.
"""

from functools import cache
from statistics import fmean

import pytest

from scripts.short_task_figures import DRAWS, PLAIN, made_jobs, mean_s
from shim.scheduling.queue_policies import QUEUE_POLICIES

JOBS = {"crowded": 30, "mixed": 20}
SEEDS = (1, 2)


@cache
def mean_by(order, draw):
    return fmean(mean_s(order, made_jobs(seed, DRAWS[draw], JOBS[draw]), seed) for seed in SEEDS)


@pytest.mark.parametrize("draw", JOBS)
@pytest.mark.parametrize("order", QUEUE_POLICIES)
def test_no_policy_is_slower_than_plain_yarn_by_more_than_a_twentieth(order, draw):
    assert mean_by(order, draw) <= 1.05 * mean_by(PLAIN, draw)
