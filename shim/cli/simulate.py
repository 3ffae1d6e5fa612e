"""`heddle simulate`: the production masters and published schedulers on the same workload, in simulated time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from shim.cli.front import ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_rows
from shim.errors import BadRequestError
from shim.simulation.constraints import Constraints, apply_constraints, read_constraints
from shim.simulation.engine import seeded
from shim.simulation.plots import plot_outcomes
from shim.simulation.registry import SCHEDULERS
from shim.simulation.report import COLUMNS, document, rows
from shim.simulation.run import Setting
from shim.simulation.sweep import experiments, sweep
from shim.simulation.traces import Workload, fixed_jobs, read_trace

__all__ = ["EPILOG", "simulate"]

_POLICIES = "\n\n".join(f"{name}: {scheduler.summary}" for name, scheduler in SCHEDULERS.items())
EPILOG = f"""\
Examples:

heddle simulate --compare megha,heddle,central-srpt --trace YH1_sub.tr --workers 4000

heddle simulate --compare heddle --trace YH1_sub.tr --workers 4000 --seeds 5 --processes 2 -o json

heddle simulate --compare sparrow --trace jobs.tr --workers 10000 --constraints workers.json --constraints tasks.csv

heddle simulate --compare random,sparrow --load 0.9 --workers 1000 --slots 4 --plot sparrow.svg

Job delay is completion - arrival - longest task. Percentiles are nearest rank. SHORT and LONG are mean delays.

Policies:

{_POLICIES}
"""

_WORKLOAD = "Workload"
_CLUSTER = "Cluster"
_RUNS = "Runs"


@dataclass(frozen=True, slots=True)
class _Generated:
    """A load that is made instead of read: equal jobs, Poisson arrivals."""

    load: float
    n_jobs: int
    n_tasks: int
    duration_s: float


def simulate(
    *,
    compare: Annotated[str, typer.Option(help="Policies, separated by commas (see below)", metavar="POLICY,...")],
    trace: Annotated[
        Path | None,
        typer.Option(help="A .tr file: arrival_s n_tasks mean_s d1 .. dn, one job a line", rich_help_panel=_WORKLOAD),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=2.0, help="Instead of a trace: equal jobs that use this part of it", rich_help_panel=_WORKLOAD
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="The first so many jobs [default: all; with --load 2000]", rich_help_panel=_WORKLOAD),
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks of a job, with --load", rich_help_panel=_WORKLOAD)] = 100,
    task_s: Annotated[
        float, typer.Option(min=0.001, help="Seconds of a task, with --load", rich_help_panel=_WORKLOAD)
    ] = 0.1,
    constraints: Annotated[
        list[Path] | None,
        typer.Option(
            help="What workers satisfy (JSON) and what tasks ask for (CSV); give both", rich_help_panel=_WORKLOAD
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Workers", rich_help_panel=_CLUSTER)] = 4000,
    slots: Annotated[int, typer.Option(min=1, help="Slots of each worker", rich_help_panel=_CLUSTER)] = 1,
    gms: Annotated[int, typer.Option(min=1, help="Global Masters", rich_help_panel=_CLUSTER)] = 4,
    lms: Annotated[int, typer.Option(min=1, help="Local Masters", rich_help_panel=_CLUSTER)] = 25,
    heartbeat: Annotated[
        float, typer.Option(min=0.001, help="Seconds between heartbeats", rich_help_panel=_CLUSTER)
    ] = 30.0,
    hop_ms: Annotated[
        float, typer.Option(min=0.0, help="Milliseconds that a message takes", rich_help_panel=_CLUSTER)
    ] = 0.5,
    loss: Annotated[
        float, typer.Option(min=0.0, max=0.5, help="Part of the messages that is lost", rich_help_panel=_CLUSTER)
    ] = 0.0,
    estimates: Annotated[
        bool,
        typer.Option("--estimates", help="Tell policies that learn durations the trace's mean", rich_help_panel=_RUNS),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the first run", rich_help_panel=_RUNS)] = 1,
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs of each policy, each with its seed", rich_help_panel=_RUNS)
    ] = 1,
    processes: Annotated[int, typer.Option(min=1, help="Runs at the same time", rich_help_panel=_RUNS)] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="Draw delays and utilisation into this .png or .svg", rich_help_panel=_RUNS)
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Compare schedulers on one workload, in simulated time.

    The Global and Local Masters are the ones of production; the others are published schedulers. The same seed gives
    the same result on any machine.
    """
    try:
        required = read_constraints(constraints or [])
        generated = None if load is None else _Generated(load, jobs or 2000, tasks, task_s)
        workload = _workload(trace, generated, jobs, required, n_slots=workers * slots, seed=seed)
        setting = Setting(
            n_workers=workers,
            slots_per_worker=slots,
            n_gms=gms,
            n_lms=lms,
            seed=seed,
            heartbeat_s=heartbeat,
            hop_s=hop_ms / 1000.0,
            loss=loss,
            uses_estimates=estimates,
            worker_constraints=required.workers,
        )
        planned = experiments(compare.split(","), setting, seeds)
        with _progress(len(planned) * len(workload.jobs)) as advance:
            outcomes = sweep(planned, workload, n_processes=processes, on_jobs_end=advance)
        if plot is not None:
            plot_outcomes(outcomes, plot)
    except BadRequestError as error:
        fail(f"heddle simulate: {error}", ExitCode.USAGE)
    results = [(outcome, experiment.setting) for outcome, experiment in zip(outcomes, planned, strict=True)]
    if workload.left_out:
        typer.echo(f"{workload.left_out} tasks are left out: no worker satisfies their constraints", err=True)
    if output is OutputFormat.TABLE:
        _print_table(rows(results))
    else:
        print_rows([document(outcome, used) for outcome, used in results], (), output)


def _workload(
    trace: Path | None,
    generated: _Generated | None,
    jobs: int | None,
    required: Constraints,
    *,
    n_slots: int,
    seed: int,
) -> Workload:
    match trace, generated:
        case Path(), None:
            return apply_constraints(read_trace(trace, first_jobs=jobs), required)
        case None, _Generated(load, n_jobs, n_tasks, duration_s):
            rng = seeded(seed, "arrivals")
            return fixed_jobs(rng, n_jobs=n_jobs, n_tasks=n_tasks, duration_s=duration_s, load=load, n_slots=n_slots)
        case _:
            raise BadRequestError("give either --trace FILE or --load PART")


def _print_table(table_rows: Sequence[Mapping[str, str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, key in COLUMNS:
        table.add_column(heading, justify="left" if key == "policy" else "right", no_wrap=True)
    for row in table_rows:
        table.add_row(*(row.get(key, "") for _, key in COLUMNS))
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=500)).print(table)


class _Advance:
    """Moves the bar on a terminal; elsewhere does nothing."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("jobs", total=total) if progress else None

    def __call__(self, n_jobs: int) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task, n_jobs)


@contextmanager
def _progress(total: int) -> Iterator[_Advance]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Advance(None, total)
        return
    columns = (TextColumn("simulated"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        yield _Advance(progress, total)
