"""Effects of preemption, and its times and limits."""

from dataclasses import dataclass

from shim.domain.ids import ApplicationAttemptId
from shim.domain.preemption import HeldContainer, PreemptionStage
from shim.domain.resources import ResourceVector

__all__ = ["CapDemand", "PreemptionEffect", "PreemptionSettings", "Remind", "Step", "settling_s"]


@dataclass(frozen=True, slots=True)
class PreemptionSettings:
    """Patience.

    Attributes:
        persist_s: A queue must have been owed something for this long before containers are asked back.
        grace_s: From asking a container back to taking it; in the second half it is demanded.
        settle_s: What has gone counts as on its way for this long, until reports show who has it now.
        idle_s: A queue that leaves what is free for it for this long cannot use it, and nothing is kept for it.
        stale_s: While a sub-cluster does not tell how it is, asks that are held back stay so for this long.
        stuck_s: A release that takes longer does not count as on its way any more; nor does what was begun before this
            process, and was not seen since.
    """

    persist_s: float
    grace_s: float
    settle_s: float
    idle_s: float = 30.0
    stale_s: float = 10.0
    stuck_s: float = 60.0


def settling_s(poll_interval_s: float) -> float:
    """Time in which reports show who has what went: three polls of every sub-cluster, and no less than five seconds."""
    return max(5.0, 3 * poll_interval_s)


@dataclass(frozen=True, slots=True)
class PreemptionEffect:
    """Effect of preemption."""


@dataclass(frozen=True, slots=True)
class CapDemand(PreemptionEffect):
    """Limit of an attempt's asks that may stand at schedulers.

    Attributes:
        amount: Of what is not granted yet; None for all of it.
        reason: For people; empty if it is the same as before.
    """

    attempt: ApplicationAttemptId
    amount: ResourceVector | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Step(PreemptionEffect):
    """A container enters a stage; `reason` is for people.

    Attributes:
        room: Of the containers that go together.
    """

    container: HeldContainer
    stage: PreemptionStage
    taker: str
    reason: str
    room: str = ""


@dataclass(frozen=True, slots=True)
class Remind(PreemptionEffect):
    """A container is in a stage that an earlier process has begun: its attempt is told, and nobody else."""

    container: HeldContainer
    stage: PreemptionStage
