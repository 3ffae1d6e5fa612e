"""Heddle's own web services, below `/heddle/v1/`: what a ResourceManager has no endpoint for.

    GET   clusters                        how each sub-cluster is
    POST  clusters/{id}/cordon|drain|undrain[?dryRun=true]
    GET   queues                          leaf queues, on each sub-cluster and together
    GET   apps[?filters of /ws/v1/cluster/apps][&home=ID]    rows with the ResourceManager's fields, and `cluster`
    GET   apps/{application}              the same of one
    GET   apps/{application}/why          the decision record
    POST  choose-home                     a submission context: where it would go, and why
    GET   doctor                          what is wrong

JSON only; names with underscores, times and ages in seconds.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, ApplicationDocument
from shim.domain.submissions import HomeDecision, Submission
from shim.errors import BadRequestError, ForbiddenError, MalformedBodyError, NotFoundError
from shim.protocol.rest.filters import parse_application_filter
from shim.protocol.rest.identifiers import path_application
from shim.protocol.rest.queries import Query, parse_query
from shim.protocol.rest.submission_context import decode_submission
from shim.server.rest.answers import Document
from shim.server.rest.backend import Backend
from shim.server.rest.messages import Request
from shim.services.identity import Caller, IdentityService
from shim.services.inspection import ClusterStatus, Inspection, QueuePart, QueueStatus

__all__ = ["PREFIX", "Administration", "HeddleAPI"]

PREFIX = "/heddle/v1/"

_ID = "application-id"
_NO_ID = ApplicationId(0, 0)
_VERBS = {"cordon": Admission.CORDONED, "drain": Admission.DRAINING, "undrain": Admission.OPEN}


class Administration(Protocol):
    """The use cases that change what operators said."""

    async def set_admission(self, subcluster: SubClusterId, admission: Admission, *, by: str) -> object:
        """Let new applications in or not, from now on.

        Raises:
            UnavailableError: The store does not take it; the old word holds.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Call:
    request: Request
    query: Query
    caller: Caller
    named: Mapping[str, str]


class HeddleAPI:
    """Answers Heddle's own endpoints; raises what the door makes error bodies of.

    Args:
        backend: Use cases on applications.
        inspection: Use cases of operators that change nothing.
        administration: Those that do.
        preview: Chooses a home as a submission would, without counting the application there.
        identity: Says who may operate Heddle.
    """

    def __init__(
        self,
        backend: Backend,
        inspection: Inspection,
        administration: Administration,
        preview: Callable[[Submission], HomeDecision],
        identity: IdentityService,
    ) -> None:
        self._backend = backend
        self._inspection = inspection
        self._administration = administration
        self._preview = preview
        self._identity = identity
        self._table: tuple[tuple[str, re.Pattern[str], Callable[[_Call], Awaitable[Any]]], ...] = tuple(
            (method, re.compile(PREFIX + pattern), operation)
            for method, pattern, operation in (
                ("GET", "clusters", self._clusters),
                ("POST", r"clusters/(?P<cluster>[a-z0-9-]{1,63})/(?P<verb>cordon|drain|undrain)", self._admit),
                ("GET", "queues", self._queues),
                ("GET", "apps", self._applications),
                ("GET", r"apps/(?P<application>[a-z0-9_-]{1,64})", self._application),
                ("GET", r"apps/(?P<application>[a-z0-9_-]{1,64})/why", self._why),
                ("POST", "choose-home", self._choose_home),
                ("GET", "doctor", self._doctor),
            )
        )

    def pattern_of(self, path: str) -> str:
        """The endpoint that a path belongs to, for metrics and audit lines; `/heddle/v1/` for none."""
        found = next((pattern for _, pattern, _ in self._table if pattern.fullmatch(path)), None)
        return PREFIX if found is None else _named_parts(found)

    async def run(self, request: Request, caller: Caller) -> Document:
        """Answer a request whose path begins with `PREFIX`.

        Raises:
            UserError: For the caller's mistake.
            UnavailableError: If it cannot be told now.
            StoreUnavailableError: If the store cannot be asked.
        """
        path = request.raw_path.rstrip("/")
        for method, pattern, operation in self._table:
            found = pattern.fullmatch(path)
            if found is not None and request.method in {method, "HEAD" if method == "GET" else method}:
                call = _Call(request, parse_query(request.query), caller, found.groupdict())
                return Document(msgspec.json.encode(await operation(call)))
        endpoints = ", ".join(f"{method} {_named_parts(pattern)}" for method, pattern, _ in self._table)
        raise NotFoundError(f"{request.method} {path} is not an endpoint of Heddle; there are {endpoints}")

    # -- operators ---------------------------------------------------------------------------------------------------

    async def _clusters(self, _: _Call) -> Any:
        return {"clusters": [_shown_cluster(status) for status in self._inspection.clusters()]}

    async def _queues(self, _: _Call) -> Any:
        return {"queues": [_shown_queue(queue) for queue in self._inspection.queues()]}

    async def _doctor(self, _: _Call) -> Any:
        return {
            "findings": [
                {
                    "check": found.check,
                    "level": found.level.value,
                    "cluster": found.subject,
                    "message": found.message,
                    "advice": found.advice,
                }
                for found in await self._inspection.doctor()
            ]
        }

    async def _admit(self, call: _Call) -> Any:
        caller = self._identity.require_user(call.caller)
        if not self._identity.is_admin(caller):
            raise ForbiddenError(f"{caller.user} may not operate Heddle: list the user in security.admins")
        wanted = _VERBS[call.named["verb"]]
        statuses = {status.id: status for status in self._inspection.clusters()}
        status = statuses.get(SubClusterId(call.named["cluster"]))
        if status is None:
            raise NotFoundError(f"no sub-cluster {call.named['cluster']}; there are {', '.join(statuses)}")
        is_dry_run = call.query.first("dryRun") == "true"
        if not is_dry_run:
            await self._administration.set_admission(status.id, wanted, by=caller.user)
        return {
            "id": status.id,
            "was": status.admission.value,
            "admission": wanted.value,
            "dry_run": is_dry_run,
            "still_running": sorted(map(str, self._backend.view.live(status.id))),
        }

    # -- applications ------------------------------------------------------------------------------------------------

    async def _applications(self, call: _Call) -> Any:
        read = await self._backend.applications.applications(viewer=call.caller.user)
        home = call.query.first("home")
        documents = {
            each.summary.application_id: each
            for each in read.documents
            if home is None or each.summary.home_subcluster == home
        }
        wanted = parse_application_filter(call.query, find_queue=self._backend.find_queue, unknown_queue_is_error=False)
        summaries = [each.summary for each in documents.values()]
        found, _ = wanted.select(summaries, skews_ms=self._backend.skews_ms())
        return {"apps": [_with_cluster(documents[each.application_id]) for each in found]}

    async def _application(self, call: _Call) -> Any:
        application_id = path_application(call.named["application"])
        read = await self._backend.applications.application(application_id, viewer=call.caller.user)
        return {"app": _with_cluster(read.document)}

    async def _why(self, call: _Call) -> Any:
        application_id = path_application(call.named["application"])
        record = await self._backend.store.find(application_id)
        if record is None:
            home = await self._backend.routing.home_of(application_id)
            reason = "not submitted through this federation: no choice was made"
            return {"application_id": str(application_id), "home": home, "reason": reason, "candidates": []}
        return {
            "application_id": str(application_id),
            "home": record.home_subcluster,
            "submission": record.state.value,
            "decided_at_ms": record.intended_at_ms,
            "rejection": record.rejection,
            **_shown_decision(record.decision),
        }

    async def _choose_home(self, call: _Call) -> Any:
        submission = decode_submission(
            _with_some_id(call.request.body), media_type="application/json", user=call.caller.user
        )
        decision = self._preview(submission)
        return {"home": decision.home_subcluster, **_shown_decision(decision)}


def _named_parts(pattern: re.Pattern[str]) -> str:
    """A row's path with names for its variable parts."""
    return re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", pattern.pattern)


def _with_some_id(body: bytes) -> bytes:
    """A context need not have an id as long as it is not submitted."""
    try:
        context = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as exc:
        raise MalformedBodyError(f"not a submission context in JSON: {exc}") from exc
    if not context:
        raise BadRequestError("an empty submission context")
    return msgspec.json.encode({_ID: str(_NO_ID), **context})


def _with_cluster(document: ApplicationDocument) -> msgspec.Raw:
    """The ResourceManager's object, untouched but for `cluster` before its first member."""
    rest = document.raw.lstrip()[1:].lstrip()
    comma = b"" if rest.startswith(b"}") else b","
    cluster = msgspec.json.encode(document.summary.home_subcluster)
    return msgspec.Raw(b'{"cluster":' + cluster + comma + rest)


def _shown_decision(decision: HomeDecision) -> dict[str, Any]:
    return {
        "reason": decision.reason,
        "candidates": [
            {
                "cluster": candidate.subcluster,
                "score": candidate.score,
                "reason": candidate.reason,
                "age_s": _seconds(candidate.age_s),
            }
            for candidate in decision.candidates
        ],
    }


def _shown_cluster(status: ClusterStatus) -> dict[str, Any]:
    described = status.description
    return {
        "id": status.id,
        "web": ",".join(described.web),
        "client_rpc": ",".join(described.client_rpc),
        "scheduler_rpc": ",".join(described.scheduler_rpc),
        "version": status.version,
        "state": status.state,
        "age_s": _seconds(status.age_s),
        "running": status.running,
        "nodes": status.nodes,
        "admission": status.admission.value,
        "scheduler": status.scheduler,
        "failure": status.failure,
    }


def _shown_queue(queue: QueueStatus) -> dict[str, Any]:
    return {
        "queue": queue.path,
        **_shown_amounts(
            queue.total(lambda part: part.capacity),
            queue.total(lambda part: part.used),
            queue.total(lambda part: part.pending),
        ),
        "applications": sum(part.applications for part in queue.parts),
        "parts": [_shown_part(part) for part in queue.parts],
    }


def _shown_part(part: QueuePart) -> dict[str, Any]:
    amounts = _shown_amounts(part.capacity, part.used, part.pending)
    return {"cluster": part.subcluster, "state": part.state, **amounts, "applications": part.applications}


def _shown_amounts(capacity: ResourceVector, used: ResourceVector, pending: ResourceVector) -> dict[str, int]:
    amounts = (("capacity", capacity), ("used", used), ("pending", pending))
    return {
        f"{name}_{unit}": value
        for name, amount in amounts
        for unit, value in (("mib", amount.memory_mib), ("vcores", amount.vcores))
    }


def _seconds(age_s: float | None) -> float | None:
    """An age for people and JSON, which has no infinity."""
    return None if age_s is None or age_s == float("inf") else round(age_s, 3)
