"""The durable state of spanning applications: Heddle's unmanaged ApplicationMasters and the containers elsewhere.

Tokens are secrets: whoever implements this keeps them unreadable to those who can read the database.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId


@dataclass(frozen=True, slots=True)
class RemoteSession:
    """Heddle's own ApplicationMaster in a further sub-cluster.

    Attributes:
        home: Where the application's own ApplicationMaster runs.
        user: Whose application it is.
        token: Serialized token by which it logs in. Its ResourceManager shows it only before it registers; empty if
            it was not seen yet.
        node_tokens: Serialized answer to a registration with the tokens for its nodes: each is given only once.
    """

    application: ApplicationId
    subcluster: SubClusterId
    home: SubClusterId
    user: str
    token: bytes = field(default=b"", repr=False)
    node_tokens: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class RegisteredAttempt:
    """An attempt that has registered.

    Attributes:
        registration: What its home answered, serialized: it answers only once.
        home_response_id: By how much the home's response ids are ahead of the ApplicationMaster's.
        registrations: How often it has registered: its response ids begin at 0 with each.
    """

    attempt: ApplicationAttemptId
    registration: bytes = field(repr=False)
    home_response_id: int = 0
    registrations: int = 0

    def answer_id(self, response_id: int) -> str:
        """The name of one answer to one attempt, among all answers to its application."""
        return f"{self.attempt.attempt}.{self.registrations}.{response_id}"


class MultiClusterStore(Protocol):
    """Every method raises `StoreUnavailableError` when the store fails; each may be repeated."""

    async def save_session(self, session: RemoteSession) -> None:
        """Keep a session, in the place of the one that was known."""
        ...

    async def sessions(self, application: ApplicationId | None = None) -> Sequence[RemoteSession]:
        """The sessions of an application, or all."""
        ...

    async def remove_session(self, application: ApplicationId, subcluster: SubClusterId) -> None:
        """A session has ended: forget it, its token, and the containers there."""
        ...

    async def save_attempt(self, attempt: RegisteredAttempt) -> None:
        """Keep an attempt, in the place of what was known."""
        ...

    async def find_attempt(self, attempt: ApplicationAttemptId) -> RegisteredAttempt | None:
        """An attempt that has registered."""
        ...

    async def remove_attempts(self, application: ApplicationId) -> None:
        """The application has ended: forget its attempts, and what was given where it has no session."""
        ...

    async def give(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId], answer: str
    ) -> None:
        """The application's ApplicationMaster is given these by an answer (`RegisteredAttempt.answer_id`)."""
        ...

    async def withdraw(self, application: ApplicationId, answer: str) -> None:
        """An answer has not arrived: the ApplicationMaster has nothing of what was given by it."""
        ...

    async def take(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId]
    ) -> None:
        """The application's ApplicationMaster knows that these have ended."""
        ...

    async def containers(self, application: ApplicationId) -> Mapping[SubClusterId, frozenset[ContainerId]]:
        """Return the containers that were given and not taken."""
        ...


# Store of the newest decisions on the asks of spanning applications, as `why` shows them.

MOST_KEPT = 10_000
"""Applications whose decisions are kept; those that were written least lately go first."""

ShownAsks = Sequence[Mapping[str, Any]]
"""One plain JSON object for each ask."""


class AskStore(Protocol):
    """Both methods raise `StoreUnavailableError` when the store fails; each may be repeated."""

    async def keep(self, asks: Mapping[ApplicationId, ShownAsks]) -> None:
        """Keep the newest decisions of applications, in the place of those that were kept of them."""
        ...

    async def of(self, application: ApplicationId) -> ShownAsks:
        """The decisions that were kept last; none for an application that never spanned, or long ago."""
        ...
