"""Heddle's own policy where masters launch: Megha with need-driven offers and learnt durations.

What differs from `megha`, and why:

- Order by the capacity that a job still has to be given: its waiting tasks times how long its tasks run, learnt from
  those that have ended and from how long the others have run (or as the submitter stated, in `HEDDLE_ESTIMATES`).
- A job of which nothing is known is tried: its first task is ranked by what it costs to learn whether the rest is worth
  it.
- No task counts for longer than the queue is expected to last: where it lasts for seconds, what counts is how many
  slots a job wants, however long it keeps them. Not so where room is kept for short tasks.
- A Global Master that sees no room bids; a Local Master offers capacity that comes free to the best bidder. So the
  order holds among all Global Masters, not only within each, and nobody collides over a freed slot.
- Where most jobs are short and take little, tasks that run long leave one node in a hundred free: short ones do not
  wait until one of those ends.
- Acceptance is not answered on its own, and nobody is told by a heartbeat who was told everything since the last one.
"""

from dataclasses import replace

from shim.scheduling.policy import (
    CellChoice,
    Commitment,
    Fact,
    Ordering,
    Placement,
    Policy,
    Reallocation,
    estimated_work,
    learnt_work,
)

HEDDLE = Policy(
    name="heddle",
    ordering=Ordering(learnt_work, learns_durations=True, has_horizon=True),
    placement=Placement(CellChoice.RANDOM),
    commitment=Commitment(
        answers_acceptance=False, bids=True, ranks_per_octave=8.0, beats_when_quiet=True, kept_for_short=0.01
    ),
    reallocation=Reallocation.QUEUE_SHARE,
    summary="Megha's masters with need-driven offers; durations are learnt",
    needs=frozenset({Fact.DIRECT_LAUNCH}),
)

HEDDLE_ESTIMATES = replace(
    HEDDLE,
    name="heddle-estimates",
    ordering=Ordering(estimated_work),
    summary="Megha's masters with need-driven offers; durations as submitters state them",
    needs=HEDDLE.needs | {Fact.ESTIMATES},
)
