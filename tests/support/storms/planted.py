"""Bugs that are planted on purpose, to see that storms find such ones.

Each takes the place of one function of production while a storm is played.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from shim.domain.allocations import AllocateAnswer
from shim.domain.ids import ApplicationId, GlobalMasterId, SubClusterId
from shim.domain.submissions import Submission, SubmissionRecord
from shim.errors import HeddleError, MasterLinkError
from shim.federation.home_questions import Uncertain
from shim.multicluster import service as attempts
from shim.multicluster.core.withheld import GangHold
from shim.multicluster.service import MultiClusterAttempt
from shim.multicluster.sessions import AttemptSessions
from shim.multicluster.watch import SessionWatch
from shim.peers import ownership
from shim.peers.core.queue_assignment import Assignment, assign_queues
from shim.peers.following import Following
from shim.peers.local import StandingLocalMaster
from shim.peers.ownership import Owner, QueueOwnership
from shim.peers.passing_on import PassingOn
from shim.protocol.peers import OutcomeFrame, OutcomeKind
from shim.protocol.yarn.allocations import write_allocate_answer
from shim.queues.admission import AdmissionQueue
from shim.simulation.state_stores import InMemoryStateStore
from shim.submission import resending
from shim.submission import service as submissions
from shim.submission.delivery import Delivery, NotSent, deliver
from shim.submission.repair import Repair


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """One of them.

    Attributes:
        name: What is wrong.
        places: What is replaced: owner, name, and what takes its place.
    """

    name: str
    places: tuple[tuple[object, str, object], ...]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Have it in place inside of `with`."""
        missing = object()
        before = [(owner, name, vars(owner).get(name, missing)) for owner, name, _ in self.places]
        for owner, name, wrong in self.places:
            setattr(owner, name, wrong)
        try:
            yield
        finally:
            for owner, name, right in before:
                if right is missing:
                    delattr(owner, name)
                else:
                    setattr(owner, name, right)


async def _nothing(*_: object, **__: object) -> None:
    """Leave undone what should be done."""


async def _taken_for_not_sent(*args: Any, **named: Any) -> Delivery:
    outcome = await deliver(*args, **named)
    return NotSent(outcome.reason) if isinstance(outcome, Uncertain) else outcome


async def _not_inserted(self: InMemoryStateStore, record: SubmissionRecord) -> SubmissionRecord:
    del self
    return record


async def _not_found(_: MultiClusterAttempt) -> None:
    return None


def _given_twice(write: Callable[[AllocateAnswer], bytes]) -> Callable[[AllocateAnswer], bytes]:
    def write_twice(answer: AllocateAnswer) -> bytes:
        return write(replace(answer, grants=(*answer.grants, *answer.grants)))

    return write_twice


def _ended_twice(write: Callable[[AllocateAnswer], bytes]) -> Callable[[AllocateAnswer], bytes]:
    def write_twice(answer: AllocateAnswer) -> bytes:
        return write(replace(answer, ended=(*answer.ended, *answer.ended)))

    return write_twice


def _ends_lost(write: Callable[[AllocateAnswer], bytes]) -> Callable[[AllocateAnswer], bytes]:
    def write_less(answer: AllocateAnswer) -> bytes:
        return write(replace(answer, ended=answer.ended[1:]))

    return write_less


def _never_taken_over(
    me: GlobalMasterId, living: Collection[GlobalMasterId], owners: Mapping[str, GlobalMasterId | None]
) -> Assignment:
    right = assign_queues(me, living, owners)
    is_begin = not any(owners.values())
    return replace(right, acquire=tuple(queue for queue in right.acquire if is_begin or owners[queue] == me))


async def _taken_for_accepted(self: PassingOn, owner: Owner, submission: Submission, accept: str) -> object:
    try:
        return await _ASK(self, owner, submission, accept)
    except MasterLinkError:
        return OutcomeFrame(0, OutcomeKind.TAKEN, SubClusterId("east"))


async def _followed_once(self: Following, follower: Any) -> None:
    while True:
        with suppress(HeddleError):
            await self._follow_once(follower, self._roster.local_master(follower.subcluster))
            return
        if follower.reports:
            return
        await self._clock.sleep(self._settings.retry_s)


_ASK: Callable[..., Awaitable[object]] = vars(PassingOn)["_ask"]


def _nobody_starts(_: AdmissionQueue) -> list[ApplicationId]:
    return []


def _gives_all(_: GangHold) -> bool:
    return False


_DONE: Callable[..., Awaitable[None]] = _nothing
_NEVER = property(lambda _: None, lambda _, __: None)
_WRITE = write_allocate_answer

PLANTED: tuple[PlantedBug, ...] = (
    PlantedBug(
        "a home that is silent is taken for one that was never reached",
        ((submissions, "deliver", _taken_for_not_sent), (resending, "deliver", _taken_for_not_sent)),
    ),
    PlantedBug("an intent is not stored", ((InMemoryStateStore, "insert_intent", _not_inserted),)),
    PlantedBug("nobody repairs submissions", ((Repair, "repair_all", _DONE), (Repair, "begin_round", _DONE))),
    PlantedBug(
        "sessions in further sub-clusters are not ended",
        ((AttemptSessions, "end", _DONE), (SessionWatch, "sweep", _DONE)),
    ),
    PlantedBug(
        "what a home answered to a registration is not kept for a repetition",
        ((MultiClusterAttempt, "_unanswered", _NEVER),),
    ),
    PlantedBug(
        "a Heddle that starts anew does not know attempts of before", ((MultiClusterAttempt, "_find", _not_found),)
    ),
    PlantedBug("what waits for its queue's turn never starts", ((AdmissionQueue, "look", _nobody_starts),)),
    PlantedBug("a part of a gang is given", ((GangHold, "holds_back", _gives_all),)),
    PlantedBug("a container is given twice", ((attempts, "write_allocate_answer", _given_twice(_WRITE)),)),
    PlantedBug("the end of a container is told twice", ((attempts, "write_allocate_answer", _ended_twice(_WRITE)),)),
    PlantedBug("the end of a container is not told", ((attempts, "write_allocate_answer", _ends_lost(_WRITE)),)),
    PlantedBug(
        "a Global Master believes in its queues when their leases have ended",
        ((QueueOwnership, "owned", property(lambda self: self._owned)),),
    ),
    PlantedBug(
        "queues of a dead Global Master stay without an owner", ((ownership, "assign_queues", _never_taken_over),)
    ),
    PlantedBug(
        "a submission whose owner does not answer is taken for accepted", ((PassingOn, "_ask", _taken_for_accepted),)
    ),
    PlantedBug(
        "a Global Master follows no Local Master but the first", ((Following, "_follow_for_ever", _followed_once),)
    ),
    PlantedBug("a Local Master that takes over serves nobody", ((StandingLocalMaster, "_begin", _DONE),)),
)
