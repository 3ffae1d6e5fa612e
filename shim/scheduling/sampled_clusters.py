"""Sub-clusters that are drawn for requests, and kept while these wait."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from shim.domain.allocations import AskKey, PendingRequest
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.scheduling.placements import PolicyRandom


@dataclass(frozen=True, slots=True)
class _Sample:
    """Sub-clusters of one request, which began to wait at `since_s`."""

    since_s: float
    names: tuple[SubClusterId, ...]


class SampledClusters:
    """Batch sampling over sub-clusters: a request has the same ones for as long as it waits.

    A sub-cluster that cannot be asked any more, or that granted nothing for too long, gives its place to another one if
    there is one. Those that have data of the request's are drawn before the others.
    """

    def __init__(self, rng: PolicyRandom) -> None:
        self._rng = rng
        self._samples: dict[tuple[ApplicationAttemptId, AskKey], _Sample] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def of(
        self, attempt: ApplicationAttemptId, request: PendingRequest, since_s: float, number: int
    ) -> frozenset[SubClusterId]:
        """Return the sub-clusters of a request.

        Args:
            since_s: Since when it waits; a later time is a later request with the same key.
            number: How many there are to be; fewer, if no more can be asked.
        """
        before = self._samples.get((attempt, request.key))
        drawn = before.names if before is not None and before.since_s == since_s else ()
        usable = [name for name in drawn if name in request.may_use]
        kept = [name for name in usable if name not in request.avoided][:number]
        fresh = sorted(request.may_use - request.avoided - set(kept))
        local = [name for name in fresh if request.local.get(name)]
        for pool in (local, [name for name in fresh if name not in local], usable, sorted(request.may_use)):
            kept += self._draw([name for name in pool if name not in kept], number - len(kept))
        self._samples[attempt, request.key] = _Sample(since_s, tuple(kept))
        return frozenset(kept)

    def keep(self, live: Collection[tuple[ApplicationAttemptId, AskKey]]) -> None:
        """Forget requests that wait no more."""
        if len(self._samples) > len(live):
            kept = frozenset(live)
            self._samples = {key: sample for key, sample in self._samples.items() if key in kept}

    def _draw(self, pool: Sequence[SubClusterId], number: int) -> Iterable[SubClusterId]:
        left = list(pool)
        for _ in range(min(number, len(left))):
            yield left.pop(self._rng.randrange(len(left)))
