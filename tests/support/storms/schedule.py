"""Schedule of a storm: faults and their times, drawn from a seed, written as text that replays it."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class FaultKind(Enum):
    """Kinds of faults; each lasts for a time and is then mended."""

    RM_KILLED = "rm killed"
    RM_PAUSED = "rm paused"
    HEDDLE_KILLED = "heddle killed"
    HEDDLE_PAUSED = "heddle paused"
    CLUSTER_CUT = "cluster cut off"
    ANSWERS_CUT = "answers of a cluster lost"
    MESSAGES_LOST = "messages lost"
    MESSAGES_LATE = "messages late"
    REQUESTS_REPEATED = "requests repeated"
    STORE_AWAY = "store away"
    STORE_REFUSES = "store refuses some"
    STORE_LOSES_ANSWERS = "store loses answers"
    CLOCK_SET = "clock set"
    NODE_DEAD = "node dead"
    APPLICATION_KILLED = "application killed by its user"
    LOCAL_MASTER_KILLED = "local master killed"
    LOCAL_MASTER_PAUSED = "local master paused"
    LOCAL_MASTER_CUT = "local master cut off from its cluster"
    LINK_CUT = "link between masters cut"


@dataclass(frozen=True, slots=True)
class Fault:
    """One of them.

    Attributes:
        at_s: When it begins, from the begin of the storm.
        for_s: How long it lasts.
        which: Chooses the process, cluster, node or application; taken modulo their number.
        much: How much: a part of all messages, seconds of delay, or seconds by which a clock is set.
    """

    at_s: float
    kind: FaultKind
    for_s: float
    which: int
    much: float = 0.0

    def __str__(self) -> str:
        return f"{self.at_s:7.3f} s: {self.kind.value} #{self.which} for {self.for_s:.3f} s ({self.much:.3f})"


@dataclass(frozen=True, slots=True)
class StormSetting:
    """Size of storms.

    Attributes:
        lasts_s: From the first to the last fault.
        most_faults: In one storm.
        jobs: How many are submitted meanwhile.
        alone: Part of the storms in which one Heddle has its Local Masters inside. In the others there are two or three
            Global Masters, and one or two Local Masters for each sub-cluster.
        quiet_s: How long everything must hold at least once every application has ended.
    """

    lasts_s: float = 30.0
    most_faults: int = 6
    jobs: int = 4
    alone: float = 0.5
    quiet_s: float = 75.0


LARGE = StormSetting()
"""Before a release."""
SMALL = StormSetting(lasts_s=12.0, most_faults=4, jobs=2, quiet_s=10.0)
"""As the tests play them."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One storm; equal schedules are equal runs.

    Attributes:
        heddles: Processes of Heddle: Global Masters, if there are Local Masters.
        local_masters: Processes for each sub-cluster; none where one Heddle does their work.
    """

    seed: int
    setting: StormSetting
    faults: tuple[Fault, ...]
    heddles: int = 1
    local_masters: int = 0

    @property
    def kinds(self) -> frozenset[FaultKind]:
        """Kinds of faults in the schedule."""
        return frozenset(fault.kind for fault in self.faults)

    def __str__(self) -> str:
        masters = f", {self.heddles} Global Masters, {self.local_masters} Local Masters a cluster"
        told = f"storm {self.seed}{masters if self.local_masters else ''}"
        return "\n".join([told, *(f"  {fault}" for fault in self.faults)])


@dataclass(frozen=True, slots=True)
class _Shape:
    """Distribution of one kind: its weight, how long it lasts, how much of it there is."""

    weight: int
    for_s: tuple[float, float]
    much: tuple[float, float] = (0.0, 0.0)


_SHAPES: Mapping[FaultKind, _Shape] = {
    FaultKind.RM_KILLED: _Shape(4, (0.1, 12.0)),
    FaultKind.RM_PAUSED: _Shape(4, (0.1, 15.0)),
    FaultKind.HEDDLE_KILLED: _Shape(5, (0.1, 8.0)),
    FaultKind.HEDDLE_PAUSED: _Shape(3, (0.1, 12.0)),
    FaultKind.CLUSTER_CUT: _Shape(2, (0.5, 15.0)),
    FaultKind.ANSWERS_CUT: _Shape(3, (0.5, 10.0)),
    FaultKind.MESSAGES_LOST: _Shape(3, (1.0, 15.0), (0.01, 0.4)),
    FaultKind.MESSAGES_LATE: _Shape(2, (1.0, 15.0), (0.05, 4.0)),
    FaultKind.REQUESTS_REPEATED: _Shape(2, (1.0, 15.0), (0.05, 0.5)),
    FaultKind.STORE_AWAY: _Shape(2, (0.2, 10.0)),
    FaultKind.STORE_REFUSES: _Shape(2, (1.0, 10.0), (0.05, 0.6)),
    FaultKind.STORE_LOSES_ANSWERS: _Shape(3, (1.0, 10.0), (0.05, 0.6)),
    FaultKind.CLOCK_SET: _Shape(1, (1.0, 20.0), (-30.0, 30.0)),
    FaultKind.NODE_DEAD: _Shape(2, (1.0, 60.0)),
    FaultKind.APPLICATION_KILLED: _Shape(2, (0.0, 0.0)),
}
_SHAPES_OF_MASTERS: Mapping[FaultKind, _Shape] = {
    FaultKind.LOCAL_MASTER_KILLED: _Shape(5, (0.1, 10.0)),
    FaultKind.LOCAL_MASTER_PAUSED: _Shape(5, (0.1, 15.0)),
    FaultKind.LOCAL_MASTER_CUT: _Shape(3, (0.5, 12.0)),
    FaultKind.LINK_CUT: _Shape(4, (0.5, 15.0)),
}
"""What can go wrong only where there are Local Masters."""


def draw(seed: int, setting: StormSetting = LARGE) -> Schedule:
    """The storm of a seed."""
    rng = random.Random(f"storm/{seed}")  # noqa: S311 - repeatable on purpose
    is_alone = rng.random() < setting.alone
    heddles, local_masters = (1, 0) if is_alone else (rng.randint(2, 3), rng.randint(1, 2))
    shapes = _SHAPES if is_alone else {**_SHAPES, **_SHAPES_OF_MASTERS}
    kinds, weights = tuple(shapes), [shape.weight for shape in shapes.values()]
    faults = []
    for kind in rng.choices(kinds, weights, k=rng.randint(1, setting.most_faults)):
        shape = shapes[kind]
        at_s, for_s = rng.uniform(0.0, setting.lasts_s), rng.uniform(*shape.for_s)
        faults.append(
            Fault(round(at_s, 3), kind, round(for_s, 3), rng.randrange(1000), round(rng.uniform(*shape.much), 3))
        )
    in_order = tuple(sorted(faults, key=lambda fault: fault.at_s))
    return Schedule(seed, setting, in_order, heddles, local_masters)
