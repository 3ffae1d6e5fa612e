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
from shim.domain.queues import QueueReport, QueueState
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import (
    Admission,
    ApplicationDocument,
    HaState,
    NodeReport,
    SubClusterReport,
    SubClusterState,
)
from shim.domain.submissions import (
    Candidate,
    HomeDecision,
    Submission,
    SubmissionProgress,
    SubmissionRecord,
    SubmissionState,
)

__all__ = [
    "Admission",
    "ApplicationAttemptId",
    "ApplicationDocument",
    "ApplicationId",
    "ApplicationSummary",
    "Candidate",
    "ContainerId",
    "FinalStatus",
    "GlobalMasterId",
    "HaState",
    "HomeDecision",
    "LocalMasterId",
    "MalformedIdError",
    "NodeId",
    "NodeReport",
    "QueueReport",
    "QueueState",
    "ResourceVector",
    "SubClusterId",
    "SubClusterReport",
    "SubClusterState",
    "Submission",
    "SubmissionProgress",
    "SubmissionRecord",
    "SubmissionState",
    "YarnApplicationState",
]
