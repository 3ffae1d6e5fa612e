"""Any policy of the scheduling core on modelled nodes in racks: real cycles, tasks that only take time."""

from shim.simulation.policy_runs.jobs import ModelledSite, PolicyJob, StageTasks
from shim.simulation.policy_runs.results import RunFigures
from shim.simulation.policy_runs.run import run_policy

__all__ = ["ModelledSite", "PolicyJob", "RunFigures", "StageTasks", "run_policy"]
