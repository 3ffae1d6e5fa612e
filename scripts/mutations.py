"""Plant small bugs, one at a time, and report which of them the tests of their subject see.

`python -m scripts.mutations` draws `--sample` mutations of each room by `--seed`, plants each in a copy of the tree,
and runs the tests that `ROOMS` names for it: those that reach its statement (`scripts.mutation_reach`), cheapest first,
up to the first failure. A mutation is killed when a test fails or its time ends. Working files are never written: each
worker has a copy of its own, below a temporary folder that is removed at the end.

    python -m scripts.mutations --room admission --sample 20 --seed 7
    python -m scripts.mutations --list ledger          # every place that can be mutated, with its number
    python -m scripts.mutations --room ledger --only 17,40   # these, by their numbers
"""

import argparse
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from scripts.mutants import Mutant, mutants
from scripts.mutation_reach import OPTIONS, Reach, lines_of_statement, read_reach

ROOT = Path(__file__).resolve().parent.parent
LEAST_SECONDS = 20.0
TIMES_AS_LONG = 4
FAILED = 1
"""Exit code of pytest when tests ran and one failed; what is above did not run them."""
_TIMEOUT = "Failed: Timeout"
TIMELESS = "not holds_the_loop"
"""Tests that measure time would fail by coverage or a busy machine, and a mutant would look as if it was seen."""
NOT_FOUND = 4
"""Exit code of pytest when a file of tests cannot be imported, or does not have the test that was named."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """Modules of one subject, and the tests that are to see a bug in them (paths from the root)."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS: Mapping[str, Room] = {
    "admission": Room(
        modules=("shim/queues/admission.py", "shim/queues/core/entitle.py", "shim/queues/access.py"),
        tests=("tests/unit/queues", "tests/integration/rest/test_held_back.py"),
    ),
    "entitlement": Room(
        modules=("shim/queues/core/share_round.py", "shim/scheduling/entitlement.py", "fairness"),
        tests=(
            "tests/unit/queues",
            "tests/unit/fairness",
            "tests/unit/scheduling/test_entitlement.py",
            "tests/property/test_share_rounds.py",
            "tests/property/test_fairness.py",
        ),
    ),
    "global-master": Room(
        modules=("shim/scheduling/global_master",),
        tests=(
            "tests/unit/scheduling",
            "tests/property/test_masters.py",
            "tests/property/test_global_view.py",
            "tests/property/test_job_book.py",
            "tests/property/test_container_order.py",
            "tests/property/test_waiting_machine.py",
        ),
    ),
    "homes": Room(
        modules=("shim/submission/core", "shim/submission/homes.py"),
        tests=("tests/unit/submission",),
    ),
    "identity": Room(
        modules=("shim/identity", "shim/domain/users.py"),
        tests=("tests/unit/identity", "tests/unit/domain", "tests/integration/rest/test_doctor_identities.py"),
    ),
    "ids": Room(
        modules=("shim/domain/ids.py", "shim/submission/application_ids.py"),
        tests=("tests/unit/domain", "tests/unit/submission/test_application_ids.py"),
    ),
    "intents": Room(
        modules=(
            "shim/submission/claims.py",
            "shim/submission/delivery.py",
            "shim/submission/delivery_attempts.py",
            "shim/submission/lost_time.py",
            "shim/submission/reconciliation.py",
            "shim/submission/repair.py",
            "shim/submission/resending.py",
            "shim/submission/retirement.py",
            "shim/submission/settling.py",
            "shim/submission/standing.py",
        ),
        tests=("tests/unit/submission", "tests/property/test_submission_machine.py"),
    ),
    "ledger": Room(
        modules=(
            "shim/multicluster/core/asks.py",
            "shim/multicluster/core/containers.py",
            "shim/multicluster/core/conversations.py",
            "shim/multicluster/core/ledger.py",
            "shim/multicluster/core/recalls.py",
            "shim/multicluster/core/session.py",
        ),
        tests=(
            "tests/unit/multicluster",
            "tests/property/test_relay_ledger.py",
            "tests/property/test_launch_services.py",
        ),
    ),
    "local-master": Room(
        modules=("shim/scheduling/local_master",),
        tests=(
            "tests/unit/scheduling/local_master",
            "tests/property/test_masters.py",
            "tests/property/test_offer_book.py",
            "tests/property/test_report_streams.py",
            "tests/property/test_tentative_allocations.py",
            "tests/property/test_tentative_allocations_twice.py",
        ),
    ),
    "preemption": Room(
        modules=(
            "shim/queues/core/preemption.py",
            "shim/queues/core/preemption_memory.py",
            "shim/queues/core/preemption_sizes.py",
            "shim/queues/core/preemption_victims.py",
            "shim/queues/preemption.py",
            "fairness/preemption.py",
        ),
        tests=(
            "tests/unit/queues",
            "tests/unit/fairness",
            "tests/property/test_fairness.py",
            "tests/property/test_preemption.py",
        ),
    ),
    "tentative": Room(
        modules=("shim/scheduling/local_master/tentative_allocations.py", "shim/multicluster/core/tentative.py"),
        tests=(
            "tests/unit/scheduling/local_master",
            "tests/unit/multicluster",
            "tests/property/test_tentative_allocations.py",
            "tests/property/test_tentative_allocations_twice.py",
            "tests/property/test_planned_asks.py",
        ),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of one mutant: `how` begins with `killed` or `SURVIVED`."""

    room: str
    mutant: Mutant
    how: str
    seconds: float

    @property
    def is_killed(self) -> bool:
        """Tell whether some test saw it."""
        return not self.how.startswith("SURVIVED")


class Copies:
    """Copies of the tracked files as they are now, one for each worker, below one temporary folder."""

    def __init__(self, folder: Path, count: int) -> None:
        """Make `count` copies below `folder`."""
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            copy = folder / str(number)
            for path in listed.stdout.splitlines():
                if (ROOT / path).is_file():
                    (copy / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / path, copy / path)
            self._free.put(copy)

    def run(self, tests: Sequence[str], *, mutant: Mutant | None, limit_s: float) -> tuple[int | None, str]:
        """Run tests on a copy, with a mutant planted; return pytest's exit code (None: out of time) and its output."""
        with self._one() as copy, planted(copy / mutant.path, mutant) if mutant else contextlib.nullcontext():
            return _pytest(copy, tests, limit_s)

    def reach(self, tests: Sequence[str]) -> tuple[int | None, str, Reach]:
        """Run tests under coverage, without a mutant; return as `run` does, and which test reaches what."""
        with self._one() as copy:
            data_file = copy / ".coverage.reach"
            code, output = _pytest(copy, [*OPTIONS, *tests], 1800, COVERAGE_FILE=str(data_file))
            return code, output, read_reach(data_file, output, copy) if code == 0 else Reach(seconds={}, by_line={})

    @contextlib.contextmanager
    def _one(self) -> Iterator[Path]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


@contextlib.contextmanager
def planted(file: Path, mutant: Mutant) -> Iterator[None]:
    """Put a mutant into a file, and its text of before back at the end, whatever happens."""
    before = file.read_text("utf-8")
    file.write_text(mutant.planted, "utf-8")
    try:
        yield
    finally:
        file.write_text(before, "utf-8")


def _pytest(copy: Path, tests: Sequence[str], limit_s: float, **variables: str) -> tuple[int | None, str]:
    options = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", "not lab and not containers", "-k", TIMELESS]
    options += ["--hypothesis-seed=0", "--hypothesis-profile=first-failure"]  # an example is not made small
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    arguments = copy / ".arguments"  # a line of a shell may be too short for them
    arguments.write_text("\n".join(tests), "utf-8")
    with tempfile.TemporaryFile("w+") as output:
        ran = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, f"@{arguments}"],
            cwd=copy,
            env=environment | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            code = ran.wait(limit_s)
        except subprocess.TimeoutExpired:
            ran.kill()
            ran.wait()
            code = None
        output.seek(0)
        return code, output.read()


def mutants_of(room: Room) -> Iterator[Mutant]:
    """Yield all mutants of a room, in the order of files and lines."""
    for module in room.modules:
        place = ROOT / module
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield from mutants(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))


def chosen(room: str, *, sample: int, seed: int, only: Sequence[int] | None) -> list[tuple[int, Mutant]]:
    """Draw from a room, with each mutant's number; the same seed on the same code draws the same."""
    numbered = list(enumerate(mutants_of(ROOMS[room])))
    if only is not None:
        return [numbered[number] for number in only]
    drawn = random.Random(f"{seed} {room}").sample(numbered, min(sample, len(numbered)))  # noqa: S311 - no secret
    return sorted(drawn, key=lambda pair: pair[0])


def try_room(
    name: str, copies: Copies, drawn: Sequence[tuple[int, Mutant]], workers: ThreadPoolExecutor
) -> list[Verdict]:
    """Plant each mutant alone and run the tests that reach it.

    Raises:
        SystemExit: the room's tests fail on the code as it is, in the order of their files or by their cost, or do not
            run.
    """
    code, output, reach = copies.reach(ROOMS[name].tests)
    if code == 0:  # tests run by their cost below: one that needs another before it would look like a mutant seen
        code, output = copies.run(reach.tests(), mutant=None, limit_s=1800)
    if code != 0:
        shown = output.partition("slowest durations")[0]
        raise SystemExit(f"{name}: its tests are not green without a mutation:\n{shown[-3000:]}")

    def judge(pair: tuple[int, Mutant]) -> Verdict:
        number, mutant = pair
        start = time.monotonic()
        how, said = verdict_on(mutant, ROOMS[name].tests, reach, copies)
        verdict = Verdict(room=name, mutant=mutant, how=how, seconds=time.monotonic() - start)
        seen = next((line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
        shown = f"{seen[:120]} {verdict.seconds:.0f} s" if verdict.is_killed else ""
        print(f"{how:<10} {name} #{number} {mutant}  {shown}".rstrip(), flush=True)
        return verdict

    return list(workers.map(judge, drawn))


def verdict_on(mutant: Mutant, tests: Sequence[str], reach: Reach, copies: Copies) -> tuple[str, str]:
    """Return how a mutant ended, and what pytest said."""
    lines = lines_of_statement((ROOT / mutant.path).read_text("utf-8"), mutant.line)
    reaching = reach.of(mutant.path, lines)
    if not reaching:
        return "SURVIVED: no test reaches it", ""
    code, said = _judged(reaching, mutant, reach, copies)
    if code == NOT_FOUND:  # the mutant breaks an import, or a name of a test is not the same in each run
        code, said = _judged(tests, mutant, reach, copies)
    if code is None or _TIMEOUT in said:
        return "killed by time", said
    if code == 0:
        return "SURVIVED", said
    return "killed" if code == FAILED else f"killed: pytest ended with {code}", said


def _judged(tests: Sequence[str], mutant: Mutant, reach: Reach, copies: Copies) -> tuple[int | None, str]:
    """Run tests with a mutant: each has some times as long as the slowest of them took, so that a loop ends soon."""
    longest_s = max((reach.cost([test]) for test in tests if test in reach.seconds), default=reach.cost(reach.tests()))
    each_s = LEAST_SECONDS + TIMES_AS_LONG * longest_s
    limit_s = LEAST_SECONDS + TIMES_AS_LONG * reach.cost(reach.tests())
    return copies.run([f"--timeout={each_s:.0f}", *tests], mutant=mutant, limit_s=limit_s)


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each room, and one for all: how many were planted, killed, and the rate."""
    lines = ["| room | planted | killed | rate |", "|---|---|---|---|"]
    for name in [*dict.fromkeys(verdict.room for verdict in verdicts), "all"]:
        of_room = [verdict for verdict in verdicts if name in {verdict.room, "all"}]
        killed = sum(verdict.is_killed for verdict in of_room)
        lines.append(f"| {name} | {len(of_room)} | {killed} | {killed / max(1, len(of_room)):.0%} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant, run and report; exits with 1 if the rate is below `--least`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", choices=sorted(ROOMS), help="only this one; may be repeated")
    parser.add_argument("--sample", type=int, default=10, help="mutations of each room (10)")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn (1)")
    parser.add_argument("--only", help="numbers of one room's mutations, by commas, in place of a sample")
    parser.add_argument("--parallel", type=int, default=2, help="how many run at a time (2)")
    parser.add_argument("--least", type=float, default=0.0, help="the rate below which to fail, between 0 and 1 (0)")
    parser.add_argument("--list", choices=sorted(ROOMS), help="print the places of a room, and plant none")
    given = parser.parse_args(arguments)
    if given.list:
        print(*(f"#{number} {mutant}" for number, mutant in enumerate(mutants_of(ROOMS[given.list]))), sep="\n")
        return 0
    only = [int(number) for number in given.only.split(",")] if given.only else None
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder, ThreadPoolExecutor(given.parallel) as workers:
        copies = Copies(Path(folder), given.parallel)
        for name in given.room or ROOMS:
            drawn = chosen(name, sample=given.sample, seed=given.seed, only=only)
            verdicts += try_room(name, copies, drawn, workers)
    print(*table(verdicts), sep="\n")
    killed = sum(verdict.is_killed for verdict in verdicts)
    return int(killed < given.least * len(verdicts))


if __name__ == "__main__":
    raise SystemExit(main())
