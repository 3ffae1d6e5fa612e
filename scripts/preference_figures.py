"""Places that jobs would rather have: alsched and TetriSched over modelled clusters, beside hard asks and none.

    python -m scripts.preference_figures [SEEDS]

Two clusters of four nodes with five places each. A *mild* job names one node of all, and runs 1.1 times as long
elsewhere; a *severe* one names the nodes of `west`, and runs four times as long in `east`. In a *scarce* draw all jobs
are mild; in a *calm* one half of them is severe, and a job comes every 6 s; a *mixed* one has a job every 3.5 s; a
*loaded* one every 2.5 s, and severe jobs run ten times as long elsewhere. `hard` rows ask for the named nodes
alone, `none` rows name no node; all others ask softly. `now` is without a look ahead. Mean completion in
seconds.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from scripts.figure_tables import print_heading, print_row
from scripts.two_clusters import be_silent, played_on
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.engine import seeded

_CLUSTERS, _NODES, _PLACES = ("east", "west"), 4, 5
_FEW, _HALF = ("east-n1",), tuple(f"west-n{number}" for number in range(1, _NODES + 1))
_SIZE = ResourceVector(1024, 1)
_MILD = 1.1


@dataclass(frozen=True, slots=True)
class PreferenceDraw:
    """Kind of a draw of jobs.

    Attributes:
        severe: Part of the jobs that lose much away from the nodes that they name.
        slowdown: How many times as long these run there.
        gap_s: Mean time from one arrival to the next.
    """

    severe: float
    slowdown: float
    gap_s: float


@dataclass(frozen=True, slots=True)
class Row:
    """A way to run jobs: lines of the queue, and what its masters ask."""

    queue: str
    asks: Literal["soft", "hard", "none"] = "soft"


DRAWS: Mapping[str, PreferenceDraw] = {
    "scarce": PreferenceDraw(0.0, 1.0, 3.0),
    "calm": PreferenceDraw(0.5, 4.0, 6.0),
    "mixed": PreferenceDraw(0.5, 4.0, 3.5),
    "loaded": PreferenceDraw(0.5, 10.0, 2.5),
}
ROWS: Mapping[str, Row] = {
    "alsched, soft": Row('containers = "alsched"'),
    "alsched, hard": Row('containers = "alsched"', "hard"),
    "alsched, none": Row('containers = "alsched"', "none"),
    "fifo": Row('containers = "fifo"'),
    "learnt-work": Row('containers = "learnt-work"'),
    "delay": Row('containers = "delay"'),
    "tetrisched": Row('containers = "tetrisched"'),
    "tetrisched, now": Row('containers = "tetrisched"\nquanta = 1'),
    "tetrisched, hard": Row('containers = "tetrisched"', "hard"),
}


def made_jobs(seed: int, draw: PreferenceDraw, count: int = 60) -> list[ModelledJob]:
    """Jobs of two to six tasks of about 20 s."""
    rng, at_s, made = seeded(seed, "preferences"), 0.0, list[ModelledJob]()
    for number in range(count):
        is_severe = rng.random() < draw.severe
        kind, slowdown, hosts = ("severe", draw.slowdown, _HALF) if is_severe else ("mild", _MILD, _FEW)
        durations = tuple(rng.uniform(15.0, 25.0) for _ in range(rng.randint(2, 6)))
        stage = ModelledStage(durations, size=_SIZE, hosts=(hosts,) * len(durations), elsewhere=slowdown)
        tags = (f"heddle-slowdown={slowdown}",)
        made.append(ModelledJob(f"{kind}-{number}", at_s, (stage,), master=_SIZE, tags=tags))
        at_s += rng.expovariate(1 / draw.gap_s)
    return made


def mean_s(row: Row, jobs: Sequence[ModelledJob], seed: int) -> float:
    """Mean completion of jobs in seconds.

    Raises:
        RuntimeError: A job did not succeed.
    """
    asked = [replace(job, stages=tuple(replace(stage, asks=row.asks) for stage in job.stages)) for job in jobs]
    node = _SIZE.times(_PLACES)
    return played_on(
        _CLUSTERS, asked, node=node, nodes=_NODES, queue=row.queue, seed=seed, am_share=0.3
    ).completion.mean


def main() -> None:
    """Print a row for each way: means, in brackets the range of the seeds."""
    be_silent()
    seeds = range(1, 1 + (int(sys.argv[1]) if len(sys.argv) > 1 else 3))
    print_heading(["", *DRAWS])
    for name, row in ROWS.items():
        cells = [name]
        for draw in DRAWS.values():
            found = [mean_s(row, made_jobs(seed, draw), seed) for seed in seeds]
            cells.append(f"{fmean(found):.1f} ({min(found):.1f} to {max(found):.1f})")
        print_row(cells)


if __name__ == "__main__":
    main()
