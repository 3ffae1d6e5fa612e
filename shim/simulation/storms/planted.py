"""Bugs that are planted on purpose, to see that storms find such ones.

Each takes the place of one function of production while a storm is played.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from shim.domain.allocations import AllocateAnswer
from shim.domain.submissions import SubmissionRecord
from shim.federation.home_questions import Uncertain
from shim.multicluster import attempt as attempts
from shim.multicluster.attempt import MultiClusterAttempt
from shim.multicluster.sessions import AttemptSessions
from shim.multicluster.watch import SessionWatch
from shim.protocol.yarn.allocations import write_allocate_answer
from shim.submission import repair as repairs
from shim.submission import service as submissions
from shim.submission.delivery import Delivery, NotSent, deliver
from shim.submission.repair import Repair
from shim.testing.state_stores import InMemoryStateStore

__all__ = ["PLANTED", "PlantedBug"]


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


_DONE: Callable[..., Awaitable[None]] = _nothing
_NEVER = property(lambda _: None, lambda _, __: None)
_WRITE = write_allocate_answer

PLANTED: tuple[PlantedBug, ...] = (
    PlantedBug(
        "a home that is silent is taken for one that was never reached",
        ((submissions, "deliver", _taken_for_not_sent), (repairs, "deliver", _taken_for_not_sent)),
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
    PlantedBug("a container is given twice", ((attempts, "write_allocate_answer", _given_twice(_WRITE)),)),
    PlantedBug("the end of a container is told twice", ((attempts, "write_allocate_answer", _ended_twice(_WRITE)),)),
    PlantedBug("the end of a container is not told", ((attempts, "write_allocate_answer", _ends_lost(_WRITE)),)),
)
