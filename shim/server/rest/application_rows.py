"""Applications as a console lists them: searched, filtered, counted, sorted, and a page of them at a time.

`page_of` walks over documents; `page_by_columns` finds the same page by a few operations on arrays, in milliseconds of
100,000 applications, where no text is searched. Of equal rows the one that was submitted last is the greater.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from heddle import models
from shim.domain.application_columns import ApplicationColumns, Mask, Rows
from shim.domain.applications import ApplicationSummary
from shim.domain.subclusters import ApplicationDocument
from shim.protocol.rest.filters import TimeRange

MOST_ROWS = 500
_MOST_GROUPS = 50
_SORTED_AT_ONCE = 8192
"""Rows that are sorted in one piece, in some milliseconds: no other thread runs meanwhile, that of the event loop
included."""
_ALWAYS = TimeRange()

_FIELDS: Mapping[str, Callable[[ApplicationSummary], str]] = {
    "cluster": lambda each: each.home_subcluster,
    "user": lambda each: each.user,
    "queue": lambda each: each.queue,
    "type": lambda each: each.application_type.lower(),  # names of types are compared so by a ResourceManager, too
    "state": lambda each: each.state.value,
    "final_status": lambda each: each.final_status.value,
}
"""What rows are filtered and grouped by."""

_TIMES: Mapping[str, Callable[[ApplicationSummary], int]] = {
    "started": lambda each: each.started_at_ms,
    "finished": lambda each: each.finished_at_ms,
}
"""What is within a range, in milliseconds since the epoch; 0 for what has not happened, or is hidden."""

_SORTS: Mapping[str, Callable[[ApplicationSummary], Any]] = {
    **_FIELDS,
    "id": lambda each: each.application_id,
    "name": lambda each: each.name,
    **_TIMES,
}


_COLUMNS: Mapping[str, str] = {
    "cluster": "home",
    "user": "user",
    "queue": "queue",
    "type": "type",
    "state": "state",
    "final_status": "final_status",
    "name": "name",
    "started": "started_ms",
    "finished": "finished_ms",
    "id": "id",
}
"""The names that columns have in `ApplicationColumns`."""
_MOST_WORDS = 10_000
"""Different words of a column that are sorted at once, in some milliseconds."""


@dataclass(frozen=True, slots=True)
class RowQuery:
    """The rows that are wanted: searched, filtered, sorted, and which page of them.

    Attributes:
        search: Words that must all be somewhere in a row, in whatever case.
        wanted: Fields with values (`cluster`, `user`, `queue`, `type`, `state`, `final_status`): any of them will do.
        sort: A field, or `id`, `name`, `started`, `finished`.
        group: A field whose values are counted; empty for none.
        offset: Rows to leave out before the page.
        limit: Rows of the page, at most `MOST_ROWS`.
        started: When they started, by the clocks of their homes; both ends included.
        finished: When they ended, likewise; with any bound those that live are left out.
    """

    search: str = ""
    wanted: tuple[tuple[str, frozenset[str]], ...] = ()
    sort: str = "started"
    is_descending: bool = True
    group: str = ""
    offset: int = 0
    limit: int = 100
    started: TimeRange = _ALWAYS
    finished: TimeRange = _ALWAYS

    @property
    def times(self) -> Mapping[str, TimeRange]:
        """The ranges that bound anything, by `started` and `finished`; what has not happened is in none."""
        asked = {"started": self.started, "finished": self.finished}
        return {name: TimeRange(max(1, each.begin), each.end) for name, each in asked.items() if each != _ALWAYS}

    def rejection(self) -> str:
        """A rejection of it in words; empty if there is none."""
        if self.sort not in _SORTS:
            return f"rows are not sorted by {self.sort!r}, but by one of {', '.join(_SORTS)}"
        named = (*(name for name, _ in self.wanted), self.group or "cluster")
        unknown = [name for name in named if name not in _FIELDS]
        if unknown:
            return f"rows have no field {unknown[0]!r}, but {', '.join(_FIELDS)}"
        if not 0 < self.limit <= MOST_ROWS or self.offset < 0:
            return f"limit is 1 to {MOST_ROWS}, and offset at least 0"
        return ""


@dataclass(frozen=True, slots=True)
class RowPage:
    """Matches of a query: their counts, and one page of them.

    Attributes:
        states: Matches by state; states without one may be left out.
        groups: Matches by a value of the query's field, the 50 most frequent ones, the most frequent first.
    """

    total: int
    matched: int
    states: Mapping[str, int]
    groups: Sequence[tuple[str, int]]
    offset: int
    rows: Sequence[ApplicationDocument]

    def told(self) -> models.ApplicationPage:
        """The page as a console reads it, `rows` as `apps`."""
        return models.ApplicationPage(
            total=self.total,
            matched=self.matched,
            states={state: count for state, count in self.states.items() if count},
            groups=[models.Group(value, count) for value, count in self.groups],
            offset=self.offset,
            apps=[_row(each) for each in self.rows],
        )


def page_of(documents: Sequence[ApplicationDocument], query: RowQuery, *, total: int | None = None) -> RowPage:
    """Find the page that a query asks for.

    Args:
        documents: Every application that the asker may see, or all of those that are in the query's ranges.
        query: Without rejection.
        total: How many the asker may see; None if that is all of `documents`.
    """
    found = _matching(documents, query)
    return RowPage(
        total=len(documents) if total is None else total,
        matched=len(found),
        states=Counter(each.summary.state.value for each in found),
        groups=_groups(found, query.group),
        offset=query.offset,
        rows=_shown(found, query),
    )


def page_by_columns(columns: ApplicationColumns, query: RowQuery) -> RowPage | None:
    """Find the same page among all applications by their columns.

    Returns:
        None if a walk is better: texts are searched, or there are many different words to sort by.
    """
    if query.search.split() or columns.distinct(_COLUMNS[query.sort]) > _MOST_WORDS:
        return None
    mask = _mask(columns, query)
    states = columns.count_states(mask)
    column = _COLUMNS[query.group] if query.group else ""
    groups = columns.frequent(column, mask, _MOST_GROUPS) if query.group else ()
    rows = _in_order(columns, mask, query)[query.offset : query.offset + query.limit]
    return RowPage(
        total=len(columns),
        matched=sum(states.values()),
        states={state.value: count for state, count in states.items()},
        groups=groups,
        offset=query.offset,
        rows=columns.documents(rows),
    )


def _mask(columns: ApplicationColumns, query: RowQuery) -> Mask:
    mask = within_ranges(columns, query)
    for name, values in query.wanted:
        mask &= columns.has_any_text(_COLUMNS[name], _as_compared(name, values))
    return mask


def within_ranges(columns: ApplicationColumns, query: RowQuery) -> Mask:
    """The rows in all ranges of times that a query has; of one without any, all rows."""
    mask = columns.all()
    for name, each in query.times.items():
        mask &= columns.within(_COLUMNS[name], each.begin, each.end)
    return mask


def _in_order(columns: ApplicationColumns, mask: Mask, query: RowQuery) -> Rows:
    """The rows of a mask, sorted; a stable sort keeps the order of submission among equal ones."""
    rows = columns.newest_first(mask)
    if query.sort != "started":
        rows = rows[::-1]
        rows = rows[np.lexsort(tuple(key[rows] for key in columns.sort_keys(_COLUMNS[query.sort])))][::-1]
    return rows if query.is_descending else rows[::-1]


def _as_compared(name: str, values: AbstractSet[str]) -> AbstractSet[str]:
    return {value.lower() for value in values} if name == "type" else values


def _shown(found: Sequence[ApplicationDocument], query: RowQuery) -> Sequence[ApplicationDocument]:
    """The rows of the page: what is found is sorted in pieces, which are merged as far as the page goes."""
    read = _SORTS[query.sort]

    def key(number: int) -> tuple[Any, int, int, int, int]:
        of = found[number].summary
        return read(of), of.started_at_ms, of.application_id.cluster_timestamp, of.application_id.sequence, number

    def piece(first: int) -> list[tuple[Any, int, int, int, int]]:
        keys = map(key, range(first, min(first + _SORTED_AT_ONCE, len(found))))
        return sorted(keys, reverse=query.is_descending)

    pieces = [piece(first) for first in range(0, len(found), _SORTED_AT_ONCE)]
    merged = pieces[0] if len(pieces) == 1 else heapq.merge(*pieces, reverse=query.is_descending)
    return [found[number] for *_, number in islice(merged, query.offset, query.offset + query.limit)]


def _matching(documents: Sequence[ApplicationDocument], query: RowQuery) -> list[ApplicationDocument]:
    filters = [(_FIELDS[name], _as_compared(name, values)) for name, values in query.wanted]
    ranges = [(_TIMES[name], each.begin, each.end) for name, each in query.times.items()]
    words = query.search.lower().split()
    found = []
    for document in documents:
        summary = document.summary
        if not all(begin <= read(summary) <= end for read, begin, end in ranges):
            continue
        if all(read(summary) in values for read, values in filters):
            text = _text(summary) if words else ""
            if all(word in text for word in words):
                found.append(document)
    return found


def _text(summary: ApplicationSummary) -> str:
    """All that a row shows as text, in lower case; line ends keep words from joining columns."""
    columns = (*(read(summary) for read in _FIELDS.values()), str(summary.application_id), summary.name, *summary.tags)
    return "\n".join(columns).lower()


def _groups(found: Sequence[ApplicationDocument], name: str) -> Sequence[tuple[str, int]]:
    """The most frequent values; of equally frequent ones the first in the alphabet."""
    if not name:
        return ()
    read = _FIELDS[name]
    counts = Counter(read(each.summary) for each in found)
    return sorted(counts.items(), key=lambda it: (-it[1], it[0]))[:_MOST_GROUPS]


class _Shown(msgspec.Struct, rename="camel"):
    """Members of the ResourceManager's object that a row shows beside its summary; of whatever type."""

    progress: Any = None
    running_containers: Any = None
    allocated_m_b: Any = msgspec.field(default=None, name="allocatedMB")
    allocated_v_cores: Any = msgspec.field(default=None, name="allocatedVCores")
    priority: Any = None
    diagnostics: Any = None


_LONGEST_DIAGNOSTICS = 300


def _row(document: ApplicationDocument) -> models.ApplicationRow:
    summary, shown = document.summary, msgspec.json.decode(document.raw, type=_Shown)
    return models.ApplicationRow(
        id=str(summary.application_id),
        name=summary.name,
        **{name: read(summary) for name, read in _FIELDS.items() if name != "type"},
        type=summary.application_type,
        tags=list(summary.tags),
        started_ms=summary.started_at_ms,
        finished_ms=summary.finished_at_ms,
        progress=shown.progress if isinstance(shown.progress, int | float) else None,
        containers=_whole(shown.running_containers),
        memory_mib=_whole(shown.allocated_m_b),
        vcores=_whole(shown.allocated_v_cores),
        priority=_whole(shown.priority),
        diagnostics=str(shown.diagnostics or "")[:_LONGEST_DIAGNOSTICS],
    )


def _whole(value: Any) -> int | None:
    """A number of a ResourceManager's object, which some write as text; None for what is none."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value[:18])
    return value if isinstance(value, int) else None
