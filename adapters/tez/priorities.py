"""Vertex that an ask of a Tez ApplicationMaster is for, by its priority.

Source: `DAGSchedulerNaturalOrder` and `DAGSchedulerNaturalOrderControlled` of Apache Tez: with V vertices, vertex i at
distance d from a root has ``low = (d + 1) * 3 * V + 3 * i``; a task asks at ``low - 1``, an attempt after a failed one
at ``low - 2`` (`tez.am.task.reschedule.higher.priority`).
"""

from collections.abc import Sequence

__all__ = ["ask_priorities", "vertex_of_priority"]


def ask_priorities(distances: Sequence[int]) -> tuple[int, ...]:
    """Return the priority at which the tasks of each vertex ask, by the vertices' distances from a root."""
    n_vertices = len(distances)
    return tuple((distance + 1) * 3 * n_vertices + 3 * vertex - 1 for vertex, distance in enumerate(distances))


def vertex_of_priority(priority: int, distances: Sequence[int]) -> int | None:
    """Return the vertex that an ask is for.

    Args:
        priority: Of the ask.
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
