"""Nodes that a ResourceManager which has restarted does not know yet.

They register again one by one, up to `yarn.resourcemanager.connect.retry-interval.ms` (30 s) after it is there. Until
then it tells less capacity and less use than there is, and none of it is a reason to take anything from anybody.
"""

from dataclasses import dataclass, field

from shim.domain.resources import ResourceVector

__all__ = ["AwaitedNodes"]

_AT_MOST_S = 60.0
_NEARLY_ALL = 0.95


@dataclass(slots=True)
class AwaitedNodes:
    """The capacity that a sub-cluster had before its ResourceManager restarted; none if it has not lately."""

    _before: ResourceVector = field(default_factory=ResourceVector)
    _until_s: float = float("-inf")

    def restarted(self, before: ResourceVector, at_s: float) -> None:
        """Await what there was; if it restarts before all is back, that of before the first time."""
        if at_s >= self._until_s or before.memory_mib > self._before.memory_mib:
            self._before = before
        self._until_s = at_s + _AT_MOST_S

    def not_there_yet(self, at_s: float) -> None:
        """Note that it is not active as yet: no node can register before."""
        if at_s < self._until_s:
            self._until_s = at_s + _AT_MOST_S

    def are_missing(self, capacity: ResourceVector, now_s: float) -> bool:
        """Tell whether much is missing still: with what never comes back it is so for a minute."""
        return now_s < self._until_s and capacity.memory_mib < _NEARLY_ALL * self._before.memory_mib
