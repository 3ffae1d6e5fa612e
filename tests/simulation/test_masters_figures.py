"""The figures of megha and heddle in evaluation.md, in sizes that take seconds: each against its neighbours.

The full tables are made by `scripts/masters_figures.py` and `heddle simulate`.
"""

import statistics
from dataclasses import replace
from functools import cache

import pytest

from scripts.masters_figures import ABLATIONS, mixed_jobs
from scripts.papers.generated import FACEBOOK, generated_constraints, generated_jobs, large_jobs_of_short_tasks
from shim.scheduling.policies import HEDDLE, MEGHA
from shim.simulation.constraints import apply_constraints, read_constraints
from shim.simulation.engine import seeded
from shim.simulation.masters import Faults, Masters
from shim.simulation.registry import Experiment, simulate
from shim.simulation.results import Summary
from shim.simulation.run import Run, Setting
from shim.simulation.traces import TraceJob, fixed_jobs, read_trace, workload_of
from tests.doubles.public_data import data_folder

SEEDS = (1, 2, 3, 4)


@cache
def delay_s(name, seed, *, uses_estimates=False):
    """Mean delay: jobs like Facebook's on 160 workers, half as much work again as these can do.

    A name is a policy's, or an ablation's.
    """
    setting = Setting(n_workers=160, uses_estimates=uses_estimates)
    load = generated_jobs(seeded(seed, "facebook"), FACEBOOK, n_jobs=40, load=1.5, n_slots=160)
    if name in ABLATIONS and name != "heddle":
        return outcome_of(ABLATIONS[name], load, setting).delay().mean
    return simulate(Experiment(name, setting), load).delay().mean


def times_longer(slow, fast, *, seeds=SEEDS, **of_fast):
    """How many times longer jobs wait: the geometric mean over seeds.

    One seed tells little: without learnt durations jobs wait 1.02 to 1.69 times as long, without trials 0.85 to 1.45
    times. With 60 jobs on 250 workers one of seeds 1 to 7 has them wait 0.94 times as long under
    `central-fewest-tasks`.
    """
    return statistics.geometric_mean(delay_s(slow, seed) / delay_s(fast, seed, **of_fast) for seed in seeds)


def outcome_of(recipe, workload, setting, faults=None):
    return Masters(Run(workload, setting), recipe, faults).simulate()


def test_heddle_does_better_than_megha_and_than_a_central_scheduler_without_durations():
    assert times_longer("megha", "heddle") > 1.5
    assert times_longer("central-fewest-tasks", "heddle") > 1.2


def test_with_estimates_heddle_comes_near_a_central_scheduler_that_knows_everything():
    assert times_longer("central-srpt", "heddle", uses_estimates=True) > 1 / 1.15


@pytest.mark.parametrize(("name", "least"), [("no offers", 1.5), ("no learnt durations", 1.2)])
def test_each_idea_is_worth_something(name, least):
    assert times_longer(name, "heddle") > least


def test_trials_are_worth_something_over_more_seeds():
    assert times_longer("no trials", "heddle", seeds=range(1, 9)) > 1.05, "1.07"


def heavy_tailed(seed):
    """Jobs of a few tasks of seconds, and one in seven of many tasks of minutes, on 400 workers at load 0.8."""
    rng, arrival_s, jobs = seeded(seed, "tails"), 0.0, []
    for index in range(300):
        is_short = rng.random() < 0.85
        n_tasks = rng.randint(1, 10) if is_short else rng.randint(20, 100)
        mean_s = rng.uniform(1.0, 10.0) if is_short else rng.uniform(200.0, 600.0)
        durations_s = tuple(mean_s * rng.uniform(0.8, 1.2) for _ in range(n_tasks))
        arrival_s += rng.expovariate(1.0 / 12.0)
        jobs.append(TraceJob(index, arrival_s, durations_s, mean_s))
    return workload_of("heavy-tailed", jobs, cutoff_s=50.0)


def test_where_queues_last_for_seconds_large_jobs_of_short_tasks_wait_less_by_a_horizon():
    load = large_jobs_of_short_tasks(seeded(2, "jobs"), n_jobs=300, load=0.9, n_slots=200)
    setting = Setting(n_workers=200, seed=2)
    without, heddle = (outcome_of(ABLATIONS[name], load, setting).delay().mean for name in ("no horizon", "heddle"))
    assert without / heddle > 1.04, "seeds 1 to 3: 1.06, 1.08, 1.04"


def test_room_that_is_kept_for_short_tasks_has_them_wait_less_and_costs_the_others_little():
    setting, without = Setting(n_workers=400, n_lms=2), ABLATIONS["no room kept for short tasks"]
    of_short, of_all = [], []
    for seed in SEEDS[:3]:
        load = heavy_tailed(seed)
        kept, none = (outcome_of(recipe, load, setting) for recipe in (HEDDLE, without))
        of_short.append(kept.delay(short=True).mean / none.delay(short=True).mean)
        of_all.append(kept.delay().mean / none.delay().mean)
    assert statistics.geometric_mean(of_short) < 0.75
    assert statistics.geometric_mean(of_all) < 1.01


def test_megha_orders_its_queues():
    assert times_longer("central-fifo", "megha") > 1.1


@pytest.mark.data
def test_heddle_holds_nearly_all_of_yahoos_delay_as_low_as_the_table_says():
    trace = read_trace(data_folder() / "jobs" / "YH1_sub.tr", first_jobs=600)
    delay = simulate(Experiment("heddle", Setting(n_workers=6000)), trace).delay()
    assert delay.mean == pytest.approx(5.06, rel=0.03)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("policy", ["megha", "heddle"])
def test_constrained_tasks_hardly_wait_where_there_is_room(policy, seed):
    load = generated_jobs(seeded(seed, "facebook"), FACEBOOK, n_jobs=30, load=0.5, n_slots=2000)
    required = generated_constraints(seeded(seed, "constraints"), load, n_workers=2000)
    setting = Setting(n_workers=2000, n_gms=5, n_lms=5, worker_constraints=required.workers, seed=seed)
    delay = simulate(Experiment(policy, setting), apply_constraints(load, required)).delay()
    assert delay.p99 <= 8 * setting.hop_s


@pytest.mark.data
@pytest.mark.parametrize("policy", ["megha", "heddle"])
def test_constrained_tasks_hardly_wait_on_many_workers(policy):
    folder = data_folder() / "megha_constraints"
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
