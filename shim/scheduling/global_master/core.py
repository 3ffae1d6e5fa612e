"""State of a Global Master, from which its cycles start."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fairness import FloatArray
from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.messages import InconsistencyKind, Launch, LaunchRequest, TaskRef
from shim.scheduling.global_master.events import GlobalMasterEffect, SendMessage
from shim.scheduling.global_master.jobs import Group, Job, JobBook
from shim.scheduling.global_master.links import LaunchDraft, LocalMasterLink
from shim.scheduling.global_master.view import GlobalView
from shim.scheduling.placements import CycleState, PolicyRandom
from shim.scheduling.policy import Policy

__all__ = ["Core", "Counters"]

_LIFE_SHIFT = 40
"""Launch numbers: the incarnation stands above the low 40 bits, so that numbers of two lives never meet."""


@dataclass(slots=True)
class Counters:
    """Counts of events so far.

    Attributes:
        inconsistencies: Rejected launches by kind.
        matches: Launches that were sent.
        repartitions: Those of them into external partitions by an own match, not by an offer.
        offers_used: Offers with at least one launch; `offers_declined` those without.
    """

    inconsistencies: Counter[InconsistencyKind] = field(default_factory=Counter)
    matches: int = 0
    repartitions: int = 0
    offers_used: int = 0
    offers_declined: int = 0


class Core:
    """State of a Global Master.

    Attributes:
        queue_rows: Rows of the queues that have a share in the whole federation; empty when none has.
        shares: float64 array of shape (n_queues,): these shares, by row.
        state: What cycles hand on to each other.
        drafts: What the next requests will say, for the Local Masters that there is something to say to.
        tokens: Renewed bids that may still be sent.
        nobody_bid_at_s: The newest time at which nobody had bid at some Local Master.
        most_free: The most that was ever free of each resource: what jobs' shares are parts of.
        patient_until_s: Queues that were asked back lately: until then they borrow nothing anew.
    """

    def __init__(
        self,
        global_master: GlobalMasterId,
        policy: Policy,
        *,
        n_resources: int,
        rng: PolicyRandom,
        incarnation: int,
        queue_shares: Mapping[str, float],
    ) -> None:
        self.global_master = global_master
        self.policy = policy
        self.incarnation = incarnation
        self.queue_rows = {queue: row for row, queue in enumerate(queue_shares)}
        self.shares: FloatArray = np.array(list(queue_shares.values()), dtype=np.float64)
        self.state = CycleState(rng)
        self.view = GlobalView(global_master, n_resources)
        self.book = JobBook(self.queue_rows, policy.ordering.beliefs)
        self.links: dict[LocalMasterId, LocalMasterLink] = {}
        self.drafts: dict[LocalMasterId, LaunchDraft] = {}
        self.counters = Counters()
        self.effects: list[GlobalMasterEffect] = []
        self.tokens = 0.0
        self.nobody_bid_at_s = 0.0
        self.most_free: FloatArray = np.zeros(n_resources)
        self.patient_until_s: dict[str, float] = {}
        self.keeps_decisions = False
        self._next_number = (incarnation << _LIFE_SHIFT) + 1

    def launch(self, job: Job, group: Group, row: int, at_s: float, *, offer: int = 0) -> Launch:
        """Book the group's next task on a node and put its launch into the draft of that Local Master."""
        place = self.view.place_of(row)
        self.tokens += self.policy.commitment.bids_per_launch
        number = self._next_number
        self._next_number += 1
        placed = self.book.place(job, group, place, number, at_s)
        is_gang = job.held is not None
        launch = Launch(
            number, place[1], group.need, TaskRef(job.request.job, placed.index), job.request.queue, offer, is_gang
        )
        self.draft(place[0]).launches.append(launch)
        return launch

    def draft(self, local_master: LocalMasterId) -> LaunchDraft:
        """Return the draft of the next request to a Local Master, for callers to add to."""
        draft = self.drafts.get(local_master)
        if draft is None:
            draft = self.drafts[local_master] = LaunchDraft()
        return draft

    def send_request(self, local_master: LocalMasterId, request: LaunchRequest, at_s: float) -> None:
        """Send a request and keep it until a report has seen it."""
        link = self.links[local_master]
        link.unseen[request.sequence] = (request, at_s)
        self.effects.append(SendMessage(local_master, request))

    def repeat_request(self, local_master: LocalMasterId, sequence: int, at_s: float) -> None:
        """Send a request once more."""
        link = self.links[local_master]
        request = replace(link.unseen[sequence][0], heard_to=link.heard_to)
        self.send_request(local_master, request, at_s)
