"""Worth of each policy on jobs drawn for it: small runs of the tables in docs/researchers/policies.md."""

from functools import cache

import pytest

from shim.scheduling.policy import WORKLOAD_FACTS, World
from shim.scheduling.registry import policy_for
from shim.simulation.policy_runs import RunFigures, run_policy
from shim.simulation.policy_runs.workloads import KINDS_OF_JOBS, VARIANTS

SEEDS = [1, 2, 3]


@cache
def figures(policy: str, kind: str, seed: int, n_jobs: int = 120, n_nodes: int = 50, load: float = 1.1) -> RunFigures:
    jobs, site = KINDS_OF_JOBS[kind](seed, n_jobs, n_nodes, load)
    return run_policy(jobs, site, VARIANTS.get(policy) or policy_for(policy, World.DIRECT, WORKLOAD_FACTS))


@pytest.mark.parametrize("seed", SEEDS)
def test_delay_scheduling_keeps_tasks_at_their_data_and_ends_small_jobs_sooner(seed):
    fifo, fair, delay = (figures(each, "data", seed) for each in ("fifo", "fair", "delay"))
    assert delay.node_local > fair.node_local + 0.10
    assert delay.percentile_s(50) < fair.percentile_s(50) < fifo.percentile_s(50)
    assert delay.makespan_s < 1.05 * fair.makespan_s


def test_tetris_ends_jobs_of_mixed_demands_sooner_in_the_mean_of_seeds():
    means = {
        each: sum(figures(each, "vectors", seed, 100, 10, 1.2).mean_s for seed in SEEDS) for each in ("fair", "tetris")
    }
    assert means["tetris"] < 0.96 * means["fair"]


def test_graphene_is_no_worse_than_fair_shares_on_graphs():
    means = {
        each: sum(figures(each, "graphs", seed, 30, 10, 1.0).mean_s for seed in SEEDS) for each in ("fair", "graphene")
    }
    assert means["graphene"] < means["fair"]


def test_quincy_moves_less_data_than_first_come_first_served():
    fifo, quincy = (figures(each, "data", 1, 25, 15) for each in ("fifo", "quincy"))
    assert quincy.solver_plans > 0
    assert quincy.node_local > fifo.node_local


def test_tetrisched_misses_fewer_deadlines_than_first_come_first_served():
    missed = {each: figures(each, "deadlines", 2, 25, 10, 1.1).missed for each in ("fifo", "tetrisched")}
    assert missed["tetrisched"] < missed["fifo"]


def test_jockey_misses_fewer_deadlines_by_the_pace_of_the_run_than_by_its_progress_alone():
    missed = [
        sum(figures(each, "queries", seed, 20, 100, 0.8).missed for seed in SEEDS[1:])
        for each in ("jockey", "jockey-published")
    ]
    assert missed[0] < missed[1]


def test_jockey_misses_fewer_deadlines_than_a_first_guess_a_fixed_share_or_fair_shares():
    names = ("jockey", "jockey-once", "jockey-15", "fair")
    missed = [sum(figures(each, "queries", seed, 20, 60, 0.8).missed for seed in SEEDS[:2]) for each in names]
    assert missed == sorted(missed)
    assert missed[0] < 0.5 * missed[2]


def test_medea_breaks_far_fewer_wishes_than_a_look_at_room_alone():
    medea, alone, blind = (
        figures(each, "services", 1, 10, 40, 0.5).violated for each in ("medea", "medea-one-by-one", "medea-blind")
    )
    assert medea <= alone < blind
    assert medea < 0.1
