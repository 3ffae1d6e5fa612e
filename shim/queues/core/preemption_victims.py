"""Containers that are on their way back, and what there is to know of them together."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.preemption import HeldContainer, PreemptionStage, ShareSnapshot
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption_sizes import NOTHING

__all__ = ["Victim", "Victims"]

_FINAL = frozenset({PreemptionStage.RELEASED, PreemptionStage.SPARED})


@dataclass(slots=True)
class Victim:
    """A container that is asked back.

    Attributes:
        group: Names what makes room for one container; the victims of a group are asked for together.
        at: Where that container waits, as far as is known; it may be had where its victims are.
        since_s: When it was asked back.
        changed_s: When it entered its stage.
        gone_s: When it was first not held any more.
    """

    container: HeldContainer
    taker: str
    group: str
    at: SubClusterId
    since_s: float
    changed_s: float
    stage: PreemptionStage = PreemptionStage.ASKED
    gone_s: float | None = None


class Victims:
    """Each container that was asked back, until it has been gone for long enough.

    Args:
        settle_s: What has gone counts as on its way for this long, until reports show who has it now.
        stuck_s: A release that takes longer does not count as on its way any more.
    """

    def __init__(self, settle_s: float, stuck_s: float) -> None:
        self._settle_s = settle_s
        self._stuck_s = stuck_s
        self._all: dict[ContainerId, Victim] = {}

    def __len__(self) -> int:
        """Number of victims, with those that have just gone."""
        return len(self._all)

    def __contains__(self, container: ContainerId) -> bool:
        """True if a container is a victim."""
        return container in self._all

    def add(self, victim: Victim) -> None:
        """Ask a container back."""
        self._all[victim.container.id] = victim

    def remove(self, container: ContainerId) -> None:
        """Let a container stay after all."""
        del self._all[container]

    def follow(self, now: ShareSnapshot) -> None:
        """See which have gone by now."""
        held = {each.id for each in now.containers}
        for name, victim in list(self._all.items()):
            if name in held:
                continue
            victim.gone_s = now.at_s if victim.gone_s is None else victim.gone_s
            if now.at_s - victim.gone_s >= self._settle_s:
                del self._all[name]

    def active(self) -> list[Victim]:
        """Victims that are still held."""
        return [each for each in self._all.values() if each.gone_s is None]

    def dearest(self, at_s: float) -> list[Victim]:
        """Victims that may still be spared, first those whose loss costs most."""
        standing = [each for each in self.active() if each.stage not in _FINAL]
        return sorted(standing, key=lambda each: (-_lost(each.container, at_s), each.container.id))

    def coming(self, taker: str, at_s: float, *, with_gone: bool) -> Mapping[SubClusterId, int]:
        """For how many containers of a queue room is being made, by the sub-cluster where they wait."""
        groups = {
            (each.at, each.group)
            for each in self._of(taker)
            if (with_gone or each.gone_s is None)
            and not (each.stage is PreemptionStage.RELEASED and at_s - each.changed_s >= self._stuck_s)
        }
        return Counter(name for name, _ in groups)

    def moving(self, taker: str, waits_at: SubClusterId) -> Mapping[SubClusterId, int]:
        """For how many of a queue's containers that wait on a sub-cluster room is being made elsewhere, by where."""
        groups = {
            (each.group, each.container.subcluster)
            for each in self._of(taker)
            if each.at == waits_at and each.container.subcluster != waits_at
        }
        return Counter(at for _, at in groups)

    def leaving(self, now: ShareSnapshot) -> Mapping[str, ResourceVector]:
        """Amounts on their way back from each queue that are in what the queue is said to use."""
        amounts: dict[str, ResourceVector] = {}
        for each in self._all.values():
            held = each.container
            if each.gone_s is None or each.gone_s >= now.as_of(held.subcluster):
                amounts[held.queue] = amounts.get(held.queue, NOTHING) + held.resource
        return amounts

    def _of(self, taker: str) -> Iterator[Victim]:
        return (each for each in self._all.values() if each.taker == taker)


def _lost(held: HeldContainer, at_s: float) -> float:
    """Work that is lost with a container; MiB-seconds."""
    return max(0.0, at_s - held.since_s) * held.resource.memory_mib
