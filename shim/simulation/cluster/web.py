"""The web services of a modelled ResourceManager: as much of them as Heddle asks by itself, in the form of Hadoop 3.4.

Source: `RMWebServices`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.simulation.cluster.applications import Application, Order
from shim.simulation.cluster.fair_scheduler import FairScheduler
from shim.simulation.cluster.manager import ModelledResourceManager
from shim.simulation.cluster.scheduler import ModelledNode, ModelledQueue

_BASE = "/ws/v1/cluster"
_JSON = ("Content-Type", "application/json;charset=utf-8")
_VERSION = "3.4.2"
_MS = 1000
_OK, _ACCEPTED, _BAD_REQUEST, _NOT_FOUND = 200, 202, 400, 404

_Answer = Callable[..., RestAnswer]


class WebService(ResourceManager):
    """Implements `ResourceManager`."""

    def __init__(self, manager: ModelledResourceManager) -> None:
        self._manager = manager
        self._table: tuple[tuple[str, str, _Answer], ...] = (
            ("GET", f"{_BASE}/info", self._info),
            ("GET", f"{_BASE}/metrics", self._metrics),
            ("GET", f"{_BASE}/nodes", self._nodes),
            ("GET", f"{_BASE}/scheduler", self._scheduler),
            ("GET", f"{_BASE}/apps", self._applications),
            ("POST", f"{_BASE}/apps", self._submit),
            ("GET", f"{_BASE}/apps/*", self._application),
            ("GET", f"{_BASE}/apps/*/state", self._state),
            ("PUT", f"{_BASE}/apps/*/state", self._kill),
            ("GET", "/conf", self._conf),
        )

    @property
    def subcluster(self) -> SubClusterId:
        return self._manager.spec.name

    async def close(self) -> None:
        """Close nothing, as nothing is open."""

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:  # noqa: ARG002 - the network's
        """Answer a request.

        Raises:
            ResourceManagerError: The process is down, or died while the request was in its socket.
        """
        await self._manager.reach()
        path = request.path.rstrip("/")
        for method, shape, answer in self._table:
            found = _match(shape, path)
            if method == request.method and found is not None:
                return answer(request, *found)
        return _error(_NOT_FOUND, "NotFoundException", f"null for uri: {request.path}")

    # -- the cluster -------------------------------------------------------------------------------------------------

    def _conf(self, _: RestRequest) -> RestAnswer:
        epoch = {"key": "yarn.resourcemanager.epoch", "value": str(self._manager.spec.epoch)}
        return _ok({"properties": [epoch]})

    def _info(self, _: RestRequest) -> RestAnswer:
        started_ms = self._manager.started_on_ms
        info = {"id": started_ms, "startedOn": started_ms, "state": "STARTED", "haState": "ACTIVE"}
        return _ok({"clusterInfo": info | {"resourceManagerVersion": _VERSION, "hadoopVersion": _VERSION}})

    def _metrics(self, _: RestRequest) -> RestAnswer:
        manager = self._manager
        total, used = manager.scheduler.capacity, manager.used()
        states = [each.state for each in manager.applications.values()]
        metrics = {
            "appsSubmitted": len(states),
            "appsRunning": states.count("RUNNING"),
            "appsPending": states.count("ACCEPTED"),
            "availableMB": total.memory_mib - used.memory_mib,
            "allocatedMB": used.memory_mib,
            "availableVirtualCores": total.vcores - used.vcores,
            "allocatedVirtualCores": used.vcores,
            "totalMB": total.memory_mib,
            "totalVirtualCores": total.vcores,
            "totalNodes": len(manager.scheduler.nodes),
            "activeNodes": len(manager.scheduler.nodes),
            "totalUsedResourcesAcrossPartition": _resource(used),
            "totalClusterResourcesAcrossPartition": _resource(total),
        }
        return _ok({"clusterMetrics": metrics})

    def _nodes(self, _: RestRequest) -> RestAnswer:
        nodes = [_node(each) for each in self._manager.scheduler.nodes.values()]
        return _ok({"nodes": {"node": nodes} if nodes else {}})

    def _scheduler(self, _: RestRequest) -> RestAnswer:
        scheduler = self._manager.scheduler
        if isinstance(scheduler, FairScheduler):
            return _ok({"scheduler": {"schedulerInfo": {"type": "fairScheduler", "rootQueue": self._fair(scheduler)}}})
        queues = [self._queue(each) for each in self._manager.scheduler.queues.values()]
        root = {
            "type": "capacityScheduler",
            "capacity": 100.0,
            "usedCapacity": 0.0,
            "maxCapacity": 100.0,
            "queueName": "root",
            "queuePath": "root",
            "queues": {"queue": queues},
            "maximumAllocation": _resource(self._manager.largest),
        }
        return _ok({"scheduler": {"schedulerInfo": root}})

    def _queue(self, queue: ModelledQueue) -> dict[str, Any]:
        scheduler = self._manager.scheduler
        pending = scheduler.pending_in(queue.path)
        masters = self._manager.waiting_masters(queue.path)
        waiting = [
            *(ResourceVector(key.resource.memory_mib * count, key.resource.vcores * count) for key, count in pending),
            *masters,
        ]
        live = sum(each.order.queue == queue.path for each in self._manager.applications.values() if not each.is_over)
        usage = {
            "partitionName": "",
            "used": _resource(queue.used),
            "pending": _resource(sum(waiting, ResourceVector())),
            "amUsed": _resource(queue.masters),
            "amLimit": _resource(scheduler.room_for_masters(queue)),
        }
        return {
            "type": "capacitySchedulerLeafQueueInfo",
            "queuePath": queue.path,
            "queueName": queue.path.rpartition(".")[2],
            "capacity": queue.spec.percent,
            "maxCapacity": queue.spec.most_percent,
            "absoluteCapacity": queue.spec.percent,
            "absoluteMaxCapacity": queue.spec.most_percent,
            "numApplications": live,
            "numActiveApplications": live - len(masters),
            "numPendingApplications": len(masters),
            "maxApplications": 10_000,
            "pendingContainers": sum(count for _, count in pending) + len(masters),
            "state": "RUNNING",
            "resourcesUsed": _resource(queue.used),
            "resources": {"resourceUsagesByPartition": [usage]},
            "nodeLabels": ["*"],
            "orderingPolicyInfo": queue.spec.ordering,
            "minEffectiveCapacity": _resource(scheduler.share(queue.spec.percent)),
            "maxEffectiveCapacity": _resource(scheduler.share(queue.spec.most_percent)),
            "maximumAllocation": _resource(self._manager.largest),
        }

    def _fair(self, scheduler: FairScheduler) -> dict[str, Any]:
        leaves = [self._fair_leaf(scheduler, queue) for queue in scheduler.queues.values()]
        used = sum((queue.used for queue in scheduler.queues.values()), ResourceVector())
        root = {"queueName": "root", "schedulingPolicy": "fair", "childQueues": {"queue": leaves}}
        amounts = {"usedResources": used, "maxResources": scheduler.capacity, "fairResources": scheduler.capacity}
        largest = {"maxContainerAllocation": self._manager.largest}
        return root | {name: _resource(amount) for name, amount in (amounts | largest).items()}

    def _fair_leaf(self, scheduler: FairScheduler, queue: ModelledQueue) -> dict[str, Any]:
        pending, masters = scheduler.pending_in(queue.path), self._manager.waiting_masters(queue.path)
        live = sum(each.order.queue == queue.path for each in self._manager.applications.values() if not each.is_over)
        wanted = (key.resource.times(count) for key, count in pending)
        amounts = {
            "usedResources": queue.used,
            "demandResources": sum((*wanted, *masters), start=queue.used),
            "maxResources": scheduler.capacity,
            "fairResources": scheduler.fair_share(queue),
            "steadyFairResources": scheduler.steady_share(queue),
            "maxContainerAllocation": self._manager.largest,
            "amMaxResources": scheduler.room_for_masters(queue),
            "amUsedResources": queue.masters,
        }
        return {
            "type": "fairSchedulerLeafQueueInfo",
            "queueName": queue.path,
            "schedulingPolicy": "fair",
            "numPendingApps": len(masters),
            "numActiveApps": live - len(masters),
            "pendingContainers": sum(count for _, count in pending) + len(masters),
        } | {name: _resource(amount) for name, amount in amounts.items()}

    # -- applications ------------------------------------------------------------------------------------------------

    def _applications(self, request: RestRequest) -> RestAnswer:
        query = dict(request.parameters)
        states = {state.strip().upper() for state in query.get("states", "").split(",") if state.strip()}
        begin_ms = int(query.get("finishedTimeBegin", 0))
        chosen = [
            self._shown(each)
            for each in self._manager.applications.values()
            if (not states or each.state in states) and (not begin_ms or each.finished_ms >= begin_ms)
        ]
        return _ok({"apps": {"app": chosen} if chosen else {}})

    def _application(self, _: RestRequest, name: str) -> RestAnswer:
        known = self._find(name)
        return _unknown(name) if known is None else _ok({"app": self._shown(known)})

    def _state(self, _: RestRequest, name: str) -> RestAnswer:
        known = self._find(name)
        return _unknown(name) if known is None else _ok({"state": known.state})

    def _kill(self, request: RestRequest, name: str) -> RestAnswer:
        known = self._find(name)
        if known is None:
            return _unknown(name)
        if known.is_over:
            return _ok({"state": known.state})
        self._manager.kill_application(known.order.id, json.loads(request.body).get("diagnostics", ""))
        return RestAnswer(_ACCEPTED, (_JSON,), _encode({"state": known.state}))

    def _submit(self, request: RestRequest) -> RestAnswer:
        context = json.loads(request.body)
        resource = context.get("resource", {})
        tags = context.get("application-tags", {}).get("tag", [])
        order = Order(
            id=ApplicationId.parse(context["application-id"]),
            user=request.user or "dr.who",
            name=context.get("application-name", ""),
            queue=context.get("queue") or "default",
            program=context.get("am-container-spec", {}).get("commands", {}).get("command", ""),
            master=ResourceVector(int(resource.get("memory", 1024)), int(resource.get("vCores", 1))),
            kind=context.get("application-type") or "YARN",
            tags=tuple(tags) if isinstance(tags, list) else (tags,),
            is_unmanaged=bool(context.get("unmanaged-AM", False)),
            keeps_containers=bool(context.get("keep-containers-across-application-attempts", False)),
            most_attempts=int(context.get("max-app-attempts", 0)) or 2,
        )
        try:
            self._manager.submit(order)
        except BadRequestError as exc:
            return _error(_BAD_REQUEST, "BadRequestException", str(exc))
        return RestAnswer(_ACCEPTED, (_JSON, ("Location", f"http://rm{request.path}/{order.id}")), b"")

    def _find(self, name: str) -> Application | None:
        return self._manager.applications.get(ApplicationId.parse(name))

    def _shown(self, known: Application) -> dict[str, Any]:
        order, live = known.order, tuple(known.live.values())
        has = sum((each.resource for each in live), ResourceVector())
        now_s = self._manager.clock.monotonic_s()
        ends_ms = known.finished_ms or int(self._manager.clock.now_s() * _MS)
        return {
            "id": str(order.id),
            "user": order.user,
            "name": order.name,
            "queue": order.queue,
            "state": known.state,
            "finalStatus": known.final_status,
            "progress": 100.0 if known.is_over else 0.0,
            "diagnostics": known.diagnostics,
            "clusterId": order.id.cluster_timestamp,
            "applicationType": order.kind,
            "applicationTags": ",".join(sorted(order.tags)),
            "priority": 0,
            "startedTime": known.started_ms,
            "launchTime": known.launched_ms,
            "finishedTime": known.finished_ms,
            "elapsedTime": ends_ms - known.started_ms,
            "allocatedMB": -1 if known.is_over else has.memory_mib,
            "allocatedVCores": -1 if known.is_over else has.vcores,
            "runningContainers": -1 if known.is_over else len(live),
            "memorySeconds": int(known.mib_s + sum(each.resource.memory_mib * (now_s - each.since_s) for each in live)),
            "vcoreSeconds": int(known.vcore_s + sum(each.resource.vcores * (now_s - each.since_s) for each in live)),
            "unmanagedApplication": order.is_unmanaged,
        }


def _match(shape: str, path: str) -> tuple[str, ...] | None:
    wanted, given = shape.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    pairs = list(zip(wanted, given, strict=True))
    if any(want not in ("*", got) for want, got in pairs):
        return None
    return tuple(got for want, got in pairs if want == "*")


def _resource(amount: ResourceVector) -> dict[str, Any]:
    rows = (("memory-mb", "Mi", amount.memory_mib), ("vcores", "", amount.vcores))
    information = [
        {"name": name, "resourceType": "COUNTABLE", "units": units, "value": value} for name, units, value in rows
    ]
    return {
        "memory": amount.memory_mib,
        "vCores": amount.vcores,
        "resourceInformations": {"resourceInformation": information},
    }


def _node(node: ModelledNode) -> dict[str, Any]:
    spec, used, free = node.spec, node.used, node.free
    shown: dict[str, Any] = {
        "rack": spec.rack,
        "state": "RUNNING",
        "id": str(spec.id),
        "nodeHostName": spec.id.host,
        "nodeHTTPAddress": f"{spec.id.host}:8042",
        "version": _VERSION,
        "numContainers": node.containers,
        "usedMemoryMB": used.memory_mib,
        "availMemoryMB": free.memory_mib,
        "usedVirtualCores": used.vcores,
        "availableVirtualCores": free.vcores,
        "usedResource": _resource(used),
        "availableResource": _resource(free),
        "totalResource": _resource(spec.size),
    }
    return shown | ({"nodeLabels": [spec.label]} if spec.label else {})


def _encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _ok(document: Mapping[str, Any]) -> RestAnswer:
    return RestAnswer(_OK, (_JSON,), _encode(document))


def _error(status: int, exception: str, message: str) -> RestAnswer:
    """An error as a ResourceManager words it."""
    error = {"exception": exception, "message": message, "javaClassName": f"org.apache.hadoop.yarn.webapp.{exception}"}
    return RestAnswer(status, (_JSON,), _encode({"RemoteException": error}))


def _unknown(name: str) -> RestAnswer:
    return _error(_NOT_FOUND, "NotFoundException", f"java.lang.Exception: app with id: {name} not found")
