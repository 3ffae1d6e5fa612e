"""The steps of a submission by name, so that a test can let the process die at each of them."""

from enum import Enum
from typing import Protocol

from shim.domain.ids import ApplicationId


class CrashPoint(Enum):
    """A moment between two effects; what is named has just been done."""

    RECEIVED = "received"
    """The context was read; nothing was written."""
    INTENT_WRITTEN = "intent-written"
    """The intent is in the store; nothing was sent."""
    SENDING = "sending"
    """The request is about to leave: the process may die while it is on its way."""
    ANSWERED = "answered"
    """The home has answered; the store does not know yet."""
    REHOMED = "rehomed"
    """The intent for another home is in the store; nothing was sent there."""
    SETTLED = "settled"
    """The store knows the answer; the client does not."""


class CrashPoints(Protocol):
    """Called at each step of each submission. In production nothing happens there."""

    def __call__(self, point: CrashPoint, application_id: ApplicationId) -> None:
        """The step has been reached."""
        ...


def nothing_happens(point: CrashPoint, application_id: ApplicationId) -> None:
    """The crash points of production."""
