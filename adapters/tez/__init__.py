"""What Heddle can know of a Tez job: its graph by the plan file, and an ask's vertex by its priority.

Everything here is bytes and numbers: files and calls are fetched elsewhere, never on the path of an allocate call.
"""

from adapters.tez.dag_plan import read_dag_plan
from adapters.tez.priorities import ask_priorities, vertex_of_priority

__all__ = ["ask_priorities", "read_dag_plan", "vertex_of_priority"]
