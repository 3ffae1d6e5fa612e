"""The graph of a DAG from its plan: `tez-dag.pb`, which Tez uploads before its ApplicationMaster starts.

The file is the user's: its size, its numbers and its edges are checked before anything is built of them.

Vertex that an ask of a Tez ApplicationMaster is for, by its priority.

Source: `DAGSchedulerNaturalOrder` and `DAGSchedulerNaturalOrderControlled` of Apache Tez: with V vertices, vertex i at
distance d from a root has ``low = (d + 1) * 3 * V + 3 * i``; a task asks at ``low - 1``, an attempt after a failed one
at ``low - 2`` (`tez.am.task.reschedule.higher.priority`).
"""

from collections.abc import Sequence

from google.protobuf.message import DecodeError

from shim.domain.job_graphs import JobGraph, Stage
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGPlan, EdgePlan, PlanEdgeSchedulingType, VertexPlan

MAX_PLAN_BYTES = 4 * 1024 * 1024
MAX_VERTICES = 1_000
MAX_EDGES = 10_000
_MAX_TASKS = 1_000_000
_MAX_NAME = 1_000
_MAX_MEMORY_MIB = 2**31 - 1


def read_dag_plan(data: bytes) -> JobGraph:
    """Read a serialized `DAGPlan`.

    A vertex stands at the position of its id. Edges that Tez schedules concurrently are no barriers, but count for the
    distance from a root, as in Tez. A vertex of -1 tasks has an unknown number: its splits are computed in the
    ApplicationMaster.

    Raises:
        MalformedJobGraphError: If it is too large, no `DAGPlan`, or no graph.

    Source: `DAGApiRecords.proto` of Apache Tez.
    """
    if len(data) > MAX_PLAN_BYTES:
        raise MalformedJobGraphError(f"the DAG plan has {len(data)} bytes; at most {MAX_PLAN_BYTES} are read")
    try:
        plan = DAGPlan.FromString(data)
    except DecodeError as error:
        raise MalformedJobGraphError(f"the DAG plan is no DAGPlan message: {error}") from error
    if not plan.vertex:
        raise MalformedJobGraphError("the DAG plan has no vertices")
    if len(plan.vertex) > MAX_VERTICES or len(plan.edge) > MAX_EDGES:
        raise MalformedJobGraphError(
            f"the DAG plan has {len(plan.vertex)} vertices and {len(plan.edge)} edges;"
            f" at most {MAX_VERTICES} and {MAX_EDGES} are read"
        )
    return _graph_of(plan)


def _graph_of(plan: DAGPlan) -> JobGraph:
    position = {vertex.name: at for at, vertex in enumerate(plan.vertex)}
    barriers: list[list[int]] = [[] for _ in plan.vertex]
    sources: list[list[int]] = [[] for _ in plan.vertex]
    for edge in plan.edge:
        source, target = _ends(edge, position)
        sources[target].append(source)
        if edge.schedulingType == PlanEdgeSchedulingType.SEQUENTIAL:
            barriers[target].append(source)
    stages = [
        _stage(vertex, tuple(sorted(set(waits))), tuple(sorted(set(fed))))
        for vertex, waits, fed in zip(plan.vertex, barriers, sources, strict=True)
    ]
    return JobGraph.of(plan.name[:_MAX_NAME], stages)


def _ends(edge: EdgePlan, position: dict[str, int]) -> tuple[int, int]:
    for name in (edge.inputVertexName, edge.outputVertexName):
        if name not in position:
            raise MalformedJobGraphError(f"edge {edge.id!r} of the DAG plan names vertex {name!r}, which there is not")
    return position[edge.inputVertexName], position[edge.outputVertexName]


def _stage(vertex: VertexPlan, waits_for: tuple[int, ...], sources: tuple[int, ...]) -> Stage:
    task = vertex.taskConfig
    if len(vertex.name) > _MAX_NAME:
        raise MalformedJobGraphError(f"a vertex of the DAG plan has a name of {len(vertex.name)} characters")
    if not vertex.HasField("taskConfig") or not -1 <= task.numTasks <= _MAX_TASKS:
        raise MalformedJobGraphError(f"vertex {vertex.name!r} of the DAG plan has no usable number of tasks")
    if not (0 < task.memoryMb <= _MAX_MEMORY_MIB and task.virtualCores > 0):
        raise MalformedJobGraphError(f"vertex {vertex.name!r} of the DAG plan has no usable task size")
    tasks = None if task.numTasks == -1 else task.numTasks
    return Stage(vertex.name, tasks, task.memoryMb, task.virtualCores, waits_for, sources)


def ask_priorities(distances: Sequence[int]) -> tuple[int, ...]:
    """Return the priority at which the tasks of each vertex ask, by the vertices' distances from a root."""
    n_vertices = len(distances)
    return tuple((distance + 1) * 3 * n_vertices + 3 * vertex - 1 for vertex, distance in enumerate(distances))


def vertex_of_priority(priority: int, distances: Sequence[int]) -> int | None:
    """Return the vertex that an ask is for.

    Args:
        distances: Edges on the longest way from a root, of each vertex.

    Returns:
        Its position; None if the priority is none of this DAG's: another DAG runs in the session, or another engine.
    """
    n_vertices = len(distances)
    if not n_vertices or priority < 1:
        return None
    slot = (priority + 2) // 3
    vertex, distance = slot % n_vertices, slot // n_vertices - 1
    is_ask = priority in (3 * slot - 1, 3 * slot - 2)  # the third number of a slot is nobody's
    return vertex if is_ask and distances[vertex] == distance else None
