"""`heddle simulate`: Global and Local Masters and published schedulers on the same workload, in simulated time."""

from collections.abc import Sequence

import typer

from shim.cli import simulate_options as options
from shim.cli.front import ExitCode, fail
from shim.cli.job_source import JobSource
from shim.cli.output import Output, OutputFormat, print_figures, print_rows
from shim.cli.progress import progress_of_jobs
from shim.cli.simulate_dag import EPILOG as DAG_EPILOG
from shim.cli.simulate_dag import dag
from shim.cli.simulate_policies import EPILOG as POLICIES_EPILOG
from shim.cli.simulate_policies import policies
from shim.cli.simulate_yarn import EPILOG as YARN_EPILOG
from shim.cli.simulate_yarn import yarn
from shim.errors import BadRequestError
from shim.simulation.constraints import Constraints, apply_constraints, read_constraints
from shim.simulation.plots import plot_outcomes
from shim.simulation.registry import COLUMNS, SCHEDULERS, Experiment, document, experiments, rows, sweep
from shim.simulation.results import RunOutcome
from shim.simulation.run import HomeRule, Setting
from shim.simulation.traces import Workload

_GENERATED_JOBS = 2000
_POLICIES = "\n\n".join(f"{name}: {scheduler.summary}" for name, scheduler in SCHEDULERS.items())
_EPILOG = f"""\
Examples:

heddle simulate --compare megha,heddle,central-srpt --trace YH1_sub.tr --workers 4000

heddle simulate --compare heddle --trace YH1_sub.tr --workers 4000 --seeds 5 --processes 2 -o json

heddle simulate --compare sparrow --trace jobs.tr --workers 10000 --constraints workers.json --constraints tasks.csv

heddle simulate --compare random,sparrow --load 0.9 --workers 1000 --slots 4 --plot sparrow.svg

heddle simulate dag data/tpch_decima --compare fair,fifo,drf

heddle simulate yarn --load 0.7 --jobs 60

heddle simulate policies --kind data --compare fifo,fair,delay

Job delay is completion - arrival - longest task. Percentiles are nearest rank. SHORT and LONG are mean delays.

Policies:

{_POLICIES}
"""

app = typer.Typer(invoke_without_command=True, epilog=_EPILOG)
app.command(epilog=DAG_EPILOG)(dag)
app.command(epilog=YARN_EPILOG)(yarn)
app.command(epilog=POLICIES_EPILOG)(policies)


@app.callback(epilog=_EPILOG)
def simulate(
    context: typer.Context,
    *,
    compare: options.Compare = "",
    trace: options.Trace = None,
    load: options.Load = None,
    jobs: options.FirstJobs = None,
    cutoff: options.Cutoff = None,
    tasks: options.Tasks = 100,
    task_s: options.TaskS = 0.1,
    constraints: options.Constrained = None,
    workers: options.Workers = 4000,
    slots: options.Slots = 1,
    gms: options.GlobalMasters = 4,
    lms: options.LocalMasters = 25,
    heartbeat: options.Heartbeat = 30.0,
    hop_ms: options.HopMs = 0.5,
    loss: options.Loss = 0.0,
    estimates: options.Estimates = False,
    homes: options.Homes = HomeRule.TASKS,
    pigeon_groups: options.PigeonGroups = None,
    seed: options.Seed = 1,
    seeds: options.Seeds = 1,
    processes: options.Processes = 1,
    plot: options.Plot = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Compare schedulers on one workload, in simulated time; with `dag`, orderings on graphs of stages.

    Policies of Heddle run in the cycle that real clusters have, on masters of the simulator's, beside published
    schedulers. The same seed gives the same result on any machine.
    """
    if context.invoked_subcommand is not None:
        return
    try:
        required = read_constraints(constraints or [])
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
            home_rule=homes,
            group_size=None if pigeon_groups is None else -(-workers // pigeon_groups),
            worker_constraints=required.workers,
        )
        workload = _workload(JobSource(trace, load, jobs, tasks, task_s, cutoff), setting, required)
        planned = experiments(_policies(compare), setting, seeds)
        outcomes = _run(planned, workload, processes)
        _print(planned, outcomes, output)
        if plot is not None:
            plot_outcomes(outcomes, plot)
    except BadRequestError as error:
        fail(f"heddle simulate: {error}", ExitCode.USAGE)


def _policies(compare: str) -> Sequence[str]:
    if not compare:
        raise BadRequestError("say what to compare: --compare POLICY,...; --help names them all")
    return options.names_in(compare)


def _workload(source: JobSource, setting: Setting, required: Constraints) -> Workload:
    """The jobs; those of a trace with the constraints that are named for it."""
    read = source.read(seed=setting.seed, n_slots=setting.n_slots, usual_jobs=_GENERATED_JOBS)
    return read if source.trace is None else apply_constraints(read, required)


def _run(planned: Sequence[Experiment], workload: Workload, processes: int) -> list[RunOutcome]:
    with progress_of_jobs(len(planned) * len(workload.jobs)) as advance:
        return sweep(planned, workload, n_processes=processes, on_jobs_end=advance)


def _print(planned: Sequence[Experiment], outcomes: Sequence[RunOutcome], output: OutputFormat) -> None:
    left_out = outcomes[0].workload.left_out
    if left_out:
        typer.echo(f"{left_out} tasks are left out: no worker satisfies their constraints", err=True)
    results = [(outcome, experiment.setting) for outcome, experiment in zip(outcomes, planned, strict=True)]
    if output is OutputFormat.TABLE:
        print_figures(rows(results), COLUMNS)
    else:
        print_rows([document(outcome, used) for outcome, used in results], (), output)
