"""A Local Master's word on proposals: does its sub-cluster still look as the proposal believes?

Its own view is as fresh as its last poll, and counts what every Global Master has sent there since. So a proposal that
rests on an older view, or does not know of the others' placements, is found out here, before anything is sent.
"""

from dataclasses import replace

from shim.domain.access_lists import NO_ACLS
from shim.domain.ids import SubClusterId
from shim.domain.launches import HomeVerdict, PlacedKind, Verdict
from shim.domain.subclusters import SubClusterState
from shim.domain.submissions import HomeProposal
from shim.federation.core.federation_view import FederationView, PendingPlacement
from shim.ports.clock import Clock
from shim.submission.core.home import HomeSettings, choose_home

_ROUNDING = 1e-9


class HomeVerification:
    """Verifies proposals for one sub-cluster.

    Args:
        subcluster: Whose Local Master this is.
        view: Of this sub-cluster alone, kept by this Local Master's polls.
    """

    def __init__(
        self, subcluster: SubClusterId, view: FederationView, clock: Clock, settings: HomeSettings | None = None
    ) -> None:
        self._subcluster = subcluster
        self._view = view
        self._clock = clock
        self._settings = settings or HomeSettings()

    def verify(self, proposal: HomeProposal) -> HomeVerdict:
        """Accept a proposal, and count the application from now on; or reject it with what is on its way here.

        Before the first poll there is nothing to judge by.
        """
        now_s = self._clock.now_s()
        if self._view.state(self._subcluster, now_s) is SubClusterState.NEW:
            return HomeVerdict(self._subcluster, Verdict.UNVERIFIED, "its Local Master has not polled yet")
        decision = choose_home(proposal.submission, self._view, {}, now_s, self._settings)
        (candidate,) = decision.candidates
        told = HomeVerdict(self._subcluster, Verdict.REJECTED, candidate.reason, candidate.score, candidate.age_s)
        if candidate.score is None:
            return replace(told, placed=self._placed())
        if proposal.at_least is not None and candidate.score < proposal.at_least - _ROUNDING:
            reason = f"{candidate.reason}: less than the {proposal.at_least:.2f} of the next best"
            return replace(told, reason=reason, placed=self._placed())
        placement = PendingPlacement(proposal.submission.queue, proposal.submission.resource, now_s)
        self._view.note_placed(self._subcluster, placement)
        return replace(told, verdict=Verdict.ACCEPTED)

    def _placed(self) -> tuple[PlacedKind, ...]:
        kinds = self._view.look(self._subcluster, self._clock.now_s()).placements.items()
        return tuple(PlacedKind(queue, memory, vcores, count) for (queue, memory, vcores), count in kinds)


def stripped(proposal: HomeProposal) -> HomeProposal:
    """A proposal without what nobody decides by: that need not travel."""
    return replace(proposal, submission=replace(proposal.submission, body=b"", name="", tags=(), acls=NO_ACLS))
