"""`heddle policy advise`: what each scheduling policy would have made of applications that once ran, and how sure."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from shim.cli import simulate_options as options
from shim.cli.front import ExitCode, fail
from shim.cli.output import Output, OutputFormat, print_figures, print_rows, say
from shim.cli.progress import progress_of_jobs
from shim.config.loader import load as load_config
from shim.config.loader import parse
from shim.domain.queues import UNORDERED
from shim.errors import BadRequestError, ConfigError
from shim.scheduling.queue_policies import QUEUE_POLICIES, queue_rejection

if TYPE_CHECKING:
    from shim.simulation.cluster.spec import ModelledClusterSpec
    from shim.simulation.what_if.advice import PolicyAdvice, Sample

EPILOG = """\
Examples:

heddle policy advise --history sls-jobs.json

heddle policy advise --history http://rm:8088 --config heddle.toml --present now.toml --against fair

GAIN is the mean completion time that a policy saves against the one in force, INTERVAL where that gain lies with 99 %,
by windows of the history. SURE says what follows: faster, slower, the same (within 2 %), or not sure. SLOWER is the
part of the applications that end more than 5 % later.
"""
_COLUMNS = (
    ("POLICY", "policy"),
    ("SURE", "verdict"),
    ("MEAN s", "mean"),
    ("GAIN %", "gain"),
    ("INTERVAL %", "interval"),
    ("P95 s", "p95"),
    ("SLOWER %", "slower"),
)
_NAMES = 2
_LEAST_CONFIG = '[[subcluster]]\nid = "a"\nweb = "http://a:8088"\n'
_CLUSTERS = ("a", "b")


def advise(
    *,
    history: Annotated[
        str,
        typer.Option(
            help="Applications that ended, as `heddle whatif` takes them: JSON of /ws/v1/cluster/apps (a file, or an "
            "address), an input of Hadoop's SLS or a trace by Rumen (.json), or a trace (.tr)",
            metavar="FILE|URL",
        ),
    ],
    against: Annotated[str, typer.Option(help="The policy in force", metavar="POLICY")] = "learnt-work",
    compare: Annotated[
        str, typer.Option(help="Policies to judge; without it all that a queue can have", metavar="POLICY,...")
    ] = "",
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The configuration in force, heddle.toml")
    ] = None,
    present: Annotated[
        Path | None,
        typer.Option(help="A file of the present clusters, as `heddle whatif` takes it; without it two, by --load"),
    ] = None,
    jobs: Annotated[int, typer.Option(help="The first so many applications", min=1, max=20_000)] = 120,
    windows: Annotated[int, typer.Option(help="Windows of the history, if there are enough jobs", min=1, max=8)] = 6,
    load: Annotated[float, typer.Option(help="Part of the clusters that the jobs are", min=0.01, max=5.0)] = 0.9,
    seed: options.Seed = 1,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Run a history by all policies that fit it; print what each would cost and gain, and how sure that is.

    Heddle itself decides, in virtual time, over modelled ResourceManagers. No server is asked. The history is divided
    into windows, which are the sample: a gain is sure if it lies above nothing with 99 %.
    """
    # the other verbs of its group need nothing of this, and shall not wait for it
    from shim.cli.job_source import history_at  # noqa: PLC0415 - see above
    from shim.simulation.what_if.advice import Sample, advise_on  # noqa: PLC0415 - see above
    from shim.simulation.what_if.clusters import clusters_at_load, read_clusters  # noqa: PLC0415 - see above

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        policies = _policies(compare, against)
        told = history_at(history, jobs)
        base = parse(_LEAST_CONFIG, source="advise", environment={}) if config is None else load_config(config)
        names = _CLUSTERS if config is None else tuple(each.id for each in base.subclusters)
        clusters = clusters_at_load(told, names, load) if present is None else read_clusters(present, told.queues)
        with progress_of_jobs(len(told.jobs) * len({against, *policies})) as advance:
            sample = Sample(told, clusters, base, windows, seed)
            found = advise_on(sample, against=against, policies=policies, advance=advance)
    except (BadRequestError, ConfigError, OSError, UnicodeDecodeError) as error:
        fail(f"heddle policy advise: {error}", ExitCode.USAGE)
    _print(found, sample, against, output)


def _print(found: "Sequence[PolicyAdvice]", sample: "Sample", against: str, output: OutputFormat) -> None:
    from shim.simulation.what_if.advice import advised, windows_of  # noqa: PLC0415 - as in `advise`

    told, taken = sample.history, advised(found, against)
    rows = [_row(each, against, is_advised=each.policy == taken) for each in found]
    if output is not OutputFormat.TABLE:
        print_rows(rows, (), output)
        return
    print_figures([_shown(row) for row in rows if not row["why_not"]], _COLUMNS, names=_NAMES)
    for row in rows:
        if row["why_not"]:
            say(f"{row['policy']}: {row['why_not']}")
    count = len(windows_of(told.jobs, sample.windows))
    say(f"{len(told.jobs)} applications in {count} windows, over {_described(sample.clusters)}")
    for line in (*told.assumptions, *(f"{number} left out: {why}" for why, number in told.left_out)):
        say(f"assumed: {line}")
    say(_conclusion(taken, against, count))


def _policies(compare: str, against: str) -> list[str]:
    """Names of the policies that are judged.

    Raises:
        BadRequestError: One is none that a queue of real clusters can have.
    """
    policies = options.names_in(compare) if compare else list(QUEUE_POLICIES)
    for name in (against, *policies):
        if name not in QUEUE_POLICIES and name != UNORDERED:
            why = queue_rejection(name) or "there is no such policy"
            raise BadRequestError(f"{name}: {why}; a queue can have {', '.join((UNORDERED, *QUEUE_POLICIES))}")
    return policies


def _described(clusters: "Sequence[ModelledClusterSpec]") -> str:
    size = clusters[0].nodes[0].size
    nodes = ", ".join(f"{each.name} {len(each.nodes)}" for each in clusters)
    return f"modelled nodes of {size.memory_mib} MiB and {size.vcores} vcores ({nodes})"


def _conclusion(taken: str, against: str, count: int) -> str:
    if taken != against:
        return f"take {taken}: of those that are surely faster it saves most. Try it in the queue's `shadow` first"
    from shim.simulation.what_if.advice import LEAST_JOBS, LEAST_WINDOWS  # noqa: PLC0415 - as in `advise`

    if count < LEAST_WINDOWS:
        least = LEAST_WINDOWS * LEAST_JOBS
        return f"nothing is sure: it takes {least} applications, and --windows of {LEAST_WINDOWS} at least"
    return f"keep {against}: no policy is surely faster on this history"


def _row(found: "PolicyAdvice", against: str, *, is_advised: bool) -> dict[str, Any]:
    if found.why_not:
        return {"policy": found.policy, "advised": False, "why_not": found.why_not}
    interval = found.interval
    return {
        "policy": found.policy,
        "advised": is_advised,
        "verdict": "in force" if found.policy == against else found.verdict,
        "mean": round(found.mean_s, 1),
        "gain": round(100 * found.gain, 1),
        "interval": None if interval is None else [round(100 * each, 1) for each in interval],
        "gains": [round(100 * each, 1) for each in found.gains],
        "p95": round(found.p95_s, 1),
        "slower": round(100 * found.slower, 1),
        "why_not": "",
    }


def _shown(row: dict[str, Any]) -> dict[str, str]:
    interval = row["interval"]
    told = "-" if interval is None else f"{interval[0]} to {interval[1]}"
    return {key: str(value) for key, value in row.items()} | {"interval": told}
