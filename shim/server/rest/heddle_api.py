"""Heddle's own web services, below `/heddle/v1/`: what a ResourceManager has no endpoint for.

    GET   clusters                        how each sub-cluster is
    POST  clusters/{id}/cordon|drain|undrain[?dryRun=true]     and retire, revive: see `retirement_api`
    GET   clusters/{id}/drainage          what still runs on one, containers of other homes' applications included
    GET   queues                          leaf queues, on each sub-cluster and together
    GET   apps[?filters of /ws/v1/cluster/apps][&home=ID]    rows with the ResourceManager's fields, and `cluster`
    GET   apps/{application}              the same of one
    GET   apps/{application}/why          the decision record
    POST  apps/{application}/rehome       another home for one that has not begun; `dryRun=true` only tells which
    POST  choose-home                     a submission context: where it would go, and why
    GET   doctor                          what is wrong
    GET   masters                         who lives, who owns which queue, links, inconsistencies and repairs
    GET   usage                           what applications have used: see `usage_api`
    GET   console/...                     what the console reads besides: see `console_api`
    GET   audit                           who changed what: see `audit_api`
    GET   tokens                          API tokens, and how one is made and ended: see `tokens_api`
    GET   containers/...                  logs of containers: see `logs_api`
    GET   live?watch=...                  any of these reads as it changes: see `live`
    GET   apps/{application}/logs...      those that were aggregated: see `aggregated_logs_api`
    GET   openapi.json                    this list, for programs

JSON only; names with underscores, times and ages in seconds. A FastAPI application; the server identifies the caller,
makes error bodies of what is raised here, and adds the headers that all of its answers have.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Protocol

import msgspec
from fastapi import Depends, FastAPI, Response
from fastapi import Request as HTTPRequest
from fastapi.exceptions import RequestValidationError
from msgspec import convert
from starlette.exceptions import HTTPException

import shim
from heddle import applications, models
from shim.domain.access_lists import Viewer
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.launches import Verdict
from shim.domain.subclusters import Admission, ApplicationDocument
from shim.domain.submissions import HomeDecision, Submission, SubmissionRecord
from shim.errors import BadRequestError, ForbiddenError, HeddleError, MalformedBodyError, NotFoundError
from shim.federation.administration import Drainage
from shim.federation.inspection import Inspection
from shim.federation.view_rights import ViewRights
from shim.identity.service import Caller, IdentityService
from shim.multicluster.ask_log import AskLog
from shim.multicluster.splitters import AttemptMatching, MatchingStatus
from shim.peers.overview import MastersOverview, MastersStatus
from shim.protocol.rest.bodies import check_cost
from shim.protocol.rest.filters import parse_application_filter
from shim.protocol.rest.identifiers import path_application
from shim.protocol.rest.queries import parse_query
from shim.protocol.rest.submission_context import decode_submission
from shim.protocol.wire_values import UNREADABLE
from shim.queues.altruism_reports import AltruismReports
from shim.server.rest.answers import Document
from shim.server.rest.asks_shown import shown_matching
from shim.server.rest.backend import Backend
from shim.server.rest.in_process import ask_application, decoded_path, hand_errors_out
from shim.server.rest.inspection_shown import (
    shown_candidates,
    shown_cluster,
    shown_deadline,
    shown_queue,
    shown_verdicts,
    shown_waited,
    still_running,
)
from shim.server.rest.messages import Request
from shim.server.rest.openapi import described
from shim.server.rest.own_endpoints import (
    OPERATE,
    READ,
    SUBMIT,
    ApplicationName,
    Asker,
    Audited,
    ClusterName,
    DryRun,
    EndpointGroup,
    OwnEndpoint,
    Reason,
    as_json,
)
from shim.server.rest.shares_api import SharesAPI

PREFIX = "/heddle/v1/"

_ID = "application-id"
_NO_ID = ApplicationId(0, 0)


class _Verb(StrEnum):
    """Orders of operators to a sub-cluster."""

    CORDON = "cordon"
    DRAIN = "drain"
    UNDRAIN = "undrain"


_ADMISSIONS = {
    _Verb.CORDON: Admission.CORDONED,
    _Verb.DRAIN: Admission.DRAINING,
    _Verb.UNDRAIN: Admission.OPEN,
}


class Administration(Protocol):
    """The use cases that change what operators said."""

    def check(self, subcluster: SubClusterId) -> None:
        """Raise `NotFoundError` for a sub-cluster that is not configured."""
        ...

    async def set_admission(
        self, subcluster: SubClusterId, admission: Admission, *, by: str, reason: str = ""
    ) -> Drainage:
        """Let new applications in or not, from now on.

        Raises:
            NotFoundError: No such sub-cluster.
            UnavailableError: The store does not take it; the old word holds.
        """
        ...

    async def drainage(self, subcluster: SubClusterId) -> Drainage:
        """Return the applications and containers that still run there.

        Raises:
            NotFoundError: No such sub-cluster.
            UnavailableError: The store does not tell.
        """
        ...


class HeddleAPI:
    """Answers Heddle's own endpoints; raises what the server makes error bodies of.

    Args:
        backend: Use cases on applications.
        inspection: Use cases of operators that change nothing.
        preview: Chooses a home as a submission would, without counting the application there.
        matching: Tells how containers of spanning applications were matched.
        asks: Tells where an application's containers were asked for, also before this process.
        groups: Further endpoints, by subject; their paths go before those of this class.
    """

    def __init__(
        self,
        backend: Backend,
        inspection: Inspection,
        administration: Administration,
        preview: Callable[[Submission], HomeDecision],
        identity: IdentityService,
        *,
        masters: MastersOverview | None = None,
        shares: SharesAPI | None = None,
        matching: AttemptMatching | None = None,
        asks: AskLog | None = None,
        altruism: AltruismReports | None = None,
        groups: Sequence[EndpointGroup] = (),
    ) -> None:
        self._backend = backend
        self._inspection = inspection
        self._administration = administration
        self._preview = preview
        self._identity = identity
        self._rights = ViewRights(backend.applications, identity)
        self._overview = masters
        self._shares = shares
        self._altruism = altruism
        self._matching = matching
        self._asks = asks
        self._endpoints: tuple[OwnEndpoint, ...] = ()
        self._described = b""
        self._application_of_fastapi = self._built(groups if shares is None else (*groups, shares))

    def _built(self, groups: Sequence[EndpointGroup]) -> FastAPI:
        built = FastAPI(
            title="Heddle",
            version=shim.__version__,
            openapi_url=None,  # it is an endpoint as any other
            docs_url=None,  # its pages load scripts from other hosts
            redoc_url=None,
            redirect_slashes=False,
        )
        self._endpoints = (
            *(each for group in groups for each in group.endpoints()),
            OwnEndpoint("GET", "clusters", READ, self._clusters, models.Clusters),
            OwnEndpoint("POST", "clusters/{cluster}/{verb}", OPERATE, self._admit, models.Order, "cluster.{verb}"),
            OwnEndpoint("GET", "clusters/{cluster}/drainage", READ, self._drainage, models.Drainage),
            OwnEndpoint("GET", "queues", READ, self._queues, models.Queues),
            OwnEndpoint("GET", "apps", READ, self._applications, applications.Applications),
            OwnEndpoint("GET", "apps/{application}", READ, self._application, applications.Application),
            OwnEndpoint("GET", "apps/{application}/why", READ, self._why, applications.Why),
            OwnEndpoint(
                "POST",
                "apps/{application}/rehome",
                SUBMIT,
                self._rehome,
                applications.Rehoming,
                "app.rehome",
            ),
            OwnEndpoint("POST", "choose-home", READ, self._choose_home, applications.Choice, "home.choose"),
            OwnEndpoint("GET", "doctor", READ, self._doctor, models.Findings),
            OwnEndpoint("GET", "masters", READ, self._masters, models.Masters),
            OwnEndpoint("GET", "openapi.json", READ, self._openapi, None),
        )
        for each in self._endpoints:
            guarded = [Depends(each.guard(self._identity))]
            built.add_api_route(
                PREFIX + each.path, each.answer, methods=[each.method], name=each.path, dependencies=guarded
            )
        hand_errors_out(built)
        return built

    @property
    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return self._endpoints

    def description(self) -> dict[str, Any]:
        """Return what programs are told of all web services, in OpenAPI."""
        return described(self._endpoints, PREFIX, self._application_of_fastapi.openapi())

    def audited(self, request: Request) -> Audited:
        """Return what the audit says of a request below the prefix."""
        try:
            path = decoded_path(request.raw_path).removeprefix(PREFIX)
        except HTTPException:
            return Audited()
        found = (each.audited(request.method, path) for each in self._endpoints)
        return next((each for each in found if each is not None), Audited())

    async def run(self, request: Request, caller: Caller) -> Document:
        """Answer a request whose path begins with `PREFIX`.

        Raises:
            UserError: For the caller's mistake.
            UnavailableError: If it cannot be told now.
            StoreUnavailableError: If the store cannot be asked.
        """
        try:
            status, body = await ask_application(self._application_of_fastapi, request, {"caller": caller})
        except RequestValidationError as exc:
            told = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in exc.errors())
            raise BadRequestError(told) from exc
        except HTTPException as exc:
            raise self._no_endpoint(request) from exc
        return Document(body, status=status)

    def _no_endpoint(self, request: Request) -> HeddleError:
        routes = self._application_of_fastapi.openapi()["paths"]
        endpoints = ", ".join(f"{method.upper()} {path}" for path, methods in routes.items() for method in methods)
        return NotFoundError(f"{request.method} {request.raw_path} is not an endpoint of Heddle; there are {endpoints}")

    async def _openapi(self) -> Response:
        if not self._described:
            self._described = msgspec.json.encode(self.description())
        return Response(self._described, media_type="application/json")

    # -- operators ---------------------------------------------------------------------------------------------------

    async def _clusters(self) -> Response:
        """Answer with the state of each sub-cluster."""
        return as_json(models.Clusters([shown_cluster(status) for status in self._inspection.clusters()]))

    async def _queues(self) -> Response:
        """Leaf queues, on each sub-cluster and together."""
        return as_json(models.Queues([shown_queue(queue) for queue in self._inspection.queues()]))

    async def _doctor(self) -> Response:
        return as_json(
            models.Findings(
                [
                    models.Finding(found.check, found.level.value, found.subject, found.message, found.advice)
                    for found in await self._inspection.doctor()
                ]
            )
        )

    async def _masters(self) -> Response:
        matching = MatchingStatus() if self._matching is None else self._matching.status()
        status = MastersStatus() if self._overview is None else self._overview.now()
        return as_json(shown_masters(status, shown_matching(matching)))

    async def _admit(
        self,
        asker: Asker,
        cluster: ClusterName,
        verb: _Verb,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
        reason: Reason = "",
    ) -> Response:
        """Let new applications into a sub-cluster, or not."""
        id_, wanted = SubClusterId(cluster), _ADMISSIONS[verb]
        before = await self._administration.drainage(id_)
        if not is_dry_run:
            await self._administration.set_admission(id_, wanted, by=asker.user, reason=reason)
        was, running = before.admission.value, still_running(before)
        return as_json(models.Order(id_, was, wanted.value, is_dry_run, *running))

    async def _drainage(self, cluster: ClusterName) -> Response:
        """Answer with all that still runs on a sub-cluster."""
        drainage = await self._administration.drainage(SubClusterId(cluster))
        running = still_running(drainage)
        return as_json(models.Drainage(cluster, drainage.admission.value, drainage.is_drained, *running))

    # -- applications ------------------------------------------------------------------------------------------------

    async def _applications(self, request: HTTPRequest, asker: Asker, home: str | None = None) -> Response:
        """Applications, by the filters of a ResourceManager and by home."""
        read = await self._backend.applications.applications(viewer=self._rights.viewer(asker))
        documents = {
            each.summary.application_id: each
            for each in read.documents
            if home is None or each.summary.home_subcluster == home
        }
        if home and not documents:
            self._administration.check(SubClusterId(home))  # one that is misspelt has none for ever
        query = parse_query(request.url.query)
        wanted = parse_application_filter(query, find_queue=self._backend.find_queue, unknown_queue_is_error=False)
        summaries = [each.summary for each in documents.values()]
        found, _ = wanted.select(summaries, skews_ms=self._backend.skews_ms())
        shown = [documents[each.application_id] for each in found]
        return as_json(applications.Applications([self._shown(each, read.documents) for each in shown]))

    async def _application(self, asker: Asker, application: ApplicationName) -> Response:
        viewer = self._rights.viewer(asker)
        read = await self._backend.applications.application(path_application(application), viewer=viewer)
        return as_json(applications.Application(self._shown(read.document, await self._others(read.document, viewer))))

    def _shown(self, document: ApplicationDocument, others: Iterable[ApplicationDocument]) -> Any:
        """The ResourceManager's object, untouched but for `cluster`, and `waits` of one that waits, before it."""
        own = {"cluster": str(document.summary.home_subcluster)}
        if waits := self._backend.waiting.why(document, others):
            own["waits"] = waits
        return _with_members(document, own)

    async def _others(self, document: ApplicationDocument, viewer: Viewer) -> Iterable[ApplicationDocument]:
        if document.summary.state.is_final:
            return ()
        return (await self._backend.applications.applications(viewer=viewer)).documents

    async def _waits(self, asker: Asker, application_id: ApplicationId) -> dict[str, Any]:
        """Tell for what it waits now, and whether others of its queue have overtaken it; nothing if it does not."""
        viewer = self._rights.viewer(asker)
        try:
            document = (await self._backend.applications.application(application_id, viewer=viewer)).document
            waits = self._backend.waiting.why(document, await self._others(document, viewer))
        except HeddleError:
            return {}  # what is in the store is told all the same
        overtaken = self._backend.waiting.overtaken_one(application_id) if waits else None
        return ({"waits": waits} if waits else {}) | ({} if overtaken is None else {"overtaken": overtaken.told})

    async def _why(self, asker: Asker, application: ApplicationName) -> Response:
        """Answer why an application has its home, and with everything that was asked back from it."""
        application_id = path_application(application)
        record = await self._backend.store.find(application_id)
        if record is None:
            home = await self._backend.routing.home_of(application_id)
            known = self._backend.view.applications.find(application_id)
            self._rights.require(asker, application_id, known.summary.user if known else "", home)
            reason = "not submitted through this federation: no choice was made"
            return as_json(
                applications.Why(
                    application_id=str(application_id),
                    home=home,
                    reason=reason,
                    candidates=[],
                    **await self._waits(asker, application_id),
                    **self._deadline_of(application_id, None),
                    **await self._acts_on(application_id),
                )
            )
        self._rights.require(asker, application_id, record.submission.user, record.home_subcluster)
        return as_json(
            applications.Why(
                application_id=str(application_id),
                home=record.home_subcluster,
                submission=record.state.value,
                decided_at_ms=record.intended_at_ms,
                rejection=record.rejection,
                waited=None if record.waited is None else shown_waited(record.waited),
                reason=record.decision.reason,
                decided_by=record.decision.decided_by,
                candidates=shown_candidates(record.decision),
                verdicts=shown_verdicts(record.decision),
                **await self._waits(asker, application_id),
                **self._failure_of(application_id),
                **self._deadline_of(application_id, record),
                **await self._acts_on(application_id),
            )
        )

    async def _rehome(
        self,
        asker: Asker,
        application: ApplicationName,
        is_dry_run: DryRun = False,  # noqa: FBT002 - by name, from the query
    ) -> Response:
        """Move an application that waits for its ApplicationMaster to another home, for its owner or an operator."""
        application_id = path_application(application)
        record = await self._backend.store.find(application_id)
        is_owner = record is not None and record.submission.user == asker.user
        if not is_owner and not self._identity.is_operator(asker):
            raise ForbiddenError(f"{application_id} is moved by its owner and by operators: you are {asker.user}")
        rehoming = self._backend.control.rehoming
        move = await (rehoming.plan(application_id) if is_dry_run else rehoming.rehome(application_id))
        id_ = str(application_id)
        return as_json(applications.Rehoming(id_, move.user, move.was, move.home, move.is_done, move.reason))

    def _deadline_of(self, application_id: ApplicationId, record: SubmissionRecord | None) -> dict[str, Any]:
        found = self._backend.deadline_of(application_id, record)
        return {} if found is None else {"deadline": shown_deadline(found)}

    def _failure_of(self, application_id: ApplicationId) -> dict[str, Any]:
        """Describe a failing delivery and its next time; empty for an application that does not fail."""
        failure = self._backend.control.failure_of(application_id)
        if failure is None:
            return {}
        again_in_s = max(0.0, failure.next_s - self._backend.clock.monotonic_s())
        return {
            "failed_attempts": failure.failures,
            "last_failure": failure.reason,
            "next_attempt_in_s": round(again_in_s, 1),
        }

    async def _acts_on(self, application_id: ApplicationId) -> dict[str, Any]:
        """Describe the acts of shares on an application, and the clusters that were asked for its containers."""
        acts: dict[str, Any] = {}
        if self._shares is not None:
            acts["preemption"] = await self._shares.shown_acts(application_id)
            acts["place"] = self._shares.shown_place(application_id)
        asks = () if self._asks is None else await self._asks.of(application_id)
        altruism = None if self._altruism is None else await self._altruism.of_job(application_id)
        acts["asks"] = convert(list(asks), list[applications.Ask])
        return acts if altruism is None else {**acts, "altruism": convert(altruism, applications.Altruism)}

    async def _choose_home(self, request: HTTPRequest, asker: Asker) -> Response:
        """Answer with the home that a submission context would get now."""
        context = _with_some_id(await request.body())
        submission = decode_submission(context, media_type="application/json", user=asker.user)
        decision = self._preview(submission)
        told = replace(decision, reason=decision.reason.replace(str(_NO_ID), "it"))  # that id is nobody's
        choice = applications.Choice(
            home=decision.home_subcluster,
            reason=told.reason,
            decided_by=told.decided_by,
            candidates=shown_candidates(told),
            verdicts=shown_verdicts(told),
        )
        return as_json(choice)


def _with_some_id(body: bytes) -> bytes:
    """A context need not have an id as long as it is not submitted."""
    check_cost(body)
    try:
        context = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except UNREADABLE as exc:
        raise MalformedBodyError(f"not a submission context in JSON: {exc}") from exc
    if not context:
        raise BadRequestError("an empty submission context")
    return msgspec.json.encode({_ID: msgspec.Raw(msgspec.json.encode(str(_NO_ID))), **context})


def _with_members(document: ApplicationDocument, own: Mapping[str, str]) -> msgspec.Raw:
    """The ResourceManager's object, untouched but for members before its first one."""
    rest = document.raw.lstrip()[1:].lstrip()
    comma = b"" if rest.startswith(b"}") else b","
    return msgspec.Raw(msgspec.json.encode(own)[:-1] + comma + rest)


# The masters as a document of Heddle's own web services.


def shown_masters(status: MastersStatus, asks: models.AsksStatus) -> models.Masters:
    """The document of `GET /heddle/v1/masters`."""
    said = Counter[Verdict]()
    for (_, verdict), count in status.verdicts.items():
        said[verdict] += count
    return models.Masters(
        name=status.name,
        masters=[
            models.Master(each.name, each.address, each.fence, each.remaining_s, is_live=each.remaining_s > 0)
            for each in status.masters
        ],
        queues=[models.QueueOwner(each.queue, each.owner) for each in status.queues],
        links=[
            models.Link(
                cluster=each.subcluster,
                is_linked=each.is_linked,
                address=each.address,
                trouble=each.trouble,
                reports=each.reports,
                resyncs=each.resyncs,
            )
            for each in status.links
        ],
        verdicts={verdict.value: said[verdict] for verdict in Verdict},
        inconsistencies=status.inconsistencies,
        repairs=status.repairs,
        passed_on=dict(status.passed_on),
        asks=asks,
    )
