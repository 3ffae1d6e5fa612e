"""A child process that solves: a hung, slow or dead solver costs its time limit, never a cycle.

The child is started at the first problem and kept. When an answer is late, or the pipe breaks, it is killed; the next
problem starts a new one.
"""

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from shim.scheduling.solvers import SOLVERS, load_libraries

_GRACE = 0.8
"""Part of the limit that the solver itself is told, so that what it has found so far still comes through."""
_START_S = 20.0
_READY = "ready"
_YIELDS = 10
"""Niceness of a child whose answers nobody waits for."""


def solve_here(name: str, arrays: Mapping[str, object], limit_s: float) -> object | None:
    """Solve in this process: for simulations, where nothing else has to go on."""
    return SOLVERS[name](arrays, limit_s)


class SolverChild:
    """Solves in a child process.

    Args:
        work: What the child runs: `serve_solvers` if nothing is said, or `serve_in_shadow`; tests hand in solvers that
            hang, die or answer rubbish.
    """

    def __init__(self, work: Callable[[Connection], None] | None = None) -> None:
        self._work = work or serve_solvers
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._numbers = 0
        self.killed = 0

    @property
    def pid(self) -> int | None:
        """Process id of the child; None if there is none."""
        return None if self._process is None else self._process.pid

    def solve(self, name: str, arrays: Mapping[str, object], limit_s: float) -> object | None:
        """Give a problem to the child; None if there is no answer in time."""
        try:
            pipe = self._start()
            self._numbers += 1
            pipe.send((self._numbers, name, dict(arrays), limit_s * _GRACE))
            ends_at = time.monotonic() + limit_s
            while (left_s := ends_at - time.monotonic()) > 0 and pipe.poll(left_s):
                number, answer = pipe.recv()
                if number == self._numbers:
                    found: object = answer
                    return found
        except (OSError, EOFError, ValueError, TypeError):
            pass
        self._give_up()
        return None

    def kill(self) -> None:
        """Kill the child, from whatever thread: whoever waits for its answer has none."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        if self._process is not None:
            self._give_up()
            self.killed -= 1

    def _start(self) -> Connection:
        """Find the pipe to a child that runs; a new one is waited for until its libraries are loaded.

        Raises:
            OSError: If it does not come up.
        """
        if self._pipe is not None and self._process is not None and self._process.is_alive():
            return self._pipe
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=self._work, args=(theirs,), daemon=True, name="heddle-solver")
        process.start()
        theirs.close()
        self._process, self._pipe = process, ours
        if not ours.poll(_START_S) or ours.recv() != _READY:
            raise OSError("the solver's process did not start")
        return ours

    def _give_up(self) -> None:
        self.killed += 1
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None


class SolverBeside:
    """A child that solves, for an event loop: one problem after the other, while everything else goes on.

    The child comes up with the first problem, which may have no answer in time for that reason.

    Args:
        child: Made for this; it is used from one thread alone.
    """

    def __init__(self, child: SolverChild | None = None) -> None:
        self._child = child or SolverChild()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="heddle-solver")

    async def solve(self, name: str, arrays: Mapping[str, object], limit_s: float) -> object | None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limit_s):
                return await loop.run_in_executor(self._thread, self._child.solve, name, dict(arrays), limit_s)
        except TimeoutError:
            return None

    def close(self) -> None:
        """End the child; what it works on has no answer."""
        self._child.kill()
        self._thread.submit(self._child.close)
        self._thread.shutdown(wait=False)


def serve_solvers(pipe: Connection) -> None:
    """Answer problems until the pipe closes: the child's main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is its parent's
    load_libraries()
    pipe.send(_READY)
    while True:
        try:
            number, name, arrays, limit_s = pipe.recv()
        except EOFError:
            return
        answer: Any = None
        try:
            answer = SOLVERS[name](arrays, limit_s)
        except Exception:  # noqa: BLE001 - whatever a solver raises: there is no answer
            answer = None
        pipe.send((number, answer))


def serve_in_shadow(pipe: Connection) -> None:
    """The same for policies in the shadow: everything else has the processor first."""
    os.nice(_YIELDS)
    serve_solvers(pipe)
