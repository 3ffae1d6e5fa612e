"""File systems that a submission's local resources name, and the sub-clusters where they are."""

from collections.abc import Callable, Mapping

from shim.domain.file_systems import FileSystems
from shim.domain.ids import SubClusterId
from shim.domain.submissions import Submission
from shim.protocol.rest.submission_context import resources_of as resources_by_rest
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.protocol.yarn.submissions import resources_of as resources_by_rpc

__all__ = ["data_parts"]


def data_parts(file_systems: FileSystems) -> Callable[[Submission], Mapping[SubClusterId, float]]:
    """Parts of a submission's files that lie in each sub-cluster's own file systems; none for a body that is gone."""

    def parts(submission: Submission) -> Mapping[SubClusterId, float]:
        if not file_systems or not submission.body:
            return {}
        if submission.content_type == RPC_SUBMISSION:
            return file_systems.parts_of(resources_by_rpc(submission.body))
        return file_systems.parts_of(resources_by_rest(submission.body, media_type=submission.content_type))

    return parts
