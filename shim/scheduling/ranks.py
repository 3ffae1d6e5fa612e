"""Urgency of a request, for comparison between Global Masters."""

import math

from shim.domain.messages import Rank
from shim.scheduling.plan import Turn
from shim.scheduling.policy import Policy

__all__ = ["rank_of"]

_SMALLEST_KEY = 1e-6


def rank_of(policy: Policy, turn: Turn) -> Rank:
    """The job's priority, its queue's deficit, and the policy's key on a log scale; the smaller rank goes first."""
    step = math.floor(math.log2(max(turn.key, _SMALLEST_KEY)) * policy.commitment.ranks_per_octave)
    return (-int(turn.priority), int(turn.deficit), step)
