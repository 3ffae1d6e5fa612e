"""Every simulated scheduler by its name: the one table that the command line, the sweeps and the tests read."""

from collections.abc import Mapping

from shim.simulation.run import SimulatedScheduler

__all__ = ["SCHEDULERS"]

SCHEDULERS: Mapping[str, SimulatedScheduler] = {}
