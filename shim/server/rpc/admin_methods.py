"""The table of the admin door: every method of ResourceManagerAdministrationProtocol and HAServiceProtocol.

Five ways:

    OWN      Heddle answers: its own state, the sub-clusters that it knows
    MERGE    every sub-cluster is asked, their answers are made into one
    SPREAD   told to every sub-cluster, or to the one that the request names
    SPLIT    each sub-cluster is told what concerns its own nodes
    REFUSE   has no meaning here, with the reason
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from shim.global_master.federation_view import Part
from shim.protocol.hrpc import JavaClass

__all__ = ["ADMIN_METHODS", "AdminRow", "AdminWay"]


class AdminWay(Enum):
    """How a method is answered."""

    OWN = "own"
    MERGE = "merge"
    SPREAD = "spread"
    SPLIT = "split"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class AdminRow:
    """One method.

    Attributes:
        touches: What sub-clusters tell differently afterwards.
        needs_all: Whether half an answer is none: a change that clusters must have in common, a merged answer that
            somebody waits for.
        reason: Why it is refused.
        refusal: Exception of a refusal.
    """

    way: AdminWay
    touches: tuple[Part, ...] = ()
    needs_all: bool = False
    reason: str = ""
    refusal: JavaClass = JavaClass.YARN

    @property
    def writes(self) -> bool:
        """Whether it changes something, or was meant to."""
        return self.way in {AdminWay.SPREAD, AdminWay.SPLIT, AdminWay.REFUSE}


def _spread(*touches: Part, needs_all: bool = False) -> AdminRow:
    return AdminRow(AdminWay.SPREAD, touches, needs_all)


def _refused(reason: str, refusal: JavaClass = JavaClass.YARN) -> AdminRow:
    return AdminRow(AdminWay.REFUSE, reason=reason, refusal=refusal)


_OWN = AdminRow(AdminWay.OWN)
_OF_NODES = AdminRow(AdminWay.SPLIT, (Part.NODES,))
_POLICY = _refused("queues are distributed over sub-clusters by Heddle's own configuration, not by stored policies")
_ALWAYS_ACTIVE = _refused(
    "Heddle is always active; a sub-cluster's ResourceManagers take this at their own admin addresses",
    JavaClass.SERVICE_FAILED,
)

ADMIN_METHODS: Mapping[str, AdminRow] = {
    "refreshQueues": _spread(Part.SCHEDULER),
    "refreshNodes": _spread(Part.NODES),
    "refreshNodesResources": _spread(Part.NODES),
    "refreshSuperUserGroupsConfiguration": _spread(),
    "refreshUserToGroupsMappings": _spread(),
    "refreshAdminAcls": _spread(),
    "refreshServiceAcls": _spread(),
    "refreshClusterMaxPriority": _spread(),
    "addToClusterNodeLabels": _spread(Part.NODES, needs_all=True),
    "removeFromClusterNodeLabels": _spread(Part.NODES, needs_all=True),
    "updateNodeResource": _OF_NODES,
    "replaceLabelsOnNodes": _OF_NODES,
    "mapAttributesToNodes": _OF_NODES,
    "getGroupsForUser": AdminRow(AdminWay.MERGE),
    "checkForDecommissioningNodes": AdminRow(AdminWay.MERGE, needs_all=True),
    "getFederationSubClusters": _OWN,
    "deregisterSubCluster": _refused(
        "a sub-cluster is taken out of Heddle's configuration; `heddle cluster drain` keeps new applications away"
    ),
    "deleteFederationApplication": _refused("the homes of applications are kept as long as clients may ask for them"),
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
