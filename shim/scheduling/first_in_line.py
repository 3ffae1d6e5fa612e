"""The first in line at each sub-cluster, among those that wait there: only they may wait in its scheduler's queue."""

from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.domain.requests import PendingRequest

__all__ = ["FirstInLine", "Spot", "spot_of", "waits_at"]

_MOST_NAMED = 16


class Spot(NamedTuple):
    """Nodes of one label in some sub-clusters: where a request waits, or may have its containers."""

    subclusters: frozenset[SubClusterId]
    label: str


@dataclass(slots=True)
class FirstInLine:
    """The attempts that go first at each sub-cluster, on nodes of each label, among those that wait there.

    Attributes:
        waiting: Attempts in their order, with where each waits for something.
    """

    waiting: list[tuple[ApplicationAttemptId, Spot]] = field(default_factory=list)
    _first: dict[tuple[SubClusterId, str], ApplicationAttemptId] = field(default_factory=dict)
    _firsts: set[ApplicationAttemptId] = field(default_factory=set)
    _seen: set[Spot] = field(default_factory=set)
    _open: dict[Spot, frozenset[SubClusterId]] = field(default_factory=dict)
    _names: dict[Spot, tuple[str, ...]] = field(default_factory=dict)

    def note(self, attempt: ApplicationAttemptId, spot: Spot) -> None:
        """Take in where an attempt waits for something; attempts come in their order."""
        self.waiting.append((attempt, spot))
        if spot in self._seen:  # somebody is first at each of these
            return
        self._seen.add(spot)
        for name in spot.subclusters:
            if self._first.setdefault((name, spot.label), attempt) == attempt:
                self._firsts.add(attempt)

    def may_queue(self, attempt: ApplicationAttemptId, spot: Spot) -> frozenset[SubClusterId]:
        """Name the sub-clusters at which no other goes before an attempt that waits for something there."""
        if attempt in self._firsts:
            mine = (name for name in spot.subclusters if self._first.get((name, spot.label), attempt) == attempt)
            return frozenset(mine)
        found = self._open.get(spot)
        if found is None:
            nobodys = (name for name in spot.subclusters if (name, spot.label) not in self._first)
            found = self._open[spot] = frozenset(nobodys)
        return found

    def names(self, attempt: ApplicationAttemptId, spot: Spot) -> tuple[str, ...]:
        """Applications that go before an attempt somewhere, the first of them first."""
        names = self._names.get(spot)
        if names is None:
            matching = (
                str(each.application)
                for each, there in self.waiting
                if there.label == spot.label and not there.subclusters.isdisjoint(spot.subclusters)
            )
            names = self._names[spot] = tuple(islice(dict.fromkeys(matching), _MOST_NAMED))
        own = str(attempt.application)
        return names[: names.index(own)] if own in names else names


def spot_of(request: PendingRequest) -> Spot:
    """Nodes that a request may have its containers on."""
    return Spot(request.may_use, request.key.label)


def waits_at(request: PendingRequest) -> Spot:
    """Nodes where a request goes before later ones: it is allocated something there, or could have what it lacks."""
    places = request.may_use if request.unallocated else frozenset(request.tentative)
    return Spot(places - request.unresponsive if request.unresponsive else places, request.key.label)
