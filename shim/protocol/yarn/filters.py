"""Selection of applications for a `getApplications` that Heddle answers itself, by the ResourceManager's rules.

Source: `ClientRMService.getApplications`.
"""

from collections.abc import Callable

from shim.domain.applications import ApplicationSummary
from shim.protocol.proto.messages import GetApplicationsRequestProto, YarnApplicationStateProto

__all__ = ["filter_of", "has_time_bounds"]

_STATE = dict(YarnApplicationStateProto.items())


def filter_of(request: GetApplicationsRequestProto) -> Callable[[ApplicationSummary], bool]:
    """Predicate of the list that is asked for; fields that are not set filter nothing.

    A request may name millions of what it looks for: they are gone through once, not once for each application.
    """
    states, types = frozenset(request.application_states), frozenset(request.application_types)
    users, queues = frozenset(request.users), frozenset(request.queues)
    tags = frozenset(tag.lower() for tag in request.applicationTags)
    times = _times(request)
    name = request.name if request.HasField("name") else None

    def shows(application: ApplicationSummary) -> bool:
        queue = application.queue
        return (
            (not states or _STATE[application.state.name] in states)
            and (not types or application.application_type in types)
            and (not users or application.user in users)
            and (not queues or queue in queues or queue.rpartition(".")[2] in queues)
            and (not tags or not tags.isdisjoint(application.tags))
            and (name is None or name == application.name)
            and times(application)
        )

    return shows


def has_time_bounds(request: GetApplicationsRequestProto) -> bool:
    """True if a request selects applications by their times."""
    starts = request.HasField("start_begin") or request.HasField("start_end")
    return starts or request.HasField("finish_begin") or request.HasField("finish_end")


def _times(request: GetApplicationsRequestProto) -> Callable[[ApplicationSummary], bool]:
    started_from = request.start_begin if request.HasField("start_begin") else None
    started_to = request.start_end if request.HasField("start_end") else None
    finished_from = request.finish_begin if request.HasField("finish_begin") else None
    finished_to = request.finish_end if request.HasField("finish_end") else None

    def fits(application: ApplicationSummary) -> bool:
        started_ms, finished_ms = application.started_at_ms, application.finished_at_ms
        return (
            (started_from is None or started_from <= started_ms)
            and (started_to is None or started_ms <= started_to)
            and (finished_from is None or finished_from <= finished_ms)
            and (finished_to is None or finished_ms <= finished_to)
        )

    return fits
