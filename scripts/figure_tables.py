"""Tables that figures are printed as, row by row as they are found, and the traces that they are of."""

from collections.abc import Iterable, Sequence

from shim.simulation.traces import Workload, read_trace
from tests.doubles.public_data import data_folder


def print_row(cells: Iterable[str]) -> None:
    """Print one row of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def print_heading(cells: Sequence[str]) -> None:
    """Print the names of the columns, and the line below them."""
    print_row(cells)
    print_row(["---"] * len(cells))


def public_trace(name: str) -> Workload:
    """Read a trace of jobs from the folder that HEDDLE_DATA names."""
    return read_trace(data_folder() / "jobs" / f"{name}.tr")
