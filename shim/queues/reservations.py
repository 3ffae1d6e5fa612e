"""Access lists of the policy, for reservations.

A submission names its queue. An update or a deletion names the reservation alone: the ResourceManager that issued it is
asked whether it is in one of the queues that the user may not submit to.
"""

import asyncio
from collections.abc import Mapping

from shim.domain.ids import SubClusterId
from shim.errors import ForbiddenError, HomeUnreachableError, ResourceManagerError
from shim.federation.rm_questions import reservation_lists
from shim.ports.resource_manager import ResourceManager
from shim.queues.access import QueueAccess

_OK, _BAD_REQUEST = 200, 400
_ASKED_AT_ONCE = 8


class ReservationAccess:
    """Checks requests about reservations.

    Args:
        answer_within_s: Seconds for one question.
    """

    def __init__(
        self, access: QueueAccess, managers: Mapping[SubClusterId, ResourceManager], *, answer_within_s: float = 2.0
    ) -> None:
        self._access = access
        self._managers = managers
        self._answer_within_s = answer_within_s

    async def check(self, subcluster: SubClusterId, *, queue: str, reservation: str, user: str) -> None:
        """Refuse a user who may not submit, update or delete a reservation at a sub-cluster.

        Args:
            subcluster: Where the request goes.
            queue: The queue that it names; empty if it names none.
            reservation: The id that it names; empty if it names none.

        Raises:
            ForbiddenError: It is in a queue that the user may not submit to.
            HomeUnreachableError: The ResourceManager does not tell where it is.
        """
        if not self._access.is_restricted:
            return
        if queue:
            self._access.check_reservation(subcluster, queue, user)
        if not reservation:
            return
        gate = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def is_in(path: str) -> bool:
            async with gate:
                return await self._is_in(subcluster, path, reservation)

        closed = self._access.closed_at(subcluster, user)
        found = await asyncio.gather(*(is_in(path) for path in closed))
        for path, is_there in zip(closed, found, strict=True):
            if is_there:
                raise ForbiddenError(f"User {user} does not have permission to change {reservation} of queue {path}")

    async def _is_in(self, subcluster: SubClusterId, path: str, reservation: str) -> bool:
        untold = f"sub-cluster {subcluster} does not tell in which queue {reservation} is"
        manager, timeout_s = self._managers[subcluster], self._answer_within_s
        try:
            async for answer in reservation_lists(manager, path, reservation, timeout_s=timeout_s):
                if answer.status == _OK and f'"{reservation}"'.encode() in answer.body:
                    return True
                if answer.status not in (_OK, _BAD_REQUEST):  # 400 is what a queue without reservations gets
                    raise HomeUnreachableError(f"{untold}: {answer.status}")
        except ResourceManagerError as exc:
            raise HomeUnreachableError(f"{untold}: {exc}") from exc
        return False
