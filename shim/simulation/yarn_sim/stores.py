"""The stores of a run: shared by all processes, each behind its gate, with the time and the faults of a database."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from shim.errors import StoreUnavailableError
from shim.simulation.virtual_time import ProcessGate
from shim.store.stores import Stores


@dataclass(slots=True)
class StoreFaults:
    """Faults of the database.

    Attributes:
        takes_s: Half the time of an operation: before it is done, and after.
        refuses: Part of the operations that fail, with nothing written.
        loses: Part of the operations that are done and whose answer is lost.
    """

    rng: random.Random
    takes_s: float = 0.001
    is_away: bool = False
    refuses: float = 0.0
    loses: float = 0.0


class _Gated:
    """A store of one process: each of its methods passes the gate, takes its time, and may fail."""

    def __init__(self, inner: object, gate: ProcessGate, faults: StoreFaults) -> None:
        self._inner = inner
        self._gate = gate
        self._faults = faults

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._inner, name)

        async def operate(*args: Any, **named: Any) -> Any:
            faults = self._faults
            await self._gate.through()
            await asyncio.sleep(faults.takes_s)
            await self._gate.through()
            if faults.is_away or (faults.refuses and faults.rng.random() < faults.refuses):
                raise StoreUnavailableError("the database does not answer")
            outcome = await method(*args, **named)
            await asyncio.sleep(faults.takes_s)
            await self._gate.through()
            if faults.loses and faults.rng.random() < faults.loses:
                raise StoreUnavailableError("the answer of the database was lost")
            return outcome

        return operate


def gated_stores(stores: Stores, gate: ProcessGate, faults: StoreFaults) -> Stores:
    """The same stores, as one process reaches them."""
    return replace(stores, **{each.name: _Gated(getattr(stores, each.name), gate, faults) for each in fields(stores)})
