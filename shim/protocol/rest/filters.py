"""Selection of applications and nodes for a list, by the ResourceManager's rules, error texts and order.

Source: `RMWebServices.getApps`, `ApplicationsRequestBuilder`, `ClientRMService.getApplications`,
`RMWebServices.getNodes`, and the recorded answers of Hadoop 3.4.2. One rule differs on purpose: `limit` keeps the
newest of all that match, where a ResourceManager cuts the order of a hash table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import SubClusterId
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.queries import Query, java_long, split_values

_LONGEST = 2**63 - 1
_TRUSTED_SKEW_MS = 2000
"""Clock skews below this are within what a `Date` header of whole seconds can tell: no slack is given for them."""

MANY_VALUED = frozenset({"states", "applicationTypes", "applicationTags", "deSelects"})
"""Parameters of lists of applications that may stand more than once: `@QueryParam Set<String>`. Of others the first one
counts, as Jersey binds it, also at endpoints of Heddle's own."""

NODE_STATES = (
    "NEW",
    "RUNNING",
    "UNHEALTHY",
    "DECOMMISSIONED",
    "LOST",
    "REBOOTED",
    "DECOMMISSIONING",
    "SHUTDOWN",
)
"""`org.apache.hadoop.yarn.api.records.NodeState`."""

DESELECTABLE: Mapping[str, str | None] = MappingProxyType(
    {
        "resourceRequests": "resourceRequests",
        "timeouts": "timeouts",
        "appNodeLabelExpression": None,
        "amNodeLabelExpression": "amNodeLabelExpression",
        "resourceInfo": "resourceInfo",
    }
)
"""Words of `deSelects`, and the member of an application that each leaves out (the third leaves none out)."""

_BY_LOWER_CASE = {word.lower(): word for word in DESELECTABLE}
_STATES = {state.name: state for state in YarnApplicationState}


_TIMES = ("startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd")
APPLICATION_PARAMETERS = (
    *("state", "states", "finalStatus", "user", "queue", "limit", *_TIMES),
    *("applicationTypes", "applicationTags", "name", "deSelects"),
)
"""What `GET /apps` reads; nothing else of a query is looked at."""


@dataclass(frozen=True, slots=True)
class QueueScope:
    """A queue, or the name of one.

    Attributes:
        is_leaf: A leaf shows finished applications too, a parent only live ones of the queues below it.
        leaves: Names of the leaves below a parent: Hadoop 2 tells an application's queue by that name alone.
    """

    path: str
    is_leaf: bool
    leaves: frozenset[str] = frozenset()

    def holds(self, application: ApplicationSummary) -> bool:
        return self.shows(application.queue, is_final=application.state.is_final)

    def shows(self, queue: str, *, is_final: bool) -> bool:
        if queue == self.path:
            # also a parent's: what was refused there keeps its name
            return True
        if self.is_leaf:
            return queue == self.path.rpartition(".")[2]
        return not is_final and (queue.startswith(f"{self.path}.") or queue in self.leaves)


FindQueue = Callable[[str], QueueScope | None]


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Moments in milliseconds since the epoch, both ends included."""

    begin: int = 0
    end: int = _LONGEST

    def includes(self, moment_ms: int, skew_ms: int) -> bool:
        """True if a moment, told by a clock that is `skew_ms` ahead of ours, is inside by either clock."""
        return self.begin <= moment_ms <= self.end or (
            skew_ms != 0 and moment_ms > 0 and self.begin <= moment_ms - skew_ms <= self.end
        )


@dataclass(frozen=True, slots=True)
class ApplicationFilter:
    """Filter of `GET /apps`; `None` and empty sets filter nothing.

    Attributes:
        final_status: As asked, not yet checked: the ResourceManager checks it at the first application it meets.
    """

    states: frozenset[YarnApplicationState] = frozenset()
    user: str | None = None
    queue: QueueScope | None = None
    limit: int = _LONGEST
    started: TimeRange = field(default_factory=TimeRange)
    finished: TimeRange = field(default_factory=TimeRange)
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    name: str | None = None
    final_status: str | None = None
    deselects: tuple[str, ...] = ()

    def select(
        self,
        applications: Iterable[ApplicationSummary],
        *,
        skews_ms: Mapping[SubClusterId, int] = MappingProxyType({}),
    ) -> tuple[list[ApplicationSummary], frozenset[str]]:
        """The matching applications, newest first, cut at the limit, and the members to leave out of each.

        Args:
            applications: Of all sub-clusters, in any order.
            skews_ms: How far each sub-cluster's clock is ahead of ours.

        Raises:
            JavaError: If `finalStatus` or `deSelects` is wrong and there is an application to apply it to.
        """
        slack = trusted_skews(skews_ms)
        found = [item for item in applications if self._matches(item, slack)]
        if found and self.final_status:
            wanted = final_status_of(self.final_status)
            found = [item for item in found if item.final_status is wanted]
        left_out = parse_deselects(self.deselects) if found else frozenset[str]()
        found.sort(key=_newest_first, reverse=True)
        return found[: self.limit], left_out

    def _matches(self, item: ApplicationSummary, slack: Mapping[SubClusterId, int]) -> bool:
        skew_ms = slack.get(item.home_subcluster, 0)
        return (
            (not self.states or item.state in self.states)
            and (self.user is None or item.user == self.user)
            and (self.queue is None or self.queue.holds(item))
            and (not self.types or item.application_type.lower() in self.types)
            and (not self.tags or not self.tags.isdisjoint(item.tags))
            and (self.name is None or item.name == self.name)
            and self.started.includes(item.started_at_ms, skew_ms)
            and self.finished.includes(item.finished_at_ms, skew_ms)
        )


def _newest_first(item: ApplicationSummary) -> tuple[int, int]:
    return item.application_id.cluster_timestamp, item.application_id.sequence


def trusted_skews(skews_ms: Mapping[SubClusterId, int]) -> Mapping[SubClusterId, int]:
    """The skews that are large enough to be no error of measurement; in milliseconds."""
    return {home: skew for home, skew in skews_ms.items() if abs(skew) > _TRUSTED_SKEW_MS}


def final_status_of(text: str) -> FinalStatus:
    """Read `finalStatus`.

    Raises:
        JavaError: If there is no such status.
    """
    try:
        return FinalStatus(text)
    except ValueError:
        raise JavaError.illegal_argument(
            f"No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus.{text}"
        ) from None


def parse_application_filter(query: Query, *, find_queue: FindQueue, unknown_queue_is_error: bool) -> ApplicationFilter:
    """Read the parameters of `GET /apps`; the first mistake in the ResourceManager's order is the one that is told.

    Args:
        query: Decoded parameters; unknown ones are ignored.
        find_queue: The queue that a leaf name or a full path names.
        unknown_queue_is_error: True under the CapacityScheduler; the others list what bears just that name.

    Raises:
        JavaError: For a value that the ResourceManager refuses.
    """
    ranges = {name: java_long(text, name) for name in _TIMES if (text := query.first(name))}
    queue_text = query.first("queue")
    queue = find_queue(queue_text) if queue_text else None
    if queue_text and queue is None:
        if unknown_queue_is_error:
            raise JavaError.bad_request(f"Unknown queue: {queue_text}")
        # applications may be left of a queue that is gone: a fair scheduler makes queues and removes them
        queue = QueueScope(queue_text, is_leaf=True)
    limit = _limit(query.first("limit"))
    started = _range(ranges, "startedTime", "startedTime", "startTimeBegin")
    finished = _range(ranges, "finishedTime", "finishTime", "finishTimeBegin")
    state = query.first("state")
    return ApplicationFilter(
        states=_states((*((state,) if state else ()), *query.all("states"))),
        user=query.first("user") or None,
        queue=queue,
        limit=limit,
        started=started,
        finished=finished,
        types=frozenset(value.lower() for value in split_values(query.all("applicationTypes"))),
        tags=frozenset(value.lower() for value in split_values(query.all("applicationTags"))),
        name=query.first("name"),
        final_status=query.first("finalStatus"),
        deselects=query.all("deSelects"),
    )


def _limit(text: str | None) -> int:
    if not text:
        return _LONGEST
    limit = java_long(text, "limit")
    if limit <= 0:
        raise JavaError.bad_request("limit value must be greater then 0")
    return limit


def _range(values: Mapping[str, int], parameter: str, shown: str, shown_begin: str) -> TimeRange:
    begin, end = values.get(f"{parameter}Begin", 0), values.get(f"{parameter}End", _LONGEST)
    if begin < 0:
        raise JavaError.bad_request(f"{shown}Begin must be greater than 0")
    if end < 0:
        raise JavaError.bad_request(f"{shown}End must be greater than 0")
    if begin > end:
        raise JavaError.bad_request(f"{shown}End must be greater than {shown_begin}")
    return TimeRange(begin, end)


def _states(values: tuple[str, ...]) -> frozenset[YarnApplicationState]:
    found = set()
    for word in split_values(values):
        state = _STATES.get(word.upper())
        if state is None:
            raise JavaError.bad_request(
                f"Invalid application-state {word} specified. It should be one of [{', '.join(_STATES)}]"
            )
        found.add(state)
    return frozenset(found)


def parse_deselects(values: tuple[str, ...]) -> frozenset[str]:
    """The members of an application that `deSelects` leaves out.

    Raises:
        JavaError: If a word is none that can be left out.
    """
    left_out = set()
    for word in split_values(values):
        known = _BY_LOWER_CASE.get(word.lower())
        if known is None:
            raise JavaError.bad_request(
                f"Invalid deSelects string {word} specified. It should be one of [{', '.join(DESELECTABLE)}]"
            )
        member = DESELECTABLE[known]
        if member is not None:
            left_out.add(member)
    return frozenset(left_out)


def parse_node_states(query: Query) -> frozenset[str] | None:
    """The node states that `GET /nodes` asks for; None for all, which is not the same as an empty set.

    Raises:
        JavaError: If a value is no state; a blank counts.
    """
    text = query.first("states")
    if text is None:
        return None
    words = text.split(",")
    while len(words) > 1 and not words[-1]:  # Java's split drops empty strings at the end
        words.pop()
    if words == [""] and text:
        return frozenset()
    for word in words:
        if word.upper() not in NODE_STATES:
            raise JavaError.illegal_argument(
                f"No enum constant org.apache.hadoop.yarn.api.records.NodeState.{word.upper()}"
            )
    return frozenset(word.upper() for word in words)
