"""Solvers by name: arrays in, arrays out. They run in a child process, which may be killed at any moment.

SciPy (HiGHS) is loaded when it is first needed: it comes with the extra `solvers`. Without it every policy keeps its
greedy plan.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from shim.scheduling.durations import FloatArray

SolveFunction = Callable[[str, Mapping[str, object], float], object | None]
"""From a solver's name, its arrays and a limit in seconds to an answer; None if there is none in time."""

_NEARLY = 1e-6
_MOST_NODES = 20_000


def load_libraries() -> bool:
    """Load what solvers need, so that the first problem does not wait for it; tell whether it is installed."""
    try:
        import scipy.optimize  # noqa: PLC0415 - the extra `solvers`
        import scipy.sparse  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def min_cost_flow(arrays: Mapping[str, Any], limit_s: float) -> FloatArray | None:
    """Find the cheapest flow that meets every supply; None if there is none, or not in time.

    `tail`, `head`, `capacity` and `cost` are arrays of shape (n_arcs,), `supply` of shape (n_nodes,) sums up to zero.
    The answer has the flow of each arc, whole numbers: vertices of a network's polytope are whole.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - the extra `solvers`
    from scipy.sparse import coo_array  # noqa: PLC0415

    tail, head, supply = (np.asarray(arrays[name], dtype=np.int64) for name in ("tail", "head", "supply"))
    capacity, cost = (np.asarray(arrays[name], dtype=np.float64) for name in ("capacity", "cost"))
    arcs = np.arange(len(tail))
    signs = np.repeat([1.0, -1.0], len(tail))
    rows, columns = np.concatenate((tail, head)), np.concatenate((arcs, arcs))
    balance = coo_array((signs, (rows, columns)), shape=(len(supply), len(tail))).tocsr()
    bounds = np.stack((np.zeros(len(tail)), capacity), axis=1)
    options = {"time_limit": limit_s, "presolve": False}  # it takes longer than the simplex method on these graphs
    found = linprog(cost, A_eq=balance, b_eq=supply, bounds=bounds, method="highs-ds", options=options)
    if found.x is None or not found.success:
        return None
    flow: FloatArray = np.rint(found.x)
    return flow if np.allclose(flow, found.x, atol=_NEARLY) else None


def mixed_integer(arrays: Mapping[str, Any], limit_s: float) -> FloatArray | None:
    """Find the largest value of a linear objective; None if nothing was found in time.

    `value` of shape (n,), a matrix as `rows`, `columns`, `entries` with `low` and `high` bounds of each row, `least`
    and `most` of each variable, `is_whole` flags. The answer is the variables, then the objective's bound.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - the extra `solvers`
    from scipy.sparse import coo_array  # noqa: PLC0415

    value = np.asarray(arrays["value"], dtype=np.float64)
    low, high = np.asarray(arrays["low"], dtype=np.float64), np.asarray(arrays["high"], dtype=np.float64)
    at = (np.asarray(arrays["rows"], dtype=np.int64), np.asarray(arrays["columns"], dtype=np.int64))
    matrix = coo_array((np.asarray(arrays["entries"], dtype=np.float64), at), shape=(len(low), len(value))).tocsr()
    rows = LinearConstraint(matrix, low, high)  # pyright: ignore[reportArgumentType] - arrays will do
    bounds = Bounds(np.asarray(arrays["least"]), np.asarray(arrays["most"]))  # pyright: ignore[reportArgumentType]
    found = milp(
        -value,
        constraints=rows,
        bounds=bounds,
        integrality=np.asarray(arrays["is_whole"], dtype=np.int64),
        options={
            "time_limit": limit_s,
            "mip_rel_gap": float(arrays.get("gap", _NEARLY)),
            "node_limit": int(arrays.get("nodes", _MOST_NODES)),
        },
    )
    if found.x is None:
        return None
    bound = -found.mip_dual_bound if found.mip_dual_bound is not None else -found.fun
    answer: FloatArray = np.append(found.x, bound)
    return answer


SOLVERS: Mapping[str, Callable[[Mapping[str, Any], float], FloatArray | None]] = MappingProxyType(
    {"min-cost-flow": min_cost_flow, "mixed-integer": mixed_integer}
)
"""By name."""
