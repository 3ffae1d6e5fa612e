"""Rows of a calibration beside each other: what a real run and runs of the model gave, and how far they are apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from shim.simulation.results import nearest_rank

_HEADS = (
    "row",
    "real mean s",
    "model mean s",
    "model / real",
    "real p90 s",
    "model p90 s",
    "model / real",
    "given back: real, model",
    "launch s, start of a master s",
    "load",
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One row.

    Attributes:
        real: Completions of each real run, in seconds.
        modelled: Completions of each run of the model, by its seed.
        surplus: Containers that were given back in a run: real, and in the model; means over runs.
        measured: Times that were measured for the model: launch, and start of an ApplicationMaster.
        load: Load average of the machine at the end of the real runs.
    """

    name: str
    real: Sequence[Sequence[float]]
    modelled: Sequence[Sequence[float]]
    surplus: tuple[float, float]
    measured: tuple[float, float]
    load: float

    @property
    def means(self) -> tuple[float, float]:
        """Mean completion, real and in the model."""
        return fmean(map(fmean, self.real)), fmean(map(fmean, self.modelled))

    @property
    def ratio(self) -> float:
        """The model's mean completion by the real one."""
        real, modelled = self.means
        return modelled / real

    def cells(self) -> list[str]:
        """Of the table."""
        real90, model90 = (fmean(map(_p90, runs)) for runs in (self.real, self.modelled))
        return [
            self.name,
            _spread(self.real),
            _spread(self.modelled),
            f"{self.ratio:.2f}",
            f"{real90:.1f}",
            f"{model90:.1f}",
            f"{model90 / real90:.2f}",
            f"{self.surplus[0]:.0f}, {self.surplus[1]:.0f}",
            f"{self.measured[0]:.2f}, {self.measured[1]:.2f}",
            f"{self.load:.1f}",
        ]


def _p90(values: Sequence[float]) -> float:
    return nearest_rank(sorted(values), 90)


def _spread(runs: Sequence[Sequence[float]]) -> str:
    """Mean of the runs' means, and the least and the largest of them where there are several."""
    means = [fmean(each) for each in runs]
    between = f" ({min(means):.1f} to {max(means):.1f})" if len(means) > 1 else ""
    return f"{fmean(means):.1f}{between}"


def table(rows: Sequence[Compared]) -> Iterator[str]:
    """Lines of a table in Markdown."""
    for cells in (_HEADS, ["---"] * len(_HEADS), *(row.cells() for row in rows)):
        yield f"| {' | '.join(cells)} |"


def orders(rows: Sequence[Compared]) -> Mapping[str, Sequence[str]]:
    """Names of rows by mean completion, the least first: `real`, and in the `model`."""
    return {
        world: [row.name for row in sorted(rows, key=lambda row: row.means[number])]
        for number, world in enumerate(("real", "model"))
    }
