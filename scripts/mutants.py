"""Plant small bugs, one at a time, and report which of them the tests of `check` and integration see.

`python -m scripts.mutants --seed 1 --count 150` draws mutants of the rooms where a small bug costs most: as many of
each room, and of each kind (`scripts.mutant_kinds`). Each is planted alone in a copy of the tree. First run the tests
that are named after its module or import it; if they see nothing, all tests of the room that reach its statement,
cheapest first, up to the first failure. What failed is run once more without a mutant: a test that fails there, too,
has seen nothing. Mutants that change nothing are listed in `mutants_equivalent.json`, each with the reason: they are
not run. Working files are never written: each worker has a copy of its own, below a temporary folder.

    python -m scripts.mutants --seed 1 --count 150
    python -m scripts.mutants --seed 1 --count 30 --room submission   # or several rooms
    python -m scripts.mutants --room submission --list                # every place, with its number
    python -m scripts.mutants --room submission --only 17,40          # these, after a test for them
    python -m scripts.mutants --seed 1 --near                         # without the wider look for what was not seen
"""

import argparse
import ast
import contextlib
import hashlib
import json
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from coverage import CoverageData

from scripts.mutant_kinds import KINDS, Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "scripts" / "mutants_equivalent.json"
MOST_EQUIVALENT = 0.05
REACHES = ROOT / ".heddle" / "mutants"
"""What tests reach, by room: kept until a module or a test of the room changes."""
LEAST_SECONDS = 60.0
TIMES_AS_LONG = 4
MOST_SECONDS = 1200.0
GREEN, FAILED, NONE_COLLECTED, NO_RUN = 0, 1, 5, 70
"""Exit codes of a run: all passed, one failed, there are no tests; pytest itself broke."""
SURVIVED = "SURVIVED"
TIMELESS = "not holds_the_loop"
"""Tests that measure time would fail by coverage or a busy machine, and a mutant would look as if it was seen."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """Modules of one subject, and the tests that are to see a bug in them (paths from the root)."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    is_drawn: bool = True


ROOMS: Mapping[str, Room] = {
    "submission": Room(
        modules=("shim/submission",),
        tests=(
            "tests/unit/submission",
            "tests/property/test_submission_machine.py",
            "tests/unit/server/rpc",
            "tests/unit/peers",
            "tests/integration/rest",
        ),
    ),
    "federation": Room(
        modules=("shim/federation",),
        tests=(
            "tests/unit/federation",
            "tests/property/test_federation_view.py",
            "tests/property/test_application_columns.py",
            "tests/unit/submission",
            "tests/unit/queues",
            "tests/unit/multicluster",
            "tests/unit/server/rpc",
            "tests/unit/peers",
            "tests/integration/rest",
        ),
    ),
    "fairness": Room(
        modules=("fairness",),
        tests=(
            "tests/unit/fairness",
            "tests/property/test_fairness.py",
            "tests/property/test_share_rounds.py",
            "tests/property/test_preemption.py",
            "tests/unit/altruism",
            "tests/unit/queues",
        ),
    ),
    "altruism": Room(
        modules=("altruism",),
        tests=("tests/unit/altruism", "tests/unit/queues", "tests/unit/scripts/papers/dag_pool"),
    ),
    "protocol": Room(
        modules=("shim/protocol",),
        tests=(
            "tests/unit/protocol",
            "tests/protocol",
            "tests/unit/server/rpc",
            "tests/unit/multicluster",
            "tests/unit/peers",
            "tests/unit/server/rest",
            "tests/integration/rpc",
            "tests/integration/rest",
        ),
    ),
    "rest": Room(
        modules=("shim/server/rest",),
        tests=("tests/unit/server/rest", "tests/integration/rest", "tests/integration/web"),
    ),
    "identity": Room(
        modules=("shim/identity",),
        tests=(
            "tests/unit/identity",
            "tests/property/test_secret_rotation.py",
            "tests/unit/server/rpc",
            "tests/unit/server/rest",
            "tests/integration/rest",
            "tests/integration/web",
            "tests/integration/test_api_tokens_whole.py",
        ),
    ),
    "queues": Room(
        modules=("shim/queues",),
        tests=(
            "tests/unit/queues",
            "tests/property/test_share_rounds.py",
            "tests/property/test_preemption.py",
            "tests/integration/rest/test_held_back.py",
        ),
        is_drawn=False,
    ),
    "scheduling": Room(
        modules=("shim/scheduling",),
        tests=("tests/unit/scheduling", "tests/property", "tests/unit/multicluster"),
        is_drawn=False,
    ),
    "multicluster": Room(
        modules=("shim/multicluster",), tests=("tests/unit/multicluster", "tests/property"), is_drawn=False
    ),
    "store": Room(modules=("shim/store",), tests=("tests/integration/store", "tests/unit/domain"), is_drawn=False),
    "rpc": Room(
        modules=("shim/server/rpc",),
        tests=("tests/unit/server/rpc", "tests/integration/rpc", "tests/protocol"),
        is_drawn=False,
    ),
}


# ---------------------------------------------------------------------- what is drawn


def mutants_of(room: Room) -> Iterator[Mutant]:
    """Yield all mutants of a room, in the order of files and lines."""
    for module in room.modules:
        place = ROOT / module
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if not file.name.endswith("_pb2.py"):
                yield from mutants(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))


def drawn(rooms: Sequence[str], count: int, seed: int) -> list[tuple[str, int, Mutant]]:
    """Draw `count` mutants, as many of each room, and within a room as many of each kind as there are places.

    The same seed on the same code draws the same. Each comes with its room and its number there.
    """
    found: list[tuple[str, int, Mutant]] = []
    for at, name in enumerate(rooms):
        generator = random.Random(f"{seed} {name}")  # noqa: S311 - no secret
        places: dict[str, list[tuple[int, Mutant]]] = defaultdict(list)
        for number, mutant in enumerate(mutants_of(ROOMS[name])):
            places[mutant.kind].append((number, mutant))
        for each in places.values():
            generator.shuffle(each)
        of_room: list[tuple[str, int, Mutant]] = []
        wanted = count * (at + 1) // len(rooms) - count * at // len(rooms)
        while len(of_room) < wanted and any(places.values()):
            kinds = [kind for kind in KINDS if places[kind]]
            generator.shuffle(kinds)
            of_room += [(name, *places[kind].pop()) for kind in kinds][: wanted - len(of_room)]
        found += sorted(of_room, key=lambda each: each[1])
    return found


@dataclass(frozen=True, kw_only=True)
class Equivalent:
    """A mutant that changes nothing that anybody could see, and why; recognised wherever in its function it stands."""

    path: str
    within: str
    before: str
    after: str
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        """Tell whether a mutant is this one."""
        return (self.path, self.within, self.before, self.after) == (
            mutant.path,
            mutant.within,
            mutant.before,
            mutant.after,
        )


def known_equivalents() -> list[Equivalent]:
    """Read the list."""
    return [Equivalent(**each) for each in json.loads(EQUIVALENT.read_text("utf-8"))]


# ---------------------------------------------------------------------- which tests reach a mutant


AT_IMPORT = ""
_DURATION = re.compile(r"^([\d.]+)s (?:setup|call|teardown)\s+(\S.*)$")
_HEADED = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The tests of a room: seconds of each, and by file and line those that ran it (`AT_IMPORT`: every one)."""

    seconds: Mapping[str, float]
    by_line: Mapping[str, Mapping[int, frozenset[str]]]

    def tests(self) -> list[str]:
        """Return all tests, cheapest first."""
        return sorted(self.seconds, key=lambda test: (self.seconds[test], test))

    def of(self, path: str, lines: range) -> list[str]:
        """Return the tests that run one of the lines, cheapest first; none if no test does."""
        ran = self.by_line.get(path, {})
        found = frozenset[str]().union(*(ran.get(line, frozenset()) for line in lines))
        return self.tests() if AT_IMPORT in found else [test for test in self.tests() if test in found]

    def cost(self, tests: Sequence[str]) -> float:
        """Return how many seconds some tests took together."""
        return sum(self.seconds[test] for test in tests)


def read_reach(data_file: Path, output: str, root: Path) -> Reach:
    """Read what a run below `root` left: coverage's file with contexts, and pytest's report with all durations.

    Raises:
        ValueError: The report does not name a test that coverage saw.
    """
    seconds: dict[str, float] = {}
    for line in output.splitlines():
        if timed := _DURATION.match(line):
            seconds[timed[2]] = seconds.get(timed[2], 0.0) + float(timed[1])
    data = CoverageData(str(data_file))
    data.read()
    by_line = {
        Path(file).relative_to(root.resolve()).as_posix(): {
            line: frozenset(context.rpartition("|")[0] for context in contexts)
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    known = {test for ran in by_line.values() for tests in ran.values() for test in tests} - {AT_IMPORT}
    if missing := known - seconds.keys():
        raise ValueError(f"pytest did not say how long these took: {sorted(missing)[:3]}")
    return Reach(seconds=seconds, by_line=by_line)


def lines_of_statement(text: str, line: int) -> range:
    """Return the lines of the innermost statement around a line; of one with a body only its head, if it has one.

    Python notes some lines of a statement when it runs, not always the one that a mutant is on.
    """

    def around(tree: ast.Module) -> Iterator[ast.stmt]:
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                yield node

    *_, innermost = sorted(around(ast.parse(text)), key=lambda statement: statement.lineno)
    last = innermost.end_lineno or innermost.lineno
    if isinstance(innermost, _HEADED):
        last = max(innermost.lineno, innermost.body[0].lineno - 1)
    return range(innermost.lineno, last + 1)


def near_tests(path: str, room: Room, root: Path = ROOT) -> list[str]:
    """Return the files of a room's tests that are near a module, the nearest first.

    Those named after it or that import it, or else a module which imports it, and so on; then all of the folder of unit
    tests that mirrors its own: they reach it by doubles.
    """
    module = path.removesuffix(".py").replace("/", ".")
    own = f"test_{module.rpartition('.')[2]}.py"
    files = sorted({file for test in room.tests for file in _test_files(root / test)})
    sources = {file: _name_of(file, root) for place in room.modules for file in sorted((root / place).rglob("*.py"))}
    names, found = {module}, list[Path]()
    while not found:
        packages = {name for file, name in sources.items() if file.name == "__init__.py" and names & _imported(file)}
        found = [file for file in files if file.name == own or (names | packages) & _imported(file)]
        wider = names | packages | {name for file, name in sources.items() if names & _imported(file)}
        if wider == names:
            break
        names = wider
    mirror = root / "tests" / "unit" / Path(path).parent.as_posix().removeprefix("shim/")
    order = {kind: at for at, kind in enumerate(("unit", "protocol", "property", "integration"))}

    def rank(file: Path) -> tuple[bool, bool, int, int]:
        kind = file.relative_to(root / "tests").parts[0]
        return file.name != own, file not in found, order.get(kind, len(order)), file.stat().st_size

    near = {*found, *(file for file in files if file.parent == mirror)}
    return [file.relative_to(root).as_posix() for file in sorted(near, key=rank)]


def _name_of(file: Path, root: Path) -> str:
    """Return the name that a module is imported by."""
    path = file.parent if file.name == "__init__.py" else file.with_suffix("")
    return path.relative_to(root).as_posix().replace("/", ".")


def _test_files(place: Path) -> list[Path]:
    return sorted(place.rglob("test_*.py")) if place.is_dir() else [place]


@cache
def _imported(file: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


# ---------------------------------------------------------------------- how tests are run


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a run: pytest's exit code (None: out of time), what it printed, and the first test that failed."""

    code: int | None
    output: str
    failed: str = ""


class Forks:
    """A process that has imported what all tests import, and forks itself for each run below one folder.

    To start pytest, Hypothesis and numpy anew would cost more than most runs do.
    """

    def __init__(self, folder: Path) -> None:
        """Start it."""
        self.folder = folder
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def pytest(self, arguments: Sequence[str], limit_s: float) -> Outcome:
        """Run pytest; a run that takes longer than `limit_s` is killed with all that it has started."""
        assert self._server.stdin is not None  # noqa: S101 - piped
        assert self._server.stdout is not None  # noqa: S101
        (self.folder / ".failed").unlink(missing_ok=True)
        self._server.stdin.write(json.dumps([limit_s, [*_OPTIONS, *arguments]]) + "\n")
        self._server.stdin.flush()
        code = json.loads(self._server.stdout.readline())
        output = (self.folder / ".output").read_text("utf-8", errors="replace")
        if code == NO_RUN:
            raise SystemExit(f"pytest does not run:\n{output[-3000:]}")
        return Outcome(code=code, output=output, failed=next(iter(self.failed()), ""))

    def failed(self) -> list[str]:
        """Return the tests that failed in the last run."""
        log = self.folder / ".failed"
        lines = log.read_text("utf-8").splitlines() if log.is_file() else []
        return [told["test"] for told in map(json.loads, lines) if told["when"] != "collect"]

    def close(self) -> None:
        """End it."""
        with self._server:  # its pipes are closed, and it is waited for
            pass


_OPTIONS = (
    *("-q", "-n0", "-p", "no:cacheprovider", "-m", "not lab and not containers and not versions", "-k", TIMELESS),
    *("-p", "tests.support.failure_log", "--failure-log", ".failed"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # plugins are there already
    *("--hypothesis-seed=0", "--hypothesis-profile=first-failure"),  # an example is not made small
)
_SERVER = """
import contextlib, importlib.metadata, json, os, signal, sys, time, traceback
import fastapi, google.protobuf, httpx, hypothesis, numpy, pytest, sqlalchemy, structlog, uvicorn
for each in importlib.metadata.entry_points(group="pytest11"):
    with contextlib.suppress(ImportError):
        each.load()
for line in sys.stdin:
    limit_s, arguments = json.loads(line)
    child = os.fork()
    if not child:
        os.setsid()
        output = os.open(".output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(output, 1), os.dup2(output, 2)
        try:
            code = pytest.main(arguments)
        except BaseException:
            traceback.print_exc()
            code = 70
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    ends_s, code = time.monotonic() + limit_s, None
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < ends_s:
        time.sleep(0.02)
    if ended[0]:
        code = os.waitstatus_to_exitcode(ended[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended[0]:
        os.waitpid(child, 0)
    print(json.dumps(code), flush=True)
"""


class Copies:
    """Copies of the tracked files as they are now, one for each worker, below one temporary folder."""

    def __init__(self, folder: Path, count: int) -> None:
        """Make `count` copies below `folder`."""
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        self._free: SimpleQueue[Forks] = SimpleQueue()
        self._all: list[Forks] = []
        for number in range(count):
            copy = folder / str(number)
            for path in listed.stdout.splitlines():
                if (ROOT / path).is_file():
                    (copy / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / path, copy / path)
            self._all.append(Forks(copy))
            self._free.put(self._all[-1])

    def run(self, tests: Sequence[str], *, mutant: Mutant | None, limit_s: float, each_s: float) -> Outcome:
        """Run tests on a copy up to the first failure, with a mutant planted; each test may take `each_s`."""
        with self._one() as copy, planted(copy.folder / mutant.path, mutant) if mutant else contextlib.nullcontext():
            return copy.pytest(["-x", f"--timeout={each_s:.0f}", *tests], limit_s)

    def failing(self, tests: Sequence[str], *, each_s: float) -> set[str]:
        """Return those of some tests that fail without a mutant."""
        with self._one() as copy:
            copy.pytest([f"--timeout={each_s:.0f}", *tests], MOST_SECONDS)
            return set(copy.failed())

    def reach(self, room: Room) -> Reach:
        """Run the tests of a room under coverage, and read which of them reaches what.

        Raises:
            SystemExit: They are not green, or do not run.
        """
        with self._one() as copy:
            measured = [f"--cov={module}" for module in room.modules]
            options = ["-x", *measured, "--cov-context=test", "--cov-report=", "--durations=0", "--durations-min=0"]
            ran = copy.pytest([*options, *room.tests], 2 * MOST_SECONDS)
            if ran.code != GREEN:
                shown = ran.output.partition("slowest durations")[0]
                raise SystemExit(f"tests are not green without a mutant:\n{shown[-3000:]}")
            return read_reach(copy.folder / ".coverage", ran.output, copy.folder)

    def close(self) -> None:
        """End their processes."""
        for each in self._all:
            each.close()

    @contextlib.contextmanager
    def _one(self) -> Iterator[Forks]:
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


# ---------------------------------------------------------------------- what became of each


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of one mutant: `how` begins with `killed`, `SURVIVED` or `equivalent`; `by` is who saw it."""

    room: str
    number: int
    mutant: Mutant
    how: str
    by: str = ""
    seconds: float = 0.0

    @property
    def is_killed(self) -> bool:
        """Tell whether some test saw it."""
        return self.how.startswith("killed")

    @property
    def is_equivalent(self) -> bool:
        """Tell whether it is listed as one that changes nothing."""
        return self.how.startswith("equivalent")

    def __str__(self) -> str:
        """Return a line of the report."""
        return f"{self.how:<10} {self.room} #{self.number} {self.mutant}  {self.by} {self.seconds:.0f} s"


def judged_near(mutant: Mutant, tests: Sequence[str], copies: Copies) -> tuple[str, str]:
    """Run the files of tests that are near a mutant; return how it ended, and the test that saw it."""
    if not tests:
        return f"{SURVIVED}: no test is near", ""
    ran = copies.run(tests, mutant=mutant, limit_s=MOST_SECONDS, each_s=LEAST_SECONDS)
    return _how(ran), ran.failed


def judged_by_reach(mutant: Mutant, reach: Reach, copies: Copies) -> tuple[str, str]:
    """Run all tests that reach a mutant; each has some times as long as the slowest took, so that a loop ends soon."""
    reaching = reach.of(mutant.path, lines_of_statement((ROOT / mutant.path).read_text("utf-8"), mutant.line))
    if not reaching:
        return f"{SURVIVED}: no test reaches it", ""
    each_s = LEAST_SECONDS + TIMES_AS_LONG * max(reach.cost([test]) for test in reaching)
    limit_s = LEAST_SECONDS + TIMES_AS_LONG * reach.cost(reaching)
    ran = copies.run(reaching, mutant=mutant, limit_s=limit_s, each_s=each_s)
    return _how(ran), ran.failed


def _how(ran: Outcome) -> str:
    if ran.code is None or "Failed: Timeout" in ran.output:
        return "killed by time"
    if ran.code in {GREEN, NONE_COLLECTED}:
        return SURVIVED
    return "killed" if ran.code == FAILED else f"killed: pytest ended with {ran.code}"


def confirmed(verdicts: Sequence[Verdict], copies: Copies) -> list[Verdict]:
    """Run what has failed once more without mutants: who fails there, too, has seen nothing."""
    tests = sorted({verdict.by for verdict in verdicts if verdict.is_killed and verdict.by})
    failing = copies.failing(tests, each_s=LEAST_SECONDS) if tests else set()
    return [
        replace(verdict, how=f"{SURVIVED}: its test fails without it, too") if verdict.by in failing else verdict
        for verdict in verdicts
    ]


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one line for each room, and one for all: drawn, equivalent, killed, survived, and the rate of the rest."""
    lines = ["| room | drawn | equivalent | killed | survived | rate |", "|---|---|---|---|---|---|"]
    for name in [*dict.fromkeys(verdict.room for verdict in verdicts), "all"]:
        of_room = [verdict for verdict in verdicts if name in {verdict.room, "all"}]
        equivalent, killed = (
            sum(each.is_equivalent for each in of_room),
            sum(each.is_killed for each in of_room),
        )
        planted_ones = len(of_room) - equivalent
        cells = (len(of_room), equivalent, killed, planted_ones - killed, f"{killed / max(1, planted_ones):.0%}")
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return lines


class Judge:
    """Plants mutants and runs tests; what tests reach is found out once a room, when it is asked for first."""

    def __init__(self, copies: Copies, workers: ThreadPoolExecutor, *, is_near: bool) -> None:
        """Take what runs tests; with `is_near` nothing wider is looked at."""
        self._copies, self._workers, self._is_near = copies, workers, is_near
        self._equivalents = known_equivalents()

    def judge(self, chosen: Sequence[tuple[str, int, Mutant]]) -> list[Verdict]:
        """Return what became of each mutant, and print it as it is known."""
        verdicts = list(self._workers.map(self._look_near, chosen))
        if not self._is_near:
            for name in dict.fromkeys(verdict.room for verdict in verdicts if verdict.how.startswith(SURVIVED)):
                reach = self._reach(name)
                open_ones = [each for each in verdicts if each.room == name and each.how.startswith(SURVIVED)]
                looked = dict(
                    zip(open_ones, self._workers.map(lambda each: self._look_wide(each, reach), open_ones), strict=True)  # noqa: B023 - the map is used up before the next room
                )
                verdicts = [looked.get(each, each) for each in verdicts]
        return confirmed(verdicts, self._copies)

    def _look_near(self, place: tuple[str, int, Mutant]) -> Verdict:
        name, number, mutant = place
        reason = next((each.reason for each in self._equivalents if each.is_of(mutant)), "")
        if reason:
            verdict = Verdict(room=name, number=number, mutant=mutant, how=f"equivalent: {reason}")
        else:
            start = time.monotonic()
            how, by = judged_near(mutant, near_tests(mutant.path, ROOMS[name]), self._copies)
            took_s = time.monotonic() - start
            verdict = Verdict(room=name, number=number, mutant=mutant, how=how, by=by, seconds=took_s)
        print(verdict, flush=True)
        return verdict

    def _look_wide(self, verdict: Verdict, reach: Reach) -> Verdict:
        start = time.monotonic()
        how, by = judged_by_reach(verdict.mutant, reach, self._copies)
        verdict = replace(verdict, how=how, by=by, seconds=time.monotonic() - start)
        print(verdict, flush=True)
        return verdict

    def _reach(self, name: str) -> Reach:
        room = ROOMS[name]
        digest = hashlib.sha256()
        for place in (*room.modules, *room.tests):
            for file in sorted((ROOT / place).rglob("*.py")) if (ROOT / place).is_dir() else [ROOT / place]:
                digest.update(file.read_bytes())
        kept = REACHES / f"{name}-{digest.hexdigest()[:16]}.pickle"
        if not kept.is_file():
            print(f"{name}: which test reaches what", flush=True)
            reach = self._copies.reach(room)
            REACHES.mkdir(parents=True, exist_ok=True)
            for older in REACHES.glob(f"{name}-*.pickle"):
                older.unlink()
            kept.write_bytes(pickle.dumps(reach))
        found: Reach = pickle.loads(kept.read_bytes())  # noqa: S301 - written above, below the project's own folder
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, plant, run and report; exits with 1 if the rate is below `--least`, or too many are equivalent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", choices=sorted(ROOMS), help="only this one; may be repeated")
    parser.add_argument("--count", type=int, default=150, help="how many mutants are drawn in all (150)")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn (1)")
    parser.add_argument("--only", help="numbers of one room's mutants, by commas, in place of a draw")
    parser.add_argument("--parallel", type=int, default=2, help="how many run at a time (2)")
    parser.add_argument("--least", type=float, default=0.0, help="the rate below which to fail, between 0 and 1 (0)")
    parser.add_argument("--near", action="store_true", help="only tests named after a module, or that import it")
    parser.add_argument("--list", action="store_true", help="print the places, and plant none")
    given = parser.parse_args(arguments)
    rooms = given.room or [name for name, room in ROOMS.items() if room.is_drawn]
    if given.only or given.list:
        chosen = [(name, number, each) for name in rooms for number, each in enumerate(mutants_of(ROOMS[name]))]
        if given.only:
            chosen = [chosen[int(number)] for number in given.only.split(",")]
    else:
        chosen = drawn(rooms, given.count, given.seed)
    if given.list:
        print(*(f"{name} #{number} {mutant}" for name, number, mutant in chosen), sep="\n")
        return 0
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ThreadPoolExecutor(given.parallel) as workers,
        contextlib.closing(Copies(Path(folder), given.parallel)) as copies,
    ):
        verdicts = Judge(copies, workers, is_near=given.near).judge(chosen)
    survivors = [verdict for verdict in verdicts if verdict.how.startswith(SURVIVED)]
    print("", *survivors, "", *table(verdicts), sep="\n")
    equivalent, killed = (sum(each.is_equivalent for each in verdicts), sum(each.is_killed for each in verdicts))
    is_honest = equivalent <= MOST_EQUIVALENT * len(verdicts)
    return int(killed < given.least * (len(verdicts) - equivalent) or not is_honest)


if __name__ == "__main__":
    raise SystemExit(main())
