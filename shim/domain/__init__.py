"""Values that every layer speaks: identifiers, resources, applications, sub-clusters, queues, submissions.

Imports nothing of Heddle. No value here knows how it travels (REST, RPC, SQL): that is the protocol's and the store's.
"""

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import (
    ApplicationAttemptId,
    ApplicationId,
    ContainerId,
    GlobalMasterId,
    LocalMasterId,
    MalformedIdError,
    NodeId,
    SubClusterId,
)
from shim.domain.resources import ResourceVector

__all__ = [
    "ApplicationAttemptId",
    "ApplicationId",
    "ApplicationSummary",
    "ContainerId",
    "FinalStatus",
    "GlobalMasterId",
    "LocalMasterId",
    "MalformedIdError",
    "NodeId",
    "ResourceVector",
    "SubClusterId",
    "YarnApplicationState",
]
