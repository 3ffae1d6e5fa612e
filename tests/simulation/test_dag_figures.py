"""Orderings on graphs of stages: what they promise on generated jobs, and measured completion times on TPC-H's queries.

The full tables are in docs/researchers/evaluation.md.
"""

from functools import cache

import pytest

from scripts.papers.generated import generated_queries, generated_resource_jobs
from shim.simulation.dag_executors import run_on_executors
from shim.simulation.dag_jobs import read_arrivals, read_tpch
from shim.simulation.dag_machines import MACHINE_ORDERINGS, MachineSettings, run_on_machines
from shim.simulation.dag_results import DagOutcome
from shim.simulation.engine import seeded
from tests.doubles.public_data import data_folder

ARRIVING, AT_ONCE = "arrivals_50exec_200jobs", "batch20_50exec"

MEASURED_MEAN_S = [
    ("fair", ARRIVING, 78.0),
    ("fifo", ARRIVING, 493.8),
    ("fair", AT_ONCE, 78.4),
    ("fifo", AT_ONCE, 208.0),
]
MEASURED_MAKESPAN_S = [("fair", 197.9), ("fifo", 403.5)]


@cache
def outcome(policy: str, arrivals: str) -> DagOutcome:
    folder = data_folder() / "tpch_decima"
    graphs = read_tpch(folder / "tpch_dags_full.json.gz")
    jobs = read_arrivals(folder / f"decima_seed_{arrivals}.json.gz", "10000000", graphs)
    return run_on_executors(jobs, policy, seed=1)


@pytest.mark.data
@pytest.mark.parametrize(("policy", "arrivals", "measured_s"), MEASURED_MEAN_S)
def test_mean_completion_is_as_measured(policy, arrivals, measured_s):
    assert outcome(policy, arrivals).completion.mean == pytest.approx(measured_s, rel=0.05)


@pytest.mark.data
@pytest.mark.parametrize(("policy", "measured_s"), MEASURED_MAKESPAN_S)
def test_the_last_of_twenty_ends_when_measured(policy, measured_s):
    assert outcome(policy, AT_ONCE).makespan_s == pytest.approx(measured_s, rel=0.05)


SEEDS = (1, 2, 3, 4, 5)


@cache
def generated_outcome(policy: str, seed: int) -> DagOutcome:
    """Twenty queries at once."""
    jobs = generated_queries(seeded(seed, "queries"), n_jobs=20, mean_gap_s=0.0)
    return run_on_executors(jobs, policy, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_fair_shares_are_even_and_fifo_is_not(seed):
    assert generated_outcome("drf", seed).jain > 0.95
    assert generated_outcome("fifo", seed).jain < 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_end_queries_sooner_than_one_query_after_the_other(seed):
    fair, fifo = generated_outcome("fair", seed), generated_outcome("fifo", seed)
    assert 1.3 * fair.completion.mean < fifo.completion.mean
    assert 1.2 * fair.makespan_s < fifo.makespan_s


@pytest.mark.parametrize("seed", SEEDS)
def test_orderings_on_machines_keep_what_they_promise(seed):
    jobs = generated_resource_jobs(seeded(seed, "jobs"), n_jobs=60)
    settings = MachineSettings(machines=2, load=1.5)
    found = {name: run_on_machines(jobs, name, settings=settings) for name in MACHINE_ORDERINGS}
    mean = {name: one.completion.mean for name, one in found.items()}
    assert found["drf"].jain > max(found["fifo"].jain, found["srtf"].jain)
    assert mean["srtf"] < mean["drf"] < mean["fifo"]
    assert max(one.makespan_s for one in found.values()) < 1.5 * min(one.makespan_s for one in found.values())
