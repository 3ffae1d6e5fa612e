"""Urgency of a request, for comparison between Global Masters."""

import math

from shim.domain.messages import Rank
from shim.scheduling.policy import Policy

_SMALLEST_KEY = 1e-6


def rank_of(policy: Policy, key: float, deficit: float, priority: float) -> Rank:
    """The job's priority, its queue's deficit, and the policy's key on a log scale; the smaller rank goes first."""
    step = math.floor(math.log2(max(key, _SMALLEST_KEY)) * policy.commitment.ranks_per_octave)
    return (-int(priority), int(deficit), step)


def is_worth_renewing(policy: Policy, told: Rank, rank: Rank, rival: Rank | None) -> bool:
    """Return whether a bid that told one rank is to be renewed for another one.

    That is if it goes before the best other bid now, and did not; or if it is more urgent by much, as the other one may
    be out of date: a large job becomes more urgent with each of its launches, and so step by step until none is left.

    Args:
        told: What the Local Master knows.
        rival: Of the best other bid there, as far as it is known.
    """
    if rank >= told:  # most often
        return False
    if rival is not None and rank < rival <= told:
        return True
    *before, step = told
    much = round(policy.commitment.renewal_octaves * policy.commitment.ranks_per_octave)
    return rank <= (*before, step - much)
