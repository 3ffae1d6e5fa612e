"""Which applications `getApplications` shows, by the ResourceManager's rules: for those that Heddle answers itself.

Source: `ClientRMService.getApplications`.
"""

from shim.domain.applications import ApplicationSummary
from shim.protocol.proto.messages import GetApplicationsRequestProto, YarnApplicationStateProto

__all__ = ["shows"]


def shows(request: GetApplicationsRequestProto, application: ApplicationSummary) -> bool:
    """Whether the list that was asked for has the application; what is not set filters nothing."""
    state = YarnApplicationStateProto.Value(application.state.name)
    queue = application.queue
    checks = (
        not request.application_states or state in request.application_states,
        not request.application_types or application.application_type in request.application_types,
        not request.users or application.user in request.users,
        not request.queues or queue in request.queues or queue.rpartition(".")[2] in request.queues,
        not request.applicationTags or any(tag.lower() in application.tags for tag in request.applicationTags),
        not request.HasField("name") or request.name == application.name,
        not request.HasField("start_begin") or request.start_begin <= application.started_at_ms,
        not request.HasField("start_end") or application.started_at_ms <= request.start_end,
        not request.HasField("finish_begin") or request.finish_begin <= application.finished_at_ms,
        not request.HasField("finish_end") or application.finished_at_ms <= request.finish_end,
    )
    return all(checks)
