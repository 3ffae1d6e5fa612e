"""Reports of altruism: of a job, whoever counted what it gave and received, and of queues."""

from collections.abc import Callable, Mapping
from typing import Any

from shim.domain.credits import NO_CREDITS, Credits
from shim.domain.ids import ApplicationId
from shim.domain.queues import SharePolicy
from shim.queues.altruism import AltruismService
from shim.queues.credits import CreditKeeping

MOST_USERS = 50
"""Users that are told of at once: a time series of each in metrics."""


class AltruismReports:
    """Answers what jobs put off, gave and received."""

    def __init__(self, policy: Callable[[], SharePolicy], service: AltruismService, keeping: CreditKeeping) -> None:
        self._policy = policy
        self._service = service
        self._keeping = keeping

    async def of_job(self, application: ApplicationId) -> Mapping[str, Any] | None:
        """Give what is known of a job's altruism as a plain JSON object; None for a job of no altruistic queue."""
        return self._service.shown(application, await self._keeping.of(application))

    def of_queues(self) -> Mapping[str, Credits]:
        """Give what the jobs of each queue gave and received, as far back as it is kept."""
        altruistic = {queue.path: NO_CREDITS for queue in self._policy().queues if queue.altruism}
        return {**altruistic, **self._keeping.totals()}

    def of_users(self) -> Mapping[str, Credits]:
        """Give what the jobs of users gave and received, as far back as it is kept: those with the most alone."""
        found = self._keeping.totals("user")
        most = sorted(found, key=lambda user: (-found[user].given_mib_s - found[user].received_mib_s, user))
        return {user: found[user] for user in most[:MOST_USERS]}
