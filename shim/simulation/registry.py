"""Every simulated scheduler by its name: the one table that the command line, the sweeps and the tests read."""

from collections.abc import Mapping

from shim.simulation.baselines.central import central_fewest_tasks, central_fifo, central_srpt
from shim.simulation.baselines.eagle import eagle
from shim.simulation.baselines.hawk import hawk
from shim.simulation.baselines.least_work_left import central_least_work_left
from shim.simulation.baselines.pigeon import pigeon
from shim.simulation.run import SimulatedScheduler
from shim.simulation.sparrow import SPARROW_VARIANTS, sparrow

__all__ = ["SCHEDULERS"]

SCHEDULERS: Mapping[str, SimulatedScheduler] = {
    "central-fifo": central_fifo,
    "central-fewest-tasks": central_fewest_tasks,
    "central-srpt": central_srpt,
    "central-least-work-left": central_least_work_left,
    "hawk": hawk,
    "eagle": eagle,
    "pigeon": pigeon,
    **{policy: sparrow(policy) for policy in SPARROW_VARIANTS},
}
