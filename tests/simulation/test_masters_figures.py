"""The figures of megha and heddle in docs/evaluation.md, in sizes that take seconds: each against its neighbours.

The full tables are made by `scripts/masters_figures.py` and `heddle simulate`.
"""

from dataclasses import replace
from functools import cache

import pytest

from scripts.masters_figures import ABLATIONS, mixed_jobs
from shim.scheduling.policies import HEDDLE, MEGHA
from shim.simulation.constraints import apply_constraints, read_constraints
from shim.simulation.engine import seeded
from shim.simulation.masters import Faults, Masters
from shim.simulation.results import Summary
from shim.simulation.run import Run, Setting
from shim.simulation.sweep import Experiment, simulate
from shim.simulation.traces import fixed_jobs, read_trace
from shim.testing.shared import shared_folder

DATA = "data"


@cache
def a_trace(name, first_jobs):
    return read_trace(shared_folder() / DATA / "jobs" / f"{name}.tr", first_jobs=first_jobs)


@cache
def mean_delay_s(policy, *, uses_estimates=False):
    """The first 45 jobs of Facebook's trace on 250 workers: far more load than slots for most of the time."""
    trace = a_trace("synthetic_FB_sub_2000jobs", 45)
    outcome = simulate(Experiment(policy, Setting(n_workers=250, uses_estimates=uses_estimates)), trace)
    return outcome.delay().mean


def outcome_of(recipe, workload, setting, faults=None):
    return Masters(Run(workload, setting), recipe, faults).simulate()


def test_heddle_does_better_than_megha_and_than_a_central_scheduler_without_durations():
    assert mean_delay_s("heddle") < mean_delay_s("megha")
    assert mean_delay_s("heddle") < 0.90 * mean_delay_s("central-fewest-tasks")


def test_with_estimates_heddle_comes_near_a_central_scheduler_that_knows_everything():
    assert mean_delay_s("heddle", uses_estimates=True) < 1.10 * mean_delay_s("central-srpt")


@pytest.mark.parametrize("name", ["no offers", "no learnt durations", "no trials"])
def test_each_idea_is_worth_something(name):
    setting = Setting(n_workers=250)
    without = outcome_of(ABLATIONS[name], a_trace("synthetic_FB_sub_2000jobs", 45), setting).delay().mean
    assert without > 1.2 * mean_delay_s("heddle")


def test_heddle_holds_nearly_all_of_yahoos_delay_as_low_as_the_table_says():
    delay = simulate(Experiment("heddle", Setting(n_workers=6000)), a_trace("YH1_sub", 600)).delay()
    assert delay.mean == pytest.approx(6.04, rel=0.03)


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


PLAIN = Setting(n_workers=1000, n_lms=10)
TROUBLES = {
    "heartbeat 1 s": (replace(PLAIN, heartbeat_s=1.0), None),
    "heartbeat 60 s": (replace(PLAIN, heartbeat_s=60.0), None),
    "16 Global Masters": (replace(PLAIN, n_gms=16), None),
    "a Global Master killed": (PLAIN, Faults(kill_global_master_at_s=15.0)),
    "a Local Master away": (PLAIN, Faults(local_master_away_at_s=15.0)),
}


@cache
def delay_in(recipe, trouble=None, load=0.9):
    setting, faults = TROUBLES.get(trouble, (PLAIN, None))
    return outcome_of(recipe, mixed_jobs(load, 1000, n_jobs_each=6), setting, faults).delay().mean


@pytest.mark.parametrize("trouble", TROUBLES)
def test_heddle_hardly_notices_heartbeats_masters_and_their_deaths(trouble):
    assert delay_in(HEDDLE, trouble) == pytest.approx(delay_in(HEDDLE), rel=0.1)
    assert delay_in(HEDDLE, trouble) < delay_in(MEGHA, trouble)


def test_megha_lives_on_its_view():
    assert delay_in(MEGHA, "heartbeat 1 s") < 0.9 * delay_in(MEGHA, "heartbeat 60 s")
    assert delay_in(MEGHA, "16 Global Masters") > 5.0 * delay_in(MEGHA)


def test_delay_grows_with_load():
    delays_s = [delay_in(HEDDLE, load=load) for load in (0.5, 0.8, 0.95)]
    assert delays_s == sorted(delays_s)
    assert delays_s[0] < 0.002


def test_lost_messages_cost_delay_and_no_tasks():
    lossy = replace(PLAIN, loss=0.01)
    heddle, megha = (
        outcome_of(recipe, mixed_jobs(0.9, 1000, n_jobs_each=6), lossy).delay().mean for recipe in (HEDDLE, MEGHA)
    )
    assert delay_in(HEDDLE) < heddle < megha


@pytest.mark.parametrize(
    ("n_workers", "n_gms", "n_lms"), [(5_000, 10, 10), (20_000, 10, 10), (5_000, 1, 1), (5_000, 20, 50)]
)
@pytest.mark.parametrize("recipe", [HEDDLE, MEGHA], ids=lambda recipe: recipe.name)
def test_with_room_an_allocation_takes_two_hops_whatever_the_size_and_the_masters(recipe, n_workers, n_gms, n_lms):
    setting = Setting(n_workers=n_workers, n_gms=n_gms, n_lms=n_lms, heartbeat_s=10.0)
    outcome = outcome_of(recipe, mixed_jobs(0.8, 1000, n_jobs_each=1), setting)
    assert Summary.of(outcome.allocation_s).p50 == pytest.approx(2 * setting.hop_s)
