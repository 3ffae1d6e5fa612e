"""A conversation with one Global Master: the jobs and reports that it is given, and the messages that it sends."""

from shim.domain.messages import LocalMasterReport, NodeState, Occasion
from shim.domain.resources import Need
from shim.scheduling.global_master.events import (
    JobRequest,
    JobSubmitted,
    LocalMastersFound,
    ReportReceived,
    SendMessage,
    TaskGroup,
)
from shim.scheduling.global_master.machine import GlobalMaster
from shim.scheduling.policies import HEDDLE_ESTIMATES
from shim.simulation.engine import seeded

SLOT = Need((1,))
OWNERS = ("ga", "ga", "gb")


class GlobalMasterTalk:
    """A Global Master that has heard of one cluster: three nodes of one slot, two of them internal.

    Attributes:
        effects: Of the last event.
    """

    def __init__(self, recipe=HEDDLE_ESTIMATES, *, free=(1, 1, 1), **options):
        self.master = GlobalMaster("ga", recipe, n_resources=1, rng=seeded(1, "test"), **options)
        self.sequence = 0
        self.give(LocalMastersFound(0.0, ("la",)))
        self.full(free)

    def give(self, event):
        """Give an event; return the messages that are sent."""
        self.effects = self.master.handle(event)
        self.master.check_invariants()
        return [effect.message for effect in self.effects if isinstance(effect, SendMessage)]

    def hear(self, at_s=1.0, **content):
        """Deliver the next report, with changes only; `nodes` by their free slots."""
        self.sequence = content.pop("sequence", self.sequence + 1)
        nodes = tuple(NodeState(node, (amount,)) for node, amount in content.pop("nodes", {}).items())
        life = {"incarnation": 1, "to_incarnation": 1} | {
            key: content.pop(key) for key in tuple(content) if "incarn" in key
        }
        report = LocalMasterReport(
            "la", sequence=self.sequence, occasion=Occasion.VERDICT, nodes=nodes, **life, **content
        )
        return self.give(ReportReceived(at_s, report))

    def full(self, free, at_s=0.0, **content):
        """Deliver a full report."""
        self.sequence = content.pop("sequence", self.sequence + 1)
        nodes = tuple(NodeState(node, (amount,), frozenset()) for node, amount in enumerate(free))
        content = {"incarnation": 1, "to_incarnation": 1} | content
        report = LocalMasterReport(
            "la", sequence=self.sequence, occasion=Occasion.ANSWER, is_full=True, nodes=nodes, owners=OWNERS, **content
        )
        return self.give(ReportReceived(at_s, report))

    def submit(self, name="job", n_tasks=1, at_s=1.0, **content):
        """Submit a job of tasks of one slot each."""
        group = TaskGroup(content.pop("need", SLOT), tuple(range(n_tasks)))
        return self.give(JobSubmitted(at_s, JobRequest(name, (group,), **({"estimate_s": 4.0} | content))))
