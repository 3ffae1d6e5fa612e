"""`GET /appstatistics`: how many applications of each state and type there are.

Source: `RMWebServices.getAppStatistics`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from shim.domain.application_columns import ApplicationColumns
from shim.domain.applications import ApplicationSummary, YarnApplicationState
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.queries import Query, split_values

__all__ = ["application_statistics", "column_statistics"]

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
