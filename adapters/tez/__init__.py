"""Facts about Tez jobs: a job's graph by the plan file, and an ask's vertex by its priority.

Files are read on a thread beside the event loop, never on the path of an allocate call; the rest is bytes and numbers.
"""

from adapters.tez.dag_plan import read_dag_plan
from adapters.tez.plan_files import TezPlanFiles, stages_of_plan
from adapters.tez.priorities import ask_priorities, vertex_of_priority

__all__ = ["TezPlanFiles", "ask_priorities", "read_dag_plan", "stages_of_plan", "vertex_of_priority"]
