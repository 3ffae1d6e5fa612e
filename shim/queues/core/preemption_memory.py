"""Preemption that an earlier process began: read out of the acts that it wrote down."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shim.domain.ids import ApplicationId, ContainerId
from shim.domain.preemption import PreemptionAct, PreemptionStage

Taken = tuple[int, ContainerId]
"""When a container was asked back, in milliseconds since the epoch, and which."""

_MS = 1000
_ON_WAY = frozenset({PreemptionStage.ASKED, PreemptionStage.DEMANDED, PreemptionStage.RELEASED})


@dataclass(frozen=True, slots=True)
class Begun:
    """A container that was asked back.

    Attributes:
        taker: The queue that waits for its share.
    """

    container: ContainerId
    taker: str
    room: str
    since_s: float
    stage: PreemptionStage


@dataclass(frozen=True, slots=True)
class Memory:
    """Preemption that an earlier process had begun."""

    begun: tuple[Begun, ...] = ()
    held_back: frozenset[ApplicationId] = frozenset()
    taken: Mapping[str, frozenset[Taken]] = field(default_factory=lambda: MappingProxyType({}))


def memory_of(acts: Iterable[PreemptionAct], lately: Iterable[PreemptionAct] = ()) -> Memory:
    """Read it out of acts.

    Args:
        acts: Of the applications that are looked after from now on, oldest first.
        lately: Of anybody, as far back as budgets count.
    """
    newest: dict[ContainerId, PreemptionAct] = {}
    asked_ms: dict[ContainerId, int] = {}
    held_back: dict[ApplicationId, bool] = {}
    for act in acts:
        if act.container is None:
            held_back[act.application] = act.stage is PreemptionStage.HELD_BACK
            continue
        newest[act.container] = act
        if act.stage is PreemptionStage.ASKED:
            asked_ms[act.container] = act.at_ms
    return Memory(
        begun=tuple(
            Begun(name, act.taker, act.room, asked_ms.get(name, act.at_ms) / _MS, act.stage)
            for name, act in newest.items()
            if act.stage in _ON_WAY
        ),
        held_back=frozenset(name for name, is_held_back in held_back.items() if is_held_back),
        taken=_taken(lately),
    )


def _taken(acts: Iterable[PreemptionAct]) -> Mapping[str, frozenset[Taken]]:
    found: dict[str, set[Taken]] = {}
    for act in acts:
        if act.stage is PreemptionStage.ASKED and act.container is not None:
            found.setdefault(act.queue, set()).add((act.at_ms, act.container))
    return {queue: frozenset(taken) for queue, taken in found.items()}
