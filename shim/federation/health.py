"""Readiness of this process for requests: what balancers and orchestrators ask."""

import asyncio
from dataclasses import dataclass, field

from shim.concurrency.single_flight import SingleFlight
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import SubClusterState
from shim.errors import StoreError
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore

_STORE_WITHIN_S = 1.0
_KEPT_S = 0.5
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """Obstacles to serving requests.

    Attributes:
        reasons: For people; none if requests may come.
    """

    reasons: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        return not self.reasons


@dataclass(slots=True)
class Health:
    """Answers `/ready`. However many ask, the store is asked at most twice a second.

    Attributes:
        is_ending: Whether the process was told to end, and only finishes what has begun.
    """

    view: FederationView
    store: StateStore
    clock: Clock
    is_ending: bool = False
    _began_s: float = field(init=False)
    _store_told: tuple[float, str] | None = None
    _flights: SingleFlight[str, str] = field(default_factory=SingleFlight)

    def __post_init__(self) -> None:
        self._began_s = self.clock.monotonic_s()

    async def readiness(self) -> Readiness:
        """The store answers, every cluster was polled once, and the process is not ending."""
        reasons = ["this process is ending"] if self.is_ending else []
        trouble = await self._store_trouble()
        if trouble:
            reasons.append(f"the store cannot be used: {trouble}")
        unheard = self._unheard()
        if unheard:
            reasons.append(f"not polled yet: {', '.join(unheard)}")
        return Readiness(tuple(reasons))

    def _unheard(self) -> list[SubClusterId]:
        """Clusters that no poll told anything of, good or bad.

        One cluster must not keep all processes out for ever: after a while those that have answered are enough.
        """
        now_s = self.clock.now_s()
        asked = [each for each in self.view.subclusters if not self.view.is_retired(each)]
        looks = [self.view.look(each, now_s) for each in asked]
        heard = [look for look in looks if look.state is not SubClusterState.NEW]
        if heard and self.clock.monotonic_s() - self._began_s > _PATIENCE_S:
            return []
        return [look.subcluster for look in looks if look.state is SubClusterState.NEW and not look.failure]

    async def _store_trouble(self) -> str:
        told = self._store_told
        if told is not None and self.clock.monotonic_s() - told[0] < _KEPT_S:
            return told[1]
        return await self._flights.do("store", self._ask_store)

    async def _ask_store(self) -> str:
        trouble = ""
        try:
            async with asyncio.timeout(_STORE_WITHIN_S):
                await self.store.admissions()
        except StoreError as exc:
            trouble = str(exc)
        except TimeoutError:
            trouble = f"no answer within {_STORE_WITHIN_S:g} s"
        self._store_told = (self.clock.monotonic_s(), trouble)
        return trouble
