"""A solver of optimisation problems that works beside everything else."""

from collections.abc import Awaitable, Callable, Mapping

Solve = Callable[[str, Mapping[str, object], float], Awaitable[object | None]]
"""From a solver's name (`shim.scheduling.solvers.SOLVERS`), its arrays and a limit in seconds to an answer.

None if there is none in time, whatever became of it; nothing is raised.
"""
