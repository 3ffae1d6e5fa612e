"""The ApplicationMaster's side of a ledger: which of its calls is new, which is said again, and which is out of order.

Source: `ApplicationMasterService.allocate` of the ResourceManager.
"""

from enum import Enum

from shim.domain.allocations import AllocateAnswer, AllocateCall
from shim.domain.ids import ApplicationAttemptId, ContainerId

__all__ = ["RESPONSE_IDS", "Heard", "MasterSide"]

RESPONSE_IDS = 1 << 31
"""Response ids begin again at 0 after the largest."""


class Heard(Enum):
    """Kind of a call."""

    NEW = "new"
    """It acknowledges the last answer."""
    AGAIN = "again"
    """The one that has no answer yet: the home's was lost on its way."""
    ANSWERED = "answered"
    """The one that was answered last: the answer was lost."""
    OUT_OF_ORDER = "out of order"


class MasterSide:
    """Response ids, the call that has no answer yet, and the last answer.

    Attributes:
        call: The call that is being answered.
        last: What was answered last.
    """

    def __init__(self, attempt: ApplicationAttemptId) -> None:
        self.call: AllocateCall | None = None
        self.last: AllocateAnswer | None = None
        self._attempt = attempt
        self._expected_id = 0
        self._just_given: frozenset[ContainerId] = frozenset()

    @property
    def rest(self) -> bytes:
        """The part of the call being answered that is for its home alone."""
        return b"" if self.call is None else self.call.rest

    @property
    def next_id(self) -> int:
        """Response id of the next answer."""
        return (self._expected_id + 1) % RESPONSE_IDS

    def was_just_given(self, container: ContainerId) -> bool:
        """True if a container is in the last answer: whoever gives it back at once has not used it."""
        return container in self._just_given

    def registered(self) -> None:
        """Begin again, as the ApplicationMaster has registered."""
        self.call, self.last, self._expected_id = None, None, 0
        self._just_given = frozenset()

    def hear(self, call: AllocateCall) -> Heard:
        """Tell what a call is."""
        if self.call is not None:
            return Heard.AGAIN if call.response_id == self.call.response_id else Heard.OUT_OF_ORDER
        if call.response_id == self._expected_id:
            return Heard.NEW
        is_last = self.last is not None and (call.response_id + 1) % RESPONSE_IDS == self._expected_id
        return Heard.ANSWERED if is_last else Heard.OUT_OF_ORDER

    def answered(self, answer: AllocateAnswer) -> None:
        """The call has its answer."""
        self.call, self.last, self._expected_id = None, answer, answer.response_id
        self._just_given = frozenset(grant.container for grant in answer.grants)

    def complaint(self, call: AllocateCall) -> str:
        """A ResourceManager's words on a call out of order."""
        said = f"expect responseId to be {self._expected_id} but get {call.response_id}"
        return f"Invalid responseId in AllocateRequest from application attempt: {self._attempt}, {said}"
