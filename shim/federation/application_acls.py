"""Access lists of the applications that are listed, as their submissions stated them.

They are noted when a submission is taken here; those of other Heddles, and of before a restart, come from the store.
Of an application that was submitted past Heddle none are known: it is its user's, and administrators', alone.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from itertools import islice

import structlog

from shim.domain.access_lists import NO_ACLS, Access, ApplicationACLs, grants
from shim.domain.ids import ApplicationId
from shim.errors import StoreError
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.ports.state_store import StateStore

_EVERY_S = 1.0
_AT_A_TIME = 2000
_log = structlog.get_logger("heddle")


class ApplicationACLBook:
    """Knows who may see and change which application beside its user."""

    def __init__(self, view: FederationView, store: StateStore, clock: Clock) -> None:
        self._view = view
        self._store = store
        self._clock = clock
        self._known: dict[ApplicationId, ApplicationACLs] = {}
        self._by_view_list: defaultdict[str, set[ApplicationId]] = defaultdict(set)

    def note(self, application_id: ApplicationId, acls: ApplicationACLs) -> None:
        self._forget(application_id)
        self._known[application_id] = acls
        if acls.view:
            self._by_view_list[acls.view].add(application_id)

    def of(self, application_id: ApplicationId) -> ApplicationACLs:
        """The lists of an application; none of one whose lists are not known."""
        return self._known.get(application_id, NO_ACLS)

    def grants(
        self, application_id: ApplicationId, access: Access, user: str, groups: Callable[[], Collection[str]]
    ) -> bool:
        """Return whether an application's list names a user; `groups` tells his, if a list names groups."""
        return grants(self.of(application_id).of(access), user, groups)

    def visible_to(self, user: str, groups: Callable[[], Collection[str]]) -> Iterator[ApplicationId]:
        """Applications whose view list names a user: few different lists are looked at for many applications."""
        for acl, application_ids in self._by_view_list.items():
            if grants(acl, user, groups):
                yield from application_ids

    async def refresh(self) -> None:
        """Learn from the store what is listed and not known yet; forget what is listed no more.

        Raises:
            StoreError: The store does not say.
        """
        listed = self._view.applications.columns.ids()
        for gone in [each for each in self._known if each not in listed]:
            self._forget(gone)
        while missing := list(islice((each for each in listed if each not in self._known), _AT_A_TIME)):
            found = await self._store.described(missing)
            for application_id in missing:
                described = found.get(application_id)
                self.note(application_id, NO_ACLS if described is None else described.acls)

    async def run(self) -> None:
        while True:
            try:
                await self.refresh()
            except StoreError as exc:
                _log.warning("access lists of applications are not told by the store", reason=str(exc))
            await self._clock.sleep(_EVERY_S)

    def _forget(self, application_id: ApplicationId) -> None:
        acls = self._known.pop(application_id, NO_ACLS)
        if acls.view:
            named = self._by_view_list[acls.view]
            named.discard(application_id)
            if not named:
                del self._by_view_list[acls.view]
