"""Measure queue shares on two real clusters, for docs/operators/fairness.md: with Heddle, without it, with preemption.

    python scripts/share_trials.py                      all trials on a lab of its own; a table
    python scripts/share_trials.py heddle preemption    some of them
    python scripts/share_trials.py --plot docs/pictures/shares.svg --json shares.json

`prod` and `dev`, weighted 3 to 1, each fill a cluster of their own with DistributedShell and MapReduce jobs; then both
have far more work than there is room, and what the ResourceManagers say that they hold is written down every half
second. A trial takes some five minutes.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from shim.lab import Lab, LabSpec
from tests.support.share_trial import (
    ENTITLED,
    STARTS,
    Jobs,
    Plan,
    Sample,
    ShareTrial,
    through_heddle,
    through_heddle_with_preemption,
    without_heddle,
)
from tests.support.tidying import end_applications

_NEAR = 0.05
_SMOOTH_S = 30.0
_END_WITHIN_S = 300.0
_NODE = {"yarn-site.xml": {"yarn.nodemanager.resource.cpu-vcores": "16"}}
"""So that memory is what runs out."""

_PLAN = Plan(
    first=Jobs(shells=3, maps=1),
    backlog={"prod": Jobs(shells=80, maps=6), "dev": Jobs(shells=60, maps=3)},
    containers=3,
    container_mib=256,
    seconds=60,
    starts_with=0.95,
    waits=True,
)

Begin = Callable[[Lab, Path, Plan], AbstractContextManager[ShareTrial]]
TRIALS: dict[str, Begin] = {
    "without": without_heddle,
    "heddle": through_heddle,
    "preemption": through_heddle_with_preemption,
}
_LABELS = {"without": "without Heddle", "heddle": "Heddle", "preemption": "Heddle, dev preemptable"}


@dataclass(frozen=True)
class Result:
    """What a trial has shown."""

    name: str
    samples: tuple[Sample, ...]

    @cached_property
    def reached_s(self) -> float | None:
        """When `prod` first held its share, but for five points; None if it never did."""
        return next((one.at_s for one in self.samples if one.share >= ENTITLED - _NEAR), None)

    @cached_property
    def settled(self) -> Sequence[Sample]:
        """From then on, or all."""
        return [one for one in self.samples if one.at_s >= (self.reached_s or 0.0)]

    @cached_property
    def mean(self) -> float:
        """What `prod` held of what both held, once settled."""
        return fmean(one.share for one in self.settled)

    @cached_property
    def smoothed(self) -> Sequence[float]:
        """The same over the half minute before each moment that has one."""
        rows = [(one.at_s, one.share) for one in self.settled]
        return [
            fmean(share for at_s, share in rows if now_s - _SMOOTH_S < at_s <= now_s)
            for now_s, _ in rows
            if now_s >= rows[0][0] + _SMOOTH_S
        ]

    def at(self, queue: str, cluster: str) -> float:
        """MiB that a queue held on a cluster in the mean, once settled."""
        return fmean(one.held[queue][cluster] for one in self.settled)

    def row(self) -> list[str]:
        """Of the table."""
        parts = self.smoothed or [self.mean]
        reached = "never" if self.reached_s is None else f"{self.reached_s:.0f}"
        where = (f"{self.at(queue, id_) / 1024:.1f}" for queue in STARTS for id_ in STARTS.values())
        return [self.name, f"{self.mean:.1%}", f"{min(parts):.0%} to {max(parts):.0%}", reached, *where]

    def document(self) -> dict[str, object]:
        """All of it."""
        rows = [
            {"at_s": round(one.at_s, 2), "share": round(one.share, 4), "held_mib": one.held} for one in self.samples
        ]
        return {"trial": self.name, "reached_s": self.reached_s, "mean": self.mean, "samples": rows}


_HEADS = (
    "trial",
    "prod's share",
    "over 30 s",
    "reached after s",
    *(f"{queue} on {cluster} GiB" for queue in STARTS for cluster in STARTS.values()),
)


def _measure(name: str, lab: Lab, seconds: float) -> Result:
    """One trial, on clusters on which nothing runs."""
    end_applications(lab, within_s=_END_WITHIN_S)
    with (
        tempfile.TemporaryDirectory(prefix="heddle-shares-") as folder,
        TRIALS[name](lab, Path(folder), _PLAN) as trial,
    ):
        seen = []
        for sample in takewhile(lambda one: one.at_s <= seconds, trial.samples()):
            seen.append(sample)
            print(f"\r{name}: {sample.at_s:3.0f} s, prod {sample.share:.0%}  ", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    end_applications(lab, within_s=_END_WITHIN_S)
    return Result(name, tuple(seen))


def _measured(names: Sequence[str], lab: Lab, seconds: float, path: Path | None) -> Iterator[Result]:
    """One trial after the other; what there is so far is written down each time."""
    documents = []
    for name in names:
        result = _measure(name, lab, seconds)
        documents.append(result.document())
        if path is not None:
            path.write_text(json.dumps(documents) + "\n", "utf-8")
        yield result


def _plot(results: Sequence[Result], path: Path) -> None:
    """What `prod` holds of what both hold, over time."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for result in results:
        at_s = [one.at_s for one in result.samples]
        axes.plot(at_s, [100 * one.share for one in result.samples], label=_LABELS[result.name])
    axes.axhline(100 * ENTITLED, color="black", linewidth=0.8, linestyle="--")
    axes.set(xlabel="seconds since both queues have a backlog", ylabel="what prod holds of both (%)", ylim=(0, 100))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path)


@contextmanager
def _a_lab(folder: Path | None) -> Iterator[Lab]:
    """The lab of a folder, or one of our own: two clusters of a node, each with room for four jobs."""
    if folder is not None:
        yield Lab(folder)
        return
    with tempfile.TemporaryDirectory(prefix="heddle-share-lab-") as own, Lab(Path(own) / "lab") as lab:
        lab.up(LabSpec.of(clusters=2, nodes=1, overrides=_NODE))
        yield lab


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="*", help=f"of {', '.join(TRIALS)}; all if none is named")
    parser.add_argument("--seconds", type=float, default=240.0, help="to look, once both have a backlog")
    parser.add_argument("--lab", type=Path, help="folder of a running lab of two clusters; else one is started")
    parser.add_argument("--json", type=Path, help="where to write every sample")
    parser.add_argument("--plot", type=Path, help="where to draw, as .svg or .png")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.trials) - TRIALS.keys())
    if unknown:
        parser.error(f"no trial is called {', '.join(unknown)}; there are {', '.join(TRIALS)}")
    with _a_lab(arguments.lab) as lab:
        results = list(_measured(arguments.trials or list(TRIALS), lab, arguments.seconds, arguments.json))
    for cells in (_HEADS, ["---"] * len(_HEADS), *(result.row() for result in results)):
        print(f"| {' | '.join(cells)} |")
    if arguments.plot is not None:
        _plot(results, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
