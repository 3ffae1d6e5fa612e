"""Urgency of a request, for comparison between Global Masters."""

import math

from shim.domain.messages import Rank
from shim.scheduling.plan import Turn
from shim.scheduling.policy import Policy

__all__ = ["is_worth_renewing", "rank_of"]

_SMALLEST_KEY = 1e-6


def rank_of(policy: Policy, turn: Turn) -> Rank:
    """The job's priority, its queue's deficit, and the policy's key on a log scale; the smaller rank goes first."""
    step = math.floor(math.log2(max(turn.key, _SMALLEST_KEY)) * policy.commitment.ranks_per_octave)
    return (-int(turn.priority), int(turn.deficit), step)


def is_worth_renewing(policy: Policy, told: Rank, rank: Rank) -> bool:
    """Tell whether a bid that told one rank is to be renewed for another one: if that is more urgent by enough.

    A large job becomes more urgent with each of its launches, and so step by step until it has none left.
    """
    commitment = policy.commitment
    *before, step = told
    return rank <= (*before, step - round(commitment.renewal_octaves * commitment.ranks_per_octave))
