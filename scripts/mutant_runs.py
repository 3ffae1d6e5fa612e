"""How tests are run for `scripts.mutants`: in copies of the tree, by processes that fork themselves for each run."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from scripts.mutant_kinds import Mutant
from scripts.mutant_swaps import NO_SWAP

ROOT = Path(__file__).resolve().parent.parent
MOST_SECONDS = 1200.0
NO_RUN = 70
"""Exit code of a run in which pytest itself broke."""
TIMELESS = "not holds_the_loop and not hundred_thousand"
"""Tests that measure time would fail by coverage or a busy machine, and a mutant would look as if it was seen."""


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
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def pytest(self, arguments: Sequence[str], limit_s: float) -> Outcome:
        """Run pytest; a run that takes longer than `limit_s` is killed with all that it has started."""
        assert self._server.stdin is not None  # noqa: S101 - piped
        assert self._server.stdout is not None  # noqa: S101
        _forget(self.folder)
        self._server.stdin.write(json.dumps([limit_s, [*_OPTIONS, *arguments]]) + "\n")
        self._server.stdin.flush()
        code = json.loads(self._server.stdout.readline())
        output = (self.folder / ".output").read_text("utf-8", errors="replace")
        if code == NO_RUN:
            raise SystemExit(f"pytest does not run:\n{output[-3000:]}")
        return Outcome(code=code, output=output, failed=next(iter(failed_in(self.folder)), ""))

    def close(self) -> None:
        """End it."""
        with self._server:  # its pipes are closed, and it is waited for
            pass


class Collected:
    """A process that has collected the tests of a room, and forks itself for each run (`scripts.mutant_swaps`)."""

    def __init__(self, folder: Path, tests: Sequence[str]) -> None:
        """Start it.

        Raises:
            SystemExit: The tests cannot be collected.
        """
        self.folder, self.of = folder, tuple(tests)
        (asked, write), (read, told) = os.pipe(), os.pipe()
        arguments = [str(asked), str(told), *_OPTIONS, "-x", "--timeout=60", *tests]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "scripts.mutant_swaps", *arguments],
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(asked, told),
        )
        os.close(asked)
        os.close(told)
        self._ask, self._answer = os.fdopen(write, "w"), os.fdopen(read)
        if not self._answer.readline():
            raise SystemExit(f"pytest does not collect {' '.join(tests)}")

    def run(self, tests: Sequence[str], mutant: Mutant | None, limit_s: float, each_s: float) -> Outcome:
        """Run tests in this order up to the first failure; `NO_SWAP` if the mutant cannot be put into what is there."""
        _forget(self.folder)
        file = str(self.folder.resolve() / mutant.path) if mutant else ""
        line, planted_text = (mutant.line, mutant.planted) if mutant else (0, "")
        asked = {"tests": list(tests), "limit_s": limit_s, "each_s": each_s}
        print(json.dumps(asked | {"file": file, "line": line, "planted": planted_text}), file=self._ask, flush=True)
        code = json.loads(self._answer.readline())
        return Outcome(
            code=code, output="\n".join(_reasons(self.folder)), failed=next(iter(failed_in(self.folder)), "")
        )

    def close(self) -> None:
        """End it."""
        self._ask.close()
        self._answer.close()
        self._server.wait()


def _environment(folder: Path) -> Mapping[str, str]:
    return os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def _forget(folder: Path) -> None:
    (folder / ".failed").unlink(missing_ok=True)


def _log(folder: Path) -> list[Mapping[str, str]]:
    log = folder / ".failed"
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []


def failed_in(folder: Path) -> list[str]:
    """Return the tests that failed in the last run below a folder."""
    return [told["test"] for told in _log(folder) if told["when"] != "collect"]


def _reasons(folder: Path) -> list[str]:
    return [told["reason"] for told in _log(folder)]


_OPTIONS = (
    *("-q", "-n0", "-p", "no:cacheprovider", "-m", "not lab and not containers and not versions", "-k", TIMELESS),
    *("-p", "tests.support.failure_log", "--failure-log", ".failed"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # plugins are there already
    *("--hypothesis-seed=0", "--hypothesis-profile=first-failure"),  # an example is not made small
)
_SERVER = """
import contextlib, importlib.metadata, json, os, sys, traceback
import fastapi, google.protobuf, httpx, hypothesis, numpy, pytest, sqlalchemy, structlog, uvicorn
for each in importlib.metadata.entry_points(group="pytest11"):
    with contextlib.suppress(ImportError):
        each.load()
from scripts.mutant_swaps import waited
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
    print(json.dumps(waited(child, limit_s)), flush=True)
"""


class Copies:
    """Copies of the tracked files as they are now, one for each worker, below one temporary folder."""

    def __init__(self, folder: Path, count: int) -> None:
        """Make `count` copies below `folder`."""
        self.count = count
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        self._free: SimpleQueue[Forks] = SimpleQueue()
        self._all: list[Forks] = []
        self._collected: dict[Path, Collected] = {}
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

    def run_collected(
        self, room: Sequence[str], tests: Sequence[str], *, mutant: Mutant, limit_s: float, each_s: float
    ) -> Outcome:
        """Run tests of a room, by name or file, as `run` does; collected once, a run costs what its tests cost."""
        with self._one() as copy:
            collected = self._collected.get(copy.folder)
            if collected is None or collected.of != tuple(room):
                if collected is not None:
                    collected.close()
                collected = self._collected[copy.folder] = Collected(copy.folder, room)
            ran = collected.run(tests, mutant, limit_s, each_s)
        return self.run(tests, mutant=mutant, limit_s=limit_s, each_s=each_s) if ran.code == NO_SWAP else ran

    def failing(self, tests: Sequence[str], *, each_s: float) -> set[str]:
        """Return those of some tests that fail without a mutant."""
        with self._one() as copy:
            copy.pytest([f"--timeout={each_s:.0f}", *tests], MOST_SECONDS)
            return set(failed_in(copy.folder))

    @contextlib.contextmanager
    def covered(self, modules: Sequence[str], tests: Sequence[str]) -> Iterator[tuple[Path, str, list[str]]]:
        """Run tests under coverage of modules, with the test as context.

        Its folder, with the file of data until the next run there, what pytest printed, and the tests that failed.

        Raises:
            SystemExit: They do not run.
        """
        with self._one() as copy:
            measured = [f"--cov={module}" for module in modules]
            options = [*measured, "--cov-context=test", "--cov-report=", "--durations=0", "--durations-min=0"]
            ran = copy.pytest([*options, *tests], 3 * MOST_SECONDS)
            if ran.code not in {0, 1, 5}:
                shown = ran.output.partition("slowest durations")[0]
                raise SystemExit(f"tests do not run without a mutant:\n{shown[-3000:]}")
            yield copy.folder, ran.output, failed_in(copy.folder)

    def close(self) -> None:
        """End their processes."""
        for collected in self._collected.values():
            collected.close()
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
