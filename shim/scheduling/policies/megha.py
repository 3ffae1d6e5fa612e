"""Megha as published: match in internal partitions, then borrow; verify at the Local Master; match again when rejected.

Source: Megha, sections III and IV with algorithms 1 and 2; the order by fewest unfinished tasks, and the random place
where searches begin, are those of its public simulator.
"""

from shim.scheduling.policy import (
    CellChoice,
    Commitment,
    Fact,
    Ordering,
    Placement,
    Policy,
    Reallocation,
    fewest_unfinished,
)

MEGHA = Policy(
    name="megha",
    ordering=Ordering(fewest_unfinished),
    placement=Placement(CellChoice.RANDOM),
    commitment=Commitment(answers_acceptance=True, bids=False),
    reallocation=Reallocation.QUEUE_SHARE,
    summary="Global Masters on stale views, verified by Local Masters",
    source="Megha, sections III and IV",
    needs=frozenset({Fact.DIRECT_LAUNCH}),
)
