"""Heddle's own web services for its configuration.

GET   reload                  since when what stood there counts
POST  reload[?dryRun=true]    what stands in the configuration counts, all of it or nothing
"""

from dataclasses import dataclass
from typing import Protocol

from fastapi import Response

from heddle import models
from shim.server.rest.own_endpoints import Asker, DryRun, OwnEndpoint, as_json

__all__ = ["ReadsAnew", "ReloadAPI"]


class ReadsAnew(Protocol):
    """The use case behind the endpoints.

    Attributes:
        since_ms: When the configuration was read that counts.
    """

    @property
    def since_ms(self) -> int:  # noqa: D102 - see above
        ...

    async def plan(self) -> models.Reload:
        """What would change.

        Raises:
            ConflictError: What stands there cannot be used, or takes a sub-cluster away where something runs.
        """
        ...

    async def reload(self, *, by: str) -> models.Reload:
        """Have it count, within seconds; raises as `plan`."""
        ...


@dataclass(frozen=True, slots=True)
class ReloadAPI:
    """Answers the endpoints; raises what the server makes error bodies of."""

    reloading: ReadsAnew

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        """Method, path and operation of each."""
        return (
            OwnEndpoint("GET", "reload", self.since, models.ConfigurationAge),
            OwnEndpoint("POST", "reload", self.reload, models.Reload, "reload"),
        )

    async def since(self) -> Response:
        """Tell when the configuration was read that counts."""
        return as_json(models.ConfigurationAge(since_ms=self.reloading.since_ms))

    async def reload(
        self,
        asker: Asker,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """Read the configuration anew; the answer comes before it counts."""
        return as_json(await (self.reloading.plan() if is_dry_run else self.reloading.reload(by=asker.user)))
