"""A plugin of pytest for runs of mutants: collects tests once, then forks itself for each mutant.

`python -m scripts.mutant_swaps IN OUT TESTS...` reads lines of JSON from the pipe IN and writes pytest's exit code for
each to the pipe OUT; null if the run took too long, `NO_SWAP` if the mutant cannot be put into what is imported. In the
fork, functions that the mutant changes get its code: whoever has imported them has the mutant, too.
"""

import contextlib
import gc
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest

NO_SWAP = 71
"""Exit code of a run that did not begin: the function is not imported, or its mutant closes over something else."""


class SwapError(ValueError):
    """A mutant that cannot be put into what is imported."""


class Functions:
    """All functions that are imported, by file and line."""

    def __init__(self) -> None:
        self._by_place: dict[tuple[str, int], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                self._by_place[each.__code__.co_filename, each.__code__.co_firstlineno].append(each)

    def swap(self, file: Path, line: int, planted: str) -> None:
        """Give the function around a line of a file the code that it has in a changed text of it.

        Raises:
            SwapError: It is not imported, or is another kind of function in that text.
        """
        texts = (file.read_text("utf-8"), planted)
        now, then = (list(_outermost(compile(text, str(file), "exec"))) for text in texts)
        at = max((at for at, code in enumerate(now) if code.co_firstlineno <= line), default=None)
        if at is None or len(now) != len(then):
            raise SwapError(f"no function is at {file}:{line}")
        found = self._by_place.get((str(file), now[at].co_firstlineno), [])
        if not found:
            raise SwapError(f"{now[at].co_qualname} of {file} is not imported")
        for each in found:
            try:
                each.__code__ = then[at]
            except ValueError as e:
                raise SwapError(f"{now[at].co_qualname} of {file} closes over something else") from e


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions of a module and of its classes, in the order of their lines."""
    found = [each for each in code.co_consts if isinstance(each, CodeType)]
    for each in sorted(found, key=lambda each: each.co_firstlineno):
        if each.co_flags & 0x02:  # a function's own names: CO_NEWLOCALS; a class has none
            if not each.co_name.startswith("<"):
                yield each
        else:
            yield from _outermost(each)


class ForkEach:
    """Runs some of the collected tests for each line of a pipe, in a fork."""

    def __init__(self, asked: int, told: int) -> None:
        self._asked, self._told = os.fdopen(asked), os.fdopen(told, "w")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Serve; in a fork let pytest go on with what was asked for."""
        gc.unfreeze()  # what tests have frozen is not among `gc.get_objects`
        functions, by_name = Functions(), defaultdict[str, list[pytest.Item]](list)
        for item in session.items:
            by_name[item.nodeid].append(item)
            by_name[item.nodeid.partition("::")[0]].append(item)
        gc.collect()
        gc.freeze()
        print(json.dumps(len(session.items)), file=self._told, flush=True)
        for line in self._asked:
            asked = json.loads(line)
            child = os.fork()
            if not child:
                os.setsid()
                session.items[:] = [item for test in asked["tests"] for item in by_name.get(test, ())]
                session.config._env_timeout = asked["each_s"]  # type: ignore[attr-defined]  # noqa: SLF001 - pytest-timeout's
                if asked["file"]:
                    try:
                        functions.swap(Path(asked["file"]), asked["line"], asked["planted"])
                    except SwapError:
                        os._exit(NO_SWAP)
                return None
            print(json.dumps(waited(child, asked["limit_s"])), file=self._told, flush=True)
        return True


def waited(child: int, limit_s: float) -> int | None:
    """Wait for a process that leads a group, and end what is left of the group: its exit code, or none in time."""
    ends_s, code = time.monotonic() + limit_s, None
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < ends_s:
        time.sleep(0.01)
    if ended[0]:
        code = os.waitstatus_to_exitcode(ended[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended[0]:
        os.waitpid(child, 0)
    return code


def main(arguments: Sequence[str]) -> None:
    """Collect, and serve until the pipe ends."""
    asked, told, *tests = arguments
    os._exit(pytest.main(tests, plugins=[ForkEach(int(asked), int(told))]))


if __name__ == "__main__":
    main(sys.argv[1:])
