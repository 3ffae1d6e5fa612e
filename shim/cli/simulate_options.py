"""The options of `heddle simulate`, one by one: what each is called, may be, and means."""

from pathlib import Path
from typing import Annotated

import typer

from shim.cli.front import ExitCode, fail
from shim.errors import BadRequestError
from shim.simulation.plots import check_can_plot
from shim.simulation.run import HomeRule

_WORKLOAD = "Workload"
_CLUSTER = "Cluster"
_RUNS = "Runs"

# -- of `heddle simulate` --------------------------------------------------------------------------------------------

Compare = Annotated[str, typer.Option(help="Policies, separated by commas (see below)", metavar="POLICY,...")]
Trace = Annotated[
    Path | None,
    typer.Option(
        help="A .tr file: arrival_s n_tasks mean_s d1 .. dn, one job a line; durations are cut to whole seconds",
        rich_help_panel=_WORKLOAD,
    ),
]
Load = Annotated[
    float | None,
    typer.Option(
        min=0.01, max=2.0, help="Instead of a trace: equal jobs that use this part of it", rich_help_panel=_WORKLOAD
    ),
]
FirstJobs = Annotated[
    int | None,
    typer.Option(min=1, help="The first so many jobs; without it all, and with --load 2000", rich_help_panel=_WORKLOAD),
]
Cutoff = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Jobs of a trace with a shorter mean task time are short; without it what was published for the trace",
        rich_help_panel=_WORKLOAD,
    ),
]
Tasks = Annotated[int, typer.Option(min=1, help="Tasks of a job, with --load", rich_help_panel=_WORKLOAD)]
TaskS = Annotated[float, typer.Option(min=0.001, help="Seconds of a task, with --load", rich_help_panel=_WORKLOAD)]
Constrained = Annotated[
    list[Path] | None,
    typer.Option(help="What workers satisfy (JSON) and what tasks ask for (CSV); give both", rich_help_panel=_WORKLOAD),
]
Workers = Annotated[int, typer.Option(min=1, help="Workers", rich_help_panel=_CLUSTER)]
Slots = Annotated[int, typer.Option(min=1, help="Slots of each worker", rich_help_panel=_CLUSTER)]
GlobalMasters = Annotated[int, typer.Option(min=1, help="Global Masters", rich_help_panel=_CLUSTER)]
LocalMasters = Annotated[int, typer.Option(min=1, help="Local Masters", rich_help_panel=_CLUSTER)]
Homes = Annotated[
    HomeRule,
    typer.Option(
        help="Which Global Master a job belongs to: by its number of tasks, or in turn", rich_help_panel=_CLUSTER
    ),
]
PigeonGroups = Annotated[
    int | None,
    typer.Option(min=1, help="Groups of Pigeon; without it each has 100 workers", rich_help_panel=_CLUSTER),
]
Heartbeat = Annotated[float, typer.Option(min=0.001, help="Seconds between heartbeats", rich_help_panel=_CLUSTER)]
HopMs = Annotated[
    float, typer.Option(min=0.0, max=3_600_000.0, help="Milliseconds that a message takes", rich_help_panel=_CLUSTER)
]
Loss = Annotated[
    float, typer.Option(min=0.0, max=0.5, help="Part of the messages that is lost", rich_help_panel=_CLUSTER)
]
Estimates = Annotated[
    bool,
    typer.Option("--estimates", help="Tell policies that learn durations the trace's mean", rich_help_panel=_RUNS),
]


def plot_file(context: typer.Context, path: Path | None) -> Path | None:
    """Take the value of an option `--plot`, and refuse it before a long run if no plot could be drawn there."""
    if path is not None and not context.resilient_parsing:
        try:
            check_can_plot(path)
        except BadRequestError as error:
            fail(f"{context.command_path}: {error}", ExitCode.USAGE)
    return path


Plot = Annotated[
    Path | None,
    typer.Option(
        help="Draw distributions, use over time and jobs of small runs into this .png or .svg; .json: for the console",
        rich_help_panel=_RUNS,
        callback=plot_file,
    ),
]

# -- of `heddle simulate yarn` ----------------------------------------------------------------------------------------

Clusters = Annotated[int, typer.Option(min=1, max=16, help="Modelled YARN clusters", rich_help_panel=_CLUSTER)]
WorkersOfEach = Annotated[int, typer.Option("--nodes", min=1, help="Nodes of each cluster", rich_help_panel=_CLUSTER)]
SlotsOfEach = Annotated[
    int, typer.Option("--slots", min=1, help="Containers that fit on a node", rich_help_panel=_CLUSTER)
]
HeddleSections = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Sections of heddle.toml, without the sub-clusters", rich_help_panel=_CLUSTER),
]

# -- of both verbs ---------------------------------------------------------------------------------------------------

Seed = Annotated[int, typer.Option(help="Seed of the first run", rich_help_panel=_RUNS)]
Seeds = Annotated[int, typer.Option(min=1, help="Runs of each policy, each with its seed", rich_help_panel=_RUNS)]
Processes = Annotated[int, typer.Option(min=1, help="Runs at the same time", rich_help_panel=_RUNS)]

# -- of `heddle simulate dag` ----------------------------------------------------------------------------------------

Inputs = Annotated[list[Path], typer.Argument(help="Folders or files of jobs (see below)", metavar="PATH...")]
Orderings = Annotated[
    str,
    typer.Option(
        "--compare", help="Orderings, separated by commas (see below); without it all", metavar="ORDERING,..."
    ),
]
JobsOfInput = Annotated[
    int, typer.Option("--jobs", min=1, help="At most the first so many jobs", rich_help_panel=_WORKLOAD)
]
Draw = Annotated[
    str | None,
    typer.Option(help="Which arrivals of a TPC-H file; without it its first", rich_help_panel=_WORKLOAD),
]
Executors = Annotated[int, typer.Option(min=1, help="Executors that run TPC-H queries", rich_help_panel=_CLUSTER)]
Machines = Annotated[int, typer.Option(min=1, help="Machines that run batch jobs", rich_help_panel=_CLUSTER)]
MachineLoad = Annotated[
    float,
    typer.Option(
        "--load", min=0.01, max=2.0, help="Part of the machines that batch jobs use", rich_help_panel=_CLUSTER
    ),
]


def names_in(listed: str) -> list[str]:
    """The names of a list with commas; there may be spaces around them."""
    return [name.strip() for name in listed.split(",")]
