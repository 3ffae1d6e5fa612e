"""Operators' words: which sub-clusters take new applications, and what still runs where none should."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission, AdmissionWord
from shim.errors import ConflictError, HeddleError, NotFoundError, StoreUnavailableError, UnavailableError
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.multicluster_store import MultiClusterStore
from shim.ports.state_store import StateStore

_log = structlog.get_logger("heddle.administration")
_REFRESH_S = 5.0


@dataclass(frozen=True, slots=True)
class Drainage:
    """Progress of draining a sub-cluster.

    Attributes:
        still_running: Applications with something there, oldest id first: those whose home it is, those that are on
            their way to it, and those of other homes with an ApplicationMaster of Heddle's there.
        spanning: Those of other homes alone, each with the number of its live containers there.
    """

    subcluster: SubClusterId
    admission: Admission
    still_running: tuple[ApplicationId, ...]
    spanning: Mapping[ApplicationId, int] = field(default_factory=dict)

    @property
    def is_drained(self) -> bool:
        return self.admission is not Admission.OPEN and not self.still_running


class AdministrationService:
    """Keeps operators' words in the store, and in memory for the choice of homes.

    Args:
        spans: Which applications have ApplicationMasters and containers beyond their homes.

    Attributes:
        current: Every sub-cluster that is not OPEN; the same object for ever, its content follows the store. Without
            the store the last known words hold.
    """

    def __init__(self, *, view: FederationView, store: StateStore, spans: MultiClusterStore, clock: Clock) -> None:
        self._view = view
        self._store = store
        self._spans = spans
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []
        self.current: dict[SubClusterId, Admission] = {}
        self.words: dict[SubClusterId, AdmissionWord] = {}

    async def run(self) -> None:
        """Follow the store, where another Heddle may have written, until cancelled."""
        while True:
            try:
                await self.refresh()
            except HeddleError as exc:
                _log.warning("operators' words could not be read; the last known ones hold", reason=str(exc))
            await self._clock.sleep(_REFRESH_S)

    async def refresh(self) -> None:
        """Read the words that are in the store.

        Raises:
            StoreUnavailableError: The last known words hold.
        """
        self._adopt(await self._store.admissions())
        if self.current:
            self.words.update(await self._store.admission_words())

    async def cordon(self, subcluster: SubClusterId, *, by: str) -> Drainage:
        """Send no new applications there; raises as `set_admission`."""
        return await self.set_admission(subcluster, Admission.CORDONED, by=by)

    async def drain(self, subcluster: SubClusterId, *, by: str) -> Drainage:
        """Send no new applications there, and tell what still runs; raises as `set_admission`."""
        return await self.set_admission(subcluster, Admission.DRAINING, by=by)

    async def undrain(self, subcluster: SubClusterId, *, by: str) -> Drainage:
        """Let new applications in again; raises as `set_admission`."""
        return await self.set_admission(subcluster, Admission.OPEN, by=by)

    async def set_admission(
        self, subcluster: SubClusterId, admission: Admission, *, by: str, reason: str = ""
    ) -> Drainage:
        """Keep an operator's word; it holds from now on, here, and within seconds in every other Heddle.

        Raises:
            NotFoundError: No such sub-cluster.
            ConflictError: It is retired.
            UnavailableError: The store does not take it; the old word holds.
        """
        self.check(subcluster)
        try:
            await self.refresh()  # another Heddle may have retired it a moment ago
            if self.is_retired(subcluster):
                raise ConflictError(f"{subcluster} is retired; `heddle cluster revive {subcluster}` lets it in again")
            await self._store.set_admission(subcluster, admission, by=by, reason=reason)
        except StoreUnavailableError as exc:
            raise UnavailableError(f"{subcluster} stays as it was: {exc}") from exc
        self._adopt({**self.current, subcluster: admission})
        if admission is not Admission.OPEN:
            self.words[subcluster] = AdmissionWord(admission, by, int(self._clock.now_s() * 1000), reason)
        _log.info(
            "admission of a cluster was set", subcluster=subcluster, admission=admission.value, by=by, reason=reason
        )
        return await self.drainage(subcluster)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the words have changed, here or by another Heddle."""
        self._listeners.append(listener)

    def is_retired(self, subcluster: SubClusterId) -> bool:
        """True if the sub-cluster was declared dead."""
        return self.current.get(subcluster) is Admission.RETIRED

    async def declare(self, subcluster: SubClusterId, *, is_dead: bool, by: str) -> None:
        """Keep the word that a sub-cluster is dead, or that it is not; whoever calls has made sure that it may be.

        Raises:
            UnavailableError: The store does not take it; the old word holds.
        """
        admission = Admission.RETIRED if is_dead else Admission.OPEN
        try:
            await self._store.set_admission(subcluster, admission, by=by)
        except StoreUnavailableError as exc:
            raise UnavailableError(f"{subcluster} stays as it was: {exc}") from exc
        self._adopt({**self.current, subcluster: admission})

    async def drainage(self, subcluster: SubClusterId) -> Drainage:
        self.check(subcluster)
        admission = self.current.get(subcluster, Admission.OPEN)
        homed = {
            document.summary.application_id
            for document in self._view.applications.at_home(subcluster)
            if not document.summary.state.is_final
        }
        try:
            spanning = await self._spanning(subcluster)
        except StoreUnavailableError as exc:
            raise UnavailableError(f"containers of other homes at {subcluster} are not known now: {exc}") from exc
        return Drainage(subcluster, admission, tuple(sorted(homed | spanning.keys())), spanning)

    async def _spanning(self, subcluster: SubClusterId) -> Mapping[ApplicationId, int]:
        """Applications of other homes with a session there, and how many containers each was given and still has."""
        sessions = [each for each in await self._spans.sessions() if each.subcluster == subcluster]
        found: dict[ApplicationId, int] = {}
        for session in sorted(sessions, key=lambda session: session.application):
            given = await self._spans.containers(session.application)
            found[session.application] = len(given.get(subcluster, ()))
        return found

    def _adopt(self, words: dict[SubClusterId, Admission]) -> None:
        said = {name: word for name, word in words.items() if word is not Admission.OPEN}
        has_changed = said != self.current
        self.current.clear()
        self.current.update(said)
        for name in self.words.keys() - said.keys():
            del self.words[name]
        self._view.retire([name for name, word in said.items() if word is Admission.RETIRED])
        if has_changed:
            for listener in self._listeners:
                listener()

    def check(self, subcluster: SubClusterId) -> None:
        if subcluster not in self._view.subclusters:
            known = ", ".join(self._view.subclusters)
            raise NotFoundError(f"there is no sub-cluster {subcluster!r}; there are: {known}")
