"""The RPC server of one sub-cluster's ResourceManager, as far as services need it: calls go through as bytes."""

from dataclasses import dataclass
from typing import Protocol

from shim.domain.ids import SubClusterId


@dataclass(frozen=True, slots=True)
class RPCCall:
    """A call to a ResourceManager.

    Attributes:
        protocol: Java name of the protocol's interface.
        payload: The serialized request message.
        user: On whose behalf.
        caller_context: Who says to be calling, for the ResourceManager's audit log; empty for nobody.
    """

    protocol: str
    method: str
    payload: bytes
    user: str
    caller_context: str = ""


@dataclass(frozen=True, slots=True)
class RPCRefusal:
    """An exception that the ResourceManager answered.

    Attributes:
        java_class: Binary name of the exception's class.
        message: Its first line; a stack trace is not passed on.
    """

    java_class: str
    message: str


@dataclass(frozen=True, slots=True)
class RPCAnswer:
    """The serialized answer message, or the exception in its place."""

    payload: bytes
    refusal: RPCRefusal | None = None


class ResourceManagerRPC(Protocol):
    """The active ResourceManager of one sub-cluster, wherever it is now."""

    @property
    def subcluster(self) -> SubClusterId:
        """Sub-cluster of this ResourceManager."""
        ...

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        """Make a call and return the answer, whatever it says.

        Args:
            call: What to ask.
            timeout_s: Seconds for the whole call; None for the configured time-out.

        Raises:
            NeverReachedError: The call cannot have been seen.
            NoAnswerError: It may have been seen; no answer came in time.
            StandbyError: No active ResourceManager was found.
            MalformedAnswerError: The answer was too large or broken.
        """
        ...

    async def close(self) -> None:
        """Give up the connections."""
        ...
