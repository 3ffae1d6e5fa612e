"""`MultiClusterStore` in memory. Limits: seals nothing, and forgets with the process."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.errors import StoreUnavailableError
from shim.ports.multicluster_store import RegisteredAttempt, RemoteSession

__all__ = ["InMemoryMultiClusterStore"]


class InMemoryMultiClusterStore:
    """Implements `MultiClusterStore`.

    Attributes:
        is_away: Whether every method fails.
    """

    def __init__(self) -> None:
        self.is_away = False
        self._sessions: dict[tuple[ApplicationId, SubClusterId], RemoteSession] = {}
        self._attempts: dict[ApplicationAttemptId, RegisteredAttempt] = {}
        self._containers: dict[ApplicationId, dict[SubClusterId, dict[ContainerId, str]]] = defaultdict(dict)

    async def save_session(self, session: RemoteSession) -> None:
        """See `MultiClusterStore`."""
        self._check()
        self._sessions[session.application, session.subcluster] = session

    async def sessions(self, application: ApplicationId | None = None) -> Sequence[RemoteSession]:
        """See `MultiClusterStore`."""
        self._check()
        return [each for (owner, _), each in sorted(self._sessions.items()) if application in (None, owner)]

    async def remove_session(self, application: ApplicationId, subcluster: SubClusterId) -> None:
        """See `MultiClusterStore`."""
        self._check()
        self._sessions.pop((application, subcluster), None)
        self._containers[application].pop(subcluster, None)

    async def save_attempt(self, attempt: RegisteredAttempt) -> None:
        """See `MultiClusterStore`."""
        self._check()
        self._attempts[attempt.attempt] = attempt

    async def find_attempt(self, attempt: ApplicationAttemptId) -> RegisteredAttempt | None:
        """See `MultiClusterStore`."""
        self._check()
        return self._attempts.get(attempt)

    async def remove_attempts(self, application: ApplicationId) -> None:
        """See `MultiClusterStore`."""
        self._check()
        self._attempts = {name: each for name, each in self._attempts.items() if name.application != application}
        given = self._containers[application]
        for subcluster in [name for name in given if (application, name) not in self._sessions]:
            del given[subcluster]

    async def give(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId], answer: str
    ) -> None:
        """See `MultiClusterStore`."""
        self._check()
        for container in containers:
            self._containers[application].setdefault(subcluster, {}).setdefault(container, answer)

    async def withdraw(self, application: ApplicationId, answer: str) -> None:
        """See `MultiClusterStore`."""
        self._check()
        for subcluster, known in self._containers[application].items():
            heard = {container: given_in for container, given_in in known.items() if given_in != answer}
            self._containers[application][subcluster] = heard

    async def take(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId]
    ) -> None:
        """See `MultiClusterStore`."""
        self._check()
        known = self._containers[application].get(subcluster, {})
        for container in containers:
            known.pop(container, None)

    async def containers(self, application: ApplicationId) -> Mapping[SubClusterId, frozenset[ContainerId]]:
        """See `MultiClusterStore`."""
        self._check()
        return {name: frozenset(kept) for name, kept in self._containers[application].items() if kept}

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away")
