"""Calibrate yarn-sim, for docs/evaluation.md: the same jobs on real clusters and in the model, row by row.

    python -m scripts.calibration                                80 jobs, all rows, on labs of its own; a table
    python -m scripts.calibration --jobs 12 --rows "one cluster" fewer
    python -m scripts.calibration --json runs.json               every completion, too

Before each row counts, jobs of another draw run under the same conditions. They tell how long a container takes to
launch and an ApplicationMaster to register; everything else that the model knows is read from the lab's configuration.
A row takes some four minutes on two cores that do nothing else.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import structlog

from scripts.calibrating.draw import DrawnJob, drawn_jobs
from scripts.calibrating.lab_side import Masters, RealRun, masters_of, run_on_lab
from scripts.calibrating.model_side import clusters_of, measured_on, run_in_model
from scripts.calibrating.rows import NODE_OVERRIDES, NODES, ROWS, Row
from scripts.calibrating.table import Compared, orders, table
from shim.lab import Lab, LabSpec

_OTHER_DRAW = 1000
_MEASURING = 24
_SEEDS = (1, 2, 3)
_WARMING = 8
_WARM = ROWS["each cluster by itself"]


def compare(
    lab: Lab,
    masters: Masters,
    folder: Path,
    row: Row,
    jobs: Sequence[DrawnJob],
    *,
    seed: int,
    runs: int,
    measuring: int,
) -> Compared:
    """Run a row in both worlds.

    Args:
        lab: With as many clusters as the row has.
        masters: On them.
        folder: For what the runs leave.
        row: What stands before the clusters.
        jobs: That are compared.
        seed: Of their draw.
        runs: On the lab.
        measuring: How many jobs of another draw run before.
    """
    label = f"{folder.name}-{list(ROWS).index(row.name)}"
    real = []
    measured = None
    for number in range(runs + 1):
        drawn = jobs if number else drawn_jobs(seed + _OTHER_DRAW, measuring)
        name = f"{label}-{number}"
        run = run_on_lab(lab, masters, folder / name, row, [replace(job, name=f"{name}-{job.name}") for job in drawn])
        _say(f"{row.name}: {'run' if number else 'measuring'} {number}", run)
        if number:
            real.append(run)
        else:
            measured = measured_on(run)
    assert measured is not None  # noqa: S101 - the first run
    clusters = clusters_of(lab, measured)
    modelled = [run_in_model(clusters, row, jobs, each) for each in _SEEDS]
    return Compared(
        row.name,
        [run.completions_s for run in real],
        [outcome.completions_s for outcome in modelled],
        (sum(run.surplus for run in real) / runs, sum(each.surplus for each in modelled) / len(_SEEDS)),
        (measured.launch_s, measured.master_start_s),
    )


def _say(what: str, run: RealRun) -> None:
    mean_s = sum(run.completions_s) / len(run.completions_s)
    load = os.getloadavg()[0]
    print(f"{what}: {len(run.completions_s)} jobs, mean {mean_s:.1f} s, load average {load:.1f}", file=sys.stderr)


def compared_rows(
    rows: Sequence[Row], jobs: Sequence[DrawnJob], *, seed: int, runs: int, measuring: int = _MEASURING
) -> Iterator[Compared]:
    """Compare rows, those of as many clusters on one lab; see `compare`."""
    for clusters in sorted({row.clusters for row in rows}, reverse=True):
        with tempfile.TemporaryDirectory(prefix="heddle-calibration-") as own, Lab(Path(own) / "lab") as lab:
            lab.up(LabSpec.of(clusters=clusters, nodes=2 * NODES // clusters, overrides=NODE_OVERRIDES))
            folder = Path(own) / "runs"
            folder.mkdir()
            with masters_of(lab, folder / "masters") as masters:
                _say("warm-up", run_on_lab(lab, masters, folder / "warm", _WARM, drawn_jobs(seed - 1, _WARMING)))
                for row in rows:
                    if row.clusters == clusters:
                        yield compare(lab, masters, folder, row, jobs, seed=seed, runs=runs, measuring=measuring)


def _printed(rows: Sequence[Compared]) -> Iterator[str]:
    yield from table(rows)
    for world, names in orders(rows).items():
        yield f"{world}: {' < '.join(names)}"


def main() -> int:
    """Run, print, write."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=80, help="that are compared")
    parser.add_argument("--seed", type=int, default=1, help="of their draw")
    parser.add_argument("--runs", type=int, default=1, help="on the lab, of each row")
    parser.add_argument("--rows", nargs="*", choices=tuple(ROWS), default=tuple(ROWS), metavar="ROW", help="of all")
    parser.add_argument("--json", type=Path, help="where to write every completion")
    arguments = parser.parse_args()
    jobs = drawn_jobs(arguments.seed, arguments.jobs)
    chosen = [ROWS[name] for name in arguments.rows]
    rows: list[Compared] = []
    for row in compared_rows(chosen, jobs, seed=arguments.seed, runs=arguments.runs):
        rows.append(row)
        print(f"| {' | '.join(row.cells())} |", file=sys.stderr)
        if arguments.json is not None:
            arguments.json.write_text(json.dumps([asdict(each) for each in rows]) + "\n", "utf-8")
    for line in _printed(rows):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
