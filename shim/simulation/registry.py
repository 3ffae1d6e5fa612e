"""Every simulated scheduler by its name: the one table that the command line, the sweeps and the tests read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shim.simulation.baselines.central import central_fewest_tasks, central_fifo, central_srpt
from shim.simulation.baselines.eagle import eagle
from shim.simulation.baselines.hawk import hawk
from shim.simulation.baselines.least_work_left import central_least_work_left
from shim.simulation.baselines.pigeon import pigeon
from shim.simulation.masters import heddle, megha
from shim.simulation.omega import omega
from shim.simulation.results import RunOutcome
from shim.simulation.run import Run
from shim.simulation.sparrow import sparrow

__all__ = ["SCHEDULERS", "Scheduler"]


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler that can be simulated.

    Attributes:
        simulate: Runs the whole workload of a run and gives what was measured.
        summary: What it is, in one line.
        needs_cut: Whether it treats short jobs and long ones apart: a workload must say where the cut is.
        survives_loss: Whether it goes on when messages are lost; the published ones take the network for perfect.
    """

    simulate: Callable[[Run], RunOutcome]
    summary: str
    survives_loss: bool = False
    needs_cut: bool = False


SCHEDULERS: Mapping[str, Scheduler] = {
    "heddle": Scheduler(
        heddle, "Megha's masters with need-driven offers and learnt durations (or told estimates)", survives_loss=True
    ),
    "megha": Scheduler(
        megha, "Global Masters on stale views, verified by Local Masters; as published", survives_loss=True
    ),
    "sparrow": Scheduler(sparrow("sparrow"), "batch sampling, late binding, cancellation"),
    "sparrow-late-binding": Scheduler(sparrow("sparrow-late-binding"), "Sparrow without cancellation"),
    "sparrow-with-replacement": Scheduler(
        sparrow("sparrow-with-replacement"), "Sparrow as Eagle's simulator has it: a node may be drawn twice"
    ),
    "sparrow-batch": Scheduler(sparrow("sparrow-batch"), "batch sampling, tasks placed at once by queue length"),
    "sparrow-per-task": Scheduler(sparrow("sparrow-per-task"), "two probes for each task on its own"),
    "random": Scheduler(sparrow("random"), "each task to a random worker"),
    "omega": Scheduler(omega("omega"), "parallel schedulers on shared state; resource fit, incremental"),
    "omega-all-or-nothing": Scheduler(omega("omega-all-or-nothing"), "Omega whose transactions fail as a whole"),
    "omega-sequence-numbers": Scheduler(omega("omega-sequence-numbers"), "Omega that refuses any change of a node"),
    "omega-sequence-numbers-all-or-nothing": Scheduler(
        omega("omega-sequence-numbers-all-or-nothing"), "both: the coarsest conflicts"
    ),
    "hawk": Scheduler(
        hawk, "long jobs centrally, short ones by probes, idle workers steal; told estimates", needs_cut=True
    ),
    "eagle": Scheduler(
        eagle, "Hawk whose short tasks avoid long ones, SRPT at the worker; told estimates", needs_cut=True
    ),
    "pigeon": Scheduler(pigeon, "groups with masters, short tasks first; told estimates", needs_cut=True),
    "central-fifo": Scheduler(central_fifo, "perfect knowledge, first come first served"),
    "central-fewest-tasks": Scheduler(central_fewest_tasks, "perfect view, fewest unlaunched tasks first"),
    "central-srpt": Scheduler(central_srpt, "perfect knowledge, least unlaunched work first"),
    "central-least-work-left": Scheduler(
        central_least_work_left, "each task to the queue with the least work; told estimates", needs_cut=True
    ),
}
