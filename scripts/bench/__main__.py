"""`python -m scripts.bench`: measure, and write docs/benchmarks.md."""

import argparse
import tempfile
from functools import partial
from pathlib import Path

from scripts.bench.generated import Size, run_generated
from scripts.bench.report import write_page
from scripts.bench.side_by_side import Effort, run

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


def main() -> None:
    """Run both benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds, in turned order")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each cell")
    parser.add_argument("--base-port", type=int, default=19000, help="first of 1000 ports")
    parser.add_argument("--remark", default="Nothing else ran.", help="what else the machine did, for the page")
    arguments = parser.parse_args()
    effort = Effort(arguments.rounds, arguments.seconds)
    say = partial(print, flush=True)
    command = f"python -m scripts.bench --rounds {effort.rounds} --seconds {effort.seconds:g}"
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as scratch:
        folder, base = Path(scratch), arguments.base_port
        generated = run_generated(
            folder / "generated", base_port=base + 920, size=Size(), seconds=max(10.0, effort.seconds), say=say
        )
        measured = run(folder, base_port=base, effort=effort, say=say)
    write_page(_PAGE, measured, generated, effort, command=command, remark=arguments.remark)


if __name__ == "__main__":
    main()
