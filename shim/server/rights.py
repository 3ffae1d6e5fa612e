"""Rights that calls take: the one table for the web services, the pages, and the methods of Hadoop RPC.

Every endpoint and method of the other tables has a row here, and no row is without one: what is added there without a
right is an error when Heddle starts. Which role has which right is in `shim.domain.roles`.

ApplicationMasters are not in it: their ResourceManagers' word lets them in, not a role.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from shim.domain.access_lists import Access
from shim.domain.roles import Right
from shim.errors import InvariantViolationError


def _table(named: Mapping[Right, Iterable[str]]) -> Mapping[str, Right]:
    return MappingProxyType({name: right for right, names in named.items() for name in names})


REST: Mapping[str, Right] = _table(
    {
        Right.READ: (
            "GET ",
            "GET /info",
            "GET /userinfo",
            "GET /metrics",
            "GET /scheduler",
            "GET /scheduler-overview",
            "GET /scheduler/activities",
            "GET /scheduler/bulk-activities",
            "GET /scheduler/app-activities/{diagnosed}",
            "GET /nodes",
            "GET /nodes/{node}",
            "GET /nodes/{host}/get-labels",
            "GET /apps",
            "GET /appstatistics",
            "GET /apps/{application}",
            "GET /apps/{application}/appattempts",
            "GET /apps/{application}/appattempts/{attempt}",
            "GET /apps/{application}/appattempts/{attempt}/containers",
            "GET /apps/{application}/appattempts/{attempt}/containers/{container}",
            "GET /apps/{application}/state",
            "GET /apps/{application}/queue",
            "GET /apps/{application}/priority",
            "GET /apps/{application}/timeouts",
            "GET /apps/{application}/timeouts/{type}",
            "GET /reservation/list",
            "GET /get-node-to-labels",
            "GET /label-mappings",
            "GET /get-node-labels",
            "GET /get-rm-node-labels",
            "GET /scheduler-conf",
            "GET /scheduler-conf/version",
            "GET /queues/{queue}/access",
        ),
        Right.SUBMIT: (
            "POST /apps",
            "POST /apps/new-application",
            "PUT /apps/{application}/state",
            "PUT /apps/{application}/queue",
            "PUT /apps/{application}/priority",
            "PUT /apps/{application}/timeout",
            "POST /reservation/new-reservation",
            "POST /reservation/submit",
            "POST /reservation/update",
            "POST /reservation/delete",
            "POST /containers/{container}/signal/{command}",
        ),
        Right.OWN_TOKENS: (
            "POST /delegation-token",
            "DELETE /delegation-token",
            "POST /delegation-token/expiration",
        ),
        Right.OPERATE_CLUSTERS: (
            "POST /scheduler/logs",
            "POST /nodes/{node}/resource",
            "POST /nodes/{host}/replace-labels",
            "POST /replace-node-to-labels",
            "POST /add-node-labels",
            "POST /remove-node-labels",
            "PUT /scheduler-conf",
            "GET /scheduler-conf/format",
            "POST /scheduler-conf/validate",
        ),
    }
)
"""Endpoints of a ResourceManager, below `/ws/v1/cluster`."""

REST_ACCESS: Mapping[str, Access] = {
    "GET /scheduler/app-activities/{diagnosed}": Access.VIEW,
    "GET /apps/{application}/appattempts": Access.VIEW,
    "GET /apps/{application}/appattempts/{attempt}": Access.VIEW,
    "GET /apps/{application}/appattempts/{attempt}/containers": Access.VIEW,
    "GET /apps/{application}/appattempts/{attempt}/containers/{container}": Access.VIEW,
    "PUT /apps/{application}/state": Access.MODIFY,
    "PUT /apps/{application}/queue": Access.MODIFY,
    "PUT /apps/{application}/priority": Access.MODIFY,
    "PUT /apps/{application}/timeout": Access.MODIFY,
    "POST /containers/{container}/signal/{command}": Access.MODIFY,
}
"""What endpoints take that look into an application or change it, where `security.application_acls` is on."""

OWN: Mapping[str, Right] = _table(
    {
        Right.OPEN: ("GET console/caller",),
        Right.READ: (
            "GET openapi.json",
            "GET clusters",
            "GET queues",
            "GET apps",
            "GET apps/{application}",
            "GET apps/{application}/why",
            "GET apps/{application}/logs",
            "GET apps/{application}/logs/{container}/{file}",
            "GET containers/{container}/logs",
            "GET containers/{container}/logs/{file}",
            "POST choose-home",
            "GET masters",
            "GET usage",
            "GET console/applications",
            "GET console/nodes",
            "GET console/decisions",
            "GET console/containers/{application}",
            "GET shares",
            "GET shares/history",
            "POST shares/whatif",
            "GET policy",
            "GET policy/history",
            "GET policy/versions/{version}",
            "POST policy/validate",
        ),
        Right.SUBMIT: ("POST apps/{application}/rehome",),
        Right.OWN_TOKENS: ("GET tokens", "POST tokens", "DELETE tokens/{token}"),
        Right.DIAGNOSE: ("GET doctor",),
        Right.OPERATE: (
            "POST clusters/{cluster}/{verb}",
            "GET clusters/{cluster}/drainage",
            "POST clusters/{cluster}/retire",
            "GET reload",
            "POST reload",
            "POST clusters/{cluster}/revive",
            "GET policy/shadow",
        ),
        Right.ADMINISTER: (
            "POST policy",
            "POST policy/rollback/{version}",
            "POST policy/release",
            "GET audit",
            "GET hardening",
            "GET cluster-versions",
            "POST cluster-versions",
            "POST clusters/{cluster}/add",
            "POST clusters/{cluster}/edit",
            "POST clusters/{cluster}/remove",
        ),
    }
)
"""Heddle's own endpoints, below `/heddle/v1/`."""

PAGES: Mapping[str, Right] = _table(
    {
        Right.OPEN: (
            "/healthz",
            "/ready",
            "/isActive",
            "/static/heddle.css",
            "/console",
            "/console/",
            "/oidc/login",
            "/oidc/callback",
        ),
        Right.READ: ("/", "/cluster", "/cluster/", "/proxy", "/proxy/", "/jmx", "/conf", "/metrics", "/heddle/v1/live"),
        Right.SUBMIT: ("PUT /proxy/",),
    }
)
"""What is served beside the web services; a change by a page of an ApplicationMaster is that of its user."""

CLIENT: Mapping[str, Right] = _table(
    {
        Right.READ: (
            "getApplications",
            "getApplicationReport",
            "getApplicationAttempts",
            "getApplicationAttemptReport",
            "getContainers",
            "getContainerReport",
            "listReservations",
            "getClusterMetrics",
            "getClusterNodes",
            "getQueueInfo",
            "getQueueUserAcls",
            "getNodeToLabels",
            "getLabelsToNodes",
            "getClusterNodeLabels",
            "getResourceTypeInfo",
            "getClusterNodeAttributes",
            "getAttributesToNodes",
            "getNodesToAttributes",
            "getResourceProfiles",
            "getResourceProfile",
            "getNewApplication",  # ids are issued to whoever looks, as they were before there were roles
            "getNewReservation",
        ),
        Right.SUBMIT: (
            "submitApplication",
            "forceKillApplication",
            "failApplicationAttempt",
            "moveApplicationAcrossQueues",
            "updateApplicationPriority",
            "updateApplicationTimeouts",
            "signalToContainer",
            "submitReservation",
            "updateReservation",
            "deleteReservation",
        ),
        Right.OWN_TOKENS: ("getDelegationToken", "renewDelegationToken", "cancelDelegationToken"),
    }
)
"""Methods of ApplicationClientProtocol."""

CLIENT_ACCESS: Mapping[str, Access] = {
    "getApplicationAttempts": Access.VIEW,
    "getApplicationAttemptReport": Access.VIEW,
    "getContainers": Access.VIEW,
    "getContainerReport": Access.VIEW,
    "forceKillApplication": Access.MODIFY,
    "failApplicationAttempt": Access.MODIFY,
    "moveApplicationAcrossQueues": Access.MODIFY,
    "updateApplicationPriority": Access.MODIFY,
    "updateApplicationTimeouts": Access.MODIFY,
    "signalToContainer": Access.MODIFY,
}
"""As `REST_ACCESS`; reports of applications are hidden, not refused."""

ADMIN: Mapping[str, Right] = _table(
    {
        Right.OPEN: ("getServiceStatus", "monitorHealth"),
        Right.READ: (
            "getGroupsForUser",
            "checkForDecommissioningNodes",
            "getFederationSubClusters",
            "transitionToActive",
        ),
        Right.OPERATE_CLUSTERS: (
            "refreshQueues",
            "refreshNodes",
            "refreshNodesResources",
            "refreshSuperUserGroupsConfiguration",
            "refreshUserToGroupsMappings",
            "refreshAdminAcls",
            "refreshServiceAcls",
            "refreshClusterMaxPriority",
            "addToClusterNodeLabels",
            "removeFromClusterNodeLabels",
            "updateNodeResource",
            "replaceLabelsOnNodes",
            "mapAttributesToNodes",
            "deregisterSubCluster",
            "deleteFederationApplication",
            "saveFederationQueuePolicy",
            "batchSaveFederationQueuePolicies",
            "listFederationQueuePolicies",
            "deleteFederationPoliciesByQueues",
            "transitionToStandby",
            "transitionToObserver",
        ),
    }
)
"""Methods of ResourceManagerAdministrationProtocol and HAServiceProtocol."""

TOKEN_OPERATION = Right.OWN_TOKENS
"""What `op=GETDELEGATIONTOKEN` and its like take, at any path."""


def rights_of(names: Iterable[str], table: Mapping[str, Right]) -> Mapping[str, Right]:
    """The rights of endpoints or methods, by their names.

    Raises:
        InvariantViolationError: If one has no row.
    """
    try:
        return {name: table[name] for name in names}
    except KeyError as exc:
        raise InvariantViolationError(f"{exc.args[0]!r} has no right: add a row in shim/server/rights.py") from exc
