"""`heddle simulate dag`: orderings compared on jobs that are graphs of stages, in simulated time."""

from collections.abc import Sequence

from shim.cli import simulate_options as options
from shim.cli.front import ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_figures, print_rows
from shim.cli.progress import progress_of_jobs
from shim.errors import BadRequestError
from shim.simulation.dag_executors import ExecutorSettings
from shim.simulation.dag_machines import MachineSettings
from shim.simulation.dag_results import COLUMNS, dag_figures, document, rows
from shim.simulation.dag_runs import ORDERINGS, DagSettings, make_runs, open_workloads, plan_runs
from shim.simulation.plots import draw_figures

_NAMES = 2  # columns of the table that are no numbers
_ORDERINGS = "\n\n".join(f"{name}: {meaning}" for name, meaning in ORDERINGS.items())
EPILOG = f"""\
Examples:

heddle simulate dag data/tpch_decima --seeds 3

heddle simulate dag data/tpch_decima/decima_seed_batch20_50exec.json.gz --compare fair,fifo --executors 25

heddle simulate dag data/alibaba_dag_2018 --compare drf,packing --jobs 200 --machines 2 --load 1.2 -o json

A stage begins when all stages that it needs have ended. What a PATH holds goes by the names of its files:

decima_seed_*.json.gz, beside tpch_dags_full.json.gz: TPC-H queries with measured task times, on executors as Spark's,
which stay with a job and take 2 s to move; each file holds several draws of arrivals.

*.csv.gz: batch jobs of Alibaba's trace of 2018, Poisson arrivals, on machines with cores and memory. Of a folder
medium_filtered.csv.gz alone is taken.

MEAN, P50, P95 and P99 are of completion times, in seconds from arrival; with several seeds each is their mean. JAIN is
Jain's index of what those jobs hold that want more: 1 if all hold the same.

Orderings:

{_ORDERINGS}
"""


def dag(
    inputs: options.Inputs,
    *,
    compare: options.Orderings = "",
    jobs: options.JobsOfInput = 1000,
    draw: options.Draw = None,
    executors: options.Executors = 50,
    machines: options.Machines = 4,
    load: options.MachineLoad = 0.95,
    seed: options.Seed = 0,
    seeds: options.Seeds = 1,
    processes: options.Processes = 1,
    plot: options.Plot = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Compare orderings on jobs that are graphs of stages: TPC-H queries, or batch jobs of a trace.

    Each is run to its end with each ordering. The same seed gives the same result on any machine.
    """
    settings = DagSettings(jobs, draw, ExecutorSettings(executors), MachineSettings(machines, load))
    try:
        planned = plan_runs(open_workloads(inputs, settings), _orderings(compare), range(seed, seed + seeds))
    except BadRequestError as error:
        fail(f"heddle simulate dag: {error}", ExitCode.USAGE)
    with progress_of_jobs(sum(run.workload.n_jobs for run in planned)) as advance:
        outcomes = make_runs(planned, n_processes=processes, on_jobs_end=advance)
    if output is OutputFormat.TABLE:
        print_figures(rows(outcomes), COLUMNS, names=_NAMES)
    else:
        print_rows([document(outcome) for outcome in outcomes], (), output)
    if plot is not None:
        draw_figures(dag_figures(outcomes), plot)


def _orderings(asked: str) -> Sequence[str]:
    return options.names_in(asked) if asked else tuple(ORDERINGS)
