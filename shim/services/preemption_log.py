"""What was done so that queues get their shares, application by application: the decision log of preemption."""

from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shim.domain.ids import ApplicationId, ContainerId, SubClusterId
from shim.domain.preemption import PreemptionStage

__all__ = ["PreemptionAct", "PreemptionLog"]

_MOST_APPLICATIONS = 4096
_MOST_ACTS = 64


@dataclass(frozen=True, slots=True)
class PreemptionAct:
    """One act.

    Attributes:
        at_ms: When; milliseconds since the epoch.
        application: Whose asks or container it was.
        queue: Path of its queue.
        stage: What was done; None if asks go out again.
        reason: For people.
        container: Which; None where it concerns asks.
        subcluster: Where that is.
        taker: The queue that waits for its share; empty where it concerns asks.
    """

    at_ms: int
    application: ApplicationId
    queue: str
    stage: PreemptionStage | None
    reason: str
    container: ContainerId | None = None
    subcluster: SubClusterId | None = None
    taker: str = ""

    @property
    def done(self) -> str:
        """In one or two words."""
        return "passed on again" if self.stage is None else self.stage.value


class PreemptionLog:
    """The newest acts of each application, and counts of all since Heddle has started."""

    def __init__(self) -> None:
        self._acts: OrderedDict[ApplicationId, deque[PreemptionAct]] = OrderedDict()
        self._counts: Counter[tuple[str, PreemptionStage]] = Counter()

    @property
    def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        """Acts by queue and stage."""
        return self._counts

    def preempted(self, queue: str) -> int:
        """Containers that were taken from a queue."""
        return self._counts[queue, PreemptionStage.RELEASED]

    def note(self, act: PreemptionAct) -> None:
        """Write an act down."""
        if act.stage is not None:
            self._counts[act.queue, act.stage] += 1
        self._acts.setdefault(act.application, deque(maxlen=_MOST_ACTS)).append(act)
        self._acts.move_to_end(act.application)
        if len(self._acts) > _MOST_APPLICATIONS:
            self._acts.popitem(last=False)

    def of(self, application: ApplicationId) -> Sequence[PreemptionAct]:
        """What was done to an application, oldest first; the newest acts only."""
        return tuple(self._acts.get(application, ()))
