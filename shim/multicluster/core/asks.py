"""Asks of an ApplicationMaster that no scheduler has granted yet, and the part of them that each session is asked for.

The ApplicationMaster's count for `ANY` is absolute and may not know of containers that are on their way to it: those
are taken off. From then on each grant takes one off, as a scheduler does it.

Source: `AppSchedulingInfo`, `LocalityAppPlacementAllocator` of the ResourceManager.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from shim.domain.allocations import (
    ANY,
    Ask,
    AskKey,
    ClaimedCapacity,
    GangDemand,
    Grant,
    HeldTags,
    PendingRequest,
    TagCounts,
)
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core.ask_group import AskGroup
from shim.multicluster.core.events import ClusterCapacity
from shim.multicluster.core.splitter import AskSplitter, split_constrained

# Asks of an ApplicationMaster for containers that can stand for each other.


def copy_of(group: AskGroup | None) -> AskGroup | None:
    """Return a copy of a group that later changes of it leave alone."""
    if group is None:
        return None
    return replace(
        group,
        rows=dict(group.rows),
        targets=dict(group.targets),
        starved=dict(group.starved),
        refused=set(group.refused),
        rejected=set(group.rejected),
        spent=dict(group.spent),
    )


def new_rows(group: AskGroup | None, asks: Iterable[Ask]) -> int:
    """Count the rows that a group would keep beside those that it has; None for a group that is not there yet."""
    places = {ask.place for ask in asks if ask.count}
    return len(places) if group is None else len(places - group.rows.keys())


def rows_by_key(asks: Iterable[Ask]) -> Mapping[AskKey, Sequence[Ask]]:
    """Rows of each key, both in the order of the call.

    A call may have thousands of rows, nearly all of them of a few keys, and a key is dear to look up: neighbours that
    share theirs are told by its identity.
    """
    found: dict[AskKey, list[Ask]] = {}
    key: AskKey | None = None
    rows: list[Ask] = []
    for ask in asks:
        if ask.key is not key:
            key = ask.key
            rows = found.setdefault(key, [])
        rows.append(ask)
    return found


MOST_GROUPS = 500
"""Most groups of one attempt: all are split anew at each call and beat, in one turn of the event loop."""
MOST_ROWS = 8000
"""Most rows of one attempt, over all calls: as many hosts and racks as a large cluster has."""

_CALLS_HELD_BACK = 8
"""Calls of an ApplicationMaster after which nothing is held back any more, unless somebody says so again."""

_ALMOST_HALF = 0.499
"""More than half a container counts as one, as where shares are measured."""


class AskBook:
    """The groups of an attempt.

    Args:
        move_after_beats: Beats without a grant after which an ask with a placement may move.
        groups: Where they are kept: a splitter that carries out plans keeps in the same ones what became of them.

    Attributes:
        allowance: How much of what is wanted schedulers may be asked for; None for all of it. Falls with the grants.
        gang: What is wanted together; None where every container is by itself.
    """

    def __init__(
        self, containers: Sized = (), move_after_beats: int = 10, groups: dict[AskKey, AskGroup] | None = None
    ) -> None:
        self.allowance: ResourceVector | None = None
        self.gang: GangDemand | None = None
        self._containers = containers
        self._move_after_beats = move_after_beats
        self._on_way: Counter[AskKey] = Counter()  # when the ApplicationMaster registered, and not said again since
        self._held_back: Mapping[AskKey, int] = {}
        self._calls_left = 0
        self._groups: dict[AskKey, AskGroup] = {} if groups is None else groups
        self._wanting: GroupsBySize[AskGroup] | None = None  # none once one of them may want more

    @property
    def groups(self) -> Sequence[AskGroup]:
        """Every group, in the order in which the ApplicationMaster spoke of it first."""
        return tuple(self._groups.values())

    def clear(self, on_way: Mapping[AskKey, int] | None = None) -> None:
        """The ApplicationMaster registers again: it will say everything once more, `on_way` included."""
        self._groups.clear()
        self._on_way = Counter(on_way or {})
        self._held_back = {}
        self._wanting = None

    def snapshot(self, keys: Iterable[AskKey]) -> Mapping[AskKey, AskGroup | None]:
        """Copies of some groups, for `restore`: of what their ApplicationMaster said, not of what was planned."""
        return {key: copy_of(self._groups.get(key)) for key in keys}

    def restore(self, snapshot: Mapping[AskKey, AskGroup | None]) -> None:
        self._wanting = None
        for key, before in snapshot.items():
            group = self._groups.setdefault(key, AskGroup(key))
            group.take_back(before)
            if before is None and not group.is_split:
                del self._groups[key]  # else the next split drops its plan first

    def rejection(self, asks: Sequence[Ask]) -> str:
        """Say why these cannot be taken beside those that are kept; empty if they can."""
        named = rows_by_key(asks)
        if len(self._groups) + len(named) > MOST_GROUPS and len(self._groups.keys() | named.keys()) > MOST_GROUPS:
            return (
                f"more than {MOST_GROUPS} different requests (by priority, size, label, allocation request id) are open"
            )
        kept = sum(len(group.rows) for group in self._groups.values())
        if kept + len(asks) <= MOST_ROWS:
            return ""
        new = sum(new_rows(self._groups.get(key), rows) for key, rows in named.items())
        return f"more than {MOST_ROWS} resource requests are open" if kept + new > MOST_ROWS else ""

    def tell(self, asks: Iterable[Ask], on_way: Mapping[AskKey, int], *, adds: bool = False) -> None:
        """Take in what the ApplicationMaster asks for.

        Args:
            asks: Rows that take the place of earlier ones.
            on_way: Containers granted for each key that the ApplicationMaster has not been given yet.
            adds: Whether asks with a placement add to earlier ones, as their home takes them.
        """
        self._wanting = None
        for key, rows in rows_by_key(asks).items():
            group = self._groups.setdefault(key, AskGroup(key))
            group.rejected.clear()
            is_added = adds and key.placement is not None
            for ask in rows:
                group.put(ask)
                if is_added:
                    known = min(self._on_way.pop(key, 0), ask.count)
                    group.wanted += ask.count - known
                elif ask.place == ANY:
                    group.wanted = max(0, ask.count - on_way.get(key, 0))

    def hold_back(self, counts: Mapping[AskKey, int]) -> None:
        """Leave so many containers of each ask unasked for, until another word or the eighth call from now."""
        self._held_back, self._calls_left = dict(counts), _CALLS_HELD_BACK

    def count_call(self) -> None:
        """Let what is held back lapse in time: the ApplicationMaster has called."""
        self._calls_left -= 1
        if self._calls_left <= 0:
            self._held_back = {}

    def held_back(self) -> Mapping[AskKey, int]:
        """Give what stays here of each ask, never more than is wanted."""
        found = (
            (key, min(count, group.wanted))
            for key, count in self._held_back.items()
            if (group := self._groups.get(key))
        )
        return {key: count for key, count in found if count > 0}

    def grant(self, grant: Grant, subcluster: SubClusterId, rack: str) -> AskKey | None:
        """Take a granted container off the group that wanted it; None if nobody wants it (any more).

        A scheduler may round the resource up, and tells neither label nor execution type: of the groups that fit, the
        one that this session was asked for goes first, then the one whose resource is nearest.
        """
        group = self._wanting_group(grant, subcluster)
        if group is None:
            return None
        group.wanted -= 1
        if self.allowance is not None:
            self.allowance = _less(self.allowance, group.key.resource, 1)
        if group.targets.get(subcluster):
            group.targets[subcluster] -= 1
        group.starved[subcluster] = 0
        for place in (grant.node.host, rack):
            row = group.rows.get(place)
            if row is not None:  # a named row that wants nothing is not kept
                group.put(replace(row, count=row.count - 1))
                if row.count == 1 and self.gang is not None:
                    group.spent[place] = row
        return group.key

    def _wanting_group(self, grant: Grant, subcluster: SubClusterId) -> AskGroup | None:
        if self._wanting is None:
            self._wanting = GroupsBySize(self._groups.values())
        return self._wanting.nearest(grant, subcluster)

    def beat(self, subcluster: SubClusterId, lucky: Container[AskKey]) -> None:
        """A scheduler answered; it granted something for the lucky ones."""
        for group in self._groups.values():
            if group.key not in lucky and group.targets.get(subcluster, 0):
                group.starved[subcluster] = group.starved.get(subcluster, 0) + 1

    def refuse(self, keys: Iterable[AskKey], subcluster: SubClusterId) -> None:
        """A scheduler does not take such asks: it is not asked for them again."""
        for key in keys:
            group = self._groups.get(key)
            if group is not None:
                group.refused.add(subcluster)
                group.targets.pop(subcluster, None)

    def reject(self, key: AskKey, subcluster: SubClusterId, count: int) -> None:
        """A scheduler found no place for so many containers."""
        group = self._groups[key]
        group.rejected.add(subcluster)
        if subcluster in group.targets:
            group.targets[subcluster] = max(0, group.targets[subcluster] - count)

    def leave(self, subcluster: SubClusterId) -> None:
        """A sub-cluster is given up: what it was asked for is to be asked elsewhere."""
        for group in self._groups.values():
            group.targets.pop(subcluster, None)
            group.starved.pop(subcluster, None)

    def give_back(self, key: AskKey, places: Iterable[str] = ()) -> None:
        """A granted container is gone before the ApplicationMaster had it: it is wanted again.

        Args:
            places: Host and rack where it was; if asks named these, they do so again.
        """
        group = self._groups.get(key)
        if group is None:  # the ApplicationMaster registered since, and says anew what it wants
            self._on_way -= Counter([key])
            return
        group.wanted += 1
        self._wanting = None
        for place in places:
            row, spent = group.rows.get(place), group.spent.pop(place, None)
            if row is not None:
                group.put(replace(row, count=row.count + 1))
            elif spent is not None:
                group.put(spent)

    def forgive(self) -> None:
        """Forget which schedulers granted nothing: all is tried anew."""
        for group in self._groups.values():
            group.starved.clear()

    def split(
        self, splitter: AskSplitter, capacities: Sequence[ClusterCapacity], held: HeldTags = MappingProxyType({})
    ) -> None:
        """Decide anew what each session is to be asked for.

        Args:
            splitter: Decides; those with a placement are split by what it leaves to schedulers, if it knows none.
            capacities: The sub-clusters as they are known now.
        """
        totals, gang, claimed = self._totals(), self.gang, self.claimed()
        if gang is not None and sum(total for key, total in totals.items() if key.placement is None) < gang.count:
            gang = replace(gang, count=0, text=f"{gang.text}; its queue may not have so many now")
        for group in sorted(self._groups.values(), key=lambda group: group.key.priority):
            is_placed = group.key.placement is not None
            is_withheld = gang is not None and not gang.count and not is_placed
            total = group.wanted if is_withheld else totals[group.key]
            if is_placed:
                claimed.add(group.key, group.targets, -1)
            if total == 0:
                group.targets = {}
                splitter.drop(group.key)
                continue
            if is_placed:
                request = self.request_of(group, total, tags=TagCounts(held, claimed))
                group.targets = dict(self._split_placed(request, splitter, capacities))
                claimed.add(group.key, group.targets)
                continue
            group.targets = dict(splitter.split(self.request_of(group, total, gang), capacities))
            group.pins = splitter.pins(group.key)
            group.has_spares = splitter.has_spares(group.key)

    def _split_placed(
        self, request: PendingRequest, splitter: AskSplitter, capacities: Sequence[ClusterCapacity]
    ) -> Mapping[SubClusterId, int]:
        if splitter.takes_constraints:
            return splitter.split(request, capacities)
        return split_constrained(request, capacities, self._move_after_beats)

    def claimed(self, besides: AskGroup | None = None) -> ClaimedCapacity:
        """Return what sub-clusters are asked for by groups with a constraint, but for one of them."""
        claimed = ClaimedCapacity()
        for group in self._groups.values():
            if group.key.placement is not None and group is not besides:
                claimed.add(group.key, group.targets)
        return claimed

    @property
    def has_placed(self) -> bool:
        """Return whether there are asks with a placement constraint."""
        return any(group.key.placement is not None for group in self._groups.values())

    def request_of(
        self, group: AskGroup, total: int, gang: GangDemand | None = None, tags: TagCounts | None = None
    ) -> PendingRequest:
        return PendingRequest(
            key=group.key,
            wanted=total,
            named=group.places,
            is_strict=group.is_strict,
            places=group.allowed if group.is_strict else (),
            standing=dict(group.targets),
            starved=dict(group.starved),
            refused=frozenset(group.refused),
            rejected=frozenset(group.rejected),
            held=len(self._containers),
            gang=gang,
            is_limited=total < group.wanted,
            tags=tags,
        )

    @property
    def has_spares(self) -> bool:
        """Return whether some containers are asked for at several sessions at once."""
        return any(group.has_spares for group in self._groups.values())

    def _totals(self) -> Mapping[AskKey, int]:
        """Containers of each key that may be asked for: within the allowance, and no more than the gang lacks."""
        totals: dict[AskKey, int] = {}
        left, held_back = self.allowance, self.held_back()
        lacking = None if self.gang is None else self.gang.count
        for group in sorted(self._groups.values(), key=lambda group: group.key.priority):
            total = group.wanted - held_back.get(group.key, 0)
            is_placed = group.key.placement is not None
            if lacking is not None and not is_placed:
                total = min(total, lacking)
            if left is not None:
                total = min(total, _count_in(left, group.key.resource))
                left = _less(left, group.key.resource, total)
            if lacking is not None and not is_placed:
                lacking -= total
            totals[group.key] = total
        return totals

    def open_amounts(self) -> tuple[ResourceVector, ResourceVector]:
        """Return the amount that is wanted, and the part of it that no session is to be asked for.

        What an altruistic job puts off is neither: nobody makes room for it, and nobody waits for it.
        """
        wanted, withheld, held_back = ResourceVector(), ResourceVector(), self.held_back()
        for group in self._groups.values():
            asked, now = sum(group.targets.values()), group.wanted - held_back.get(group.key, 0)
            wanted += group.key.resource.times(now)
            withheld += group.key.resource.times(max(0, now - asked))
        return wanted, withheld

    def forget_quiet(self, asked: Iterable[AskKey]) -> None:
        """Drop groups that want nothing, but for those in `asked`: memory grows with what lives.

        Args:
            asked: Keys that a session is asked for, or may be again: what was granted and not given may be lost yet.
        """
        kept = set(asked)
        for key in [key for key, group in self._groups.items() if not group.wanted and key not in kept]:
            del self._groups[key]


def _less(amount: ResourceVector, resource: ResourceVector, count: int) -> ResourceVector:
    left = amount - resource.times(count)
    others = {name: max(0, value) for name, value in left.others.items()}
    return ResourceVector(max(0, left.memory_mib), max(0, left.vcores), others)


def _count_in(amount: ResourceVector, resource: ResourceVector) -> int:
    """Count the containers in an amount, to the nearest; types that the amount does not tell of are free."""
    pairs = [(amount.memory_mib, resource.memory_mib), (amount.vcores, resource.vcores)]
    pairs += [(amount.others[name], each) for name, each in resource.others.items() if name in amount.others]
    return min((int(have / each + _ALMOST_HALF) for have, each in pairs if each > 0), default=0)


# Search for the ask that a granted container is for, by its size instead of by a look at each group.


class _Wanting(Protocol):
    """Asks with one key: how many containers are wanted, and how many of them each session is asked for."""

    @property
    def key(self) -> AskKey: ...

    @property
    def wanted(self) -> int: ...

    @property
    def targets(self) -> Mapping[SubClusterId, int]: ...


G = TypeVar("G", bound=_Wanting)
_Entry = tuple[int, int, G]


class GroupsBySize(Generic[G]):
    """The groups that want something, largest first. Good as long as none wants more than when this was made.

    Args:
        groups: In the order in which the ApplicationMaster spoke of them first: that decides between equals.
    """

    def __init__(self, groups: Iterable[G]) -> None:
        self._entries: dict[tuple[int, int], list[_Entry[G]]] = {}
        for number, group in enumerate(groups):
            if group.wanted > 0:
                kind = (group.key.priority, group.key.allocation_request_id)
                self._entries.setdefault(kind, []).append((-_size(group.key.resource), number, group))
        for entries in self._entries.values():
            entries.sort(key=lambda entry: entry[:2])

    def nearest(self, grant: Grant, subcluster: SubClusterId) -> G | None:
        """The group that a grant is for; None if none wants it.

        A scheduler may round the resource up, and tells neither label nor execution type: of the groups that fit, the
        one that this session was asked for goes first, then the one whose resource is nearest.
        """
        entries = self._entries.get((grant.priority, grant.allocation_request_id), [])
        for group in self._from_below(entries, grant.resource):
            is_like = group.key.resource.fits_in(grant.resource) and _tags(group) == grant.tags
            if group.targets.get(subcluster, 0) and is_like:
                return group
        wanting = [
            entry for entry in entries if entry[2].wanted > 0 and (not grant.tags or _tags(entry[2]) == grant.tags)
        ]
        nearest = min(wanting, key=lambda entry: (*_mismatch(entry[2], grant, subcluster), entry[1]), default=None)
        return None if nearest is None else nearest[2]

    def _from_below(self, entries: list[_Entry[G]], resource: ResourceVector) -> Iterator[G]:
        """Groups that ask for no more in sum, the nearest first; those that want nothing any more are dropped."""
        place = bisect_left(entries, -_size(resource), key=lambda entry: entry[0])
        while place < len(entries):
            group = entries[place][2]
            if group.wanted > 0:
                yield group
                place += 1
            else:
                del entries[place]


def _size(resource: ResourceVector) -> int:
    return resource.memory_mib + resource.vcores


def _tags(group: _Wanting) -> frozenset[str]:
    placement = group.key.placement
    return frozenset() if placement is None else placement.tags


def _mismatch(group: _Wanting, grant: Grant, subcluster: SubClusterId) -> tuple[bool, bool, bool, int]:
    asked, given = group.key.resource, grant.resource
    distance = abs(given.memory_mib - asked.memory_mib) + abs(given.vcores - asked.vcores)
    return _tags(group) != grant.tags, group.targets.get(subcluster, 0) == 0, not asked.fits_in(given), distance
