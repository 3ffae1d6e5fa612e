"""Expressions of what requests want, made of deadlines, preferences and budgets: users write no expressions.

A request has a duration, *preferred* partitions where containers run as long as that, and others where they run
`slowdown` times as long. What an end is worth falls with time; up to a deadline it is worth much more.

    gang                 max over starts of { nCk(preferred, k), nCk(anywhere, k, slower) }
    gang in one cluster  max over starts of { nCk(c, k) for each cluster c, nCk(anywhere, k, slower) }
    gang that spreads    max over starts of { min { nCk(c, k_c) for each cluster c }, the two of a gang }
    containers           sum over starts of { LnCk(preferred, k), LnCk(elsewhere, k, slower) }, k of them at most

Containers that need not start together have no nCk: ApplicationMasters take them one by one.

Source: Tumanov et al., "TetriSched", EuroSys 2016, sections 3 and 4 (the wizard); "alsched", SoCC 2012.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shim.domain.wishes import NO_WISHES, GangShape, JobWishes
from shim.scheduling.strl import Expression, Linear, Most, NodesFor, Smallest, Total

_LATER_COSTS = 1e-3
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class PlanHorizon:
    """The window of a plan.

    Attributes:
        starts: Quanta in which something may start; the first is now.
        n_quanta: Up to the end of the window.
        deadline_value: Worth of a deadline that is met, as a multiple of what is worth 1 without one.
        ends_s: When the worth of what has no deadline has fallen to nothing, from now; 0 where time does not count:
            then a place is worth its speed (alsched).
    """

    starts: tuple[int, ...]
    n_quanta: int
    quantum_s: float
    deadline_value: float
    ends_s: float

    def quanta_of(self, seconds: float) -> int:
        """Whole quanta that something of a length takes, at least one."""
        return max(1, math.ceil(seconds / self.quantum_s - 1e-9))


@dataclass(frozen=True, slots=True)
class SpaceTimeRequest:
    """A request, in the words of the language.

    Attributes:
        count: Containers, at most as many as the window could ever hold at once.
        duration_s: Of each at a preferred place.
        slowdown: Run time elsewhere, as a multiple of that.
        preferred: Partitions; empty if all are alike.
        anywhere: All partitions that will do, those among them.
        clusters: Those of each sub-cluster.
        fits_now: Number of containers for which each partition has nodes with room: many small pieces would sum up to
            a large one, too.
        weight: Worth of an end now, without a deadline.
        left_s: From now to the deadline; infinite for none that can be met.
    """

    tag: int
    count: int
    size: tuple[float, ...]
    is_gang: bool
    duration_s: float
    slowdown: float
    preferred: tuple[int, ...]
    anywhere: tuple[int, ...]
    clusters: tuple[tuple[int, ...], ...] = ()
    fits_now: tuple[int, ...] = ()
    weight: float = 1.0
    left_s: float = math.inf
    wishes: JobWishes = NO_WISHES

    @property
    def elsewhere(self) -> tuple[int, ...]:
        """Partitions that will do and are not preferred."""
        return tuple(each for each in self.anywhere if each not in self.preferred)


def value_of_end(request: SpaceTimeRequest, ends_s: float, horizon: PlanHorizon, *, is_preferred: bool = True) -> float:
    """Worth of all of a request, if it ends so many seconds from now."""
    if not horizon.ends_s:
        return request.weight / (1.0 if is_preferred else request.slowdown)
    wishes, late_s = request.wishes, ends_s - request.left_s
    if not math.isinf(request.left_s) and (late_s <= 0.0 or late_s < wishes.tolerance_s):
        budget = wishes.budget if late_s <= 0.0 else wishes.budget * (1.0 - late_s / wishes.tolerance_s)
        later = _LATER_COSTS * ends_s / horizon.quantum_s
        return horizon.deadline_value * (budget + wishes.penalty) * max(_LEAST, 1.0 - later)
    return request.weight * max(_LEAST, 1.0 - ends_s / horizon.ends_s)


def expression_of(request: SpaceTimeRequest, horizon: PlanHorizon) -> Expression | None:
    """Everything that a request would take; None if that is nothing within the window."""
    starts = (start for start in horizon.starts if start < horizon.n_quanta)
    parts = [part for start in starts for part in _at(request, start, horizon) if _has_room(request, part)]
    if not parts:
        return None
    return Most(tuple(parts)) if request.is_gang else Total(tuple(parts))


def _at(request: SpaceTimeRequest, start: int, horizon: PlanHorizon) -> Iterable[Expression]:
    fast, slow = request.duration_s, request.duration_s * request.slowdown
    if not request.is_gang:
        near = request.preferred or request.anywhere
        yield Linear(_part_now(request, _leaf(request, near, request.count, start, fast, horizon)))
        if request.preferred and request.elsewhere:
            far = _leaf(request, request.elsewhere, request.count, start, slow, horizon, is_preferred=False)
            yield Linear(_part_now(request, far))
        return
    shape = request.wishes.shape
    if shape is GangShape.ONE_CLUSTER and len(request.clusters) > 1:
        for cluster in request.clusters:
            yield _leaf(request, cluster, request.count, start, fast, horizon)
        yield _leaf(request, request.anywhere, request.count, start, slow, horizon, is_preferred=False)
        return
    if shape is GangShape.SPREAD and 1 < len(request.clusters) <= request.count:
        parts = _even(request.count, len(request.clusters))
        yield Smallest(
            tuple(
                _leaf(request, cluster, count, start, fast, horizon)
                for cluster, count in zip(request.clusters, parts, strict=True)
            )
        )
    if request.preferred:
        yield _leaf(request, request.preferred, request.count, start, fast, horizon)
    is_alike = not request.preferred and shape is not GangShape.SPREAD
    takes_s = fast if is_alike else slow
    yield _leaf(request, request.anywhere, request.count, start, takes_s, horizon, is_preferred=is_alike)


def _room_now(request: SpaceTimeRequest, leaf: NodesFor) -> int:
    """Containers that a leaf could have at its start, as far as nodes are known by then."""
    return leaf.count if leaf.start else sum(request.fits_now[each] for each in leaf.partitions)


def _part_now(request: SpaceTimeRequest, leaf: NodesFor) -> NodesFor:
    """What there is room for of a leaf, each container worth as much as before."""
    count = min(leaf.count, _room_now(request, leaf))
    return replace(leaf, count=count, value=leaf.value * count / leaf.count)


def _has_room(request: SpaceTimeRequest, part: Expression) -> bool:
    """Return whether nodes have room now for what starts now."""
    match part:
        case NodesFor():
            return part.count <= _room_now(request, part)
        case Linear(nodes):
            return nodes.count > 0
        case Smallest(parts):
            return all(_has_room(request, each) for each in parts)
        case _:
            return True


def _leaf(
    request: SpaceTimeRequest,
    partitions: tuple[int, ...],
    count: int,
    start: int,
    takes_s: float,
    horizon: PlanHorizon,
    *,
    is_preferred: bool = True,
) -> NodesFor:
    value = value_of_end(request, start * horizon.quantum_s + takes_s, horizon, is_preferred=is_preferred)
    return NodesFor(partitions, count, start, horizon.quanta_of(takes_s), value, request.tag, request.size)


def _even(count: int, parts: int) -> Sequence[int]:
    return [count // parts + (number < count % parts) for number in range(parts)]
