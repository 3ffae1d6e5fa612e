"""Facts about Tez jobs: the graph by its plan file, an ask's vertex by its priority, counts by the ApplicationMaster.

Nothing of it is on the path of an allocate call.
"""

from adapters.tez.dag_plan import ask_priorities, read_dag_plan, vertex_of_priority
from adapters.tez.plan_files import TezPlanFiles, stages_of_plan
from adapters.tez.vertex_counts import TezVertexCounts, read_vertex_counts

__all__ = [
    "TezPlanFiles",
    "TezVertexCounts",
    "ask_priorities",
    "read_dag_plan",
    "read_vertex_counts",
    "stages_of_plan",
    "vertex_of_priority",
]
