"""`python -m scripts.bench`: measure, and write each section's part of docs/developers/benchmarks.md when it is done.

A section that fails is told, and the next one measured; the exit code is then 1.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from scripts.bench.cells import Effort
from scripts.bench.report import made, write_section
from scripts.bench.sections import SECTIONS, Bench

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "developers" / "benchmarks.md"


def main() -> int:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench", description=__doc__)
    parser.add_argument("--only", default="", help=f"sections, with commas between them: {', '.join(SECTIONS)}")
    parser.add_argument("--rounds", type=int, default=Effort().rounds, help="rounds, in turned order")
    parser.add_argument("--seconds", type=float, default=Effort().seconds, help="of each cell")
    parser.add_argument("--base-port", type=int, default=19000, help="first of 1000 ports")
    parser.add_argument("--remark", default="", help="what else the machine did, for the page")
    parser.add_argument("--page", type=Path, default=_PAGE, help="the file with the sections' marks")
    arguments = parser.parse_args()
    asked = [name.strip() for name in arguments.only.split(",") if name.strip()]
    if unknown := set(asked) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}: there are {', '.join(SECTIONS)}")
    names = [name for name in SECTIONS if not asked or name in asked]
    effort = Effort(arguments.rounds, arguments.seconds)
    chosen = f" --only {','.join(names)}" if asked else ""
    command = f"python -m scripts.bench{chosen} --rounds {effort.rounds} --seconds {effort.seconds:g}"
    with tempfile.TemporaryDirectory(prefix="heddle-bench-", ignore_cleanup_errors=True) as folder:
        bench = Bench(Path(folder), arguments.base_port, effort, _say)
        failed = _run(bench, names, arguments.page, command, arguments.remark)
    _say(f"failed: {', '.join(failed)}" if failed else "all sections are measured")
    return 1 if failed else 0


def _run(bench: Bench, names: Sequence[str], page: Path, command: str, remark: str) -> list[str]:
    """Measure and write; which sections failed."""
    failed: list[str] = []
    load_before = os.getloadavg()[0]
    with bench:
        for name in names:
            _say(f"== {name}")
            try:
                lines = list(SECTIONS[name](bench))
                write_section(page, name, (made(command, load_before=load_before, remark=remark), *lines))
            except Exception:  # noqa: BLE001 - whatever it is: the other sections are worth measuring
                failed.append(name)
                traceback.print_exc()
                bench.end_stage()
    return failed


_BEGAN_S = time.monotonic()


def _say(text: str) -> None:
    print(f"{time.monotonic() - _BEGAN_S:6.0f} s  {text}", flush=True)


if __name__ == "__main__":
    # whoever ends this ends the clusters and the other processes, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
