"""Identity of an ApplicationMaster: the home, the queue and the user of its application."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from shim.domain.gangs import gang_asked_by
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.domain.queues import is_same_queue
from shim.errors import HomeUnreachableError, NotFoundError, ResourceManagerError
from shim.federation.core.federation_view import FederationView
from shim.federation.rm_questions import ask_application
from shim.federation.routing import Routing
from shim.ports.attempt_calls import Attempt
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager

_MOST_SEARCHES = 8
"""At one time: whoever makes up ids shall not have every sub-cluster asked for each of them at once."""


async def never_read(_attempt_id: ApplicationAttemptId) -> bool:
    return False


class AttemptDirectory:
    """Finds attempts.

    Args:
        view: What homes told of their applications.
        managers: The homes, for applications that none has told of yet.
        clock: For the age of documents.
        read: Full paths of the queues whose ApplicationMasters' calls are read at this moment, each with what
            sub-clusters call it that call it otherwise: their applications may hold containers of several
            sub-clusters, or their asks may be held back.
        was_read: Whether an attempt has registered while its calls were read: they are read to its end, since only
            so its calls are in the order that its home expects.
    """

    def __init__(
        self,
        routing: Routing,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        clock: Clock,
        *,
        answer_within_s: float,
        read: Callable[[], Mapping[str, Mapping[SubClusterId, str]]] = dict,
        was_read: Callable[[ApplicationAttemptId], Awaitable[bool]] = never_read,
    ) -> None:
        self._routing = routing
        self._view = view
        self._managers = managers
        self._clock = clock
        self._read = read
        self._was_read = was_read
        self._answer_within_s = answer_within_s
        self._searches = asyncio.Semaphore(_MOST_SEARCHES)

    async def find(self, attempt_id: ApplicationAttemptId) -> Attempt:
        """The attempt with this id, as far as its token is believed.

        Its queue matters only where calls of some queue are read; only then is a home asked for what it has not told.

        Raises:
            NotFoundError: No sub-cluster knows the application.
            HomeUnreachableError: Whoever might know it does not answer.
        """
        application_id = attempt_id.application
        home = self._view.applications.home_of(application_id)
        if home is None:
            async with self._searches:
                home = await self._routing.home_of(application_id)
        if self._read() and not self._routing.is_told(application_id):
            await self._ask(attempt_id, home)
        document = self._view.applications.find(application_id)
        if document is None:
            return Attempt(attempt_id, home, queue="", user="")
        queue = self._path_of(document.summary.queue, home)
        is_read = queue in self._read() or await self._was_read(attempt_id)
        gang = gang_asked_by(document.summary.tags)
        return Attempt(attempt_id, home, queue, document.summary.user, is_read=is_read, gang=gang)

    def _path_of(self, told: str, home: SubClusterId) -> str:
        named = ((path, names.get(home, path)) for path, names in self._read().items())
        return next((path for path, name in named if is_same_queue(name, told)), told)

    async def _ask(self, attempt_id: ApplicationAttemptId, home: SubClusterId) -> None:
        application_id = attempt_id.application
        now_s = self._clock.now_s()
        try:
            document = await ask_application(
                self._managers[home], application_id, as_of_s=now_s, timeout_s=self._answer_within_s
            )
        except ResourceManagerError as exc:
            raise HomeUnreachableError(f"{home} cannot tell now in which queue {application_id} is: {exc}") from exc
        if document is None:
            raise NotFoundError(f"app with id: {application_id} not found")
        self._view.applications.note(document)
