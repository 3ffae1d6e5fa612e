"""`heddle whatif`: applications that once ran, replayed under the present and under changed settings."""

import csv
import io
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer

from shim.cli.front import ExitCode, fail
from shim.cli.job_source import history_at
from shim.cli.output import print_figures, say
from shim.cli.progress import progress_of_jobs
from shim.cli.simulate_options import plot_file
from shim.config.loader import Config, load
from shim.config.policy_files import MOST_POLICY_BYTES, policy_tables
from shim.config.queues import PolicyConfig
from shim.config.text_files import text_of
from shim.errors import BadRequestError, ConfigError
from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.figures_file import FIGURES_SUFFIX
from shim.simulation.what_if.clusters import estimated_clusters, read_clusters
from shim.simulation.what_if.comparison import FIGURES, ReplayMatch
from shim.simulation.what_if.past_jobs import RecordedHistory
from shim.simulation.what_if.plot import comparison_figures, distributions, plot_comparison
from shim.simulation.what_if.replay import HISTORY, Side, WhatIf, compare, config_over, is_fittable

EPILOG = """\
Examples:

heddle whatif --history 'http://rm:8088' --config heddle.toml --present now.toml --policy new.toml

heddle whatif --history apps.json --config heddle.toml --present now.toml --clusters merged.toml -o csv

A file of clusters: one [\\[cluster]] for each, with id, nodes, memory_mib, vcores (of a node), and [\\[cluster.queue]]
with name, capacity, maximum_capacity, user_limit_factor, maximum_am_resource_percent, as capacity-scheduler.xml has
them.

`heddle queue whatif` is another question: to what each queue would be entitled right now, by what runs and waits.
"""
_PRESENT, _CHANGED = "present", "changed"
_COLUMNS = (
    ("QUEUE", "queue"),
    ("FIGURE", "figure"),
    ("HISTORY", HISTORY),
    ("PRESENT", _PRESENT),
    ("CHANGED", _CHANGED),
    ("CHANGE %", "change"),
)
_SHOWN_FAILURES = 3


class WhatIfFormat(StrEnum):
    """Format in which a comparison is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


_History = Annotated[
    str,
    typer.Option(
        help="Applications that ended: JSON of /ws/v1/cluster/apps (a file, or the address of a ResourceManager or "
        "of Heddle), an input of Hadoop's SLS or a trace by Rumen (.json), or a trace (.tr)",
        metavar="FILE|URL",
    ),
]
_InForce = Annotated[Path, typer.Option("--config", "-c", help="The configuration in force, heddle.toml")]
_Policy = Annotated[Path | None, typer.Option(help="Change: a policy file in the place of its queues")]
_Clusters = Annotated[Path | None, typer.Option(help="Change: a file of clusters in the place of the present")]
_Present = Annotated[
    Path | None,
    typer.Option(help="A file of the present clusters; without it as large as the history needed at its peak"),
]
_Jobs = Annotated[int, typer.Option(help="The first so many applications", min=1, max=20_000)]
_TaskS = Annotated[
    float,
    typer.Option(
        help="Applications of which only amounts are known run as tasks of so many seconds, as many at once as "
        "there is room for; 0: as wide and as long as they ran",
        min=0.0,
        max=86_400.0,
    ),
]
_Fit = Annotated[
    int,
    typer.Option(
        help="Replays of the present more, to fit how wide applications were of which only amounts are known; not "
        "with --task-s",
        min=0,
        max=20,
    ),
]
_Seed = Annotated[int, typer.Option(help="Of the replays")]
_Plot = Annotated[
    Path | None,
    typer.Option(
        help="Draw waiting, completion and use into this file (.png or .svg), or keep them for the console (.json)",
        callback=plot_file,
    ),
]
_Output = Annotated[WhatIfFormat, typer.Option("--output", "-o", help="Format of what is printed")]


def what_if(
    *,
    history: _History,
    config: _InForce,
    policy: _Policy = None,
    clusters: _Clusters = None,
    present: _Present = None,
    jobs: _Jobs = 500,
    task_s: _TaskS = 0.0,
    fit: _Fit = 4,
    seed: _Seed = 1,
    plot: _Plot = None,
    output: _Output = WhatIfFormat.TABLE,
) -> None:
    """Replay a history under the configuration in force and under a changed one, and print both side by side.

    Heddle itself decides, in virtual time, over modelled ResourceManagers. For each queue: how long applications waited
    for their ApplicationMaster, how long they took from submission to end, use and share of memory. Below that, what
    was assumed, and how far the replay of the configuration in force is from what the history says really happened: a
    change that is smaller than that error means nothing. The same seed gives the same figures.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        told = history_at(history, jobs)
        in_force = load(config)
        sides, assumed = _sides(told, in_force, config, policy, clusters, present)
        rounds = fit if not task_s and any(map(is_fittable, told.jobs)) else 0
        with progress_of_jobs(len(told.jobs) * (len(sides) + rounds)) as advance:
            found = compare(told, sides, seed=seed, task_s=task_s, rounds=rounds, advance=advance)
        if plot is not None:
            _plot(told, found, plot)
    except (BadRequestError, ConfigError, OSError, UnicodeDecodeError) as error:
        fail(f"heddle whatif: {error}", ExitCode.USAGE)
    _print(found, _notes(told, found, sides, assumed, task_s), output)


def _sides(
    told: RecordedHistory, config: Config, file: Path, policy: Path | None, clusters: Path | None, present: Path | None
) -> tuple[list[Side], list[str]]:
    """The present, and what is changed if anything is; with what was assumed of the clusters.

    Raises:
        ConfigError: If a file is wrong.
        BadRequestError: If the present clusters cannot be estimated.
    """
    assumed: list[str] = []
    if present is not None:
        now = read_clusters(present, told.queues)
    else:
        now = estimated_clusters(told.jobs, [each.id for each in config.subclusters], told.queues)
        assumed.append(f"the present clusters are what the history used at its peak: {_described(now)}; see --present")
    sides = [Side(_PRESENT, now, config_over(config, now, source=str(file)))]
    if policy is not None or clusters is not None:
        then = now if clusters is None else read_clusters(clusters, told.queues)
        tables = None if policy is None else _policy_of(policy, then)
        sides.append(Side(_CHANGED, then, config_over(config, then, tables, source=str(policy or file))))
    return sides, assumed


def _policy_of(file: Path, clusters: tuple[ModelledClusterSpec, ...]) -> PolicyConfig:
    names = [str(each.name) for each in clusters]
    return policy_tables(text_of(file, MOST_POLICY_BYTES), source=str(file), subclusters=names)


def _described(clusters: tuple[ModelledClusterSpec, ...]) -> str:
    first = clusters[0].nodes[0].size
    nodes = ", ".join(f"{each.name} {len(each.nodes)}" for each in clusters)
    return f"nodes of {first.memory_mib} MiB and {first.vcores} vcores ({nodes}), queues of equal capacity"


def _notes(
    told: RecordedHistory, found: WhatIf, sides: list[Side], assumed: list[str], task_s: float
) -> dict[str, list[str]]:
    """Sentences below the table, by what they are about."""
    work = [*told.assumptions, f"beside its tasks an application takes {found.startup_s:.1f} s from launch to end"]
    if len(found.errors_s) > 1:
        work.append(_fit_line(found.errors_s))
    if task_s:
        work.append(f"work of which only amounts are known is cut into tasks of {task_s:g} s")
    model = [
        "ResourceManagers, nodes and ApplicationMasters are models; nothing fails, and homes are chosen anew",
        "nothing but what the history lists runs on the clusters",
    ]
    left = [f"{count} left out: {why}" for why, count in told.left_out]
    failures = [
        f"{side.name}: {name}: {why}"
        for side in sides
        for name, why in list(found.failed[side.name].items())[:_SHOWN_FAILURES]
    ]
    return {"assumptions": [*assumed, *work, *model, *left], "failures": failures}


def _plot(told: RecordedHistory, found: WhatIf, path: Path) -> None:
    if path.suffix != FIGURES_SUFFIX:
        plot_comparison(distributions(told.jobs, HISTORY, found.outcomes), found.columns, path)
        return
    columns = _columns(found)
    rows = [{key: _shown(row.get(key)) for _, key in columns} for row in _lines(found)]
    comparison_figures(told.jobs, HISTORY, found.outcomes, columns, rows).write(path)


def _columns(found: WhatIf) -> list[tuple[str, str]]:
    """Columns that a comparison has: without a change there is nothing to compare the present with."""
    return [each for each in _COLUMNS if each[1] not in {_CHANGED, "change"} or _CHANGED in found.columns]


def _print(found: WhatIf, notes: Mapping[str, list[str]], output: WhatIfFormat) -> None:
    if output is WhatIfFormat.JSON:
        matches = {name: asdict(each) for name, each in found.match.items()}
        told = {"queues": found.rows, "match": matches, "fit_errors_s": found.errors_s}
        say(json.dumps({**told, **notes}, indent=2))
        return
    rows = list(_lines(found))
    if output is WhatIfFormat.CSV:
        written = io.StringIO()
        table = csv.DictWriter(written, [key for _, key in _COLUMNS[:-1]], extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
        say(written.getvalue().rstrip("\r\n"))
        return
    print_figures([{key: _shown(value) for key, value in row.items()} for row in rows], _columns(found), names=2)
    for name, match in found.match.items():
        say(_match_line(name, match))
    if not found.match:
        say("the history does not tell how long applications waited or took: nothing to compare the replay with")
    for name, lines in notes.items():
        for line in lines:
            say(f"{name}: {line}")


def _lines(found: WhatIf) -> Iterator[dict[str, Any]]:
    """A row for each queue and figure that any column has."""
    for row in found.rows:
        for key, title in FIGURES:
            values = {name: row[name].get(key) for name in found.columns}
            if any(value is not None for value in values.values()):
                before, after = values.get(_PRESENT), values.get(_CHANGED)
                change = 100.0 * (after / before - 1.0) if before and after is not None else None
                yield {"queue": row["queue"], "figure": title, **values, "change": change}


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _fit_line(errors_s: Sequence[float]) -> str:
    return (
        f"of {len(errors_s)} replays of the present, in which lengths of tasks were fitted, the nearest counts: mean "
        f"error of completion {errors_s[0]:.1f} s before, {min(errors_s):.1f} s after; changes are foretold worse"
    )


def _match_line(name: str, match: ReplayMatch) -> str:
    return (
        f"match of the present, {name}: mean {match.real_mean_s:.1f} s really, {match.replay_mean_s:.1f} s replayed;"
        f" mean error {match.error_s:.1f} s over {match.jobs} applications"
    )
