"""Every endpoint of a ResourceManager, and how Heddle answers it. The server reads this table; it has no other list.

Its ways are those of `shim.server.ways`. Any read is carried, whatever its way, when `?cluster=ID` names a sub-cluster:
that one's own document.

Source: `RMWSConsts`, `RMWebServices` of Hadoop 3.4.2; the recorded answers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from urllib.parse import unquote

from shim.domain.roles import Right, TokenScope
from shim.protocol.rest.filters import APPLICATION_PARAMETERS
from shim.server.rights import REST, rights_of
from shim.server.ways import RouteKey, Way

BASE = "/ws/v1/cluster"
_SCOPES: Mapping[Right, TokenScope | None] = {
    Right.READ: TokenScope.READ,
    Right.SUBMIT: TokenScope.SUBMIT,
    Right.OPERATE_CLUSTERS: TokenScope.OPERATE,
    Right.OWN_TOKENS: None,
}
"""What an API token needs for what takes a right."""


class Operation(Enum):
    """Operations of Heddle itself; ROUTED passes a request on, and so do an application's state and containers."""

    ROUTED = "routed"
    STATE = "state"
    CONTAINERS = "containers"
    CONTAINER = "container"
    INFO = "info"
    USER_INFO = "userinfo"
    METRICS = "metrics"
    SCHEDULER = "scheduler"
    OVERVIEW = "scheduler-overview"
    BULK_ACTIVITIES = "bulk-activities"
    NODES = "nodes"
    APPLICATIONS = "apps"
    APPLICATION = "app"
    STATISTICS = "appstatistics"
    NODE_LABELS = "node-labels"
    NODES_TO_LABELS = "nodes-to-labels"
    LABELS_TO_NODES = "labels-to-nodes"
    RESERVATIONS = "reservations"
    NEW_APPLICATION = "new-application"
    SUBMIT = "submit"
    SIGNAL = "signal"
    MOVE = "move"
    QUEUE_ACCESS = "queue-access"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row.

    Attributes:
        path: Below the base; segments in braces are parameters.
        xml_root: Root element of the XML where the JSON has none.
        takes_body: Whether a `Content-Type` of JSON or XML is asked for.
        is_slow: Whether a ResourceManager answers only when its nodes have spoken a few times.
        query: The parameters that its resource binds; no other one is passed on.
        audit: What the audit calls a change; the same name for the RPC method that does the same.
        right: What a caller must have the right to; by the table of rights.
    """

    method: str
    path: str
    way: Way
    key: RouteKey = RouteKey.NONE
    operation: Operation = Operation.ROUTED
    xml_root: str | None = None
    takes_body: bool = False
    changes: bool = False
    is_slow: bool = False
    query: tuple[str, ...] = ()
    audit: str = ""
    segments: tuple[str, ...] = field(init=False)
    right: Right = field(init=False)

    @property
    def may_be_carried(self) -> bool:
        """Return whether `?cluster=ID` sends it to one sub-cluster: reads, and changes of what each has for itself."""
        return not self.changes or self.key is RouteKey.NAMED or self.way in (Way.SPREAD, Way.ANY_CLUSTER)

    @property
    def operates(self) -> bool:
        """True if it is for the operators of a ResourceManager: labels, nodes, the scheduler's queues and logs."""
        return self.right is Right.OPERATE_CLUSTERS

    @property
    def scope(self) -> TokenScope | None:
        """The scope that an API token needs for it; None where none suffices: for tokens of another kind."""
        return _SCOPES[self.right]

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", tuple(part for part in self.path.split("/") if part))
        name = f"{self.method} {self.path}"
        object.__setattr__(self, "right", rights_of((name,), REST)[name])


def _read(
    path: str,
    way: Way,
    key: RouteKey = RouteKey.NONE,
    operation: Operation = Operation.ROUTED,
    xml_root: str | None = None,
    query: tuple[str, ...] = (),
) -> Endpoint:
    return Endpoint("GET", path, way, key, operation, xml_root, query=query)


def _change(
    method: str,
    path: str,
    key: RouteKey,
    audit: str,
    *,
    way: Way = Way.ROUTE,
    takes_body: bool = True,
    query: tuple[str, ...] = (),
) -> Endpoint:
    return Endpoint(method, path, way, key, takes_body=takes_body, changes=True, query=query, audit=audit)


_APP = "/apps/{application}"
_CONTAINERS = f"{_APP}/appattempts/{{attempt}}/containers"
_OF_ACTIVITIES = ("maxTime", "requestPriorities", "allocationRequestIds", "groupBy", "limit", "actions", "summarize")
_OF_RESERVATIONS = ("queue", "reservation-id", "start-time", "end-time", "include-resource-allocations")

ENDPOINTS: tuple[Endpoint, ...] = (
    _read("", Way.OWN, operation=Operation.INFO),
    _read("/info", Way.OWN, operation=Operation.INFO),
    _read("/userinfo", Way.OWN, operation=Operation.USER_INFO, xml_root="clusterUserInfo"),
    _read("/metrics", Way.MERGE, operation=Operation.METRICS),
    _read("/scheduler", Way.MERGE, operation=Operation.SCHEDULER),
    _read("/scheduler-overview", Way.MERGE, operation=Operation.OVERVIEW, xml_root="scheduler"),
    _change("POST", "/scheduler/logs", RouteKey.NONE, "scheduler.logs", way=Way.SPREAD, takes_body=False),
    _read("/scheduler/activities", Way.ROUTE, RouteKey.NODE_PARAMETER, query=("nodeId", "groupBy")),
    Endpoint(
        "GET",
        "/scheduler/bulk-activities",
        Way.MERGE,
        operation=Operation.BULK_ACTIVITIES,
        is_slow=True,
        query=("groupBy", "activitiesCount"),
    ),
    _read("/scheduler/app-activities/{diagnosed}", Way.ROUTE, RouteKey.DIAGNOSED, query=_OF_ACTIVITIES),
    _read("/nodes", Way.MERGE, operation=Operation.NODES, query=("states",)),
    _read("/nodes/{node}", Way.ROUTE, RouteKey.NODE),
    _change("POST", "/nodes/{node}/resource", RouteKey.NODE, "node.resource"),
    _change("POST", "/nodes/{host}/replace-labels", RouteKey.HOST, "node.labels", takes_body=False, query=("labels",)),
    _read("/nodes/{host}/get-labels", Way.ROUTE, RouteKey.HOST),
    _read("/apps", Way.MERGE, operation=Operation.APPLICATIONS, query=APPLICATION_PARAMETERS),
    Endpoint("POST", "/apps", Way.OWN, operation=Operation.SUBMIT, takes_body=True, changes=True, audit="app.submit"),
    Endpoint(
        "POST",
        "/apps/new-application",
        Way.OWN,
        operation=Operation.NEW_APPLICATION,
        xml_root="NewApplication",
        changes=True,
        audit="app.new-id",
    ),
    _read("/appstatistics", Way.MERGE, operation=Operation.STATISTICS, query=("states", "applicationTypes")),
    _read(_APP, Way.ROUTE, RouteKey.APPLICATION, Operation.APPLICATION, query=("deSelects",)),
    _read(f"{_APP}/appattempts", Way.ROUTE, RouteKey.APPLICATION),
    _read(f"{_APP}/appattempts/{{attempt}}", Way.ROUTE, RouteKey.APPLICATION),
    _read(_CONTAINERS, Way.ROUTE, RouteKey.APPLICATION, Operation.CONTAINERS, xml_root="containers"),
    _read(f"{_CONTAINERS}/{{container}}", Way.ROUTE, RouteKey.APPLICATION, Operation.CONTAINER),
    _read(f"{_APP}/state", Way.ROUTE, RouteKey.APPLICATION, Operation.STATE),
    _change("PUT", f"{_APP}/state", RouteKey.APPLICATION, "app.kill"),
    _read(f"{_APP}/queue", Way.ROUTE, RouteKey.APPLICATION),
    Endpoint(
        "PUT",
        f"{_APP}/queue",
        Way.ROUTE,
        RouteKey.APPLICATION,
        Operation.MOVE,
        takes_body=True,
        changes=True,
        audit="app.move",
    ),
    _read(f"{_APP}/priority", Way.ROUTE, RouteKey.APPLICATION),
    _change("PUT", f"{_APP}/priority", RouteKey.APPLICATION, "app.priority"),
    _read(f"{_APP}/timeouts", Way.ROUTE, RouteKey.APPLICATION),
    _read(f"{_APP}/timeouts/{{type}}", Way.ROUTE, RouteKey.APPLICATION),
    _change("PUT", f"{_APP}/timeout", RouteKey.APPLICATION, "app.timeout"),
    _change("POST", "/delegation-token", RouteKey.NONE, "token.issue", way=Way.CARRY),
    _change("DELETE", "/delegation-token", RouteKey.NONE, "token.cancel", way=Way.CARRY, takes_body=False),
    _change("POST", "/delegation-token/expiration", RouteKey.NONE, "token.renew", way=Way.CARRY, takes_body=False),
    _change(
        "POST", "/reservation/new-reservation", RouteKey.NONE, "reservation.new", way=Way.ANY_CLUSTER, takes_body=False
    ),
    _change("POST", "/reservation/submit", RouteKey.RESERVATION, "reservation.submit"),
    _change("POST", "/reservation/update", RouteKey.RESERVATION, "reservation.update"),
    _change("POST", "/reservation/delete", RouteKey.RESERVATION, "reservation.delete"),
    _read(
        "/reservation/list",
        Way.MERGE,
        operation=Operation.RESERVATIONS,
        xml_root="reservationListInfo",
        query=_OF_RESERVATIONS,
    ),
    _read("/get-node-to-labels", Way.MERGE, operation=Operation.NODES_TO_LABELS, xml_root="nodeToLabelsInfo"),
    _read(
        "/label-mappings",
        Way.MERGE,
        operation=Operation.LABELS_TO_NODES,
        xml_root="labelsToNodesInfo",
        query=("labels",),
    ),
    _read("/get-node-labels", Way.MERGE, operation=Operation.NODE_LABELS, xml_root="nodeLabelsInfo"),
    _read("/get-rm-node-labels", Way.MERGE, operation=Operation.NODE_LABELS, xml_root="nodeLabelsInfo"),
    _change("POST", "/replace-node-to-labels", RouteKey.NONE, "labels.map", way=Way.SPREAD),
    _change("POST", "/add-node-labels", RouteKey.NONE, "labels.add", way=Way.SPREAD),
    _change(
        "POST",
        "/remove-node-labels",
        RouteKey.NONE,
        "labels.remove",
        way=Way.SPREAD,
        takes_body=False,
        query=("labels",),
    ),
    _read("/scheduler-conf", Way.ROUTE, RouteKey.NAMED),
    _change("PUT", "/scheduler-conf", RouteKey.NAMED, "scheduler.configure"),
    _read("/scheduler-conf/version", Way.ROUTE, RouteKey.NAMED),
    Endpoint("GET", "/scheduler-conf/format", Way.ROUTE, RouteKey.NAMED, changes=True, audit="scheduler.format"),
    _change("POST", "/scheduler-conf/validate", RouteKey.NAMED, "scheduler.validate"),
    _read(
        "/queues/{queue}/access",
        Way.ROUTE,
        RouteKey.QUEUE,
        operation=Operation.QUEUE_ACCESS,
        xml_root="rmQueueAclInfo",
        query=("user", "queue-acl-type"),
    ),
    Endpoint(
        "POST",
        "/containers/{container}/signal/{command}",
        Way.ROUTE,
        RouteKey.CONTAINER,
        Operation.SIGNAL,
        changes=True,
        audit="container.signal",
    ),
)

_METHOD_ORDER = ("DELETE", "POST", "GET", "PUT")
_LONGEST_REMEMBERED = 200  # characters: what is longer is not worth the memory
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")


@dataclass(frozen=True, slots=True)
class Match:
    """The rows of one path.

    Attributes:
        parameters: Values of the path's parameters, decoded.
    """

    endpoints: Mapping[str, Endpoint]
    parameters: Mapping[str, str]


def _by_segments() -> dict[int, list[Endpoint]]:
    found: dict[int, list[Endpoint]] = {}
    for endpoint in ENDPOINTS:
        found.setdefault(len(endpoint.segments), []).append(endpoint)
    for rows in found.values():
        rows.sort(key=lambda row: sum(segment.startswith("{") for segment in row.segments))
    return found


_TABLE = _by_segments()


def has_broken_escape(raw_path: str) -> bool:
    """Return whether a `%` is not followed by two hexadecimal digits, or stands for a zero byte: Jetty refuses both."""
    return any(found[1] is None or found[1] == "00" for found in _ESCAPE.finditer(raw_path))


def find(raw_path: str) -> Match | None:
    """The rows of a path as it stood in the request line; None if there is none.

    One slash at the end and matrix parameters (`;x=y`) are ignored. Letters of fixed segments are compared as they
    stand: an escaped one is another path, and so are doubled slashes and dots.
    """
    return _find_remembered(raw_path) if len(raw_path) <= _LONGEST_REMEMBERED else _find(raw_path)


def _find(raw_path: str) -> Match | None:
    if not raw_path.startswith(BASE):
        return None
    rest = raw_path[len(BASE) :]
    if not rest.isascii():
        try:
            rest = rest.encode("latin-1").decode()
        except UnicodeError:
            return None
    if rest.startswith(";"):
        rest = rest[rest.find("/") :] if "/" in rest else ""
    if rest and not rest.startswith("/"):
        return None
    segments = [part.partition(";")[0] for part in rest.split("/")[1:]]
    if segments and not segments[-1]:
        segments.pop()
    if not all(segments) or (rest.endswith("//")):
        return None
    for row in _TABLE.get(len(segments), ()):
        parameters = _parameters(row.segments, segments)
        if parameters is not None:
            same = {other.method: other for other in _TABLE[len(segments)] if other.segments == row.segments}
            return Match(same, parameters)
    return None


_find_remembered = lru_cache(maxsize=1024)(_find)


def _parameters(pattern: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    found = {}
    for wanted, given in zip(pattern, segments, strict=True):
        if wanted.startswith("{"):
            found[wanted[1:-1]] = unquote(given, errors="replace")
        elif wanted != given:
            return None
    return found


def allowed_methods(match: Match) -> str:
    """Value of the header `Allow` for a path."""
    methods = ["OPTIONS"]
    if "GET" in match.endpoints:
        methods.append("HEAD")
    methods += [method for method in _METHOD_ORDER if method in match.endpoints]
    return ",".join(methods)
