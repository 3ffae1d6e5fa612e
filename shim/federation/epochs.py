"""Configuration of the sub-clusters that matters to applications in several: epochs, and who judges constraints.

A ResourceManager counts an application's containers from 1 and puts its epoch before the number. Two without epochs, or
with equal ones, give different containers of one application the same id. The epoch grows by one with each restart.

Who judges placement constraints decides what a count in a `SchedulingRequest` means; see `ConstraintHandling`.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping

import msgspec

from shim.domain.allocations import ConstraintHandling
from shim.domain.ids import SubClusterId
from shim.errors import HeddleError
from shim.ports.resource_manager import ResourceManager
from shim.protocol.rest.wire_values import whole

_OK = 200
_KEY = "yarn.resourcemanager.epoch"
_HANDLER = "yarn.resourcemanager.placement-constraints.handler"
_HANDLINGS = {handling.value: handling for handling in ConstraintHandling}


class Epochs:
    """Asks ResourceManagers for their configured epochs and handlers of constraints, each until it has told.

    Args:
        managers: The sub-clusters.
        answer_within_s: For one answer.
    """

    def __init__(self, managers: Mapping[SubClusterId, ResourceManager], answer_within_s: float = 2.0) -> None:
        self._managers = managers
        self._answer_within_s = answer_within_s
        self._known: dict[SubClusterId, int] = {}
        self._handlings: dict[SubClusterId, ConstraintHandling] = {}

    @property
    def is_complete(self) -> bool:
        """True if all sub-clusters have told their epochs."""
        return len(self._known) == len(self._managers)

    @property
    def clashes(self) -> Mapping[SubClusterId, int]:
        """Sub-clusters whose epoch another one has too; 0 is none and so clashes with nothing."""
        counts = Counter(self._known.values())
        return {name: epoch for name, epoch in self._known.items() if epoch and counts[epoch] > 1}

    @property
    def homes_only(self) -> tuple[SubClusterId, ...]:
        """Sub-clusters without an epoch: applications may have their home there, and nothing else."""
        return tuple(name for name, epoch in self._known.items() if not epoch)

    def may_span(self, subcluster: SubClusterId) -> bool:
        """True if containers of other homes' applications can be told apart there: its epoch is known and its own."""
        return self._known.get(subcluster, 0) > 0 and subcluster not in self.clashes

    def constraints(self, subcluster: SubClusterId) -> ConstraintHandling | None:
        """Return the way of a sub-cluster with asks that have a placement constraint; None until it has told."""
        return self._handlings.get(subcluster)

    async def ask(self) -> None:
        """Ask those that have not told."""
        missing = [name for name in self._managers if name not in self._known]
        for name, epoch in zip(missing, await asyncio.gather(*map(self._ask, missing)), strict=True):
            if epoch is not None:
                self._known[name] = epoch

    async def _ask(self, subcluster: SubClusterId) -> int | None:
        try:
            answer = await self._managers[subcluster].query("/conf", timeout_s=self._answer_within_s)
            if answer.status != _OK:
                return None
            document = msgspec.json.decode(answer.body, type=_Document)
        except (HeddleError, msgspec.DecodeError):
            return None
        told = {each.key: each.value for each in document.properties if each.key in {_KEY, _HANDLER}}
        self._handlings[subcluster] = _HANDLINGS.get(told.get(_HANDLER) or "", ConstraintHandling.NONE)
        value = told.get(_KEY)
        return whole(value)


class _Property(msgspec.Struct):
    key: str = ""
    value: str | None = None


class _Document(msgspec.Struct):
    properties: list[_Property]
