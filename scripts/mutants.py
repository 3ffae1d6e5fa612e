"""Plant small bugs, one at a time, and report which of them the tests of `check` and integration see.

`python -m scripts.mutants --seed 1 --count 150` draws mutants of the rooms where a small bug costs most: as many of
each room, and of each kind (`scripts.mutant_kinds`). Each is planted alone in a copy of the tree. First run the tests
that are named after its module or import it, then all others of the room; of both those that reach its statement,
cheapest first, up to the first failure. What failed is run once more without a mutant: a test that fails there, too,
has seen nothing. Mutants that change nothing are listed in `mutants_equivalent.json`, each with the reason: they are
not run. Working files are never written: each worker has a copy of its own, below a temporary folder.

    python -m scripts.mutants --seed 1 --count 150
    python -m scripts.mutants --seed 1 --count 30 --room submission   # or several rooms
    python -m scripts.mutants --room submission --list                # every place, with its number
    python -m scripts.mutants --room submission --only 17,40          # these, after a test for them
    python -m scripts.mutants --room identity --within 'sessions.py Sessions'  # all of some functions
    python -m scripts.mutants --seed 1 --near                         # the tests near each, whatever reaches it
"""

import argparse
import ast
import contextlib
import hashlib
import json
import pickle
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from coverage import CoverageData

from scripts.mutant_kinds import KINDS, Mutant, mutants
from scripts.mutant_runs import MOST_SECONDS, ROOT, Copies, Outcome

EQUIVALENT = ROOT / "scripts" / "mutants_equivalent.json"
MOST_EQUIVALENT = 0.05
REACHES = ROOT / ".heddle" / "mutants"
"""What tests reach, by room: kept until a module or a test of the room changes."""
LEAST_SECONDS = 30.0
TIMES_AS_LONG = 10
GREEN, FAILED, NONE_COLLECTED = 0, 1, 5
"""Exit codes of a run: all passed, one failed, there are no tests."""
SURVIVED = "SURVIVED"


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
            "tests/unit/domain/test_wishes.py",
            "tests/unit/federation/test_administration.py",
            "tests/unit/queues/test_admission.py",
            "tests/unit/queues/test_container_limits.py",
            "tests/property/test_submission_machine.py",
            "tests/property/test_waiting_machine.py",
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
            "tests/unit/app/test_hardening.py",
            "tests/unit/app/test_reloading.py",
            "tests/unit/app/test_tls.py",
            "tests/unit/telemetry",
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
            "tests/property/test_application_columns.py",
            "tests/property/test_hostile_messages.py",
            "tests/property/test_hostile_numbers.py",
            "tests/property/test_report_streams.py",
            "tests/property/test_secret_rotation.py",
            "tests/unit/adapters/yarn",
            "tests/unit/federation",
            "tests/unit/queues/test_usage.py",
            "tests/unit/submission",
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
        tests=("tests/unit/server/rest", "tests/integration/rest"),
    ),
    "identity": Room(
        modules=("shim/identity",),
        tests=(
            "tests/unit/identity",
            "tests/property/test_secret_rotation.py",
            "tests/unit/server/rpc",
            "tests/unit/server/rest",
            "tests/integration/rest",
            "tests/integration/rpc/test_sockets.py",
            "tests/integration/rpc/test_token_logins.py",
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
        modules=("shim/multicluster",),
        tests=("tests/unit/multicluster", "tests/unit/peers/test_launches.py", "tests/property"),
        is_drawn=False,
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
        """Return whether a mutant is this one."""
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
        return [test for test in self.tests() if test in found]

    def cost(self, tests: Sequence[str]) -> float:
        """Return how many seconds some tests took together."""
        return sum(self.seconds[test] for test in tests)

    def is_at_import(self, path: str, lines: range) -> bool:
        """Return whether one of the lines runs when its module is imported, or tests are collected."""
        ran = self.by_line.get(path, {})
        return any(AT_IMPORT in ran.get(line, frozenset()) for line in lines)

    def renewed(self, files: set[str], newer: "Reach") -> "Reach":
        """Return what tests reach now that those in some files were run anew."""

        def stays(test: str) -> bool:
            return test.partition("::")[0] not in files

        by_line: dict[str, dict[int, frozenset[str]]] = {}
        for old, new in ((self.by_line, False), (newer.by_line, True)):
            for path, ran in old.items():
                for line, tests in ran.items():
                    of_path = by_line.setdefault(path, {})
                    kept = tests if new else frozenset(filter(stays, tests))
                    of_path[line] = of_path.get(line, frozenset()) | kept
        seconds = {test: took for test, took in self.seconds.items() if stays(test)} | dict(newer.seconds)
        return Reach(seconds=seconds, by_line=by_line)

    def within(self, modules: Sequence[str], files: set[str]) -> "Reach":
        """Return what the tests in some files reach of some modules."""
        return self._part(
            lambda path: any(Path(path).is_relative_to(each) for each in modules),
            lambda test: test.partition("::")[0] in files,
        )

    def without(self, tests: Iterable[str]) -> "Reach":
        """Return what all but some tests reach."""
        left_out = set(tests)
        return self._part(lambda _: True, lambda test: test not in left_out)

    def _part(self, has_path: Callable[[str], bool], has_test: Callable[[str], bool]) -> "Reach":
        def part(tests: frozenset[str]) -> frozenset[str]:
            return frozenset(test for test in tests if test == AT_IMPORT or has_test(test))

        return Reach(
            seconds={test: took for test, took in self.seconds.items() if has_test(test)},
            by_line={
                path: {line: part(tests) for line, tests in ran.items()}
                for path, ran in self.by_line.items()
                if has_path(path)
            },
        )


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
        """Return whether some test saw it."""
        return self.how.startswith("killed")

    @property
    def is_equivalent(self) -> bool:
        """Return whether it is listed as one that changes nothing."""
        return self.how.startswith("equivalent")

    def __str__(self) -> str:
        """Return a line of the report."""
        return f"{self.how:<10} {self.room} #{self.number} {self.mutant}  {self.by} {self.seconds:.0f} s"


def judged_near(mutant: Mutant, tests: Sequence[str], copies: Copies, collected: Room | None = None) -> tuple[str, str]:
    """Run the files of tests that are near a mutant; return how it ended, and the test that saw it.

    With a room whose tests are collected those run, and all by a mutant's file only if they see nothing:
    a function may have run when its module was imported.
    """
    if not tests:
        return f"{SURVIVED}: no test is near", ""
    if collected is not None:
        ran = copies.run_collected(collected.tests, tests, mutant=mutant, limit_s=MOST_SECONDS, each_s=LEAST_SECONDS)
        if not (how := _how(ran)).startswith(SURVIVED):
            return how, ran.failed
    ran = copies.run(tests, mutant=mutant, limit_s=MOST_SECONDS, each_s=LEAST_SECONDS)
    return _how(ran), ran.failed


def judged_by_reach(mutant: Mutant, reach: Reach, room: Room, copies: Copies) -> tuple[str, str]:
    """Run all tests that reach a mutant; each has some times as long as the slowest took, so that a loop ends soon."""
    lines = lines_of_statement((ROOT / mutant.path).read_text("utf-8"), mutant.line)
    reaching = reach.of(mutant.path, lines)
    how, by = f"{SURVIVED}: no test reaches it", ""
    if reaching:
        near = set(near_tests(mutant.path, room))
        reaching.sort(key=lambda test: test.partition("::")[0] not in near)  # they see most, and the others cost more
        each_s = LEAST_SECONDS + TIMES_AS_LONG * max(reach.cost([test]) for test in reaching)
        limit_s = LEAST_SECONDS + TIMES_AS_LONG * reach.cost(reaching)
        ran = copies.run_collected(room.tests, reaching, mutant=mutant, limit_s=limit_s, each_s=each_s)
        how, by = _how(ran), ran.failed
    if how.startswith(SURVIVED) and reach.is_at_import(mutant.path, lines):
        return judged_near(mutant, near_tests(mutant.path, room), copies)
    return how, by


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
    """Plants mutants and runs tests; what tests reach is found out once a room, and again for tests that change."""

    def __init__(
        self, rooms: Mapping[str, Room], copies: Copies, workers: ThreadPoolExecutor, *, is_near: bool
    ) -> None:
        """Take what runs tests; with `is_near` the tests near a mutant are run, whatever reaches it."""
        self._rooms, self._copies, self._workers, self._is_near = rooms, copies, workers, is_near
        self._equivalents = known_equivalents()

    def judge(self, chosen: Sequence[tuple[str, int, Mutant]]) -> list[Verdict]:
        """Return what became of each mutant, and print it as it is known."""
        verdicts = list[Verdict]()
        names = list(dict.fromkeys(name for name, _, _ in chosen))
        reaches = {} if self._is_near else self._reaches(names)
        for name in names:
            of_room = [place for place in chosen if place[0] == name]
            verdicts += self._workers.map(lambda place: self._judged(place, reaches.get(place[0])), of_room)
        return confirmed(verdicts, self._copies)

    def _judged(self, place: tuple[str, int, Mutant], reach: Reach | None) -> Verdict:
        name, number, mutant = place
        reason = next((each.reason for each in self._equivalents if each.is_of(mutant)), "")
        start, by = time.monotonic(), ""
        if reason:
            how = f"equivalent: {reason}"
        elif reach is None:
            how, by = judged_near(mutant, near_tests(mutant.path, self._rooms[name]), self._copies, self._rooms[name])
        else:
            how, by = judged_by_reach(mutant, reach, self._rooms[name], self._copies)
        took_s = time.monotonic() - start
        verdict = Verdict(room=name, number=number, mutant=mutant, how=how, by=by, seconds=took_s)
        print(verdict, flush=True)
        return verdict

    def _reaches(self, names: Sequence[str]) -> Mapping[str, Reach]:
        """Return what the tests of each room reach; those of files that have not changed since the last time as then.

        Most files are the tests of several rooms: they run once for all, some on each copy.
        """
        kept = {name: _Kept.of(name, self._rooms[name]) for name in names}
        changed = {name: each.changed() for name, each in kept.items()}
        run = sorted({file for files in changed.values() for file in files if (ROOT / file).is_file()})
        modules = sorted({module for name in names for module in self._rooms[name].modules})
        newer = Reach(seconds={}, by_line={})
        if run:
            print(f"what {len(run)} files of tests reach", flush=True)
            parts = [part for at in range(self._copies.count) if (part := run[at :: self._copies.count])]
            for part, found in zip(
                parts, self._workers.map(lambda part: self._covered(modules, part), parts), strict=True
            ):
                newer = newer.renewed(set(part), found)
        for name, files in changed.items():
            if files:
                kept[name].renew(files, newer.within(self._rooms[name].modules, files))
        return {name: each.reach for name, each in kept.items()}

    def _covered(self, modules: Sequence[str], tests: Sequence[str]) -> Reach:
        with self._copies.covered(modules, tests) as (folder, output, failed):
            if failed:
                print("red without a mutant, so left out:", *failed, sep="\n    ", flush=True)
            return read_reach(folder / ".coverage", output, folder).without(failed)


@dataclass(kw_only=True)
class _Kept:
    """What the tests of a room reached the last time, and the digests of files then and now."""

    file: Path
    modules: str
    tests: Mapping[str, str]
    tests_then: Mapping[str, str]
    reach: Reach

    @classmethod
    def of(cls, name: str, room: Room) -> "_Kept":
        """Read it; nothing is known where a module of the room has changed."""
        file = REACHES / f"{name}-{_short_digest(room)}.pickle"
        modules = _digest(file for place in room.modules for file in _sources(ROOT / place))
        tests = {
            file.relative_to(ROOT).as_posix(): _digest([file])
            for test in room.tests
            for file in _test_files(ROOT / test)
        }
        tests_then, reach = dict[str, str](), Reach(seconds={}, by_line={})
        if file.is_file():
            last = pickle.loads(file.read_bytes())  # noqa: S301 - written below, in the project's own folder
            if last[0] == modules:
                tests_then, reach = last[1:]
        return cls(file=file, modules=modules, tests=tests, tests_then=tests_then, reach=reach)

    def changed(self) -> set[str]:
        """Return the files of tests that are not as they were, or are gone."""
        return {test for test in {**self.tests_then, **self.tests} if self.tests_then.get(test) != self.tests.get(test)}

    def renew(self, files: set[str], newer: Reach) -> None:
        """Take what files of tests reach now in place of what they did, and keep it."""
        self.reach = self.reach.renewed(files, newer)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(pickle.dumps((self.modules, self.tests, self.reach)))


def _short_digest(room: Room) -> str:
    return hashlib.sha256(repr(room).encode()).hexdigest()[:8]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _sources(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, plant, run and report; exits with 1 if the rate is below `--least`, or too many are equivalent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", choices=sorted(ROOMS), help="only this one; may be repeated")
    parser.add_argument("--count", type=int, default=150, help="how many mutants are drawn in all (150)")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn (1)")
    parser.add_argument("--only", help="numbers of one room's mutants, by commas, in place of a draw")
    parser.add_argument(
        "--within", help="all of the functions that this pattern finds in `path name`, in place of a draw"
    )
    parser.add_argument("--tests", action="append", help="look at these alone, in place of a room's; may be repeated")
    parser.add_argument("--parallel", type=int, default=2, help="how many run at a time (2)")
    parser.add_argument("--least", type=float, default=0.0, help="the rate below which to fail, between 0 and 1 (0)")
    parser.add_argument("--near", action="store_true", help="only tests named after a module, or that import it")
    parser.add_argument("--list", action="store_true", help="print the places, and plant none")
    given = parser.parse_args(arguments)
    rooms = given.room or [name for name, room in ROOMS.items() if room.is_drawn]
    if given.only or given.list or given.within:
        chosen = [(name, number, each) for name in rooms for number, each in enumerate(mutants_of(ROOMS[name]))]
        if given.only:
            chosen = [chosen[int(number)] for number in given.only.split(",")]
        if given.within:
            chosen = [each for each in chosen if re.search(given.within, f"{each[2].path} {each[2].within}")]
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
        rooms_then = {name: replace(room, tests=tuple(given.tests or room.tests)) for name, room in ROOMS.items()}
        verdicts = Judge(rooms_then, copies, workers, is_near=given.near).judge(chosen)
    survivors = [verdict for verdict in verdicts if verdict.how.startswith(SURVIVED)]
    print("", *survivors, "", *table(verdicts), sep="\n")
    equivalent, killed = (sum(each.is_equivalent for each in verdicts), sum(each.is_killed for each in verdicts))
    is_honest = equivalent <= MOST_EQUIVALENT * len(verdicts)
    return int(killed < given.least * (len(verdicts) - equivalent) or not is_honest)


if __name__ == "__main__":
    raise SystemExit(main())
