"""Record of acts of preemption: for people, and for the next Heddle."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from shim.domain.ids import ApplicationId
from shim.domain.preemption import PreemptionAct, PreemptionStage

KEPT_FOR_MS = 24 * 60 * 60 * 1000
"""How long an act is kept, by the times of the acts themselves; what they count to is kept for ever."""

MOST_OF_ONE = 256
"""How many acts of one application are read at once: the newest."""


class ActStore(Protocol):
    """Every method raises `StoreUnavailableError` when the store fails; each may be repeated."""

    async def add(self, acts: Sequence[PreemptionAct]) -> None:
        """Keep acts, in their order, and count them; what is known already is neither kept nor counted again."""
        ...

    async def of(self, application: ApplicationId) -> Sequence[PreemptionAct]:
        """Acts that concern an application, oldest first; the newest `MOST_OF_ONE`."""
        ...

    async def since(self, at_ms: int) -> Sequence[PreemptionAct]:
        """Acts from a moment on, whomever they concern, oldest first."""
        ...

    async def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        """Number of all acts ever, by queue and stage."""
        ...
