"""A Local Master's side of its conversation with one Global Master: what was heard, and what still has to be told."""

from collections import deque
from dataclasses import dataclass, field

from shim.domain.messages import Ending, LaunchRejected


@dataclass(slots=True)
class GlobalMasterLink:
    """State of one direction each: requests seen, reports sent.

    Attributes:
        incarnation: Newest life of the Global Master that was seen; older ones are fenced off.
        seen_to: Every request up to this sequence has been executed.
        seen_beyond: Executed requests above it.
        sequence: Of the last report that was sent.
        changed: Nodes that changed since then, in the order of their first change.
        properties_changed: Nodes whose properties changed since then.
        outbox: Rejections and endings with the sequence of the report that first carried them, until acknowledged.
        was_told: Whether there was a report since the last heartbeat was due.
        owes_usage: Whether a heartbeat was left out, so that the next report tells how much queues hold.
        learnt: What other Global Masters learnt, to be passed on.
        fresh: Those that no report has carried yet.
    """

    incarnation: int = 0
    seen_to: int = 0
    seen_beyond: set[int] = field(default_factory=set)
    sequence: int = 0
    changed: dict[int, None] = field(default_factory=dict)
    properties_changed: set[int] = field(default_factory=set)
    outbox: deque[tuple[int, LaunchRejected | Ending]] = field(default_factory=deque)
    fresh: list[LaunchRejected | Ending] = field(default_factory=list)
    was_told: bool = False
    owes_usage: bool = False
    learnt: list[float] = field(default_factory=list)

    def has_seen(self, sequence: int) -> bool:
        """True if the request was executed already."""
        return sequence <= self.seen_to or sequence in self.seen_beyond

    def see(self, sequence: int) -> None:
        """Note that the request is being executed."""
        if sequence == self.seen_to + 1 and not self.seen_beyond:
            self.seen_to = sequence
            return
        self.seen_beyond.add(sequence)
        while self.seen_to + 1 in self.seen_beyond:
            self.seen_to += 1
            self.seen_beyond.remove(self.seen_to)

    def acknowledge(self, heard_to: int) -> None:
        outbox = self.outbox
        while outbox and outbox[0][0] <= heard_to:
            outbox.popleft()

    def restart(self, incarnation: int) -> None:
        """Begin anew with a new life of the Global Master; what was for the old one nobody waits for any more."""
        self.incarnation = incarnation
        self.seen_to = 0
        self.seen_beyond.clear()
        self.outbox.clear()
        self.fresh.clear()

    def say_again(self) -> None:
        """Have the next report carry everything that was not acknowledged."""
        self.fresh = [entry for _, entry in self.outbox] + self.fresh
        self.outbox.clear()
