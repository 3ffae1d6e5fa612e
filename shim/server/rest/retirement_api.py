"""Heddle's own web services for sub-clusters that never come back, below `/heddle/v1/`.

POST  clusters/{id}/retire[?dryRun=true]    it is dead: what hangs on it goes elsewhere, or is lost
POST  clusters/{id}/revive[?dryRun=true]    it is back, without what was given up there
"""

from dataclasses import dataclass

from fastapi import Response

from heddle import models
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import Admission
from shim.errors import StoreUnavailableError, UnavailableError
from shim.server.rest.own_endpoints import Asker, ClusterName, DryRun, OwnEndpoint, as_json
from shim.submission.retirement import RetirementPlan, RetirementService

__all__ = ["RetirementAPI"]


@dataclass(frozen=True, slots=True)
class RetirementAPI:
    """Answers the endpoints of retirement; raises what the server makes error bodies of."""

    retirement: RetirementService

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        """Method, path and operation of each."""
        return (
            OwnEndpoint("POST", "clusters/{cluster}/retire", self.retire, models.Retirement, "cluster.retire"),
            OwnEndpoint("POST", "clusters/{cluster}/revive", self.revive, models.Revival, "cluster.revive"),
        )

    async def retire(
        self,
        asker: Asker,
        cluster: ClusterName,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """Declare a sub-cluster dead."""
        id_ = SubClusterId(cluster)
        try:
            plan = await (self.retirement.plan(id_) if is_dry_run else self.retirement.retire(id_, by=asker.user))
        except StoreUnavailableError as exc:
            raise UnavailableError(f"{cluster} stays as it was: {exc}") from exc
        return _shown(plan, is_dry_run=is_dry_run)

    async def revive(
        self,
        asker: Asker,
        cluster: ClusterName,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """Let a retired sub-cluster in again."""
        try:
            ended = await self.retirement.revive(SubClusterId(cluster), by=asker.user, is_dry_run=is_dry_run)
        except StoreUnavailableError as exc:
            raise UnavailableError(f"{cluster} cannot be revived now: {exc}") from exc
        return as_json(
            models.Revival(
                id=cluster,
                was=Admission.RETIRED.value,
                admission=Admission.OPEN.value,
                dry_run=is_dry_run,
                masters_to_end=[*map(str, ended)],
            )
        )


def _shown(plan: RetirementPlan, *, is_dry_run: bool) -> Response:
    return as_json(
        models.Retirement(
            id=plan.subcluster,
            was=plan.was.value,
            admission=Admission.RETIRED.value,
            dry_run=is_dry_run,
            to_move=[*map(str, plan.to_move)],
            to_lose=[*map(str, plan.to_lose)],
            spanning={str(application): count for application, count in plan.spanning.items()},
        )
    )
