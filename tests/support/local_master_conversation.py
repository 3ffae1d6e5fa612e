"""A conversation with one Local Master: what it is told, and what it answers."""

from shim.domain.messages import Bid, BidLine, Launch, LaunchRequest, ReportRequest, TaskRef
from shim.domain.resources import Need
from shim.scheduling.local_master.events import MessageReceived, NodeSpec, SendReport, TaskEnded
from shim.scheduling.local_master.machine import LocalMaster
from shim.scheduling.policy import Commitment

SLOT = Need((1,))


FOUR_SLOTS = (NodeSpec((1,)),) * 4


class Conversation:
    """A Local Master with four nodes of one slot, two for each of two Global Masters, and what it answered last.

    Attributes:
        reports: The reports that the last event brought, by Global Master.
    """

    def __init__(
        self, *, offers, beats_when_quiet=False, kept_for_short=0.0, nodes=FOUR_SLOTS, is_known=True, **settings
    ):
        n_resources = len(nodes[0].capacity)
        how = Commitment(bids=offers, beats_when_quiet=beats_when_quiet, kept_for_short=kept_for_short)
        self.master = LocalMaster("la", nodes, ("ga", "gb"), n_resources=n_resources, commitment=how, **settings)
        self.sequences = {"ga": 0, "gb": 0}
        self.reports = {}
        for name in ("ga", "gb") if is_known else ():
            self.hear(ReportRequest(name, 1))

    def give(self, event):
        """Give an event; return what is to be done but for reports."""
        effects = self.master.handle(event)
        self.master.check_invariants()
        self.reports = {effect.to: effect.report for effect in effects if isinstance(effect, SendReport)}
        return [effect for effect in effects if not isinstance(effect, SendReport)]

    def hear(self, message, at_s=0.0):
        """Deliver a message of a Global Master."""
        return self.give(MessageReceived(at_s, message))

    def request(self, sender, *launches, incarnation=1, at_s=0.0, **content):
        """Deliver the next launch request of a Global Master."""
        self.sequences[sender] += 1
        content = {"heard_to": 0, "sequence": self.sequences[sender], "to_incarnation": 1} | content
        return self.hear(LaunchRequest(sender, incarnation, launches=launches, **content), at_s)

    def end(self, sender, number, at_s=1.0):
        """End a task."""
        return self.give(TaskEnded(at_s, sender, number))


def a_launch(number, node, need=SLOT, **content):
    """Launch of the task of the same number."""
    return Launch(number, node, need, TaskRef("job", number), **content)


def a_bid(name, rank, version=1, count=1, need=SLOT, *, is_long=False):
    """Bid for so many slots."""
    return Bid(name, 1, version, (BidLine((0, 0, rank), need, count, is_long),))
