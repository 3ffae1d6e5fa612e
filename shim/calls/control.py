"""Changes of applications that exist: kill, move, priority, timeouts, signals.

Each is the ResourceManager's own operation, sent to the home as the caller's user; the home's answer is passed on. An
application whose submission has not reached its home is brought there first. While that is impossible the change is
refused with 503: nobody may promise to kill what a frozen home may start when it wakes.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionState
from shim.errors import HomeUnreachableError, NotFoundError, ResourceManagerError, StoreUnavailableError
from shim.federation.routing import Routing
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.queues.admission import AdmissionQueue, Kills
from shim.queues.reservations import ReservationAccess
from shim.submission.delivery_attempts import Attempts
from shim.submission.rehoming import Rehoming
from shim.submission.repair import Repair
from shim.submission.tools import Listing

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class NamedQueue(Generic[_T]):
    """The queue that a request names: to which it moves an application, say.

    Attributes:
        queue: As the client names it; empty for none.
        user: Whose request it is; None for one to whom access lists do not apply.
        renamed: The same request with another name.
        is_plan: Whether it is about the queue's reservations.
    """

    queue: str
    user: str | None
    renamed: Callable[[str], _T]
    is_plan: bool = False


class ControlService:
    """Carries changes to the homes of their applications."""

    def __init__(
        self,
        *,
        routing: Routing,
        repair: Repair,
        managers: Mapping[SubClusterId, ResourceManager],
        listing: Listing,
        answer_within_s: float,
        room: AdmissionQueue | None = None,
    ) -> None:
        self._routing = routing
        self._repair = repair
        self._managers = managers
        self._listing = listing
        self._room = room
        self._answer_within_s = answer_within_s

    async def change(
        self, application_id: ApplicationId, request: RestRequest, move: NamedQueue[RestRequest] | None = None
    ) -> RestAnswer:
        """Send a changing request to an application's home; what is read afterwards is fetched first.

        Args:
            request: The ResourceManager's own request, as the caller's user.
            move: The queue to which it moves the application, if it does.

        Raises:
            ForbiddenError: The user may not submit to that queue.
            HomeUnreachableError: The home does not answer now. The change may have been made: repeat it.
        """
        home = await self.home_for_change(application_id)
        request = self.as_sent_to(home, application_id, request, move)
        try:
            return await self._managers[home].forward(request, timeout_s=self._answer_within_s)
        except ResourceManagerError as exc:
            raise HomeUnreachableError(
                f"{application_id} is at sub-cluster {home}: {exc.reason}; repeat the call"
            ) from exc
        finally:
            self._listing.mark_written(application_id)

    async def home_for_change(self, application_id: ApplicationId) -> SubClusterId:
        """Sub-cluster that takes a change of an application: its home, or, for an unknown one, any that says so.

        Raises:
            HomeUnreachableError: The application is on its way to a home that does not answer.
        """
        home = await self._home_that_knows(application_id)
        if home is None:  # nobody knows it: any sub-cluster says so in a ResourceManager's words
            home = self._first_usable(application_id)
        return home

    async def kill(self, application_id: ApplicationId, *, user: str) -> RestAnswer:
        """Kill an application as a user; raises as `change`."""
        return await self.change(application_id, kill_request(application_id, user=user))

    @property
    def rehoming(self) -> Rehoming:
        """Moves of applications that have not begun."""
        return self._repair.rehoming

    async def kill_waiting(self, application_id: ApplicationId, by: Kills) -> bool:
        """End an application that waits for its queue's turn; False if it does not: then its home is asked.

        Raises:
            ForbiddenError: The user may not.
            StoreUnavailableError: It waits on; the call may be repeated.
        """
        return self._room is not None and await self._room.kill(application_id, by)

    def as_sent_to(
        self, home: SubClusterId, application_id: ApplicationId, request: _T, move: NamedQueue[_T] | None
    ) -> _T:
        """A changing request with the name that an application's home has for the queue of a move.

        Raises:
            ForbiddenError: The user may not submit to that queue.
        """
        if move is None or self._room is None:
            return request
        name = self._room.access.move_target(application_id, home, move.queue, move.user)
        return request if name == move.queue else move.renamed(name)

    def asked_name(self, subcluster: SubClusterId, queue: str, *, is_plan: bool = False) -> str:
        """How a question to a sub-cluster names the queue that a client names; see `QueueAccess.asked_name`."""
        return queue if self._room is None else self._room.access.asked_name(subcluster, queue, is_plan=is_plan)

    def is_closed_to(self, subcluster: SubClusterId, queue: str, user: str) -> bool:
        """True if Heddle's access lists keep a user from submitting to what a sub-cluster calls so."""
        return self._room is not None and self._room.access.closed_to(subcluster, queue, user) is not None

    def asked_at(self, subcluster: SubClusterId, request: _T, queue: NamedQueue[_T]) -> _T:
        """A request with the name that a sub-cluster has for the queue that it names."""
        name = self.asked_name(subcluster, queue.queue, is_plan=queue.is_plan)
        return request if name == queue.queue else queue.renamed(name)

    async def check_reservation(self, subcluster: SubClusterId, *, queue: str, reservation: str, user: str) -> None:
        """Refuse a change of a reservation that the user may not make; see `ReservationAccess.check`."""
        if self._room is not None and self.guards_moves:
            access = ReservationAccess(self._room.access, self._managers, answer_within_s=self._answer_within_s)
            await access.check(subcluster, queue=queue, reservation=reservation, user=user)

    def failure_of(self, application_id: ApplicationId) -> Attempts | None:
        """Failures of an application that its home does not take though it is well; None if there are none."""
        known = self._repair.attempts.find(application_id)
        return known if known is not None and known.failures else None

    @property
    def guards_moves(self) -> bool:
        """True if there is a queue that not everybody may move applications to."""
        return self._room is not None and self._room.access.is_restricted

    async def _home_that_knows(self, application_id: ApplicationId) -> SubClusterId | None:
        try:
            home = await self._routing.home_of(application_id)
        except NotFoundError:
            return None
        if self._routing.is_told(application_id):
            return home
        try:
            record = await self._repair.repair_one(application_id)
        except StoreUnavailableError:
            return home  # whether it is delivered cannot be known now: its home's answer decides
        if record is not None and record.state is SubmissionState.INTENDED:
            message = (
                f"{application_id} is safe, but its home {record.home_subcluster} does not answer yet: it can be "
                f"changed when it does; repeat the call"
            )
            raise HomeUnreachableError(message)
        return home if record is None else record.home_subcluster

    def _first_usable(self, application_id: ApplicationId) -> SubClusterId:
        usable = self._routing.usable()
        if not usable:
            raise HomeUnreachableError(f"no sub-cluster answers, and none is known to have {application_id}")
        return usable[0]


def kill_request(application_id: ApplicationId, *, user: str) -> RestRequest:
    return RestRequest(
        "PUT",
        f"/ws/v1/cluster/apps/{application_id}/state",
        user=user,
        headers=(("Accept", "application/json"), ("Content-Type", "application/json")),
        body=json.dumps({"state": "KILLED"}).encode(),
    )
