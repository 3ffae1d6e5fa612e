"""Live applications by sub-cluster and queue: what they hold, and what is left of each, out of columns.

With a hundred thousand of them nothing walks over all in one go: sums are made of arrays, group by group, and others
have their turn in between. What an application is expected to be is asked for anew when its summary changes, else by
turns: it follows what was learnt within a minute.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shim.domain.application_columns import ApplicationColumns, Rows
from shim.domain.applications import ApplicationSummary, YarnApplicationState
from shim.domain.ids import SubClusterId
from shim.domain.steps import at_once
from shim.federation.core.federation_view import FederationView
from shim.ports.clock import Clock
from shim.protocol.rest.documents import read_amounts
from shim.queues.core.share_load import LiveGroup

_LEFT_OF_USED = 0.25
"""Of what an application has used, so much is expected to be left at least, whatever was expected of it."""
_NOT_RUNNING = frozenset(
    {
        YarnApplicationState.NEW,
        YarnApplicationState.NEW_SAVING,
        YarnApplicationState.SUBMITTED,
        YarnApplicationState.ACCEPTED,
    }
)
_AT_ONCE = 2000
_LONGER = 10
"""One is read, or asked about, in as much time as so many are summed up."""
_LATEST_FOR_S = 1.0
_SUMMED_PER_S = 100_000
_PATIENCE = 2

Groups = Mapping[SubClusterId, Sequence[LiveGroup]]


class LiveTable:
    """Groups of live applications; those that wait in Heddle are in none.

    Args:
        view: What is known of applications.
        clock: The machine's.
        expected: Work that an application is expected to be, in MiB x s.
        at_once: Applications that are summed up before others have their turn, a few milliseconds of work; and
            expectations that are renewed each time: those of fewer applications are all as new as what was learnt.

    Attributes:
        latest_s: When the newest groups were begun, in seconds since the epoch.
        count: Of their applications.
        is_renewed: Whether new ones are being made, in turns.
    """

    def __init__(
        self,
        view: FederationView,
        clock: Clock,
        expected: Callable[[ApplicationSummary], float],
        *,
        at_once: int = _AT_ONCE,
    ) -> None:
        self._view = view
        self._clock = clock
        self._of = expected
        self._at_once = at_once
        self._columns: ApplicationColumns | None = None
        self._expected: NDArray[np.float64] = np.zeros(0)
        self._next = 0
        self._ready: Groups | None = None
        self._latest: Groups = {}
        self.latest_s = float("-inf")
        self.count = 0
        self.is_renewed = False

    def renew_steps(self) -> Generator[None, None, None]:
        """Make the groups that `groups` gives next, pausing now and then so that others may have their turn."""
        self._ready, self.is_renewed = None, True
        try:
            self._ready = yield from self._steps()
        finally:
            self.is_renewed = False

    def groups(self) -> Groups:
        """Those that `renew_steps` has just made, else new ones."""
        ready, self._ready = self._ready, None
        return at_once(self._steps()) if ready is None else ready

    def latest(self, home: SubClusterId) -> Sequence[LiveGroup]:
        """Those of one sub-cluster, as they were a second ago at most; of a hundred thousand applications two.

        Twice as old while new ones are being made in turns: they need not be made here, too.
        """
        good_for_s = _LATEST_FOR_S + self.count / _SUMMED_PER_S
        if self._clock.now_s() - self.latest_s > good_for_s * (_PATIENCE if self.is_renewed else 1):
            at_once(self._steps())
        return self._latest.get(home, ())

    def _steps(self) -> Generator[None, None, Groups]:
        began_s, columns = self._clock.now_s(), self._view.applications.columns
        live = columns.all() & ~columns.is_final()
        live &= ~columns.has_any_id(self._view.applications.waiting)
        rows = np.flatnonzero(live)
        yield from self._read_amounts(columns)
        yield from self._ask_expected(columns, rows)
        of = _Copied(columns, rows, self._expected)
        found: dict[SubClusterId, list[LiveGroup]] = {}
        looked_at = 0
        for group in of.in_groups(self._at_once):
            found.setdefault(group.home, []).append(group)
            looked_at += group.running
            if looked_at >= self._at_once:
                looked_at = 0
                yield
        self._latest, self.latest_s, self.count = found, began_s, rows.size
        return found

    def _read_amounts(self, columns: ApplicationColumns) -> Generator[None]:
        """Read documents that came from elsewhere than a poll."""
        for number, row in enumerate(list(columns.unread), start=1):
            document = columns.document(row)
            if document is not None and row in columns.unread:
                columns.note_amounts(row, document.amounts or read_amounts(document.raw))
            if number % (max(1, self._at_once // _LONGER)) == 0:
                yield

    def _ask_expected(self, columns: ApplicationColumns, rows: Rows) -> Generator[None]:
        if columns is not self._columns:
            self._columns, self._expected, self._next = columns, np.zeros(0), 0
            columns.rewritten.update(rows.tolist())
        if self._expected.size < columns.capacity:
            more = np.zeros(columns.capacity - self._expected.size)
            self._expected = np.concatenate((self._expected, more))
        first = int(np.searchsorted(rows, self._next))
        again = rows[first : first + self._at_once]
        if again.size < self._at_once:
            again = np.concatenate((again, rows[: min(first, self._at_once - again.size)]))
        self._next = int(again[-1]) + 1 if again.size else 0
        asked = columns.rewritten.union(again.tolist())
        columns.rewritten.clear()
        for number, row in enumerate(asked, start=1):
            document = columns.document(row)
            if document is not None and not document.summary.state.is_final:
                self._expected[row] = self._of(document.summary)
            if number % (max(1, self._at_once // _LONGER)) == 0:
                yield


class _Copied:
    """Columns of live applications as they are at one moment, in the order of their groups."""

    def __init__(self, columns: ApplicationColumns, rows: Rows, expected: NDArray[np.float64]) -> None:
        self._homes, self._queues, self._users = (columns.texts(name) for name in ("home", "queue", "user"))
        home, queue = columns.numbers("home", rows).astype(np.int64), columns.numbers("queue", rows)
        keys = home * (len(self._queues) + 1) + queue
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], rows[order]
        self._bounds = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), rows.size] if rows.size else [0]
        self._home, self._queue = home[order], queue[order]
        self._user = columns.numbers("user", rows)
        self._since_ms, self._stamp, self._sequence = (
            columns.numbers(name, rows) for name in ("started_ms", "stamp", "sequence")
        )
        memory, vcores, spent, beginning = columns.amounts(rows).T
        self._memory, self._vcores, self._is_beginning = memory, vcores, beginning.astype(np.bool_)
        self._left = np.maximum(np.maximum(expected[rows] - spent, _LEFT_OF_USED * spent), 1.0)
        self._has_started = ~columns.has_any_state(_NOT_RUNNING)[rows] | (memory > 0)

    def in_groups(self, at_once: int) -> Generator[LiveGroup]:
        """Group by group; those of `at_once` applications are made together, as many small ones cost much each."""
        first = 0
        for number in range(1, len(self._bounds)):
            is_last = number == len(self._bounds) - 1
            if is_last or self._bounds[number] - self._bounds[first] >= at_once:
                yield from self._groups(np.array(self._bounds[first : number + 1]))
                first = number

    def _groups(self, bounds: NDArray[np.int64]) -> Generator[LiveGroup]:
        """The groups between bounds."""
        at = slice(int(bounds[0]), int(bounds[-1]))
        bounds = bounds - bounds[0]
        group = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        by_arrival = np.lexsort((self._sequence[at], self._stamp[at], group))
        started, left, memory = (
            _by_group(each[at][by_arrival], bounds) for each in (self._has_started, self._left, self._memory)
        )
        beginning, unstarted = np.flatnonzero(self._is_beginning[at]), np.flatnonzero(~self._has_started[at])
        left_of = _by_group(self._left[at][beginning], np.searchsorted(beginning, bounds))
        since_s = _by_group(self._since_ms[at][unstarted] / 1000.0, np.searchsorted(unstarted, bounds))
        for number, (users, held) in enumerate(self._by_user(at, group, bounds.size - 1)):
            row = at.start + int(bounds[number])
            yield LiveGroup(
                home=SubClusterId(self._homes[self._home[row]]),
                queue=self._queues[self._queue[row]],
                users=users,
                user_used=held,
                left=left[number],
                held_mib=memory[number],
                beginning=left_of[number],
                has_started=started[number],
                unstarted_since_s=since_s[number],
            )

    def _by_user(
        self, at: slice, group: NDArray[np.intp], count: int
    ) -> Generator[tuple[dict[str, int], dict[str, tuple[int, int]]]]:
        """Of each group how many applications a user has, and the memory and virtual cores that they hold."""
        width = len(self._users)
        of_users, whose, counts = np.unique(group * width + self._user[at], return_inverse=True, return_counts=True)
        memory, vcores = np.zeros((2, of_users.size), np.int64)
        np.add.at(memory, whose, self._memory[at])
        np.add.at(vcores, whose, self._vcores[at])
        bounds = np.searchsorted(of_users, np.arange(count + 1) * width)
        by_group = (_by_group(each, bounds) for each in (of_users % width, counts, memory, vcores))
        for users, counted, mib, cores in zip(*by_group, strict=True):
            names = [self._users[user] for user in users]
            yield dict(zip(names, counted, strict=True)), dict(zip(names, zip(mib, cores, strict=True), strict=True))


def _by_group(values: NDArray[Any], bounds: NDArray[Any]) -> list[list[Any]]:
    """Values that stand group by group, as a list of each."""
    listed, ends = values.tolist(), bounds.tolist()
    return [listed[begin:end] for begin, end in pairwise(ends)]
