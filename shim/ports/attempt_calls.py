"""Between the scheduler server and the service that reads an ApplicationMaster's calls (spanning, placement).

The server logs the ApplicationMaster in at its home and passes bytes on. Calls of an attempt with containers in several
sub-clusters go to `AttemptCalls` instead, which uses the attempt's own login at the home through `HomeSession`.
"""

from dataclasses import dataclass
from typing import Protocol

from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.ports.resource_manager_rpc import RPCAnswer

REGISTER = "registerApplicationMaster"
ALLOCATE = "allocate"
FINISH = "finishApplicationMaster"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An application attempt whose ApplicationMaster has proven to its home that it is it.

    Attributes:
        queue: The full path of a queue that spans; of others what the home tells, which may be its last part only.
        user: Whose application it is.
        is_read: Whether its calls are read: its application may span, or its asks may be held back.
        gang: Containers that it must have together; None where each is by itself.
    """

    id: ApplicationAttemptId
    home_subcluster: SubClusterId
    queue: str
    user: str
    is_read: bool = False
    gang: Gang | None = None


class HomeSession(Protocol):
    """The attempt's own login at its home; lives as long as the ApplicationMaster's connection."""

    @property
    def is_open(self) -> bool:
        """Return whether a call may still be made."""
        ...

    async def call(self, method: str, payload: bytes) -> RPCAnswer:
        """Make a call of `ApplicationMasterProtocol`, on behalf of the attempt.

        Args:
            method: `REGISTER`, `ALLOCATE` or `FINISH`.
            payload: The serialized request message.

        Returns:
            The home's answer, or the exception that it answered.

        Raises:
            NeverReachedError: The session had ended before: the home has not seen the call.
            NoAnswerError: It ended before the answer came.
        """
        ...


class AttemptCalls(Protocol):
    """Calls of one connection of one ApplicationMaster; one at a time, in the order in which they came.

    A `ResourceManagerError` out of a call ends the ApplicationMaster's connection without an answer, as a
    ResourceManager that dies would: it connects again and repeats the call with the same response id. Any other error
    is told to it as a failed call.
    """

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        """`registerApplicationMaster`: bytes of a `RegisterApplicationMasterRequestProto`, unchanged."""
        ...

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        """`allocate`: bytes of an `AllocateRequestProto`."""
        ...

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        """`finishApplicationMaster`: bytes of a `FinishApplicationMasterRequestProto`."""
        ...

    def leave(self) -> None:
        """The connection and its home session have ended, by either side. The ApplicationMaster may connect again."""
        ...


class AttemptService(Protocol):
    """Takes over the calls of attempts that may span sub-clusters."""

    def enter(self, attempt: Attempt, home: HomeSession) -> AttemptCalls:
        """An ApplicationMaster has logged in.

        It may do so again for the same attempt, before or after `leave` of the connection that it had.
        """
        ...
