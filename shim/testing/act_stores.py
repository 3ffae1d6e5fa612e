"""`ActStore` in memory. Limits: forgets with the process."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shim.domain.ids import ApplicationId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.errors import StoreUnavailableError
from shim.ports.act_store import KEPT_FOR_MS, MOST_OF_ONE

__all__ = ["InMemoryActStore"]


@dataclass(slots=True)
class InMemoryActStore:
    """Implements `ActStore`.

    Attributes:
        is_away: Whether it answers nothing.
    """

    is_away: bool = False
    _acts: list[PreemptionAct] = field(default_factory=list)
    _counts: Counter[tuple[str, PreemptionStage]] = field(default_factory=Counter)

    async def add(self, acts: Sequence[PreemptionAct]) -> None:
        """See `ActStore`."""
        self._check()
        for act in acts:
            if _key(act) in {_key(known) for known in self._acts}:
                continue
            self._acts.append(act)
            if act.stage is not None:
                self._counts[act.queue, act.stage] += 1
        if acts:
            oldest_ms = max(act.at_ms for act in acts) - KEPT_FOR_MS
            self._acts = [act for act in self._acts if act.at_ms >= oldest_ms]

    async def of(self, application: ApplicationId) -> Sequence[PreemptionAct]:
        """See `ActStore`."""
        self._check()
        return [act for act in self._acts if act.application == application][-MOST_OF_ONE:]

    async def since(self, at_ms: int) -> Sequence[PreemptionAct]:
        """See `ActStore`."""
        self._check()
        return [act for act in self._acts if act.at_ms >= at_ms]

    async def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        """See `ActStore`."""
        self._check()
        return dict(self._counts)

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away")


def _key(act: PreemptionAct) -> tuple[object, ...]:
    return act.application, act.at_ms, act.container, act.stage
