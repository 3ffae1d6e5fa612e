"""A ResourceManager in memory.

`ScriptedResourceManager` answers as a healthy one does, for the requests that Heddle makes of itself. What it does
instead is a *behaviour*, an object with a telling name, set by `behave`: see `tests.doubles.misbehaviours`.

Limits: no queues' admission, no scheduling (applications change their state when a test says so), no negotiation (JSON
only), no access control, and of the filters of `/apps` only those that polls use.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from tests.doubles import rm_documents as build

BASE = "/ws/v1/cluster"
_JSON = ("Content-Type", "application/json;charset=utf-8")
_FINAL = frozenset({"FINISHED", "FAILED", "KILLED"})


class Behaviour(Protocol):
    """A ResourceManager's way to treat a request."""

    async def __call__(
        self, manager: "ScriptedResourceManager", request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Answer, or raise what the adapter would."""
        ...


class ScriptedResourceManager(ResourceManager):
    """The active ResourceManager of a sub-cluster, in memory: `shim.ports.ResourceManager`.

    Attributes:
        applications: Objects of `apps` by id; tests may change them.
        requests: Every request that was made, also those that never arrived.
        taken: Requests that were carried out.
        submissions: How often each id was submitted and taken; a known id counts, and changes nothing.
        started_on_ms: Changes at `restart`.
        nodes, queues: Objects for `/nodes` and `/scheduler`.
        reservations: Which reservation is in which queue, by the queue's last part.
        reservation_deadlines: By when what was reserved should have ended, in milliseconds since the epoch.
        lists_reservations: Whether it tells of them; else it fails.
        makes_reservations: Whether it is set up for them; else it issues no ids of any.
    """

    def __init__(
        self,
        subcluster: str,
        *,
        clock: Clock,
        nodes: Sequence[Mapping[str, Any]] | None = None,
        queues: Sequence[Mapping[str, Any]] | None = None,
        version: str = "3.4.2",
    ) -> None:
        size = ResourceVector(8192, 8)
        self._subcluster = SubClusterId(subcluster)
        self.clock = clock
        self.version = version
        self.nodes = list(nodes if nodes is not None else [build.a_node(f"{subcluster}-n1:45454", size)])
        half = ResourceVector(size.memory_mib // 2, size.vcores // 2)
        self.queues = list(
            queues
            if queues is not None
            else [build.a_queue(f"root.{name}", half, maximum=size) for name in ("default", "prod")]
        )
        self.maximum_allocation = size
        self.applications: dict[ApplicationId, dict[str, Any]] = {}
        self.requests: list[RestRequest] = []
        self.taken: list[RestRequest] = []
        self.submissions: dict[ApplicationId, int] = {}
        self.started_on_ms = int(clock.now_s() * 1000) - 60_000
        self.reservations: dict[str, str] = {}
        self.reservation_deadlines: dict[str, int] = {}
        self.begun: set[ApplicationId] = set()
        self.lists_reservations = self.makes_reservations = True
        self.is_closed = False
        self._behaviour: Behaviour = AnswersProperly()
        self._next_sequence = 1

    @property
    def subcluster(self) -> SubClusterId:
        """Sub-cluster of this ResourceManager."""
        return self._subcluster

    @property
    def behaviour(self) -> Behaviour:
        """Present way to treat requests."""
        return self._behaviour

    def behave(self, behaviour: Behaviour) -> None:
        """Misbehave from now on; `AnswersProperly()` ends it."""
        self._behaviour = behaviour

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """Answer as the behaviour of the hour does."""
        self.requests.append(request)
        await asyncio.sleep(0)
        return await self._behaviour(self, request, timeout_s)

    async def close(self) -> None:
        """Remember that it was closed."""
        self.is_closed = True

    def add_application(self, application_id: ApplicationId, state: str = "RUNNING", **fields: object) -> None:
        """Have an application that nobody submitted through Heddle."""
        now_ms = int(self.clock.now_s() * 1000)
        self.applications[application_id] = build.an_application(application_id, state, started_ms=now_ms, **fields)
        if state in ("RUNNING", "FINISHED", "FAILED"):
            self.begun.add(application_id)

    def move(self, application_id: ApplicationId, state: str) -> None:
        """Bring an application into another state, with the final status and times that go with it."""
        before = self.applications[application_id]
        now_ms = int(self.clock.now_s() * 1000)
        changed = build.an_application(application_id, state, started_ms=before["startedTime"])
        kept = {name: before[name] for name in ("user", "name", "queue", "applicationType", "applicationTags")}
        if state not in ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "KILLED"):
            self.begun.add(application_id)
        changed |= kept | ({"finishedTime": now_ms} if state in _FINAL else {})
        self.applications[application_id] = changed

    def restart(self, *, forgets: bool = False) -> None:
        """Start anew, with or without what it knew."""
        self.started_on_ms = max(int(self.clock.now_s() * 1000), self.started_on_ms + 1)
        if forgets:
            self.applications.clear()

    def take(self, request: RestRequest) -> RestAnswer:
        """Carry a request out as a healthy ResourceManager would."""
        self.taken.append(request)
        path = request.path.removeprefix(BASE).strip("/")
        for method, shape, answer in self._table():
            arguments = _match(shape, path)
            if method == request.method and arguments is not None:
                return answer(request, *arguments)
        return error_answer(404, "NotFoundException", f"null for uri: {request.path}")

    def _table(self) -> tuple[tuple[str, str, Callable[..., RestAnswer]], ...]:
        return (
            ("GET", "info", self._info),
            ("GET", "", self._info),
            ("GET", "metrics", self._metrics),
            ("GET", "nodes", self._nodes),
            ("GET", "scheduler", self._scheduler),
            ("GET", "apps", self._apps),
            ("POST", "apps", self._submit),
            ("POST", "apps/new-application", self._new_application),
            ("GET", "apps/*", self._app),
            ("GET", "apps/*/state", self._state),
            ("GET", "apps/*/appattempts", self._attempts),
            ("PUT", "apps/*/state", self._kill),
            ("GET", "reservation/list", self._list_reservations),
            ("POST", "reservation/new-reservation", self._new_reservation),
            ("GET", "queues/*/access", self._access),
        )

    def _info(self, _: RestRequest) -> RestAnswer:
        return ok_answer(build.info_document(started_on_ms=self.started_on_ms, version=self.version))

    def _metrics(self, _: RestRequest) -> RestAnswer:
        total = sum((_vector(node["totalResource"]) for node in self.nodes), ResourceVector())
        used = sum((_vector(node["usedResource"]) for node in self.nodes), ResourceVector())
        running = sum(app["state"] == "RUNNING" for app in self.applications.values())
        return ok_answer(build.metrics_document(total, used, nodes=len(self.nodes), running=running))

    def _nodes(self, _: RestRequest) -> RestAnswer:
        return ok_answer(build.nodes_document(self.nodes))

    def _scheduler(self, _: RestRequest) -> RestAnswer:
        return ok_answer(build.scheduler_document(self.queues, maximum_allocation=self.maximum_allocation))

    def _apps(self, request: RestRequest) -> RestAnswer:
        query = dict(request.parameters)
        states = {state.strip().upper() for state in query.get("states", "").split(",") if state.strip()}
        begin_ms = int(query.get("finishedTimeBegin", 0))
        chosen = [
            app
            for app in self.applications.values()
            if (not states or app["state"] in states) and app["finishedTime"] >= begin_ms
        ]
        return ok_answer(build.apps_document(chosen))

    def _app(self, _: RestRequest, name: str) -> RestAnswer:
        app = self.applications.get(ApplicationId.parse(name))
        if app is None:
            return error_answer(404, "NotFoundException", f"java.lang.Exception: app with id: {name} not found")
        return ok_answer(json.dumps({"app": app}, separators=(",", ":")).encode())

    def _state(self, _: RestRequest, name: str) -> RestAnswer:
        app = self.applications.get(ApplicationId.parse(name))
        if app is None:
            return error_answer(404, "NotFoundException", f"java.lang.Exception: app with id: {name} not found")
        return ok_answer(json.dumps({"state": app["state"]}, separators=(",", ":")).encode())

    def _attempts(self, request: RestRequest, name: str) -> RestAnswer:
        """One attempt, with a container as soon as the application has run; or none before it is ACCEPTED."""
        answer = self._state(request, name)
        application_id = ApplicationId.parse(name)
        if answer.status != 200:
            return answer
        state = self.applications[application_id]["state"]
        attempts = [{"id": 1, "containerId": "container_1" if application_id in self.begun else ""}]
        told = {} if state in ("NEW", "NEW_SAVING", "SUBMITTED") else {"appAttempt": attempts}
        return ok_answer(json.dumps({"appAttempts": told}).encode())

    def _kill(self, request: RestRequest, name: str) -> RestAnswer:
        answer = self._state(request, name)
        if answer.status != 200 or json.loads(answer.body)["state"] in _FINAL:
            return answer
        self.move(ApplicationId.parse(name), "KILLED")
        return RestAnswer(202, (_JSON, ("Location", f"http://rm{request.path}")), answer.body)

    def _access(self, request: RestRequest, _: str) -> RestAnswer:
        """Everybody may do everything, as without access lists."""
        user = dict(request.parameters).get("user", "")
        return ok_answer(json.dumps({"allowed": "true", "user": user, "diagnostics": ""}).encode())

    def _new_reservation(self, _: RestRequest) -> RestAnswer:
        if not self.makes_reservations:
            return error_answer(400, "BadRequestException", "Reservation is not enabled. Please enable & try again")
        return ok_answer(b'{"reservation-id":"reservation_%d_0001"}' % self.started_on_ms)

    def _list_reservations(self, request: RestRequest) -> RestAnswer:
        query = {"queue": "default", "reservation-id": "", **dict(request.parameters)}  # as `RMWebServices` has it
        if not self.lists_reservations:
            return error_answer(500, "RuntimeException", "the plan is not there")
        if query["queue"] not in self.reservations.values():
            return error_answer(400, "BadRequestException", f"The specified queue: {query['queue']} is not managed")
        ends = self.reservation_deadlines
        found = [
            {
                "reservation-id": reservation,
                # numbers are told as texts, and a list of one as what is in it
                **({"reservation-definition": {"deadline": str(ends[reservation])}} if reservation in ends else {}),
            }
            for reservation, queue in self.reservations.items()
            if (reservation, queue) == (query["reservation-id"], query["queue"])
        ]
        document = {"reservations": found[0]} if found else {}
        return ok_answer(json.dumps(document, separators=(",", ":")).encode())

    def _new_application(self, _: RestRequest) -> RestAnswer:
        application_id = ApplicationId(self.started_on_ms, self._next_sequence)
        self._next_sequence += 1
        most = {"memory": self.maximum_allocation.memory_mib, "vCores": self.maximum_allocation.vcores}
        answer = {"application-id": str(application_id), "maximum-resource-capability": most}
        return ok_answer(json.dumps(answer, separators=(",", ":")).encode())

    def _submit(self, request: RestRequest) -> RestAnswer:
        context = json.loads(request.body)
        application_id = ApplicationId.parse(context["application-id"])
        self.submissions[application_id] = self.submissions.get(application_id, 0) + 1
        if application_id not in self.applications:
            queue = context.get("queue") or "default"
            tags = context.get("application-tags", {}).get("tag", [])
            self.add_application(
                application_id,
                "ACCEPTED",
                user=request.user or "dr.who",
                name=context.get("application-name", "job"),
                queue=queue if queue.startswith("root") else f"root.{queue}",
                applicationType=context.get("application-type") or "YARN",
                applicationTags=",".join(tags) if isinstance(tags, list) else tags,
            )
        location = ("Location", f"http://rm{request.path.rstrip('/')}/{application_id}")
        return RestAnswer(202, (_JSON, location), b"")


class AnswersProperly:
    """Healthy."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Carry it out and answer."""
        del timeout_s
        return manager.take(request)


def _match(shape: str, path: str) -> tuple[str, ...] | None:
    wanted, given = shape.split("/"), path.split("/")
    if len(wanted) != len(given) or any(want not in ("*", got) for want, got in zip(wanted, given, strict=True)):
        return None
    return tuple(got for want, got in zip(wanted, given, strict=True) if want == "*")


def _vector(resource: Mapping[str, Any]) -> ResourceVector:
    return ResourceVector(resource["memory"], resource["vCores"])


def ok_answer(body: bytes) -> RestAnswer:
    """Status 200 and a JSON document."""
    return RestAnswer(200, (_JSON,), body)


def error_answer(status: int, exception: str, message: str) -> RestAnswer:
    """An error as a ResourceManager words it."""
    error = {"exception": exception, "message": message, "javaClassName": f"org.apache.hadoop.yarn.webapp.{exception}"}
    return RestAnswer(status, (_JSON,), json.dumps({"RemoteException": error}, separators=(",", ":")).encode())
