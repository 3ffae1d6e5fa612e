"""Calibrate yarn-sim, for docs/researchers/evaluation.md: the same jobs on real clusters and in the model, row by row.

    python -m scripts.calibration                                60 jobs, all rows, on labs of its own; a table
    python -m scripts.calibration --jobs 12 --rows "one cluster" fewer
    python -m scripts.calibration --gap 1.1                      more jobs than there is room for
    python -m scripts.calibration --draw heavy-tail --rows "one fair cluster" "heddle as installed, fair clusters"
                                                                 Heddle beside one big cluster
    python -m scripts.calibration --json runs.json               every completion, too

Before each row counts, jobs of another draw run under the same conditions. They tell how long a container takes to
launch and an ApplicationMaster to register; everything else that the model knows is read from the lab's configuration.
A row takes some three minutes on two cores that do nothing else.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

import structlog

from scripts.calibrating.draw import DRAWS, GAP_S, DrawnJob, drawn_jobs, load_of
from scripts.calibrating.lab_side import Masters, RealRun, masters_of, run_on_lab
from scripts.calibrating.model_side import Measured, clusters_of, measured_on, run_in_model, told_timing
from scripts.calibrating.rows import NODES, ONE_FAIR, ROWS, Row
from scripts.calibrating.table import Compared, orders, table
from shim.lab import Lab, LabSpec
from shim.simulation.cluster.spec import ModelledClusterSpec

_OTHER_DRAW = 1000
_MEASURING = 16
_SEEDS = (1, 2, 3)
_WARMING = 8
_WARM_UP = ROWS["each cluster by itself"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What runs on the lab.

    Attributes:
        jobs: That are compared.
        seed: Of their draw.
        runs: Of them, for each row.
        gap_s: Mean time from one arrival to the next.
        draw: Of the jobs that run before, by their seed, number and gap.
        measuring: How many jobs of another draw run before.
    """

    jobs: tuple[DrawnJob, ...]
    seed: int
    runs: int = 1
    gap_s: float = GAP_S
    draw: Callable[[int, int, float], tuple[DrawnJob, ...]] = drawn_jobs
    measuring: int = _MEASURING


@dataclass(frozen=True, slots=True)
class OnLab:
    """A row on real clusters, and what the model is to know of them.

    Attributes:
        runs: Of the jobs that are compared.
        load: Load average of the machine at the end of each.
    """

    row: Row
    runs: tuple[RealRun, ...]
    load: tuple[float, ...]
    measured: Measured
    clusters: tuple[ModelledClusterSpec, ...]


def _on_lab(lab: Lab, masters: Masters, folder: Path, row: Row, plan: Plan) -> OnLab:
    """Run a row on a lab with as many clusters: the jobs that measure, and then those that are compared."""
    label = f"row-{list(ROWS).index(row.name)}"
    found: list[RealRun] = []
    load: list[float] = []
    for number in range(plan.runs + 1):
        drawn = plan.jobs if number else plan.draw(plan.seed + _OTHER_DRAW, plan.measuring, plan.gap_s)
        name = f"{label}-{number}"
        run = run_on_lab(lab, masters, folder / name, row, [replace(job, name=f"{name}-{job.name}") for job in drawn])
        found.append(run)
        load.append(os.getloadavg()[0])
        what = f"run {number}" if number else "measuring"
        mean_s = fmean(run.completions_s)
        print(f"{row.name}, {what}: {len(drawn)} jobs, mean {mean_s:.1f} s, load {load[-1]:.1f}", file=sys.stderr)
    measured = measured_on(found[0])
    return OnLab(row, tuple(found[1:]), tuple(load[1:]), measured, clusters_of(lab, measured))


def rows_on_labs(rows: Sequence[Row], plan: Plan) -> Iterator[OnLab]:
    """Run rows on real clusters, those of as many clusters of one ordering policy on one lab."""
    for clusters, ordering in sorted({(row.clusters, row.ordering) for row in rows}, reverse=True):
        of_lab = [row for row in rows if (row.clusters, row.ordering) == (clusters, ordering)]
        with tempfile.TemporaryDirectory(prefix="heddle-calibration-") as own, Lab(Path(own) / "lab") as lab:
            lab.up(LabSpec.of(clusters=clusters, nodes=2 * NODES // clusters, overrides=of_lab[0].overrides))
            folder = Path(own) / "runs"
            folder.mkdir()
            with masters_of(lab, folder / "masters") as masters:
                run_on_lab(lab, masters, folder / "warm-up", _WARM_UP, drawn_jobs(plan.seed - 1, _WARMING))
                for row in of_lab:
                    yield _on_lab(lab, masters, folder, row, plan)


def measured_within(found: OnLab) -> OnLab:
    """The same, but the model is to know times of the compared run itself: where other work slows one run only."""
    measured = measured_on(found.runs[0])
    clusters = tuple(replace(each, timing=told_timing(each.timing, measured)) for each in found.clusters)
    return replace(found, measured=measured, clusters=clusters)


def compared(found: OnLab, jobs: Sequence[DrawnJob]) -> Compared:
    """Run the same jobs in the model."""
    modelled = [run_in_model(found.clusters, found.row, jobs, seed) for seed in _SEEDS]
    return Compared(
        found.row.name,
        [run.completions_s for run in found.runs],
        [outcome.completions_s for outcome in modelled],
        (fmean(run.surplus for run in found.runs), fmean(outcome.surplus for outcome in modelled)),
        (found.measured.launch_s, found.measured.master_start_s),
        fmean(found.load),
    )


def _printed(rows: Sequence[Compared]) -> Iterator[str]:
    yield from table(rows)
    for world, names in orders(rows).items():
        yield f"{world}: {' < '.join(names)}"
    for row, fair in ((row, fair) for fair in rows if fair.name == ONE_FAIR for row in rows):
        real, modelled = (own / other for own, other in zip(row.means, fair.means, strict=True))
        yield f"{row.name}: {real:.2f} of {ONE_FAIR}, in the model {modelled:.2f}"


def main() -> int:
    """Run, print, write."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=60, help="that are compared")
    parser.add_argument("--seed", type=int, default=1, help="of their draw")
    parser.add_argument("--gap", type=float, default=GAP_S, help="seconds from one arrival to the next, in the mean")
    parser.add_argument("--draw", choices=tuple(DRAWS), default="usual", help="of jobs")
    parser.add_argument("--runs", type=int, default=1, help="on the lab, of each row")
    parser.add_argument("--rows", nargs="*", choices=tuple(ROWS), default=tuple(ROWS), metavar="ROW", help="of all")
    parser.add_argument("--json", type=Path, help="where to write every completion")
    arguments = parser.parse_args()
    draw = DRAWS[arguments.draw]
    jobs = draw(arguments.seed, arguments.jobs, arguments.gap)
    print(f"load {load_of(jobs):.2f}", file=sys.stderr)
    plan = Plan(jobs, arguments.seed, arguments.runs, arguments.gap, draw)
    found = list(rows_on_labs([ROWS[name] for name in arguments.rows], plan))
    rows: list[Compared] = []
    for each in found:  # the model after all labs: it keeps a core busy
        rows.append(compared(each, plan.jobs))
        if arguments.json is not None:
            arguments.json.write_text(json.dumps([asdict(row) for row in rows]) + "\n", "utf-8")
    for line in _printed(rows):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
