"""`ApplicationFilter` over columns: the same rows as `ApplicationFilter.select`, in a few comparisons of arrays.

`GET /appstatistics`: how many applications of each state and type there are.

Source: `RMWebServices.getAppStatistics`.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from shim.domain.application_columns import ApplicationColumns, Mask, Rows
from shim.domain.applications import ApplicationSummary, YarnApplicationState
from shim.domain.ids import SubClusterId
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.filters import (
    ApplicationFilter,
    QueueScope,
    TimeRange,
    final_status_of,
    parse_deselects,
    trusted_skews,
)
from shim.protocol.rest.queries import Content, Query, split_values

_BOUNDS: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
        "startedTimeBegin": ("started_ms", True),
        "startedTimeEnd": ("started_ms", False),
        "finishedTimeBegin": ("finished_ms", True),
        "finishedTimeEnd": ("finished_ms", False),
    }
)
"""The column that a parameter bounds, and whether from below."""

_OTHER_BOUND: Mapping[str, str] = MappingProxyType(
    {name: f"{name[:-5]}End" if name.endswith("Begin") else f"{name[:-3]}Begin" for name in _BOUNDS}
)
_PLAIN = re.compile(r"[0-9]{1,18}", re.ASCII)
_NO_SKEWS: Mapping[SubClusterId, int] = MappingProxyType({})


def search(
    columns: ApplicationColumns,
    wanted: ApplicationFilter,
    *,
    skews_ms: Mapping[SubClusterId, int] = _NO_SKEWS,
    visible: Mask | None = None,
) -> tuple[Rows, frozenset[str]]:
    """The matching applications, newest first, cut at the limit, and the members to leave out of each.

    Args:
        skews_ms: How far each sub-cluster's clock is ahead of ours.
        visible: The rows whose times the asker may know; None for all. The others have none, as they are shown.

    Raises:
        JavaError: If `finalStatus` or `deSelects` is wrong and there is an application to apply it to.
    """
    mask = _matching(columns, wanted, trusted_skews(skews_ms), visible)
    is_any = bool(mask.any())
    if is_any and wanted.final_status:
        mask &= columns.has_final_status(final_status_of(wanted.final_status))
        is_any = bool(mask.any())
    left_out = parse_deselects(wanted.deselects) if is_any else frozenset[str]()
    return columns.newest_first(mask, min(wanted.limit, len(columns))), left_out


def has_time_bounds(content: Content) -> bool:
    """True if a query selects applications by their times."""
    return any(name in _BOUNDS for name, _ in content)


def canonical_content(content: Content, columns: ApplicationColumns) -> Content:
    """The same for all queries that select the same applications by their times.

    Clients that ask again and again move the times on (`startedTimeBegin=now-60s`), and mostly no application lies
    between one and the next. So a bound is told by how many applications lie before it. What is no plain number, and
    what has both bounds of a time (they are compared with each other), stays as it stands.
    """
    names = [name for name, _ in content]
    return tuple(
        (name, (f"#{_rank(columns, name, values[0])}",))
        if name in _BOUNDS and _OTHER_BOUND[name] not in names and _PLAIN.fullmatch(values[0])
        else (name, values)
        for name, values in content
    )


def _rank(columns: ApplicationColumns, name: str, text: str) -> int:
    column, is_begin = _BOUNDS[name]
    bisect = bisect_left if is_begin else bisect_right
    return bisect(columns.sorted_times_ms(column), int(text))


def _matching(
    columns: ApplicationColumns, wanted: ApplicationFilter, skews_ms: Mapping[SubClusterId, int], visible: Mask | None
) -> Mask:
    mask = columns.all()
    if wanted.states:
        mask &= columns.has_any_state(wanted.states)
    if wanted.user is not None:
        mask &= columns.has_word("user", wanted.user)
    if wanted.queue is not None:
        mask &= _in_queue(columns, wanted.queue)
    if wanted.types:
        mask &= columns.has_any_word("type", wanted.types)
    if wanted.tags:
        mask &= columns.has_any_tag(wanted.tags)
    if wanted.name is not None:
        mask &= columns.has_word("name", wanted.name)
    for column, times in (("started_ms", wanted.started), ("finished_ms", wanted.finished)):
        inside = _inside(columns, column, times, skews_ms)
        mask &= inside if visible is None else np.where(visible, inside, times.begin <= 0 <= times.end)
    return mask


def _in_queue(columns: ApplicationColumns, scope: QueueScope) -> Mask:
    """The scope is asked once for each queue that an application names, not once for each application."""
    live, ended = (
        columns.has_any_word("queue", {name for name in columns.words("queue") if scope.shows(name, is_final=is_final)})
        for is_final in (False, True)
    )
    return np.where(columns.is_final(), ended, live)


def _inside(columns: ApplicationColumns, column: str, times: TimeRange, skews_ms: Mapping[SubClusterId, int]) -> Mask:
    moments = columns.time_ms(column)
    inside = np.logical_and(moments >= times.begin, moments <= times.end)
    if skews_ms:
        skews = columns.by_home(skews_ms)
        shifted = moments - skews
        inside |= (skews != 0) & (moments > 0) & (shifted >= times.begin) & (shifted <= times.end)
    return inside


_ANY_TYPE = "*"


def application_statistics(query: Query, applications: Iterable[ApplicationSummary]) -> bytes:
    """Count applications by state, in the order of Hadoop's enumeration (a ResourceManager: that of a hash table).

    Raises:
        JavaError: If a state is none, or more than one type is asked for.
    """

    def count(wanted: str) -> Counter[YarnApplicationState]:
        return Counter(item.state for item in applications if wanted in (_ANY_TYPE, item.application_type.lower()))

    return _statistics(query, count)


def column_statistics(query: Query, columns: ApplicationColumns) -> bytes:
    """The same of columns; raises as `application_statistics`."""

    def count(wanted: str) -> Mapping[YarnApplicationState, int]:
        return columns.count_states(columns.all() if wanted == _ANY_TYPE else columns.has_word("type", wanted))

    return _statistics(query, count)


def _statistics(query: Query, count: Callable[[str], Mapping[YarnApplicationState, int]]) -> bytes:
    states = _wanted_states(query)
    types = {word.lower() for word in split_values(query.all("applicationTypes"))}
    if len(types) > 1:
        raise JavaError.bad_request(
            f"# of applicationTypes = {len(types)}, we temporarily support at most one applicationType"
        )
    wanted = next(iter(types), _ANY_TYPE)
    counted = count(wanted)
    items = [{"state": state.value, "type": wanted, "count": counted[state]} for state in states]
    return json.dumps({"appStatInfo": {"statItem": items}}, separators=(",", ":")).encode()


def _wanted_states(query: Query) -> list[YarnApplicationState]:
    words = [word.upper() for word in split_values(query.all("states"))]
    for given, word in zip(split_values(query.all("states")), words, strict=True):
        if word not in YarnApplicationState.__members__:
            legal = ", ".join(YarnApplicationState.__members__)
            raise JavaError.bad_request(f"Invalid application-state {given} specified. It should be one of [{legal}]")
    return [state for state in YarnApplicationState if not words or state.value in words]
