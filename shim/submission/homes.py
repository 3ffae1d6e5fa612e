"""The choice of homes, and its agreement with the Local Masters.

    choose on the view ─ propose ─ accepted ─ home
           ▲                └───── rejected: the view is corrected ─┐
           └────────────────────────────────────────────────────────┘

Nothing is written or sent while a home is agreed on. Whoever dies meanwhile leaves nothing behind but a placement that
a Local Master counts until its next poll.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from shim.domain.file_systems import FileSystems
from shim.domain.ids import SubClusterId
from shim.domain.launches import HomeVerdict, Verdict
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission
from shim.domain.submissions import HomeDecision, HomeProposal, Submission
from shim.federation.core.federation_view import FederationView, PendingPlacement, submitted_name
from shim.ports.clock import Clock
from shim.protocol.rest import submission_context
from shim.protocol.rest.submission_context import resources_of as resources_by_rest
from shim.protocol.yarn import RPC_SUBMISSION
from shim.protocol.yarn import submissions as rpc_context
from shim.protocol.yarn.submissions import resources_of as resources_by_rpc
from shim.submission.core.home import HomeSettings, WeighedHomes, choose_home, next_best

_MOST_REJECTIONS = 3
_MOST_PLACED = 10_000  # of a kind: what a Local Master says is limited, too


class VerifiesHomes(Protocol):
    """Local Masters elsewhere."""

    @property
    def me(self) -> str:
        """Name of the Global Master that asks."""
        ...

    async def verify(self, home: SubClusterId, proposal: HomeProposal) -> HomeVerdict:
        """Answer of a sub-cluster's Local Master to a proposal; UNVERIFIED if it does not say in time."""
        ...

    def repaired(self) -> None:
        """A choice was made again after a rejection."""
        ...


class Homes:
    """The choice of homes, for submissions and for their repair.

    Attributes:
        admissions: Operators' words as last read from the store.
    """

    def __init__(
        self,
        view: FederationView,
        clock: Clock,
        settings: HomeSettings,
        admissions: Mapping[SubClusterId, Admission],
        local_masters: VerifiesHomes | None = None,
    ) -> None:
        self._view = view
        self._clock = clock
        self._settings = settings
        self._local_masters = local_masters
        self._weighed = WeighedHomes()
        self.admissions = admissions

    async def agree(
        self, submission: Submission, *, excluded: Mapping[SubClusterId, str] | None = None
    ) -> HomeDecision:
        """Choose a home that its Local Master agrees to; without Local Masters elsewhere, the choice itself.

        A rejection repairs the view and is followed by another choice. The last of them is taken as it is: where all
        are equally full, somebody has to wait, and a home where it waits is better than none.
        """
        decision = self.choose(submission, excluded=excluded)
        if self._local_masters is None:
            return decision
        verdicts: list[HomeVerdict] = []
        refused = dict(excluded or {})
        while decision.home_subcluster is not None and not decision.is_lasting:
            at_least = next_best(decision) if len(verdicts) < _MOST_REJECTIONS else None
            named = replace(submission, queue=self._named(decision.home_subcluster, submission))
            verdict = await self._local_masters.verify(decision.home_subcluster, HomeProposal(named, at_least))
            verdicts.append(verdict)
            if verdict.verdict is not Verdict.REJECTED or len(verdicts) > _MOST_REJECTIONS:
                break
            self._learn(verdict, refused)
            decision = self.choose(submission, excluded=refused)
            self._local_masters.repaired()
        return replace(decision, verdicts=tuple(verdicts), decided_by=self._local_masters.me)

    def _learn(self, verdict: HomeVerdict, refused: dict[SubClusterId, str]) -> None:
        """Repair the view by a rejection."""
        now_s = self._clock.now_s()
        placed = (
            PendingPlacement(kind.queue, ResourceVector(kind.memory_mib, kind.vcores), now_s)
            for kind in verdict.placed
            for _ in range(min(kind.count, _MOST_PLACED))
        )
        self._view.replace_placed(verdict.subcluster, placed)
        if verdict.score is None:
            refused[verdict.subcluster] = verdict.reason

    def preview(self, submission: Submission, *, excluded: Mapping[SubClusterId, str] | None = None) -> HomeDecision:
        now_s = self._clock.now_s()
        return choose_home(
            submission, self._view, self.admissions, now_s, self._settings, excluded=excluded, known=self._weighed
        )

    def choose(self, submission: Submission, *, excluded: Mapping[SubClusterId, str] | None = None) -> HomeDecision:
        now_s = self._clock.now_s()
        decision = self.preview(submission, excluded=excluded)
        if decision.home_subcluster is None and decision.is_lasting:
            decision = self._rejection(decision, submission, now_s)
        if decision.home_subcluster is not None and decision.refusal is None:
            queue = self._named(decision.home_subcluster, submission)
            placement = PendingPlacement(queue, submission.resource, now_s)
            self._view.note_placed(decision.home_subcluster, placement)
            self._settings.note_sent(decision.home_subcluster, submission)
        return decision

    def as_sent_to(self, home: SubClusterId, submission: Submission) -> Submission:
        """The submission with its queue's name at a home."""
        return put_into(submission, self._named(home, submission))

    def _named(self, home: SubClusterId, submission: Submission) -> str:
        if not submission.queue:
            return submission.queue
        name = self._settings.name_at(home, submission.queue)
        return submitted_name(self._view.look(home, self._clock.now_s()), name) if "." in name else name

    def _rejection(self, decision: HomeDecision, submission: Submission, now_s: float) -> HomeDecision:
        """A submission that fits nowhere goes to a usable sub-cluster: that refuses it in its own words."""
        late, reserved_at = frozenset(self._view.late(now_s)), self._settings.reserved_at(submission)
        usable = (
            subcluster
            for subcluster in self._view.subclusters
            if subcluster not in late and reserved_at in (None, subcluster)
        )
        reached = [subcluster for subcluster in usable if not self._settings.out_of_reach(subcluster, submission)]
        speaks = decision.refuser if decision.refuser in reached else next(iter(reached), None)
        return replace(decision, home_subcluster=speaks)

    def started_on_ms(self, subcluster: SubClusterId) -> int:
        """The life of a sub-cluster's ResourceManager as last reported."""
        return self._view.started_on_ms(subcluster)

    def age_s(self, subcluster: SubClusterId) -> float:
        """Age of the last report, in seconds."""
        return self._view.age_s(subcluster, self._clock.now_s())


def out_of_reach(rpcs: Mapping[SubClusterId, object]) -> Callable[[SubClusterId, Submission], str]:
    """Reason why a submission cannot go to a sub-cluster: one that came over RPC goes over RPC, and not over HTTP."""

    def why(subcluster: SubClusterId, submission: Submission) -> str:
        is_reached = submission.content_type != RPC_SUBMISSION or subcluster in rpcs
        return "" if is_reached else "has no client_rpc: what comes by Hadoop RPC cannot go there"

    return why


# File systems that a submission's local resources name, and the sub-clusters where they are.


def data_parts(file_systems: FileSystems) -> Callable[[Submission], Mapping[SubClusterId, float]]:
    """Parts of a submission's files that lie in each sub-cluster's own file systems; none for a body that is gone."""

    def parts(submission: Submission) -> Mapping[SubClusterId, float]:
        if not file_systems or not submission.body:
            return {}
        if submission.content_type == RPC_SUBMISSION:
            return file_systems.parts_of(resources_by_rpc(submission.body))
        return file_systems.parts_of(resources_by_rest(submission.body, media_type=submission.content_type))

    return parts


# A submission put into another queue: the field that says so is changed, everything else travels as it came.


def put_into(submission: Submission, queue: str) -> Submission:
    if queue == submission.queue:
        return submission
    kind = submission.content_type
    if kind == RPC_SUBMISSION:
        body = rpc_context.with_queue(submission.body, queue)
    else:
        body = submission_context.with_queue(submission.body, media_type=kind, queue=queue)
    return replace(submission, queue=queue, body=body)
