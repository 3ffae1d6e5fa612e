"""Submissions to queues that another Global Master owns: passed on to it, and taken from others.

A client gets the same answer whichever Global Master it asks. Ownership makes choices better, as one Global Master sees
all that goes to a queue; it is not what keeps an application from running twice: that is the store. So whenever the
owner cannot be asked, or its answer is lost, the submission is simply taken here.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import structlog

from shim.concurrency.keep_going import aside
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import Refusal, Submission
from shim.errors import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    HeddleError,
    MasterLinkError,
    NoUsableSubClusterError,
    RemoteProtocolError,
    ResourceRequestError,
    UnavailableError,
)
from shim.identity.service import with_groups
from shim.peers.correspondence import Correspondence
from shim.peers.ownership import Owner
from shim.peers.roster import global_master_role
from shim.ports.master_links import MasterDialer, MasterLink
from shim.protocol.peers import OutcomeFrame, OutcomeKind, SubmitFrame
from shim.submission.entrance import Accepted, Rejected, TakesSubmissions
from shim.submission.tools import Listing

_AT_ONCE = 64
_log = structlog.get_logger("heddle.masters")

_ERRORS: dict[OutcomeKind, type[HeddleError]] = {
    OutcomeKind.CONFLICT: ConflictError,
    OutcomeKind.FORBIDDEN: ForbiddenError,
    OutcomeKind.BAD_REQUEST: BadRequestError,
    OutcomeKind.TOO_LARGE: ResourceRequestError,
    OutcomeKind.NO_HOME: NoUsableSubClusterError,
    OutcomeKind.UNAVAILABLE: UnavailableError,
}


@dataclass(frozen=True, slots=True)
class PassedOn:
    """A submission that one Global Master passed on to another, and how it ended; for counts and the audit.

    Attributes:
        number: Of the question on its link.
        owner: Who took it, or was asked in vain.
    """

    number: int
    sender: str
    owner: str
    application_id: ApplicationId
    user: str
    outcome: OutcomeKind | None
    home_subcluster: str = ""
    reason: str = ""
    address: str = ""


ForwardingObserver = Callable[[PassedOn], None]


@dataclass(slots=True)
class _Peer:
    """An open link to another Global Master."""

    address: str
    questions: Correspondence
    reader: "asyncio.Task[None]"


class PassingOn:
    """Takes submissions: those of its own queues itself, the others' through their owners.

    Args:
        local: Takes what belongs here, or cannot be passed on.
        me: Role of this Global Master, `gm/<id>`.
        listing: Shows what was passed on here, too, until its home tells of it.
        owner_of: Who owns the queue of a submission; None if nobody knows.
    """

    def __init__(
        self,
        local: TakesSubmissions,
        *,
        me: str,
        listing: Listing,
        owner_of: Callable[[str], Owner | None],
        dialer: MasterDialer,
        answer_within_s: float,
        observer: ForwardingObserver = lambda _: None,
    ) -> None:
        self._local = local
        self._me = me
        self._listing = listing
        self._owner_of = owner_of
        self._dialer = dialer
        self._answer_within_s = answer_within_s
        self._observer = observer
        self._peers: dict[str, _Peer] = {}
        self._dialling: dict[str, asyncio.Lock] = {}

    async def submit(self, submission: Submission, *, accept: str = "application/json") -> Accepted | Rejected:
        owner = self._owner_of(submission.queue)
        if owner is None or owner.is_me:
            return await self._local.submit(submission, accept=accept)
        try:
            outcome = await self._ask(owner, submission, accept)
        except MasterLinkError as exc:
            _log.warning("taken for its owner", application=str(submission.application_id), reason=str(exc))
            self._tell(submission, owner, None, str(exc))
            return await self._local.submit(submission, accept=accept)
        self._tell(submission, owner, outcome, outcome.message)
        answer = _answer_of(outcome)
        if isinstance(answer, Accepted):
            self._listing.mark_submitted(submission, answer.home_subcluster)
        return answer

    async def finish(self) -> None:
        """See `TakesSubmissions`; ends the links to the others first."""
        await self._close()
        await self._local.finish()

    async def _close(self) -> None:
        peers, self._peers = tuple(self._peers.values()), {}
        for peer in peers:
            peer.reader.cancel()
        await asyncio.gather(*(peer.reader for peer in peers), return_exceptions=True)

    async def _ask(self, owner: Owner, submission: Submission, accept: str) -> OutcomeFrame:
        peer = await self._linked(owner)
        question = SubmitFrame(peer.questions.next_number(), submission, accept)
        answer = await peer.questions.ask(question, timeout_s=self._answer_within_s)
        if not isinstance(answer, OutcomeFrame):
            raise MasterLinkError(f"{global_master_role(owner.master)} answered something else")
        return answer

    async def _linked(self, owner: Owner) -> _Peer:
        role = global_master_role(owner.master)
        async with self._dialling.setdefault(role, asyncio.Lock()):
            peer = self._peers.get(role)
            if peer is not None and peer.address == owner.address and not peer.reader.done():
                return peer
            if peer is not None:
                peer.reader.cancel()
            link = await self._dialer.dial(owner.address, expected=role)
            questions = Correspondence(link)
            reader = aside(f"answers-of-{role}", _read_answers(link, questions))
            made = self._peers[role] = _Peer(owner.address, questions, reader)
            return made

    def _tell(self, submission: Submission, owner: Owner, outcome: OutcomeFrame | None, reason: str) -> None:
        self._observer(
            PassedOn(
                number=0 if outcome is None else outcome.number,
                sender=self._me,
                owner=global_master_role(owner.master),
                application_id=submission.application_id,
                user=submission.user,
                outcome=None if outcome is None else outcome.kind,
                home_subcluster="" if outcome is None else outcome.home_subcluster,
                reason=reason,
                address=owner.address,
            )
        )


class ForwardedSubmissionService:
    """Takes submissions that other Global Masters pass on; never passes them on again.

    Args:
        me: Role of this Global Master, `gm/<id>`.
    """

    def __init__(self, local: TakesSubmissions, *, me: str, observer: ForwardingObserver = lambda _: None) -> None:
        self._local = local
        self._me = me
        self._observer = observer

    async def serve(self, link: MasterLink) -> None:
        """Serve one Global Master until its link ends.

        Raises:
            MasterLinkError: It ended.
            RemoteProtocolError: What came has no place here.
        """
        gate = asyncio.Semaphore(_AT_ONCE)
        under_way: set[asyncio.Task[None]] = set()
        while True:
            frame = await link.receive()
            if not isinstance(frame, SubmitFrame):
                raise RemoteProtocolError(f"{type(frame).__name__} is nothing that a Global Master is told")
            await gate.acquire()
            # goes on when the link breaks: the sender takes the same submission then, and finds this one
            task = aside(f"submission passed on by {link.peer}", self._take(link, frame))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            task.add_done_callback(lambda _: gate.release())

    async def _take(self, link: MasterLink, frame: SubmitFrame) -> None:
        outcome = await self._outcome(frame)
        self._observer(
            PassedOn(
                number=frame.number,
                sender=link.peer,
                owner=self._me,
                application_id=frame.submission.application_id,
                user=frame.submission.user,
                outcome=outcome.kind,
                home_subcluster=outcome.home_subcluster,
                reason=outcome.message,
                address=link.address,
            )
        )
        with suppress(MasterLinkError):
            await link.send(outcome)

    async def _outcome(self, frame: SubmitFrame) -> OutcomeFrame:
        try:
            taken = await with_groups(lambda: self._local.submit(frame.submission, accept=frame.accept))
        except HeddleError as exc:
            kinds = (kind for kind, error in _ERRORS.items() if type(exc) is error)
            return OutcomeFrame(frame.number, next(kinds, OutcomeKind.UNAVAILABLE), message=str(exc))
        except Exception:  # noqa: BLE001 - the task's boundary: a bug with one submission must be answered, too
            _log.exception("a passed on submission failed by a bug")
            return OutcomeFrame(frame.number, OutcomeKind.UNAVAILABLE, message="failed: see the owner's log")
        match taken:
            case Accepted(home, is_delivered):
                kind = OutcomeKind.DELIVERED if is_delivered else OutcomeKind.TAKEN
                return OutcomeFrame(frame.number, kind, home)
            case Rejected(home, refusal):
                return OutcomeFrame(
                    frame.number,
                    OutcomeKind.REFUSED,
                    home,
                    message=refusal.message,
                    java_class=refusal.java_class,
                    status=refusal.status,
                    headers=refusal.headers,
                    body=refusal.body,
                )


async def _read_answers(link: MasterLink, questions: Correspondence) -> None:
    reason = ""
    try:
        while True:
            frame = await link.receive()
            if isinstance(frame, OutcomeFrame):
                questions.take(frame)
    except HeddleError as exc:
        reason = str(exc)
    finally:
        questions.end(reason)
        with suppress(HeddleError):
            await link.close()


def _answer_of(outcome: OutcomeFrame) -> Accepted | Rejected:
    home = SubClusterId(outcome.home_subcluster)
    error = _ERRORS.get(outcome.kind)
    if error is not None:
        raise error(outcome.message)
    if outcome.kind is OutcomeKind.REFUSED:
        told = Refusal(outcome.java_class, outcome.message, outcome.status, outcome.headers, outcome.body)
        return Rejected(home, told)
    return Accepted(home, is_delivered=outcome.kind is OutcomeKind.DELIVERED)
