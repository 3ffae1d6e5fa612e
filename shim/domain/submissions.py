"""Submissions: what a client asked to run, what was decided, and how far it got."""

from dataclasses import dataclass, field
from enum import Enum

from shim.domain.access_lists import NO_ACLS, ApplicationACLs
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.submit_replies import Refusal
from shim.domain.verdicts import HomeVerdict

__all__ = [
    "DEFAULT_TYPE",
    "NOWHERE",
    "Candidate",
    "DeliveryFailure",
    "HomeDecision",
    "HomeProposal",
    "Submission",
    "SubmissionProgress",
    "SubmissionRecord",
    "SubmissionState",
    "Waited",
    "type_as_shown",
]


DEFAULT_TYPE = "YARN"
"""The type of an application whose submission names none; source: `YarnConfiguration.DEFAULT_APPLICATION_TYPE`."""

_LONGEST_TYPE = 20  # YarnConfiguration.APPLICATION_TYPE_LENGTH: a ResourceManager cuts longer ones off

NOWHERE = SubClusterId("")
"""The home of an application that waits for its queue's turn."""


class SubmissionState(Enum):
    """Progress of a submission.

    Moves: WAITING to INTENDED or KILLED, INTENDED to SUBMITTED or REJECTED, SUBMITTED to LOST. Back to INTENDED only
    as a new intent: when the home restarted and does not know an acknowledged application, or when a client submits
    again under an id that was REJECTED.
    """

    WAITING = "waiting"
    """In the store; nothing was sent anywhere, and no home is chosen."""
    KILLED = "killed"
    """Somebody ended it while it waited; it never ran."""

    INTENDED = "intended"
    """In the store, and possibly at its home: the home is asked before anything is sent again."""
    SUBMITTED = "submitted"
    """The home acknowledged it."""
    REJECTED = "rejected"
    """The home refused it; it runs nowhere."""
    LOST = "lost"
    """Its home had acknowledged it, and was retired before it was seen to end."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission context: the fields that decide, and the bytes that travel.

    Attributes:
        queue: As asked for; empty means the default queue.
        resource: Of the ApplicationMaster's container.
        label: Node label expression of the ApplicationMaster, empty for none.
        body: The context as the client sent it, in the form that `content_type` names.
        application_type: As the ResourceManager will show it; `tags` likewise, lower-cased.
        acls: Who may see and change it beside the user.
        reservation: Id of the reservation that it is to run in, empty for none; None where only the body says.
    """

    application_id: ApplicationId
    user: str
    name: str
    queue: str
    resource: ResourceVector
    label: str
    is_unmanaged: bool
    body: bytes
    content_type: str
    application_type: str = DEFAULT_TYPE
    tags: tuple[str, ...] = ()
    acls: ApplicationACLs = NO_ACLS
    reservation: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sub-cluster as it was weighed for an application.

    Attributes:
        score: Higher is better; None when it was not eligible.
        reason: Why not, or what the score is made of; for people.
        age_s: How old the view of it was.
        for_data: The part of the score that is for the application's files: what lies there.
    """

    subcluster: SubClusterId
    score: float | None
    reason: str
    age_s: float
    for_data: float = 0.0


@dataclass(frozen=True, slots=True)
class HomeDecision:
    """The choice of a home and everything that it rested on: what `heddle app why` prints.

    Attributes:
        reason: For people, also when there is no home.
        is_lasting: There is no home, and waiting will not bring one: no sub-cluster, usable or not, has such a
            queue or so much room. The submission is wrong, not unlucky.
        verdicts: What Local Masters said to the proposals that led here, in that order; empty if none were asked.
        decided_by: Name of the Global Master that decided; empty where there is only one.
        refusal: Words of a ResourceManager, where none would say them itself but let it wait for ever, or fail.
        is_left: Whether it is to leave that home for another one, once that says that it has ended it.
        refuser: The sub-cluster that refuses it in its own words, where waiting will not bring a home.
    """

    home_subcluster: SubClusterId | None
    reason: str
    candidates: tuple[Candidate, ...]
    is_lasting: bool = False
    verdicts: tuple[HomeVerdict, ...] = ()
    decided_by: str = ""
    refusal: Refusal | None = None
    refuser: SubClusterId | None = None
    is_left: bool = False


@dataclass(frozen=True, slots=True)
class HomeProposal:
    """A Global Master would send an application to a sub-cluster.

    Attributes:
        submission: What to run, without its body: nobody decides by that.
        at_least: The score that the sub-cluster must still have by its Local Master's own knowledge: that of the next
            best choice. None to accept any.
    """

    submission: Submission
    at_least: float | None = None


@dataclass(frozen=True, slots=True)
class SubmissionProgress:
    """State and place of a submission: what writers compare before they change a record.

    Attributes:
        home_started_on_ms: As in `SubmissionRecord`, like the rest.
    """

    application_id: ApplicationId
    state: SubmissionState
    home_subcluster: SubClusterId
    home_started_on_ms: int
    intended_at_ms: int
    intent_id: str = ""


@dataclass(frozen=True, slots=True)
class Waited:
    """Waiting of an application for its queue's turn; times in milliseconds since the epoch by Heddle's clock.

    Attributes:
        since_ms: When it was submitted.
        until_ms: When its turn had come.
        reason: Why it had to wait when it was submitted.
    """

    since_ms: int
    until_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class SubmissionRecord:
    """A submission as the store keeps it.

    Attributes:
        submission: Its body is empty once the application was seen final: nobody needs it any more.
        content_hash: Of the context, see `shim.submission.same_content`; the same id with another content is refused.
        home_started_on_ms: `startedOn` of the home when the intent was written, or when the home was last seen to
            know the application: another value, with the id unknown there, proves that the request is gone.
        intended_at_ms: When the intent for this home was written; milliseconds since the epoch by Heddle's clock.
            Nothing of the application was sent to this life of the home before.
        rejection: What the home answered when it refused; empty otherwise.
        intent_id: Drawn at random for each intent: two Heddles that write the same thing at the same moment can
            tell whose it is. Only its writer sends for an intent.
        waited: None for one that did not wait, or waits yet.
    """

    submission: Submission
    content_hash: bytes
    home_subcluster: SubClusterId
    home_started_on_ms: int
    state: SubmissionState
    intended_at_ms: int
    decision: HomeDecision
    rejection: str = ""
    intent_id: str = ""
    waited: Waited | None = None

    @property
    def progress(self) -> SubmissionProgress:
        """The part that writers compare."""
        return SubmissionProgress(
            application_id=self.submission.application_id,
            state=self.state,
            home_subcluster=self.home_subcluster,
            home_started_on_ms=self.home_started_on_ms,
            intended_at_ms=self.intended_at_ms,
            intent_id=self.intent_id,
        )


@dataclass(frozen=True, slots=True)
class DeliveryFailure:
    """Failures of an INTENDED application whose home is well, as the next process has to know them.

    Times are milliseconds since the epoch, by the clock of the Heddle that wrote it.

    Attributes:
        intent_id: The intent that failed last: every send has one of its own, so a later one may be on its way.
        open_ms: When something was sent before that may still be on its way; None if nothing is.
        failures: So many, in the life of the home that `home_started_on_ms` tells.
        failed_since_ms: When the first of them was.
        next_at_ms: When it is tried again.
        reason: Of the last one.
    """

    application_id: ApplicationId
    intent_id: str
    open_ms: int | None
    failures: int
    failed_since_ms: int
    next_at_ms: int
    reason: str
    home_started_on_ms: int


def type_as_shown(asked: str) -> str:
    """An application's type as a ResourceManager will show it: cut, and the default where none was asked for."""
    return asked[:_LONGEST_TYPE] or DEFAULT_TYPE
