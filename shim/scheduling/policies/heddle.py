"""Heddle's own recipe: Megha with need-driven offers and learnt durations.

What differs from `megha`, and why:

- Order by the capacity that a job still has to be given: its waiting tasks times how long its tasks run, learnt from
  those that have ended and from how long the others have run (or as the submitter stated, in `HEDDLE_ESTIMATES`).
- A job of which nothing is known is tried: its first task is ranked by what it costs to learn whether the rest is worth
  it.
- A Global Master that sees no room bids; a Local Master offers capacity that comes free to the best bidder. So the
  order holds among all Global Masters, not only within each, and nobody collides over a freed slot.
- Acceptance is not answered on its own.
"""

from shim.scheduling.global_master.match import NodeChoice
from shim.scheduling.global_master.ordering import estimated_work, learnt_work
from shim.scheduling.global_master.recipe import Commitment, Placement, Reallocation, Recipe
from shim.scheduling.global_master.repartition import PartitionChoice

__all__ = ["HEDDLE", "HEDDLE_ESTIMATES"]

_PLACEMENT = Placement(partitions=PartitionChoice.RANDOM, nodes=NodeChoice.RANDOM_START)
_COMMITMENT = Commitment(answers_acceptance=False, bids=True)

HEDDLE = Recipe("heddle", learnt_work, _PLACEMENT, _COMMITMENT, Reallocation.QUEUE_SHARE, learns_durations=True)

HEDDLE_ESTIMATES = Recipe("heddle", estimated_work, _PLACEMENT, _COMMITMENT, Reallocation.QUEUE_SHARE)
