"""`heddle simulate policies`: policies of the scheduling core on jobs that tell them apart."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shim.cli import simulate_options as options
from shim.cli.front import ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_figures, print_rows
from shim.errors import BadRequestError
from shim.scheduling.parameters import named_values
from shim.scheduling.policy import WORKLOAD_FACTS, Policy, World
from shim.scheduling.registry import policy_for
from shim.simulation.figures_file import JobBar
from shim.simulation.plots import draw_figures
from shim.simulation.policy_runs import PolicyJob, RunFigures, run_policy
from shim.simulation.policy_runs.results import policy_figures
from shim.simulation.policy_runs.workloads import (
    KINDS_OF_JOBS,
    VARIANTS,
    Maker,
    alibaba_services,
    jobs_of_kind,
    swim_jobs,
    tpch_jobs,
)

EPILOG = """\
Examples:

heddle simulate policies --kind data --compare fifo,fair,delay --jobs 300 --load 0.9

heddle simulate policies --swim FB-2009_samples_24_times_1hr_0.tsv --compare fair,delay --jobs 500

heddle simulate policies --containers container_traces_timestamped.gz --compare medea,medea-kube --jobs 40

heddle simulate policies --tpch tpch_dags_full.json.gz --compare fair,jockey,jockey-once --jobs 20 --nodes 60

heddle simulate policies --kind data --compare delay,delay:node_s=1:rack_s=0 --jobs 100

The policies are those of `heddle policy kinds`, with parameters after colons if others than the defaults are wanted
(`heddle policy kinds delay`); docs/researchers/policies.md has a table of each. Besides, for comparison:
jockey-published (the paper's control loop, without this run's pace), jockey-amdahl (that without simulated runs),
jockey-amdahl-paced (no simulated runs), jockey-once (first allocation kept), jockey-15 (15 containers for each
deadline), medea-published (the paper's weights), medea-heuristics (no program), medea-one-by-one (each container as it
comes), medea-kube (that with affinity and anti-affinity alone), medea-blind (no look at constraints).

SPREAD is the longest run of a job with a deadline by the shortest one, each beside its deadline. PROMISED is what jobs
with deadlines could count on, as a multiple of what they worked; BROKEN the part of the running services' containers
whose constraints are broken, mean over the times at which any started; WAIT s the mean time from a service's arrival to
its containers.
"""
_COLUMNS = (
    ("POLICY", "policy"),
    ("SEED", "seed"),
    ("MEAN s", "mean"),
    ("P50", "p50"),
    ("P95", "p95"),
    ("MAKESPAN", "makespan"),
    ("USE %", "busy"),
    ("NODE %", "node_local"),
    ("RACK %", "rack_local"),
    ("MET", "met"),
    ("MISSED", "missed"),
    ("SPREAD", "spread"),
    ("PROMISED", "promised"),
    ("BROKEN %", "broken"),
    ("WAIT s", "service_wait"),
)
_MOST_JOBS = 100_000

Kind = Annotated[str, typer.Option(help=f"What jobs are like: {', '.join(KINDS_OF_JOBS)}", metavar="KIND")]
Swim = Annotated[Path | None, typer.Option(help="A file of SWIM's traces instead; places of blocks are drawn")]
Containers = Annotated[
    Path | None,
    typer.Option(help="A file of Alibaba's containers instead: services with constraints beside tasks"),
]
Tpch = Annotated[
    Path | None,
    typer.Option(help="A file of TPC-H graphs (Decima's) instead: queries with deadlines beside other work"),
]
Jobs = Annotated[int, typer.Option(help="How many jobs", min=1, max=_MOST_JOBS)]
Nodes = Annotated[int, typer.Option(help="How many nodes, twenty in each rack", min=1, max=20_000)]
Load = Annotated[
    float, typer.Option(help="Part of the capacity that the jobs use while they arrive", min=0.01, max=5.0)
]


def policies(
    *,
    compare: options.Compare = "fifo,fair,delay",
    kind: Kind = "data",
    swim: Swim = None,
    tpch: Tpch = None,
    containers: Containers = None,
    jobs: Jobs = 200,
    nodes: Nodes = 100,
    load: Load = 0.9,
    seed: options.Seed = 1,
    seeds: options.Seeds = 1,
    plot: options.Plot = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Compare policies on jobs drawn for them: real cycles of the scheduling core, tasks that only take time.

    The same seed gives the same result on any machine.
    """
    try:
        chosen = {name: _policy(name) for name in options.names_in(compare)}
        rows: list[dict[str, Any]] = []
        bars: dict[str, list[JobBar]] = {}
        for each in range(seed, seed + seeds):
            drawn, site = _drawn(kind, swim, tpch, containers)(each, jobs, nodes, load)
            for name, policy in chosen.items():
                figures = run_policy(drawn, site, policy)
                rows.append(_row(name, each, figures))
                bars[name if seeds == 1 else f"{name}, seed {each}"] = _bars(drawn, figures)
    except (BadRequestError, OSError) as error:
        fail(f"heddle simulate policies: {error}", ExitCode.USAGE)
    shown = [{key: str(value) for key, value in row.items()} for row in rows]
    if output is OutputFormat.TABLE:
        print_figures(shown, _COLUMNS)
    else:
        print_rows(rows, (), output)
    if plot is not None:
        draw_figures(policy_figures(bars, _COLUMNS, shown), plot)


def _policy(named: str) -> Policy:
    """A policy, or a variant of one, with the parameters that are named after it."""
    name, values = named_values(named)
    variant = VARIANTS.get(name)
    return policy_for(named, World.DIRECT, WORKLOAD_FACTS) if variant is None else variant.with_parameters(values)


def _drawn(kind: str, swim: Path | None, tpch: Path | None, containers: Path | None) -> Maker:
    """Find what draws the jobs: a file that is named, else a kind."""
    if swim is not None:
        return lambda seed, jobs, nodes, _: swim_jobs(swim, seed, jobs, nodes)
    if tpch is not None:
        return lambda seed, jobs, nodes, load: tpch_jobs(tpch, seed, jobs, nodes, load)
    if containers is not None:
        return lambda seed, jobs, nodes, load: alibaba_services(containers, seed, jobs, nodes, load)
    return jobs_of_kind(kind)


def _bars(jobs: Sequence[PolicyJob], figures: RunFigures) -> list[JobBar]:
    """Jobs that ended; when each first ran is not known, so that bars are whole."""
    return [
        JobBar(f"job {number}", job.arrival_s, job.arrival_s, job.arrival_s + float(response_s))
        for number, (job, response_s) in enumerate(zip(jobs, figures.response_s, strict=True))
        if not math.isnan(response_s)
    ]


def _row(name: str, seed: int, figures: RunFigures) -> dict[str, Any]:
    return {
        "policy": name,
        "seed": seed,
        "mean": round(figures.mean_s, 1),
        "p50": round(figures.percentile_s(50), 1),
        "p95": round(figures.percentile_s(95), 1),
        "makespan": round(figures.makespan_s, 1),
        "busy": round(100 * figures.busy, 1),
        "node_local": round(100 * figures.node_local, 1),
        "rack_local": round(100 * figures.rack_local, 1),
        "met": figures.met,
        "missed": figures.missed,
        "spread": round(figures.spread, 2),
        "promised": round(figures.promised, 2),
        "broken": round(100 * figures.violated, 1),
        "service_wait": round(figures.service_wait_s, 1),
    }
