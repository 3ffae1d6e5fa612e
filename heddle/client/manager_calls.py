"""Operations of a ResourceManager's web services, below `/ws/v1/cluster`, as Heddle answers them for all sub-clusters.

Answers are a ResourceManager's own documents, untouched: objects as `json` reads them, or text where that is what they
are. `cluster` asks for one sub-cluster's own answer, or tells it alone.

Source: ResourceManagerRest.md of Hadoop 3.4.2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from heddle.client.calls import Call, Value, operation

__all__ = ["ManagerOperations"]

_BASE = "/ws/v1/cluster"
_APP = "/apps/{application}"
_CONTAINERS = f"{_APP}/appattempts/{{attempt}}/containers"

Document = dict[str, Any]


def _get(path: str, query: Mapping[str, Value] | None = None, **values: str) -> Call[Document]:
    return Call("GET", _BASE + path, dict, values, query or {})


def _change(
    method: str,
    path: str,
    body: Any = None,
    query: Mapping[str, Value] | None = None,
    *,
    repeats: bool = False,
    **values: str,
) -> Call[Document]:
    return Call(method, _BASE + path, dict, values, query or {}, body, repeats=repeats)


def _many(values: Sequence[str]) -> list[str] | None:
    return list(values) or None


class ManagerOperations:
    """What a ResourceManager answers."""

    # -- the cluster -------------------------------------------------------------------------------------------------

    @operation
    def root(self, *, cluster: str | None = None) -> Call[Document]:
        """The same as `info`."""
        return _get("", {"cluster": cluster})

    @operation
    def info(self, *, cluster: str | None = None) -> Call[Document]:
        """Give version, state and start of the ResourceManager (`clusterInfo`)."""
        return _get("/info", {"cluster": cluster})

    @operation
    def user_info(self, *, cluster: str | None = None) -> Call[Document]:
        """Tell whom the ResourceManager takes the caller for."""
        return _get("/userinfo", {"cluster": cluster})

    @operation
    def metrics(self, *, cluster: str | None = None) -> Call[Document]:
        """Give counts of applications, containers, nodes, MiB and vcores (`clusterMetrics`)."""
        return _get("/metrics", {"cluster": cluster})

    @operation
    def scheduler(self, *, cluster: str | None = None) -> Call[Document]:
        """Give the tree of queues (`scheduler.schedulerInfo`)."""
        return _get("/scheduler", {"cluster": cluster})

    @operation
    def scheduler_overview(self, *, cluster: str | None = None) -> Call[Document]:
        """Give what the scheduler is and how large a container may be."""
        return _get("/scheduler-overview", {"cluster": cluster})

    @operation
    def write_scheduler_logs(self, time_s: int, *, cluster: str | None = None) -> Call[str]:
        """Let the scheduler log everything for so many seconds. For operators."""
        form = {"time": str(time_s)}
        return Call("POST", f"{_BASE}/scheduler/logs", str, query={"cluster": cluster}, form=form)

    @operation
    def activities(
        self, *, node: str | None = None, group_by: str | None = None, cluster: str | None = None
    ) -> Call[Document]:
        """Return what the scheduler tried at one heartbeat of a node."""
        return _get("/scheduler/activities", {"nodeId": node, "groupBy": group_by, "cluster": cluster})

    @operation
    def bulk_activities(
        self, *, group_by: str | None = None, count: int | None = None, cluster: str | None = None
    ) -> Call[Document]:
        """Return what the scheduler tried at some heartbeats, which takes a while."""
        query: dict[str, Value] = {"groupBy": group_by, "activitiesCount": count, "cluster": cluster}
        return _get("/scheduler/bulk-activities", query)

    @operation
    def application_activities(
        self,
        application: str,
        *,
        max_time_s: float | None = None,
        priorities: str | None = None,
        allocation_ids: str | None = None,
        group_by: str | None = None,
        limit: int | None = None,
        actions: str | None = None,
        summarize: bool | None = None,
        cluster: str | None = None,
    ) -> Call[Document]:
        """Return what the scheduler tried for an application."""
        query: dict[str, Value] = {"maxTime": max_time_s, "requestPriorities": priorities}
        query |= {"allocationRequestIds": allocation_ids, "groupBy": group_by, "limit": limit, "actions": actions}
        query |= {"summarize": summarize, "cluster": cluster}
        return _get("/scheduler/app-activities/{diagnosed}", query, diagnosed=application)

    # -- nodes and labels --------------------------------------------------------------------------------------------

    @operation
    def nodes(self, *, states: str | None = None, cluster: str | None = None) -> Call[Document]:
        """List nodes (`nodes.node`) that are in one of some states, with commas between."""
        return _get("/nodes", {"states": states, "cluster": cluster})

    @operation
    def node(self, node: str, *, cluster: str | None = None) -> Call[Document]:
        """Give one node, `host:port`."""
        return _get("/nodes/{node}", {"cluster": cluster}, node=node)

    @operation
    def set_node_resource(
        self, node: str, *, memory_mib: int, vcores: int, overcommit_timeout_ms: int = -1
    ) -> Call[Document]:
        """Give a node another size. For operators."""
        body = {"resource": {"memory": memory_mib, "vCores": vcores}, "overCommitTimeout": overcommit_timeout_ms}
        return _change("POST", "/nodes/{node}/resource", body, repeats=True, node=node)

    @operation
    def replace_node_labels(self, host: str, labels: Sequence[str]) -> Call[Document]:
        """Give a node or host these labels alone. For operators."""
        query: dict[str, Value] = {"labels": _many(labels)}
        return _change("POST", "/nodes/{host}/replace-labels", None, query, repeats=True, host=host)

    @operation
    def node_labels(self, host: str, *, cluster: str | None = None) -> Call[Document]:
        """Give the labels of a node or host."""
        return _get("/nodes/{host}/get-labels", {"cluster": cluster}, host=host)

    @operation
    def nodes_to_labels(self, *, cluster: str | None = None) -> Call[Document]:
        """Give labels by node."""
        return _get("/get-node-to-labels", {"cluster": cluster})

    @operation
    def labels_to_nodes(self, labels: Sequence[str] = (), *, cluster: str | None = None) -> Call[Document]:
        """Give nodes by label."""
        return _get("/label-mappings", {"labels": _many(labels), "cluster": cluster})

    @operation
    def labels(self, *, cluster: str | None = None) -> Call[Document]:
        """List the labels that there are."""
        return _get("/get-node-labels", {"cluster": cluster})

    @operation
    def rm_labels(self, *, cluster: str | None = None) -> Call[Document]:
        """List the labels that there are, with the nodes and resources of each."""
        return _get("/get-rm-node-labels", {"cluster": cluster})

    @operation
    def replace_nodes_to_labels(
        self, labels: Mapping[str, Sequence[str]], *, cluster: str | None = None
    ) -> Call[Document]:
        """Give nodes other labels, by node. For operators."""
        told = [{"nodeId": node, "labels": list(names)} for node, names in labels.items()]
        body = {"nodeToLabels": told}
        return _change("POST", "/replace-node-to-labels", body, {"cluster": cluster}, repeats=True)

    @operation
    def add_labels(self, labels: Mapping[str, bool], *, cluster: str | None = None) -> Call[Document]:
        """Make labels; the value of each says whether its partition is exclusive. For operators."""
        told = [{"name": name, "exclusivity": exclusive} for name, exclusive in labels.items()]
        return _change("POST", "/add-node-labels", {"nodeLabelInfo": told}, {"cluster": cluster}, repeats=True)

    @operation
    def remove_labels(self, labels: Sequence[str], *, cluster: str | None = None) -> Call[Document]:
        """Remove labels. For operators."""
        query: dict[str, Value] = {"labels": _many(labels), "cluster": cluster}
        return _change("POST", "/remove-node-labels", None, query)

    # -- applications ------------------------------------------------------------------------------------------------

    @operation
    def applications(self, /, *, cluster: str | None = None, **filters: Value) -> Call[Document]:
        """List applications (`apps.app`); filters are those of `HeddleOperations.applications`."""
        return _get("/apps", {**filters, "cluster": cluster})

    @operation
    def new_application(self) -> Call[Document]:
        """Take an id (`application-id`); one that is not used harms nobody."""
        return _change("POST", "/apps/new-application", repeats=True)

    @operation
    def submit_context(self, context: Mapping[str, Any]) -> Call[Document]:
        """Submit a context that has its `application-id`; the same again changes nothing. See `Client.submit`."""
        return _change("POST", "/apps", context, repeats=True)

    @operation
    def statistics(
        self, *, states: Sequence[str] = (), types: Sequence[str] = (), cluster: str | None = None
    ) -> Call[Document]:
        """Count applications by state and type."""
        query: dict[str, Value] = {"states": _many(states), "applicationTypes": _many(types), "cluster": cluster}
        return _get("/appstatistics", query)

    @operation
    def application(
        self, application: str, *, deselects: Sequence[str] = (), cluster: str | None = None
    ) -> Call[Document]:
        """Give one application (`app`)."""
        return _get(_APP, {"deSelects": _many(deselects), "cluster": cluster}, application=application)

    @operation
    def attempts(self, application: str, *, cluster: str | None = None) -> Call[Document]:
        """List attempts (`appAttempts.appAttempt`)."""
        return _get(f"{_APP}/appattempts", {"cluster": cluster}, application=application)

    @operation
    def attempt(self, application: str, attempt: str, *, cluster: str | None = None) -> Call[Document]:
        """Give one attempt; its numbers are texts."""
        path = f"{_APP}/appattempts/{{attempt}}"
        return _get(path, {"cluster": cluster}, application=application, attempt=attempt)

    @operation
    def containers(self, application: str, attempt: str, *, cluster: str | None = None) -> Call[Document]:
        """List live containers of an attempt, on whichever sub-cluster they are; one alone is no list."""
        return _get(_CONTAINERS, {"cluster": cluster}, application=application, attempt=attempt)

    @operation
    def container(
        self, application: str, attempt: str, container: str, *, cluster: str | None = None
    ) -> Call[Document]:
        """Give one container."""
        path = f"{_CONTAINERS}/{{container}}"
        return _get(path, {"cluster": cluster}, application=application, attempt=attempt, container=container)

    @operation
    def state(self, application: str, *, cluster: str | None = None) -> Call[Document]:
        """Give an application's state."""
        return _get(f"{_APP}/state", {"cluster": cluster}, application=application)

    @operation
    def set_state(self, application: str, state: str = "KILLED") -> Call[Document]:
        """End an application: no other state is taken."""
        return _change("PUT", f"{_APP}/state", {"state": state}, repeats=True, application=application)

    @operation
    def queue(self, application: str, *, cluster: str | None = None) -> Call[Document]:
        """Give an application's queue."""
        return _get(f"{_APP}/queue", {"cluster": cluster}, application=application)

    @operation
    def move(self, application: str, queue: str) -> Call[Document]:
        """Move an application into another queue, on the same sub-cluster."""
        return _change("PUT", f"{_APP}/queue", {"queue": queue}, repeats=True, application=application)

    @operation
    def priority(self, application: str, *, cluster: str | None = None) -> Call[Document]:
        """Give an application's priority."""
        return _get(f"{_APP}/priority", {"cluster": cluster}, application=application)

    @operation
    def set_priority(self, application: str, priority: int) -> Call[Document]:
        """Give an application another priority."""
        return _change("PUT", f"{_APP}/priority", {"priority": priority}, repeats=True, application=application)

    @operation
    def timeouts(self, application: str, *, cluster: str | None = None) -> Call[Document]:
        """Give an application's timeouts (`timeouts.timeout`)."""
        return _get(f"{_APP}/timeouts", {"cluster": cluster}, application=application)

    @operation
    def timeout(self, application: str, type_: str = "LIFETIME", *, cluster: str | None = None) -> Call[Document]:
        """Give one of an application's timeouts (`timeout`)."""
        return _get(f"{_APP}/timeouts/{{type}}", {"cluster": cluster}, application=application, type=type_)

    @operation
    def set_timeout(self, application: str, expires: str, type_: str = "LIFETIME") -> Call[Document]:
        """End an application at a time, ISO 8601 with a zone: 2026-11-28T17:00:00.000+0000."""
        body = {"timeout": {"type": type_, "expiryTime": expires}}
        return _change("PUT", f"{_APP}/timeout", body, repeats=True, application=application)

    @operation
    def signal(self, container: str, command: str) -> Call[Document]:
        """Signal a container: OUTPUT_THREAD_DUMP, GRACEFUL_SHUTDOWN or FORCEFUL_SHUTDOWN."""
        return _change("POST", "/containers/{container}/signal/{command}", container=container, command=command)

    # -- delegation tokens, reservations, configuration --------------------------------------------------------------

    @operation
    def delegation_token(self, renewer: str) -> Call[Document]:
        """Take a ResourceManager's delegation token, for a caller with a ticket."""
        return _change("POST", "/delegation-token", {"renewer": renewer})

    @operation
    def renew_delegation_token(self, token: str) -> Call[Document]:
        """Let a delegation token be good for longer (`expiration-time`, milliseconds)."""
        headers = {"Hadoop-YARN-RM-Delegation-Token": token}
        return Call("POST", f"{_BASE}/delegation-token/expiration", dict, headers=headers, repeats=True)

    @operation
    def cancel_delegation_token(self, token: str) -> Call[str]:
        """End a delegation token."""
        headers = {"Hadoop-YARN-RM-Delegation-Token": token}
        return Call("DELETE", f"{_BASE}/delegation-token", str, headers=headers)

    @operation
    def new_reservation(self, *, cluster: str | None = None) -> Call[Document]:
        """Take an id for a reservation (`reservation-id`)."""
        return _change("POST", "/reservation/new-reservation", None, {"cluster": cluster}, repeats=True)

    @operation
    def submit_reservation(self, context: Mapping[str, Any]) -> Call[Document]:
        """Reserve, by a context with `queue`, `reservation-id` and `reservation-definition`."""
        return _change("POST", "/reservation/submit", context)

    @operation
    def update_reservation(self, context: Mapping[str, Any]) -> Call[Document]:
        """Change a reservation."""
        return _change("POST", "/reservation/update", context)

    @operation
    def delete_reservation(self, reservation: str) -> Call[Document]:
        """End a reservation."""
        return _change("POST", "/reservation/delete", {"reservation-id": reservation})

    @operation
    def reservations(
        self,
        *,
        queue: str | None = None,
        reservation: str | None = None,
        start_ms: int | None = None,
        end_ms: int | None = None,
        with_allocations: bool | None = None,
        cluster: str | None = None,
    ) -> Call[Document]:
        """List reservations (`reservations`; one alone is no list); numbers are texts."""
        query: dict[str, Value] = {"queue": queue, "reservation-id": reservation, "start-time": start_ms}
        query |= {"end-time": end_ms, "include-resource-allocations": with_allocations, "cluster": cluster}
        return _get("/reservation/list", query)

    @operation
    def scheduler_configuration(self, *, cluster: str | None = None) -> Call[Document]:
        """Give the scheduler's configuration (`property`). For operators, as all below."""
        return _get("/scheduler-conf", {"cluster": cluster})

    @operation
    def configure_scheduler(self, changes: Mapping[str, Any], *, cluster: str | None = None) -> Call[str]:
        """Change the scheduler's configuration: `update-queue`, `add-queue`, `remove-queue`, `global-updates`."""
        return Call("PUT", f"{_BASE}/scheduler-conf", str, query={"cluster": cluster}, body=changes)

    @operation
    def scheduler_configuration_version(self, *, cluster: str | None = None) -> Call[Document]:
        """Give the version of the scheduler's configuration (`versionID`)."""
        return _get("/scheduler-conf/version", {"cluster": cluster})

    @operation
    def format_scheduler_configuration(self, *, cluster: str | None = None) -> Call[str]:
        """Throw away what was changed of the scheduler's configuration, though it is a GET."""
        return Call("GET", f"{_BASE}/scheduler-conf/format", str, query={"cluster": cluster}, repeats=False)

    @operation
    def validate_scheduler_configuration(
        self, changes: Mapping[str, Any], *, cluster: str | None = None
    ) -> Call[Document]:
        """Say whether changes of the scheduler's configuration would be taken; the answer is the whole of it then."""
        return _change("POST", "/scheduler-conf/validate", changes, {"cluster": cluster}, repeats=True)

    @operation
    def queue_access(
        self, queue: str, *, user: str | None = None, acl: str | None = None, cluster: str | None = None
    ) -> Call[Document]:
        """Say whether a user has a right to a queue: `acl` is SUBMIT_APPLICATIONS or ADMINISTER_QUEUE."""
        query: dict[str, Value] = {"user": user, "queue-acl-type": acl, "cluster": cluster}
        return _get("/queues/{queue}/access", query, queue=queue)
