"""Submissions: what a client asked to run, what was decided, and how far it got.

Comparison of the application that a cluster has under an id with the one that was submitted.

A ResourceManager takes every submission under a known id as a repetition, whatever it holds. So an id that two
applications share would let one of them be acknowledged and never run.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.access_lists import NO_ACLS, ApplicationACLs
from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.launches import HomeVerdict
from shim.domain.resources import ResourceVector
from shim.domain.wishes import DEADLINE_TAG

# Replies of a ResourceManager to a submission, by whichever of its servers they came.

_BAD_REQUEST = 400


class SubmitVerdict(Enum):
    """Meaning of a reply for the submission."""

    TAKEN = "taken"
    REFUSED = "refused"
    """The ResourceManager looked at the application and does not want it."""
    FAILED = "failed"
    """The ResourceManager failed. Whether it has the application all the same decides what that means."""
    UNCLEAR = "unclear"
    """The ResourceManager answered, and not to this."""
    FROM_A_GATEWAY = "from a gateway"
    """Something between may have answered, while the ResourceManager still has the request."""


_OF_SIZE = (
    "Invalid resource request",
    "Invalid label resource request",
    "Requested more memory than configured max",
    "Requested more cores than configured max",
)
"""Beginnings of what a ResourceManager says of a container that it cannot give: `SchedulerUtils`, `RMWebAppUtil`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A ResourceManager's refusal of a submission, in its own words.

    Attributes:
        java_class: Binary name of the exception; empty if none was told.
        status: Of the web services; 0 if the words came by RPC, and then without headers and body.
        body: In the representation that the client accepts.
    """

    java_class: str
    message: str
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def text(self) -> str:
        """The words as they are kept and shown: those of the web services whole."""
        return self.body.decode("utf-8", "replace") if self.status else f"{self.java_class}: {self.message}"

    @property
    def is_of_size(self) -> bool:
        """True if it is for what the ApplicationMaster's container asks for: another ResourceManager may have that.

        It says so before it makes an application of the submission: nothing of it is there.
        """
        return self.status in (0, _BAD_REQUEST) and any(words in self.text for words in _OF_SIZE)


@dataclass(frozen=True, slots=True)
class SubmitReply:
    """A ResourceManager's reply to a submission; words where it was not taken."""

    verdict: SubmitVerdict
    refusal: Refusal = Refusal("", "")


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
        for_data: The part of the score that is for the application's files: what lies there.
        room: The score by free shares alone, which whoever knows nothing of work can compare; None where that is
            `score`.
    """

    subcluster: SubClusterId
    score: float | None
    reason: str
    age_s: float
    for_data: float = 0.0
    room: float | None = None


@dataclass(frozen=True, slots=True)
class HomeDecision:
    """The choice of a home and everything that it rested on: what `heddle app why` prints.

    Attributes:
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
        content_hash: Of the context, by `shim.submission.known_applications`; the same id with another content is
            refused.
        home_started_on_ms: `startedOn` of the home when the intent was written, or when the home was last seen to
            know the application: another value, with the id unknown there, proves that the request is gone.
        intended_at_ms: When the intent for this home was written; milliseconds since the epoch by Heddle's clock.
            Nothing of the application was sent to this life of the home before.
        rejection: What the home answered when it refused; empty otherwise.
        intent_id: Drawn at random for each intent: two Heddles that write the same thing at the same moment can
            tell whose it is. Only its writer sends for an intent.
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


DISPUTED = "Acknowledged and never run"
"""How the reason of a submission begins whose id belongs to another application."""

_DEFAULT_QUEUE = "default"


def differences(submission: Submission, seen: ApplicationSummary, *, with_queue: bool = False) -> tuple[str, ...]:
    """Differences that prove that `seen` is not the application of `submission`; empty if it may be the same.

    Only what never changes at a ResourceManager is proof: user, name, type and tags. A queue is none: placement rules
    and moves change it. The content of what runs cannot be asked for. What a submission leaves to its default is no
    proof either: records of older Heddles hold neither type nor tags of what came by Hadoop RPC.

    Args:
        submission: What was submitted; its body does not matter.
        seen: What the cluster lists under its id.
        with_queue: Whether the queue counts, too, where the submission names one that is not the default.
    """
    pairs = (
        ("user", submission.user, seen.user),
        ("name", _plain(submission.name), _plain(seen.name) if _plain(submission.name) else ""),
        ("type", *_types(submission.application_type, seen.application_type)),
        ("tags", _tags(submission.tags), _tags(_without_added(submission, seen)) if submission.tags else ""),
        ("queue", *(_leaves(submission.queue, seen.queue) if with_queue else ("", ""))),
    )
    return tuple(f"{what} {there!r} instead of {here!r}" for what, here, there in pairs if here != there)


def disputed_reason(seen: ApplicationSummary, found: tuple[str, ...]) -> str:
    """Message for the client of an acknowledged submission whose id belongs to another application."""
    return (
        f"{DISPUTED}: its id belongs to another application at sub-cluster {seen.home_subcluster} "
        f"({'; '.join(found)}). Submit it again under a new id."
    )


def _types(asked: str, there: str) -> tuple[str, str]:
    return ("", "") if asked in ("", DEFAULT_TYPE) else (type_as_shown(asked), type_as_shown(there))


def _tags(tags: Iterable[str]) -> str:
    return ",".join(sorted({tag.lower() for tag in tags}))


def _without_added(submission: Submission, seen: ApplicationSummary) -> Iterable[str]:
    """Tags of a cluster's application but for the deadline that Heddle adds where it runs in a reservation."""
    asked = {tag.lower() for tag in submission.tags}
    return (tag for tag in seen.tags if tag.lower() in asked or not tag.lower().startswith(f"{DEADLINE_TAG}="))


def _plain(name: str) -> str:
    """A name as far as it surely arrives unchanged: nothing if it holds anything but printable ASCII."""
    return name.strip() if name.isascii() and name.isprintable() else ""


def _leaves(asked: str, there: str) -> tuple[str, str]:
    """The last parts of two queues' names; nothing where the submission leaves the choice to the cluster."""
    leaf = asked.rpartition(".")[2]
    return ("", "") if leaf in ("", _DEFAULT_QUEUE) else (leaf, there.rpartition(".")[2])
