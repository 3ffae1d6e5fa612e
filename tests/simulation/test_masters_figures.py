"""The figures of megha and heddle in docs/evaluation.md, in sizes that take seconds: each against its neighbours.

The full tables are made by `scripts/masters_figures.py` and `heddle simulate`.
"""

from functools import cache

import pytest

from shim.simulation.constraints import apply_constraints, read_constraints
from shim.simulation.engine import seeded
from shim.simulation.run import Setting
from shim.simulation.sweep import Experiment, simulate
from shim.simulation.traces import fixed_jobs, read_trace
from shim.testing.shared import shared_folder

DATA = "data"


@cache
def mean_delay_s(policy, *, uses_estimates=False):
    """The first 45 jobs of Facebook's trace on 250 workers: far more load than slots for most of the time."""
    trace = read_trace(shared_folder() / DATA / "jobs" / "synthetic_FB_sub_2000jobs.tr", first_jobs=45)
    outcome = simulate(Experiment(policy, Setting(n_workers=250, uses_estimates=uses_estimates)), trace)
    return outcome.delay().mean


def test_heddle_does_better_than_megha_and_than_a_central_scheduler_without_durations():
    assert mean_delay_s("heddle") < mean_delay_s("megha")
    assert mean_delay_s("heddle") < 0.90 * mean_delay_s("central-fewest-tasks")


def test_with_estimates_heddle_comes_near_a_central_scheduler_that_knows_everything():
    assert mean_delay_s("heddle", uses_estimates=True) < 1.10 * mean_delay_s("central-srpt")


def test_megha_orders_its_queues():
    assert mean_delay_s("megha") < mean_delay_s("central-fifo")


@pytest.mark.parametrize("policy", ["megha", "heddle"])
def test_constrained_tasks_hardly_wait_on_many_workers(policy):
    folder = shared_folder() / DATA / "megha_constraints"
    required = read_constraints(
        [folder / "megha_config_G5L5S10000_C.json.gz", folder / "syn250_first200jobs.task_constraints_seed42.csv.gz"]
    )
    trace = read_trace(folder / "syn250_first200jobs.tr", first_jobs=10)
    setting = Setting(n_workers=10_000, n_gms=5, n_lms=5, worker_constraints=required.workers)
    delay = simulate(Experiment(policy, setting), apply_constraints(trace, required)).delay()
    assert delay.mean <= 0.0656
    assert delay.p99 <= 1.003


@pytest.mark.parametrize("policy", ["megha", "heddle"])
def test_a_task_costs_few_messages_at_high_load(policy):
    load = fixed_jobs(seeded(1, "arrivals"), n_jobs=40, n_tasks=50, duration_s=10.0, load=0.95, n_slots=400)
    outcome = simulate(Experiment(policy, Setting(n_workers=400, n_lms=10)), load)
    assert outcome.messages_per_task <= 6.0
