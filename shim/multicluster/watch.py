"""Ends sessions whose applications have ended: YARN itself ends them only after minutes without a word.

Looks at what is in the store, so that it also finds those of a Heddle that died.
"""

from collections.abc import Mapping

import structlog

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import HeddleError, ResourceManagerError
from shim.federation.core.federation_view import FederationView
from shim.federation.rm_questions import ask_application
from shim.multicluster.capacity import Epochs
from shim.multicluster.service import MultiClusterService
from shim.multicluster.unmanaged import UnmanagedAMs
from shim.ports.clock import Clock
from shim.ports.multicluster_store import MultiClusterStore, RemoteSession
from shim.ports.resource_manager import ResourceManager

_log = structlog.get_logger("heddle.span")
_INTERVAL_S = 1.0
_ASK_EVERY = 10
_ANSWER_WITHIN_S = 2.0


class SessionWatch:
    """Watches over sessions. `run` does it for ever; `sweep` once.

    Args:
        spanning: Whose ApplicationMasters are logged in here.
        view: Knows which applications have ended.
        managers: The homes, for applications that the view does not know.
    """

    def __init__(
        self,
        spanning: MultiClusterService,
        unmanaged_ams: UnmanagedAMs,
        store: MultiClusterStore,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        epochs: Epochs,
        clock: Clock,
    ) -> None:
        self._spanning = spanning
        self._unmanaged_ams = unmanaged_ams
        self._store = store
        self._view = view
        self._managers = managers
        self._epochs = epochs
        self._clock = clock

    async def run(self) -> None:
        turn = 0
        while True:
            try:
                await self.sweep(asks_homes=turn % _ASK_EVERY == 0)
            except HeddleError as exc:
                _log.warning("looking after spans was interrupted", reason=str(exc))
            if not self._epochs.is_complete:
                await self._epochs.ask()
            turn += 1
            await self._clock.sleep(_INTERVAL_S)

    async def sweep(self, *, asks_homes: bool = True) -> None:
        """End every session whose application has ended.

        Args:
            asks_homes: Whether a home is asked for an application that the view does not know.
        """
        ended: dict[ApplicationId, bool] = {}
        late = frozenset(self._view.late(self._clock.now_s()))
        for session in await self._store.sessions():
            application = session.application
            if application not in ended:
                ended[application] = await self._has_ended(session, asks_homes=asks_homes)
            if ended[application]:
                await self._spanning.end(application)
                if self._view.is_retired(session.subcluster):
                    await self._store.remove_session(application, session.subcluster)
                elif session.subcluster not in late:  # one that is away is asked when it is back
                    await self._unmanaged_ams.end(session, f"its application has ended in {session.home}")
        for application in self._spanning.applications:
            if self._is_final(application):
                await self._spanning.end(application)
                ended[application] = True
        for application, is_ended in ended.items():
            if is_ended:
                await self._store.remove_attempts(application)

    def _is_final(self, application: ApplicationId) -> bool:
        document = self._view.applications.find(application)
        return document is not None and document.summary.state.is_final

    async def _has_ended(self, session: RemoteSession, *, asks_homes: bool) -> bool:
        """True if an application is no more; what its home cannot tell now is found out later."""
        if self._view.applications.find(session.application) is not None:
            return self._is_final(session.application)
        if self._view.is_retired(session.home):
            return True
        manager = self._managers.get(session.home)
        if not asks_homes or manager is None or session.home in self._view.late(self._clock.now_s()):
            return False
        try:
            document = await ask_application(
                manager, session.application, as_of_s=self._clock.now_s(), timeout_s=_ANSWER_WITHIN_S
            )
        except ResourceManagerError:
            return False
        return document is None or document.summary.state.is_final
