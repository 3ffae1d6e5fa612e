"""The masters in simulated time, on loads that take a second."""

import pytest

from shim.scheduling.policies import HEDDLE, HEDDLE_ESTIMATES, MEGHA
from shim.simulation.engine import seeded
from shim.simulation.masters import Faults, Masters
from shim.simulation.run import HomeRule, Run, Setting
from shim.simulation.traces import TraceJob, fixed_jobs, workload_of

RECIPES = pytest.mark.parametrize("recipe", [MEGHA, HEDDLE, HEDDLE_ESTIMATES], ids=["megha", "heddle", "estimates"])


def a_load(load=0.9, n_slots=40, n_jobs=30):
    return fixed_jobs(seeded(1, "arrivals"), n_jobs=n_jobs, n_tasks=12, duration_s=5.0, load=load, n_slots=n_slots)


def outcome_of(recipe, workload=None, faults=None, **setting):
    run = Run(workload or a_load(), Setting(**({"n_workers": 40, "n_gms": 3, "n_lms": 4} | setting)))
    return Masters(run, recipe, faults).simulate()


@RECIPES
def test_an_idle_cluster_delays_a_job_by_two_hops(recipe):
    outcome = outcome_of(recipe, workload_of("one", [TraceJob(0, 1.0, (5.0, 7.0), 6.0)]))
    assert outcome.delays_s == (pytest.approx(0.001),)


@RECIPES
def test_every_leg_is_a_message_also_those_to_and_from_nodes(recipe):
    outcome = outcome_of(recipe, workload_of("one", [TraceJob(0, 1.0, (5.0, 7.0), 6.0)]))
    assert outcome.messages["launch"] == outcome.messages["end"] == 2
    both = outcome_of(recipe, workload_of("one", [TraceJob(0, 1.0, (5.0, 7.0), 6.0)]), n_workers=4, slots_per_worker=8)
    assert both.messages["launch"] <= both.messages["end"] == 2
    lossy = outcome_of(recipe, loss=0.2, heartbeat_s=5.0)
    tasks = lossy.workload.n_tasks
    assert lossy.messages["end"] > 1.15 * tasks


def test_homes_are_given_by_the_number_of_tasks_or_in_turn():
    jobs = [TraceJob(index, 1.0 + index, (5.0,) * 3, 5.0) for index in range(6)]
    one, each = (
        Masters(Run(workload_of("equal", jobs), Setting(n_workers=40, n_gms=3, n_lms=4, home_rule=rule)), MEGHA)
        for rule in HomeRule
    )
    for masters in (one, each):
        masters.simulate()
    by_master = [[master.counters.matches for master in masters.global_masters.values()] for masters in (one, each)]
    assert by_master == [[18, 0, 0], [6, 6, 6]]


@RECIPES
def test_the_same_seed_gives_the_same_run_and_another_one_another(recipe):
    first, again, other = (outcome_of(recipe, seed=seed) for seed in (1, 1, 2))
    assert (first.delays_s, first.messages) == (again.delays_s, again.messages)
    assert first.messages != other.messages


@RECIPES
def test_every_task_runs_although_messages_are_lost(recipe):
    outcome = outcome_of(recipe, loss=0.05, heartbeat_s=5.0)
    assert len(outcome.delays_s) == 30


@RECIPES
@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_every_task_runs_once_although_a_global_master_is_killed(recipe, loss):
    outcome = outcome_of(recipe, faults=Faults(kill_global_master_at_s=11.0), loss=loss, heartbeat_s=5.0)
    assert len(outcome.delays_s) == 30


@RECIPES
def test_every_task_runs_although_a_local_master_is_away_for_a_while(recipe):
    faults = Faults(local_master_away_at_s=11.0, local_master_away_for_s=7.0)
    assert len(outcome_of(recipe, faults=faults, heartbeat_s=5.0).delays_s) == 30


@RECIPES
def test_tasks_find_the_only_workers_that_satisfy_them(recipe):
    jobs = [TraceJob(index, float(index), (3.0,) * 6, 3.0, (0, 1, 2, 3, 3, 0)) for index in range(20)]
    constraints = tuple(index % 4 for index in range(40))
    outcome = outcome_of(recipe, workload_of("picky", jobs), worker_constraints=constraints)
    assert len(outcome.delays_s) == 20


def test_workers_may_have_several_slots():
    assert outcome_of(HEDDLE, slots_per_worker=4, n_workers=10).utilisation > 0.5


def test_offers_order_jobs_across_global_masters():
    """A hundred long tasks and then short jobs of other Global Masters: the short ones go first on each freed slot."""
    long_job = TraceJob(0, 0.0, (50.0,) * 121, 50.0)
    short = [TraceJob(0, 1.0 + index, (1.0,) * (2 + index % 2), 1.0) for index in range(10)]
    workload = workload_of("mixed", [long_job, *short])
    delays = {recipe.name: outcome_of(recipe, workload).delay().mean for recipe in (MEGHA, HEDDLE_ESTIMATES)}
    assert delays["heddle-estimates"] < delays["megha"]


def test_a_batch_is_one_message_whose_bytes_are_counted():
    outcome = outcome_of(MEGHA, workload_of("one", [TraceJob(0, 1.0, (5.0,) * 6, 5.0)]))
    assert outcome.messages["launch-request"] <= 4
    assert outcome.messages["launch-request"] == outcome.messages["verdict"]
    assert outcome.size_bytes["launch-request"] >= 6 * 24
