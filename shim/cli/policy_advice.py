"""`heddle policy advise`: what each scheduling policy would have made of jobs that once ran."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from shim.cli.front import ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_figures, print_rows, say
from shim.errors import BadRequestError
from shim.scheduling.policy import World
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.scheduling.registry import KINDS, policy_for
from shim.simulation.policy_runs import RunFigures, run_policy
from shim.simulation.policy_runs.histories import pool_for, read_history

EPILOG = """\
Examples:

heddle policy advise --history sls-jobs.json

heddle policy advise --history monday.tr --history tuesday.tr --against fair --nodes 40

GAIN is the mean completion time that a policy saves against the one in force, SLOWER the part of the jobs that end more
than 5 % later with it. A policy that lacks a fact is named below the table, with the reason.
"""
_COLUMNS = (
    ("POLICY", "policy"),
    ("HISTORY", "history"),
    ("FOR A QUEUE", "queue"),
    ("MEAN s", "mean"),
    ("GAIN %", "gain"),
    ("P95 s", "p95"),
    ("SLOWER %", "slower"),
    ("LONGEST WAIT s", "wait"),
    ("USE %", "busy"),
    ("NODE %", "node_local"),
)
_LATER = 1.05
_NAMES = 3


def advise(
    *,
    history: Annotated[
        list[Path], typer.Option(help="A trace (.tr); an input of Hadoop's SLS or a trace by Rumen (.json)")
    ],
    against: Annotated[str, typer.Option(help="The policy in force", metavar="POLICY")] = "fifo",
    jobs: Annotated[int, typer.Option(help="At most so many jobs of each", min=1, max=100_000)] = 500,
    nodes: Annotated[int, typer.Option(help="Nodes; by --load if not given", min=0, max=20_000)] = 0,
    load: Annotated[float, typer.Option(help="Part of the pool that the jobs use", min=0.01, max=5.0)] = 0.9,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Run all policies that fit a history in simulation; print what each would cost and gain.

    Real cycles of the scheduling core over modelled nodes, tasks that only take time. No server is asked.
    """
    try:
        rows = [row for file in history for row in _rows(file, against, jobs, nodes, load)]
    except BadRequestError as error:
        fail(f"heddle policy advise: {error}", ExitCode.USAGE)
    if output is OutputFormat.TABLE:
        ran = [{key: str(value) for key, value in row.items()} for row in rows if "why_not" not in row]
        print_figures(ran, _COLUMNS, names=_NAMES)
        for line in dict.fromkeys(f"{row['policy']}: {row['why_not']}" for row in rows if "why_not" in row):
            say(line)
    else:
        print_rows(rows, (), output)


def _rows(file: Path, against: str, jobs: int, nodes: int, load: float) -> list[dict[str, Any]]:
    """A row for each policy on one history: those that run by their mean, then those that do not."""
    told = read_history(file, jobs)
    site = pool_for(told, nodes, load)
    base = run_policy(list(told.jobs), site, policy_for(against, World.DIRECT, told.facts))
    run, refused = list[dict[str, Any]](), list[dict[str, Any]]()
    for name in KINDS:
        row: dict[str, Any] = {"policy": name, "history": file.name, "queue": "yes" if name in QUEUE_POLICIES else "no"}
        try:
            policy = policy_for(name, World.DIRECT, told.facts)
        except BadRequestError as error:
            refused.append(
                {
                    **row,
                    "why_not": str(error).removeprefix(f"{name} cannot run in {World.DIRECT.value} on this workload: "),
                }
            )
            continue
        figures = base if name == against else run_policy(list(told.jobs), site, policy)
        run.append({**row, **_against(figures, base)})
    return [*sorted(run, key=lambda row: (row["mean"], row["policy"])), *refused]


def _against(figures: RunFigures, base: RunFigures) -> dict[str, Any]:
    return {
        "mean": round(figures.mean_s, 1),
        "gain": round(100 * (1.0 - figures.mean_s / base.mean_s), 1) if base.mean_s else 0.0,
        "p95": round(figures.percentile_s(95), 1),
        "slower": round(100 * float(np.mean(figures.response_s > _LATER * base.response_s)), 1),
        "wait": round(figures.longest_wait_s, 1),
        "busy": round(100 * figures.busy, 1),
        "node_local": round(100 * figures.node_local, 1),
    }
