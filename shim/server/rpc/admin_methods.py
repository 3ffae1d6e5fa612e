"""The table of the admin RPC server: every method of ResourceManagerAdministrationProtocol and HAServiceProtocol.

Its ways are those of `shim.server.ways`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shim.federation.core.federation_view import Part
from shim.protocol.hrpc import JavaClass
from shim.server.rights import ADMIN, rights_of
from shim.server.ways import Way

__all__ = ["ADMIN_METHODS", "ADMIN_RIGHTS", "AdminRow"]


@dataclass(frozen=True, slots=True)
class AdminRow:
    """One method.

    Attributes:
        touches: What sub-clusters tell differently afterwards.
        needs_all: Whether half an answer is none: a change that clusters must have in common, a merged answer that
            somebody waits for.
        reason: Why it is refused.
        refusal: Exception of a refusal.
        audit: What the audit calls a change; the same name for the endpoint that does the same.
    """

    way: Way
    touches: tuple[Part, ...] = ()
    needs_all: bool = False
    reason: str = ""
    refusal: JavaClass = JavaClass.YARN
    audit: str = ""

    @property
    def writes(self) -> bool:
        """Tell whether it changes something, or was meant to."""
        return self.way in {Way.SPREAD, Way.SPLIT, Way.REFUSE}


def _spread(audit: str, *touches: Part, needs_all: bool = False) -> AdminRow:
    return AdminRow(Way.SPREAD, touches, needs_all, audit=audit)


def _refused(audit: str, reason: str, refusal: JavaClass = JavaClass.YARN) -> AdminRow:
    return AdminRow(Way.REFUSE, reason=reason, refusal=refusal, audit=audit)


def _of_nodes(audit: str) -> AdminRow:
    return AdminRow(Way.SPLIT, (Part.NODES,), audit=audit)


_OWN = AdminRow(Way.OWN)
_POLICY = _refused(
    "federation.policy",
    "queues are distributed over sub-clusters by Heddle's own configuration, not by stored policies",
)
_ALWAYS_ACTIVE = _refused(
    "ha.transition",
    "Heddle is always active; a sub-cluster's ResourceManagers take this at their own admin addresses",
    JavaClass.SERVICE_FAILED,
)

ADMIN_METHODS: Mapping[str, AdminRow] = {
    "refreshQueues": _spread("admin.refresh-queues", Part.SCHEDULER),
    "refreshNodes": _spread("admin.refresh-nodes", Part.NODES),
    "refreshNodesResources": _spread("admin.refresh-nodes-resources", Part.NODES),
    "refreshSuperUserGroupsConfiguration": _spread("admin.refresh-super-user-groups-configuration"),
    "refreshUserToGroupsMappings": _spread("admin.refresh-user-to-groups-mappings"),
    "refreshAdminAcls": _spread("admin.refresh-admin-acls"),
    "refreshServiceAcls": _spread("admin.refresh-service-acls"),
    "refreshClusterMaxPriority": _spread("admin.refresh-cluster-max-priority"),
    "addToClusterNodeLabels": _spread("labels.add", Part.NODES, needs_all=True),
    "removeFromClusterNodeLabels": _spread("labels.remove", Part.NODES, needs_all=True),
    "updateNodeResource": _of_nodes("node.resource"),
    "replaceLabelsOnNodes": _of_nodes("node.labels"),
    "mapAttributesToNodes": _of_nodes("node.attributes"),
    "getGroupsForUser": AdminRow(Way.MERGE),
    "checkForDecommissioningNodes": AdminRow(Way.MERGE, needs_all=True),
    "getFederationSubClusters": _OWN,
    "deregisterSubCluster": _refused(
        "cluster.deregister",
        "a sub-cluster is taken out of Heddle's configuration; `heddle cluster drain` keeps new applications away",
    ),
    "deleteFederationApplication": _refused(
        "app.forget-home", "the homes of applications are kept as long as clients may ask for them"
    ),
    "saveFederationQueuePolicy": _POLICY,
    "batchSaveFederationQueuePolicies": _POLICY,
    "listFederationQueuePolicies": _POLICY,
    "deleteFederationPoliciesByQueues": _POLICY,
    "getServiceStatus": _OWN,
    "monitorHealth": _OWN,
    "transitionToActive": _OWN,
    "transitionToStandby": _ALWAYS_ACTIVE,
    "transitionToObserver": _ALWAYS_ACTIVE,
}
"""By the method's name; the two protocols have none in common."""

ADMIN_RIGHTS = rights_of(ADMIN_METHODS, ADMIN)
"""What each method takes, by its name."""
