"""Heddle's own web services for operators, below `/heddle/v1/`: audit, hardening, reload, shadows, retirement.

GET   audit[?search=WORDS][&limit=N]        the newest lines of `log.audit_file`, for administrators
GET   hardening                             lines of the hardening guide and whether they hold, for administrators
GET   reload                                since when what stood there counts
POST  reload[?dryRun=true]                  what stands in the configuration counts, all of it or nothing
GET   cluster-versions                      lists of sub-clusters in the store, newest first
POST  cluster-versions[?dryRun=true]        another list: let it hold from now on
POST  clusters/{id}/add[?dryRun=true]       the list with one more; keys as `{"keys": {"conf": "/etc/hadoop/west"}}`
POST  clusters/{id}/edit[?dryRun=true]      the list with other keys of one
POST  clusters/{id}/remove[?dryRun=true]    the list without one that is drained
GET   policy/shadow                         where a queue's policy in the shadow differs from the one in force
POST  clusters/{id}/retire[?dryRun=true]    it is dead: what hangs on it goes elsewhere, or is lost
POST  clusters/{id}/revive[?dryRun=true]    it is back, without what was given up there
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from fastapi import Request as HTTPRequest
from fastapi import Response

from heddle import cluster_lists, models
from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import Admission
from shim.errors import StoreUnavailableError, UnavailableError, reason_of
from shim.federation.findings import LineResult
from shim.scheduling.shadow_report import Difference, DifferenceKind, ShadowReport
from shim.server.rest.own_endpoints import (
    OPERATE,
    READ,
    Asker,
    ClusterName,
    DryRun,
    Limit,
    OwnEndpoint,
    Search,
    as_json,
    has_words,
    sent_as,
)
from shim.submission.retirement import RetirementPlan, RetirementService
from shim.telemetry.audit import newest_entries


@dataclass(frozen=True, slots=True)
class AuditAPI:
    """Answers the endpoint; raises what the server makes error bodies of.

    Attributes:
        file: Of the audit; None where it goes to the log.
    """

    file: Path | None
    _work: OffLoop = field(default_factory=OffLoop)

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (OwnEndpoint("GET", "audit", READ, self.newest, models.AuditEntries),)

    async def newest(self, search: Search = "", limit: Limit = 100) -> Response:
        """The newest lines, newest first; `search` is words that all stand in one."""
        if self.file is None:
            return as_json(models.AuditEntries([], "log.audit_file is not set: audit lines are in the log"))
        found = await self._work.run_own(partial(_found, self.file, search, limit))
        return as_json(models.AuditEntries(found, ""))


def _found(file: Path, search: str, limit: int) -> list[dict[str, Any]]:
    try:
        entries = newest_entries(file)
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise UnavailableError(f"the audit file {file} cannot be read: {reason_of(exc)}") from exc
    return list(islice((entry for entry in entries if has_words(entry.values(), search)), limit))


@dataclass(frozen=True, slots=True)
class HardeningAPI:
    """Answers the endpoint; raises what the server makes error bodies of."""

    lines: Callable[[], Awaitable[Sequence[LineResult]]]

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (OwnEndpoint("GET", "hardening", READ, self.checked, models.Hardening),)

    async def checked(self) -> Response:
        """Every line of the guide, in its order."""
        return as_json(models.Hardening([_shown(each) for each in await self.lines()]))


def _shown(result: LineResult) -> models.HardeningLine:
    return models.HardeningLine(result.id, result.state.value, result.what, result.found, result.mend)


class ReadsAnew(Protocol):
    """The use case behind the endpoints."""

    @property
    def since_ms(self) -> int: ...

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
        return (
            OwnEndpoint("GET", "reload", READ, self.since, models.ConfigurationAge),
            OwnEndpoint("POST", "reload", OPERATE, self.reload, models.Reload, "reload"),
        )

    async def since(self) -> Response:
        return as_json(models.ConfigurationAge(since_ms=self.reloading.since_ms))

    async def reload(
        self,
        asker: Asker,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """Read the configuration anew; the answer comes before it counts."""
        return as_json(await (self.reloading.plan() if is_dry_run else self.reloading.reload(by=asker.user)))


class ListsClusters(Protocol):
    """The use cases behind the endpoints; each raises as `shim.app.cluster_list.ClusterList` says."""

    async def versions(self) -> cluster_lists.ClusterVersions:
        """Every list that ever held, newest first."""
        ...

    async def apply(
        self, asked: cluster_lists.ClusterListText, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange: ...

    async def add(
        self, cluster: str, asked: cluster_lists.ClusterKeys, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange: ...

    async def edit(
        self, cluster: str, asked: cluster_lists.ClusterKeys, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange: ...

    async def remove(
        self, cluster: str, asked: cluster_lists.ClusterKeys, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange: ...


@dataclass(frozen=True, slots=True)
class ClusterListAPI:
    """Answers the endpoints; raises what the server makes error bodies of."""

    clusters: ListsClusters

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        verbs = {"add": self.add, "edit": self.edit, "remove": self.remove}
        return (
            OwnEndpoint("GET", "cluster-versions", READ, self.versions, cluster_lists.ClusterVersions),
            OwnEndpoint(
                "POST",
                "cluster-versions",
                OPERATE,
                self.apply,
                cluster_lists.ClusterListChange,
                "clusters.apply",
                takes=cluster_lists.ClusterListText,
            ),
            *(
                OwnEndpoint(
                    "POST",
                    f"clusters/{{cluster}}/{verb}",
                    OPERATE,
                    answer,
                    cluster_lists.ClusterListChange,
                    f"cluster.{verb}",
                    takes=cluster_lists.ClusterKeys,
                )
                for verb, answer in verbs.items()
            ),
        )

    async def versions(self) -> Response:
        """Lists of sub-clusters in the store, newest first."""
        return as_json(await self.clusters.versions())

    async def apply(self, request: HTTPRequest, asker: Asker, is_dry_run: DryRun = False) -> Response:  # noqa: FBT002 - by name, from the query
        """Let another list of sub-clusters hold from now on."""
        sent = await sent_as(cluster_lists.ClusterListText, request)
        return as_json(await self.clusters.apply(sent, by=asker.user, is_dry_run=is_dry_run))

    async def add(
        self,
        request: HTTPRequest,
        asker: Asker,
        cluster: ClusterName,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        sent = await sent_as(cluster_lists.ClusterKeys, request)
        return as_json(await self.clusters.add(cluster, sent, by=asker.user, is_dry_run=is_dry_run))

    async def edit(
        self,
        request: HTTPRequest,
        asker: Asker,
        cluster: ClusterName,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """Give a sub-cluster other keys."""
        sent = await sent_as(cluster_lists.ClusterKeys, request)
        return as_json(await self.clusters.edit(cluster, sent, by=asker.user, is_dry_run=is_dry_run))

    async def remove(
        self,
        request: HTTPRequest,
        asker: Asker,
        cluster: ClusterName,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """Have a sub-cluster no more; it is drained before."""
        sent = await sent_as(cluster_lists.ClusterKeys, request)
        return as_json(await self.clusters.remove(cluster, sent, by=asker.user, is_dry_run=is_dry_run))


@dataclass(frozen=True, slots=True)
class ShadowAPI:
    """Answers the endpoint; raises what the server makes error bodies of.

    Attributes:
        reports: Tells how the two policies of each queue differ.
    """

    reports: Callable[[], Mapping[str, ShadowReport]]

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (OwnEndpoint("GET", "policy/shadow", READ, self.differences, models.Shadows),)

    async def differences(self) -> Response:
        """Counts by kind, and the newest differences, of each queue with a policy in its shadow."""
        return as_json(models.Shadows([shown_shadow(queue, each) for queue, each in sorted(self.reports().items())]))


def shown_shadow(queue: str, report: ShadowReport) -> models.Shadow:
    """Write one queue's report, the newest difference first."""
    return models.Shadow(
        queue=queue,
        in_force=report.in_force,
        shadow=report.shadow,
        since_ms=int(report.since_s * 1000),
        cycles=report.cycles,
        skipped=report.skipped,
        solved=report.solved,
        unsolved=report.unsolved,
        differences={kind.value: report.counts[kind] for kind in DifferenceKind},
        newest=[_shown_shadow(each) for each in reversed(report.newest)],
    )


def _shown_shadow(difference: Difference) -> models.Difference:
    return models.Difference(
        at_ms=int(difference.at_s * 1000),
        kind=difference.kind.value,
        application=str(difference.attempt.application),
        priority=None if difference.key is None else difference.key.priority,
        in_force={str(name): count for name, count in difference.in_force.items()},
        in_force_reason=difference.in_force_why,
        shadow={str(name): count for name, count in difference.shadow.items()},
        shadow_reason=difference.shadow_why,
    )


@dataclass(frozen=True, slots=True)
class RetirementAPI:
    """Answers the endpoints of retirement; raises what the server makes error bodies of."""

    retirement: RetirementService

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (
            OwnEndpoint("POST", "clusters/{cluster}/retire", OPERATE, self.retire, models.Retirement, "cluster.retire"),
            OwnEndpoint("POST", "clusters/{cluster}/revive", OPERATE, self.revive, models.Revival, "cluster.revive"),
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
        return _shown_retirement(plan, is_dry_run=is_dry_run)

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


def _shown_retirement(plan: RetirementPlan, *, is_dry_run: bool) -> Response:
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
