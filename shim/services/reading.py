"""Reading applications: from what is known if that is young enough, else from their homes, once for all who ask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import Submission
from shim.global_master.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.ports.state_store import StateStore
from shim.services.freshness import Freshness

__all__ = ["ApplicationRead", "ApplicationReading", "ApplicationsRead", "ReadingSettings"]


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    """How reads are answered.

    Attributes:
        staleness_s: A live document that was asked for longer ago is asked for again.
        answer_within_s: Nobody waits longer for a sub-cluster.
        guarded: Sub-clusters with `yarn.acl.enable`: what they tell depends on who asks, so nothing that one user
            read there is shown to another.
    """

    staleness_s: float = 1.0
    answer_within_s: float = 2.0
    guarded: frozenset[SubClusterId] = frozenset()


@dataclass(frozen=True, slots=True)
class ApplicationRead:
    """One application, and how old that is."""

    document: ApplicationDocument
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class ApplicationsRead:
    """Every application, that started last first, and how old the list is.

    Attributes:
        version: The same number means the same documents: answers made of them may be kept under it.
    """

    documents: Sequence[ApplicationDocument]
    version: int
    freshness: Freshness


class ApplicationReading:
    """Use cases that read applications."""

    def __init__(
        self,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        store: StateStore,
        clock: Clock,
        settings: ReadingSettings,
    ) -> None:
        raise NotImplementedError

    async def application(self, application_id: ApplicationId, *, viewer: str) -> ApplicationRead:
        """The document of one application, no older than the staleness bound if its home answers in time.

        Args:
            application_id: Which.
            viewer: The user who asks; matters where access lists are on.

        Raises:
            NotFoundError: Nobody knows it.
            HomeUnreachableError: It may exist at a sub-cluster that does not answer, and nothing is known of it.
        """
        raise NotImplementedError

    async def applications(self, *, viewer: str) -> ApplicationsRead:
        """Every application of every sub-cluster, own writes included."""
        raise NotImplementedError

    async def home_of(self, application_id: ApplicationId) -> SubClusterId:
        """Where an application runs.

        Raises:
            NotFoundError: Nobody knows it.
            HomeUnreachableError: A sub-cluster that might know it does not answer.
        """
        raise NotImplementedError

    def mark_submitted(self, submission: Submission, home: SubClusterId) -> None:
        """List an application as SUBMITTED from now on, until its home tells of it."""
        raise NotImplementedError

    def mark_written(self, application_id: ApplicationId) -> None:
        """Something was changed about an application: the next read of it, alone or in a list, fetches it first."""
        raise NotImplementedError
