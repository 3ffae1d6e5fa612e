"""Rows of the pages that one seeded command prints, and that a test can afford: what stands there is what it gives.

For each published table one row or two; those of public traces carry the marker `data`.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from scripts import (
    altruism_figures,
    data_figures,
    fairness_figures,
    late_binding_figures,
    preference_figures,
    published_figures,
    sensitivity_figures,
    short_task_figures,
)
from scripts.figure_tables import public_trace
from scripts.papers.dag_pool.comparison import Factors
from scripts.papers.omega_conflicts import conflict_fraction, contended_workload
from scripts.papers.queue_shares import MEGHA_QUEUES, ShareSetting, run_queue_shares
from scripts.two_clusters import be_silent
from shim.simulation.constraints import apply_constraints, read_constraints
from shim.simulation.dag_results import rows
from shim.simulation.dag_runs import DagSettings, make_runs, open_workloads, plan_runs
from shim.simulation.registry import Experiment, simulate
from shim.simulation.run import Setting
from shim.simulation.traces import read_trace
from tests.doubles.public_data import data_folder

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGES = "\n\n".join(page.read_text("utf-8") for page in sorted((DOCS / "researchers").glob("*.md")))
NEAR = 0.2
"""What a figure of Heddle's own code over modelled clusters may be off by: other decisions on the way move it."""


@pytest.fixture(autouse=True)
def silent():
    be_silent()


def below(words):
    """What the pages say from some words on, wherever their lines end."""
    found = re.search(r"\s+".join(map(re.escape, words.split())), PAGES)
    assert found is not None, words
    return PAGES[found.start() :]


def row_of(command, *first):
    """The cells of the first row that begins so below a command."""
    line = next(line for line in below(command).splitlines() if line.startswith(f"| {' | '.join(first)} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def numbers_of(cell):
    return [float(each) for each in re.findall(r"\d+(?:\.\d+)?", cell)]


def as_written(values: Sequence[float], digits: int):
    """Numbers as a page has them: off by no more than what rounding takes away."""
    return pytest.approx(list(values), abs=0.5000001 * 10**-digits)


@pytest.mark.parametrize("at", range(len(late_binding_figures.ORDERS)), ids=late_binding_figures.ORDERS)
def test_late_binding_by_its_first_seed(at):
    row = row_of("scripts.late_binding_figures", "1")
    found = late_binding_figures.found_with(late_binding_figures.ORDERS[at], late_binding_figures.made_jobs(1), 1)
    assert numbers_of(row[at + 1]) == pytest.approx([found.mean_s, found.p95_s, found.held], rel=NEAR)


@pytest.mark.parametrize("policy", ["fifo", "tetris"])
@pytest.mark.parametrize("wait_s", [0, 15])
def test_tasks_at_their_data_by_what_reading_across_costs(policy, wait_s):
    row = row_of("scripts.data_figures 1", f"`{policy}`")
    here, mean_s = data_figures.found_with(f"{policy} {wait_s}", data_figures.made_jobs(1), 1)
    assert numbers_of(row[1 + bool(wait_s)]) == pytest.approx([100.0 * here, mean_s], rel=NEAR)


# ---------------------------------------------------------------------- altruism on a pool


@cache
def factors(policy: str, *, believed: float = 1.0) -> Factors:
    return altruism_figures.over_seeds("tpch-like", [policy], believed=believed)[policy]


@pytest.mark.parametrize(
    ("at", "policy"), list(enumerate(["srtf", "carbyne P=0", "carbyne", "promises", "promises, whole pool"], start=1))
)
def test_policies_of_altruism_on_drawn_queries(at, policy):
    row, found = row_of("| workload | srtf | carbyne P=0 |", "tpch-like"), factors(policy)
    assert numbers_of(row[at]) == as_written([found.mean, found.worst, found.jain[0]], 2)


def test_what_altruism_is_compared_with_decides_its_factor():
    row = row_of("`baselines` runs both", "tpch-like")
    mine, free, others = factors("carbyne"), factors("carbyne P=0"), ("shares alone", "drf", "tetris", "srtf")
    alone, _, tetris, srtf = (1.0 if each == "drf" else factors(each).mean for each in others)
    expected = (mine.mean / alone, mine.mean, mine.mean / tetris, mine.mean / srtf, free.mean / alone)
    assert [number for cell in row[1:] for number in numbers_of(cell)] == as_written(expected, 2)


@pytest.mark.parametrize(("at", "policy"), [(1, "carbyne P=0"), (3, "carbyne P=0.5"), (5, "carbyne")])
def test_the_gain_grows_with_how_often_jobs_yield(at, policy):
    row = row_of("`probability`, three seeds", "tpch-like")
    assert numbers_of(row[at]) == as_written([factors(policy).mean], 2)


@pytest.mark.parametrize("believed", [1.0, 2.0])
def test_durations_that_are_believed_wrongly(believed):
    row = row_of("`estimates` (2026", "tpch-like", f"x {believed:g}")
    found = factors("carbyne", believed=believed)
    assert numbers_of(row[2]) == as_written([found.mean, found.worst], 2)


def test_altruism_under_a_small_load():
    told = numbers_of(below("`load` (2026").partition("jobs arrive,")[2].partition(". ")[0])[0]
    found = altruism_figures.over_seeds("mapreduce-like", ["carbyne"], load=0.7)["carbyne"]
    assert [told] == as_written([found.mean], 2)


# ---------------------------------------------------------------------- shares and orderings of graphs


@pytest.mark.parametrize(("n_gms", "heartbeat_s"), [(1, 0.5), (3, 30.0)])
def test_four_queues_hold_their_shares_over_global_masters(n_gms, heartbeat_s):
    text = below("scripts/fairness_figures.py queues")
    told = re.search(r"within\s([\d.]+)\s%,\sand\s(\d+)\sto\s(\d+)\scontainers", text)
    assert told is not None
    run = run_queue_shares(ShareSetting(n_gms=n_gms, heartbeat_s=heartbeat_s, seed=0))
    held = run.mean_shares(fairness_figures.SETTLED_S)
    assert all(abs(held[plan.name] - plan.share) <= float(told[1]) / 100 for plan in MEGHA_QUEUES)
    assert 0.9 * int(told[2]) <= run.preempted <= 1.1 * int(told[3])


@pytest.mark.data
@pytest.mark.parametrize("ordering", ["fair", "fifo"])
def test_queries_that_arrive_at_once_by_ordering(ordering):
    row = row_of("scripts/fairness_figures.py tpch", "20 at once", ordering)
    (workload,) = (each for each in open_workloads([data_folder() / "tpch_decima"], DagSettings()) if each.n_jobs == 20)
    (found,) = rows(make_runs(plan_runs([workload], (ordering,), fairness_figures.SEEDS)))
    assert row[2:6] == [found[key] for key in ("mean", "p95", "makespan", "jain")]


# ---------------------------------------------------------------------- published systems


@pytest.mark.parametrize("policy", ["sparrow", "central-fifo"])
def test_sparrows_own_experiment(policy):
    row = row_of("scripts/published_figures.py sparrow", f"`{policy}`")
    found = [published_figures.mean_response_ms(policy, load, 1) for load in published_figures.LOADS]
    assert [numbers_of(cell)[0] for cell in row[1:]] == as_written(found, 1)


@pytest.mark.parametrize("at", range(len(published_figures.MEASURED_CONFLICTS)))
def test_omegas_conflicts_where_decisions_take_longest(at):
    rules, horizon_s = list(published_figures.MEASURED_CONFLICTS)[at], published_figures.HORIZON_S
    table = below("scripts/published_figures.py omega 3")
    row = [line for line in table.splitlines() if line.startswith("| ")][1 + at]
    found = [
        conflict_fraction(contended_workload(seed, horizon_s), rules, 10.0, seed=seed, horizon_s=horizon_s)
        for seed in (1, 2, 3)
    ]
    assert numbers_of(row)[-3:-2] == as_written([fmean(found)], 3)


@pytest.mark.data
def test_the_central_queue_with_all_durations_on_facebooks_trace():
    row = row_of("scripts/published_figures.py traces", "`central-srpt` (all durations)")
    outcome = simulate(Experiment("central-srpt", Setting(n_workers=5000)), public_trace("synthetic_FB_sub_2000jobs"))
    assert numbers_of(row[3])[:1] == as_written([outcome.delay().mean], 2)


@pytest.mark.data
@pytest.mark.parametrize("policy", ["sparrow", "central-fifo"])
def test_placement_constraints_by_policy(policy):
    row = row_of("scripts/published_figures.py constraints 8", f"`{policy}`")
    folder = data_folder() / "megha_constraints"
    files = ("megha_config_G5L5S10000_C.json.gz", "syn250_first200jobs.task_constraints_seed42.csv.gz")
    required = read_constraints([folder / name for name in files])
    workload = apply_constraints(read_trace(folder / "syn250_first200jobs.tr"), required)
    outcome = simulate(Experiment(policy, Setting(n_workers=10_000, worker_constraints=required.workers)), workload)
    delay = outcome.delay()
    assert [numbers_of(cell)[0] for cell in row[1:3]] == as_written([delay.mean, delay.p50], 4)
    assert [numbers_of(cell)[0] for cell in row[3:4]] == as_written([delay.p99], 3)


# ---------------------------------------------------------------------- what Heddle's figures hang on


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("unrelated durations", "durations drawn whatever the job"),
        ("large jobs of short tasks", "large jobs of short tasks"),
    ],
)
def test_where_learning_teaches_nothing_the_first_seed_is_the_least_or_the_most(name, first):
    row = row_of('scripts.sensitivity_figures unlearnable "" 5', first)
    load, setting = sensitivity_figures.UNLEARNABLE[name](1), Setting(n_workers=2000)
    for cell, policy in ((row[1], "central-fewest-tasks"), (row[2], "heddle")):
        found = simulate(Experiment(policy, setting), load).delay().mean
        assert min(numbers_of(cell)[1:], key=lambda told: abs(told - found)) == pytest.approx(found, abs=0.0005001)


@pytest.mark.data
def test_heddle_by_its_first_seed_on_facebooks_trace():
    row = row_of('scripts.sensitivity_figures goals "" 5', "mean delay s, by seed")
    outcome = simulate(Experiment("heddle", Setting(n_workers=5000)), public_trace("synthetic_FB_sub_2000jobs"))
    assert numbers_of(row[3])[:1] == as_written([outcome.delay().mean], 2)


@pytest.mark.data
def test_what_is_believed_of_how_much_durations_differ():
    told = numbers_of(below("one and two octaves give"))[2]
    recipe = sensitivity_figures.believing(sensitivity_figures.BELIEFS["a spread of an octave"])
    outcome = sensitivity_figures.run(recipe, public_trace("YH1_sub"), Setting(n_workers=6000))
    assert [told] == as_written([outcome.delay().mean], 3)


@pytest.mark.parametrize(("draw", "at"), [("scarce", 0), ("calm", 2), ("mixed", 4)])
def test_what_soft_places_are_worth_by_what_is_lost_elsewhere(draw, at):
    told = numbers_of(below("good as alsched (").partition("if a job")[0].replace("s for", ""))[at : at + 2]
    jobs = preference_figures.made_jobs(1, preference_figures.DRAWS[draw])
    found = [
        preference_figures.mean_s(preference_figures.ROWS[f"alsched, {asks}"], jobs, 1) for asks in ("none", "soft")
    ]
    assert told == pytest.approx(found, rel=NEAR)


@pytest.mark.parametrize(
    ("order", "first"), [("plain", "plain YARN, jobs dealt in turn"), ("learnt-work", "`learnt-work`")]
)
def test_short_tasks_by_what_is_learnt(order, first):
    row = row_of("scripts.short_task_figures 3 fifo fair fewest-tasks learnt-work", first)
    draw = short_task_figures.DRAWS["steady"]
    found = [
        short_task_figures.mean_s(order, short_task_figures.made_jobs(seed, draw), seed, 0.5) for seed in (1, 2, 3)
    ]
    assert numbers_of(row[1])[0] == pytest.approx(fmean(found), rel=NEAR)
