"""Megha as published: match in internal partitions, then borrow; verify at the Local Master; match again when rejected.

Source: Megha, sections III and IV with algorithms 1 and 2; the order by fewest unfinished tasks, and the random place
where searches begin, are those of its public simulator.
"""

from shim.scheduling.global_master.match import NodeChoice
from shim.scheduling.global_master.ordering import fewest_unfinished
from shim.scheduling.global_master.recipe import Commitment, Placement, Reallocation, Recipe
from shim.scheduling.global_master.repartition import PartitionChoice

__all__ = ["MEGHA"]

MEGHA = Recipe(
    name="megha",
    ordering=fewest_unfinished,
    placement=Placement(partitions=PartitionChoice.RANDOM, nodes=NodeChoice.RANDOM_START),
    commitment=Commitment(answers_acceptance=True, bids=False),
    reallocation=Reallocation.QUEUE_SHARE,
)
