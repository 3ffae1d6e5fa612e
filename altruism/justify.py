"""Right-justification: the same packing with every task as late as it can be.

The technique is that of project scheduling under limited resources (forward-backward improvement); here it bounds how
much a job can put off without ending later, also where the reversed packing of Carbyne is longer than the forward one.
"""

from collections import defaultdict

from altruism.graph import Progress, StageGraph
from altruism.packing import Packing, reserved
from altruism.profile import RoomProfile
from fairness.arrays import FloatArray


def justify_right(
    graph: StageGraph, progress: Progress, share: FloatArray, packing: Packing, *, makespan: float | None = None
) -> Packing:
    """Move every task of a feasible packing to its latest start.

    Tasks are moved by descending end. A task can always stay where it was: whatever ends later has only moved right,
    so what is used on the task's own interval has only fallen. A group is split where only a part of it can move.

    Parameters
    ----------
    graph, progress, share
        As of `pack_forward`.
    packing : Packing
        What `pack_forward` gave.
    makespan : float, optional
        Seconds from now until the job has to have ended, if later than the packing does.

    Returns
    -------
    Packing
        No start is earlier than in `packing`; ends by the same makespan, or the one given.
    """
    end = packing.makespan if makespan is None else max(makespan, packing.makespan)
    room = RoomProfile.of(share, *reserved(graph, progress, Packing.of(0.0, ())))
    return _moved_right(graph, packing, end, room)


def justify_in_room(graph: StageGraph, packing: Packing, room: RoomProfile) -> Packing:
    """Move every task of a packing to its latest start in the room that others leave, beyond the job's share.

    Within its own share a job can put off what its barriers allow. In the room of all it can put off much more: others
    end, and their shares are free from then on.

    Parameters
    ----------
    graph : StageGraph
        The job.
    packing : Packing
        The plan in force, from now on; no start is before 0.
    room : RoomProfile
        What is free where this plan is taken out; in it the plan fits. It is left with the result reserved.

    Returns
    -------
    Packing
        No start is earlier than in `packing`; it ends by the same time.
    """
    return _moved_right(graph, packing, packing.makespan, room)


def _moved_right(graph: StageGraph, packing: Packing, end: float, room: RoomProfile) -> Packing:
    bound = [end] * graph.n_stages  # when the tasks of a stage have to have ended: before its first child starts
    placed: dict[tuple[float, int], int] = defaultdict(int)
    parents, position = graph.parents(), {stage: index for index, stage in enumerate(graph.order)}
    durations = graph.duration.tolist()

    def latest_end_first(group: tuple[float, int, int]) -> tuple[float, int]:
        start, stage, _ = group
        return -(start + durations[stage]), -position[stage]  # a child before its parent where both end together

    for earliest, stage, count in sorted(packing.groups(), key=latest_end_first):
        demand, duration, left = graph.demand[stage], durations[stage], count
        latest = bound[stage] - duration
        while left:
            start = room.latest_start(demand, duration, latest, earliest)
            fit = left if start <= earliest else max(1, min(left, room.fits(start, start + duration, demand)))
            room.reserve(start, start + duration, fit * demand)
            placed[start, stage] += fit
            left, latest = left - fit, start
            for parent in parents[stage]:
                bound[parent] = min(bound[parent], start)
    return Packing.of(end, [(start, stage, count) for (start, stage), count in placed.items()])
