"""Search for the ask that a granted container is for, by its size instead of by a look at each group."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from shim.domain.allocations import AskKey, Grant
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector

__all__ = ["GroupsBySize"]


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
