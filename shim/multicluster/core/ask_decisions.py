"""Decisions about an ask, as people are told of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from shim.domain.allocations import AskKey
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, WorkEstimate

__all__ = ["AskDecision", "Weighed"]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A sub-cluster as it was weighed for some asks.

    Attributes:
        room: Containers that could be had there by the view.
        age_s: Of that view.
    """

    subcluster: SubClusterId
    room: int
    age_s: float


@dataclass(frozen=True, slots=True)
class AskDecision:
    """The newest split of some asks, with its grounds, for people.

    Attributes:
        wanted: Containers that no scheduler has granted.
        asked: How many each sub-cluster is asked for.
        promised: How many of those have a tentative allocation.
        by: Which splitter decided; `reason` says why it was not the matching one.
        verdicts: The newest of these asks, each with how many were proposed.
        repairs: Promises that were not kept in time, and taken back.
        withheld: Containers that nobody is asked for, as other attempts go first; `behind` names those.
        estimate: What the order expects of the attempt, if it goes by learnt durations.
        rule: The policy of the queue that decided; empty if none did.
        gang: Where the gang stands that it is a part of; empty if it is part of none.
    """

    key: AskKey
    wanted: int
    asked: Mapping[SubClusterId, int]
    promised: Mapping[SubClusterId, int]
    by: str
    reason: str
    candidates: tuple[Weighed, ...]
    verdicts: tuple[tuple[int, LaunchVerdict], ...]
    repairs: int
    withheld: int = 0
    behind: tuple[str, ...] = ()
    estimate: WorkEstimate | None = None
    rule: str = ""
    gang: str = ""
