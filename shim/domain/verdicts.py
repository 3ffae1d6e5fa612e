"""Messages between a Global Master that would send an application to a sub-cluster, and its Local Master."""

from dataclasses import dataclass
from enum import Enum

from shim.domain.ids import SubClusterId

__all__ = ["HomeVerdict", "PlacedKind", "Verdict"]


class Verdict(Enum):
    """Outcome of a proposal."""

    ACCEPTED = "accepted"
    """The Local Master counts the application from now on."""
    REJECTED = "rejected"
    """The sub-cluster is not what the proposal rests on: others have filled it, or it may not have the application."""
    UNVERIFIED = "unverified"
    """No Local Master said anything in time: the ResourceManager alone has the word."""


@dataclass(frozen=True, slots=True)
class PlacedKind:
    """Number of applications of one kind that are on the way to a sub-cluster; no report shows them yet.

    Attributes:
        queue: As submitted; empty for the default queue.
        memory_mib: Of the ApplicationMaster's container; `vcores` likewise.
    """

    queue: str
    memory_mib: int
    vcores: int
    count: int


@dataclass(frozen=True, slots=True)
class HomeVerdict:
    """A Local Master's answer to a proposal.

    Attributes:
        reason: For people.
        score: By the Local Master's knowledge; None if the sub-cluster may not have the application at all.
        age_s: Of that knowledge; None if nobody said.
        placed: With a rejection: everything that is on its way there, whoever sent it. Newer than any report.
    """

    subcluster: SubClusterId
    verdict: Verdict
    reason: str
    score: float | None = None
    age_s: float | None = None
    placed: tuple[PlacedKind, ...] = ()
