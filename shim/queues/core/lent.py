"""Containers that were lent: a job was granted them beyond its share, out of what other jobs of its queue put off.

A mark is made when a container is first seen and stays until it ends, as its lender may want the room back only later.
A restart forgets the marks; such containers then count as ordinary ones.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shim.domain.ids import ApplicationAttemptId, ContainerId
from shim.domain.resources import ResourceVector

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class QueueJobHeld:
    """A job of a queue, as marks need it.

    Attributes:
        containers: Those that it holds but for its ApplicationMaster's own, with their sizes.
        share: Part of the queue that it may count on, of the dominant resource; zero if that is not known.
    """

    attempt: ApplicationAttemptId
    containers: Sequence[tuple[ContainerId, ResourceVector]]
    share: float
    given: float


class LentContainers:
    """Marks of one queue's containers."""

    def __init__(self) -> None:
        self._seen: set[ContainerId] | None = None
        self._since_s: dict[ContainerId, float] = {}

    @property
    def since_s(self) -> Mapping[ContainerId, float]:
        return self._since_s

    def look(self, jobs: Collection[QueueJobHeld], total: ResourceVector, at_s: float) -> None:
        """Mark what came since the look before, as far as others give it, and forget what has ended."""
        here = {container for job in jobs for container, _ in job.containers}
        self._since_s = {container: since_s for container, since_s in self._since_s.items() if container in here}
        given = sum(job.given for job in jobs)
        for job in jobs if self._seen is not None else ():
            left = given - job.given
            for container, size in self._new_beyond(job, total):
                part = part_of_share(size, total)
                if part <= left + _ROUNDING:
                    self._since_s[container] = at_s
                    left -= part
        self._seen = here

    def _new_beyond(self, job: QueueJobHeld, total: ResourceVector) -> list[tuple[ContainerId, ResourceVector]]:
        """Find new containers of a job without which, and without those that it was lent, it would hold its share."""
        found: list[tuple[ContainerId, ResourceVector]] = []
        seen = self._seen or set()
        ordinary = [each for each in job.containers if each[0] not in self._since_s]
        held = sum((size for _, size in ordinary), start=ResourceVector())
        for container, size in sorted(ordinary, key=lambda each: each[0].number, reverse=True):
            if container in seen or job.share <= 0:
                continue
            held = held - size
            if part_of_share(held, total) < job.share - _ROUNDING:
                break
            found.append((container, size))
        return found


def part_of_share(amount: ResourceVector, total: ResourceVector) -> float:
    """Part of the dominant resource of what a queue may count on."""
    return max(amount.memory_mib / max(1, total.memory_mib), amount.vcores / max(1, total.vcores))
