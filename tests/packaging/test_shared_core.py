"""What is simulated is what runs: how many lines of scheduling code production and simulation share.

Counted are the lines of pure modules in the rooms that schedule, as imports reach them: from what assembles a Heddle,
and from the simulator. The goal is that each side shares 90 % of what it reaches.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("shim", "adapters", "fairness", "altruism")
ROOMS = frozenset(
    {"global_master", "local_master", "relay", "policies", "scheduling", "multicluster", "queues", "peers", "shares"}
)
SHELLS = frozenset({"asyncio", "sqlalchemy", "aiohttp", "structlog", "prometheus_client", "pydantic"})
NOT_SCHEDULING = ("shim.simulation", "shim.services", "shim.server", "shim.store", "shim.cli")
NOT_PRODUCTION = ("shim.simulation", "shim.cli", "shim.lab")
NOT_SIMULATION = ("shim.cli",)

YARN_SIM = ("shim.simulation.yarn_sim", "shim.simulation.cluster")
"""The world that assembles production itself: with it, everything that runs is simulated, whatever else decides."""

LEAST = {
    ("all worlds", "production"): 0.90,
    ("all worlds", "simulation"): 0.90,
    ("direct", "production"): 0.38,
    ("direct", "simulation"): 0.78,
}
"""What each side shared when it was last looked at, rounded down: raise it up to 0.90, never lower it.

`direct` leaves yarn-sim out: it tells how much of what real clusters run is behind the published figures.
"""


def modules():
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if "_pb2" not in path.name:
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                found[name] = ast.parse(path.read_text()), len(path.read_text().splitlines())
    return found


MODULES = modules()


@cache
def imports(module):
    """Modules of the project that a module imports, by whichever way of writing it."""
    found = set()
    for node in ast.walk(MODULES[module][0]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            found |= submodules or ({node.module} & MODULES.keys())
    return found


def is_pure(module):
    """Shells are one side's alone, and should be."""
    nodes = list(ast.walk(MODULES[module][0]))
    roots = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    roots |= {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return not roots & SHELLS


@cache
def schedules(module):
    if module.startswith("altruism"):
        return True
    in_room = bool(ROOMS & set(module.split("."))) or module == "shim.domain.messages"
    return in_room and not module.startswith(NOT_SCHEDULING) and is_pure(module)


def reached(starts, stops):
    seen, ahead = set(), list(starts)
    while ahead:
        module = ahead.pop()
        if module not in seen and not module.startswith(stops):
            seen.add(module)
            ahead += imports(module)
    return {module for module in seen if schedules(module)}


def sides_of(left_out=()):
    simulators = [name for name in MODULES if name.startswith("shim.simulation") and not name.startswith(left_out)]
    return {
        "production": reached([name for name in MODULES if name.startswith("shim.app")], NOT_PRODUCTION),
        "simulation": reached(simulators, (*NOT_SIMULATION, *left_out)),
    }


@pytest.fixture(scope="module")
def worlds():
    return {"all worlds": sides_of(), "direct": sides_of(YARN_SIM)}


@pytest.fixture(scope="module")
def sides(worlds):
    return worlds["direct"]


def lines(found):
    return sum(MODULES[module][1] for module in found)


@pytest.mark.parametrize(("world", "side"), LEAST)
def test_production_and_simulation_share_their_scheduling(worlds, world, side):
    sides = worlds[world]
    both = sides["production"] & sides["simulation"]
    counted = sides[side]
    shared = lines(both) / lines(counted)
    alone = "\n".join(f"{MODULES[module][1]:5} {module}" for module in sorted(counted - both))
    assert shared >= LEAST[world, side], f"{side} shares {shared:.1%} of its scheduling; alone it has\n{alone}"


def test_the_cycle_runs_on_both_sides(sides):
    cycle = {f"shim.scheduling.{name}" for name in ("cycle", "snapshot", "plan", "policy", "draft")}
    assert cycle <= sides["production"] & sides["simulation"]
