"""Clusters on which a spanning application has containers: reads and signals of containers are routed by them."""

from collections.abc import Mapping

import structlog

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.errors import StoreError
from shim.ports.multicluster_store import MultiClusterStore

__all__ = ["ContainerPlaces"]

_log = structlog.get_logger("heddle.span")


class ContainerPlaces:
    """Reads what Heddle keeps of spanning applications. Without the store, every container is taken for its home's.

    Args:
        store: Where their live containers are written down.
    """

    def __init__(self, store: MultiClusterStore) -> None:
        self._store = store

    async def of_container(self, container: ContainerId) -> SubClusterId | None:
        """The sub-cluster of a live container that an ApplicationMaster was given; None for one that nobody knows."""
        given = await self.of_application(container.attempt.application)
        return next((place for place, containers in given.items() if container in containers), None)

    async def of_attempt(
        self, attempt: ApplicationAttemptId
    ) -> Mapping[SubClusterId, tuple[ApplicationAttemptId, ...]]:
        """Find the clusters on which an application's newest attempt has live containers, with its ids there.

        An earlier attempt has none. Sub-clusters count attempts for themselves, so the number is not the home's.
        """
        try:
            is_newest = await self._store.find_attempt(attempt) is not None
        except StoreError as exc:
            _log.warning("containers are shown as far as the home has them", attempt=str(attempt), reason=str(exc))
            return {}
        given = await self.of_application(attempt.application) if is_newest else {}
        named = {place: {container.attempt for container in containers} for place, containers in given.items()}
        return {place: tuple(sorted(attempts)) for place, attempts in named.items() if attempts}

    async def of_application(self, application: ApplicationId) -> Mapping[SubClusterId, frozenset[ContainerId]]:
        """Live containers of a spanning application by sub-cluster; nothing of one that does not span."""
        try:
            return await self._store.containers(application)
        except StoreError as exc:
            _log.warning("containers are looked for at the home", application=str(application), reason=str(exc))
            return {}
