"""Effects of preemption, and its times and limits."""

from dataclasses import dataclass

from shim.domain.ids import ApplicationAttemptId
from shim.domain.preemption import HeldContainer, PreemptionStage
from shim.domain.resources import ResourceVector


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
    """A container enters a stage; `reason` is for people."""

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
