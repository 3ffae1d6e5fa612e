"""A solver for tests that run cycles by hand: it answers, or has no answer, before the cycle goes on."""

import asyncio

from shim.scheduling.solvers import SOLVERS


class SolverInStep:
    """Solves where it is called.

    Args:
        has_answer: Says of each problem whether it is solved in time.

    Attributes:
        asked: Names of the solvers that were asked, in order.
    """

    def __init__(self, has_answer=lambda: True):
        self.asked = []
        self._has_answer = has_answer

    async def solve(self, name, arrays, limit_s):  # noqa: ARG002 - see `shim.ports.solver.Solve`
        """See `shim.ports.solver.Solve`."""
        self.asked.append(name)
        return SOLVERS[name](arrays, 20.0) if self._has_answer() else None

    def run_cycle(self, cycles, queue):
        """Run one cycle of a queue, its solver's answer waited for."""
        asyncio.run(self._run_cycle(cycles, queue))

    async def _run_cycle(self, cycles, queue):
        if cycles.awaits_answer(queue):
            while not cycles.solves.has_answer(queue):  # noqa: ASYNC110 - it is done in a few turns of this loop
                await asyncio.sleep(0)
        cycles.cycle(queue)
