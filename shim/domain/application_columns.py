"""Known applications as columns: one array for each field that lists filter on.

A filter over 10,000 applications is then a few comparisons of arrays instead of a walk over objects. An application
keeps its row (an index into every column) for as long as it is known; the row of one that is dropped is used again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import nsmallest
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.packed_texts import Text, plain
from shim.domain.subclusters import ApplicationAmounts, ApplicationDocument

Rows: TypeAlias = NDArray[np.intp]
"""Row numbers."""
Mask: TypeAlias = NDArray[np.bool_]
"""One truth value for each row."""

_FIRST_ROWS = 64
_LARGEST = 2**62
"""Times beyond this are stored as this: 64 bits must hold the difference of two of them."""
_UNUSED = -1
"""State of a row that holds no application."""
_FEW = 8
"""Up to one in so many rows are sorted by themselves; more are picked from the sorted whole."""

_STATES: Mapping[YarnApplicationState, int] = {state: number for number, state in enumerate(YarnApplicationState)}
_FINAL_STATUSES: Mapping[FinalStatus, int] = {status: number for number, status in enumerate(FinalStatus)}
_FINAL = frozenset(state for state in YarnApplicationState if state.is_final)
_WORDS = ("user", "queue", "type", "name", "home")
_NUMBERS = ("started_ms", "finished_ms", "stamp", "sequence")
_FIXED: Mapping[str, Mapping[str, int]] = {
    "state": {state.value: number for state, number in _STATES.items()},
    "final_status": {status.value: number for status, number in _FINAL_STATUSES.items()},
}
_TEXTS = frozenset({*_WORDS, *_FIXED})
_COLUMNS: Mapping[str, Any] = {
    "state": np.int8,
    "final_status": np.int8,
    **dict.fromkeys(_WORDS, np.int32),
    **dict.fromkeys(_NUMBERS, np.int64),
}


class ApplicationColumns:
    """Documents of applications, and the fields of their summaries by column.

    Attributes:
        unread: Rows whose document tells amounts that nobody has read yet; `note_amounts` takes one out.
        rewritten: Rows whose summary was written; whoever keeps something by summary empties it.

    Complexity: `put` and `remove` are O(1) plus the tags of one application; `select` is O(rows) in numpy; the order
    is computed anew (O(n log n), nearly sorted) at the first read after an application came, went or changed its time.
    """

    def __init__(self) -> None:
        self._row_of: dict[ApplicationId, int] = {}
        self._free: list[int] = []
        self._documents: list[ApplicationDocument | None] = []
        self._texts_of: list[Text] = []
        self._amounts: NDArray[np.int64] = np.zeros((0, len(ApplicationAmounts.__struct_fields__)), np.int64)
        self.unread: set[int] = set()
        self.rewritten: set[int] = set()
        self._columns: dict[str, NDArray[np.int64]] = {name: np.zeros(0, kind) for name, kind in _COLUMNS.items()}
        self._words: Mapping[str, WordNumbers] = {name: WordNumbers() for name in _WORDS}
        self._tagged: defaultdict[str, set[int]] = defaultdict(set)
        self._order: Rows | None = None
        self._sorted_times: dict[str, list[int]] = {}
        self._by_time: dict[str, tuple[NDArray[np.int64], Rows]] = {}
        self._rank: Rows = np.zeros(0, np.intp)

    def __len__(self) -> int:
        return len(self._row_of)

    # -- what comes in -----------------------------------------------------------------------------------------------

    def put(self, document: ApplicationDocument) -> None:
        """Keep a document in the place of an earlier one of the same application."""
        summary = document.summary
        row = self._row_of.get(summary.application_id)
        before = None if row is None else self._documents[row]
        if row is None:
            row = self._new_row(summary.application_id)
        self._documents[row], self._texts_of[row] = document, document.told
        if document.amounts is None:
            self.unread.add(row)
        else:
            self.note_amounts(row, document.amounts)
        if before is None or (
            before.summary is not summary and before.summary != summary
        ):  # polls change mostly what no list filters on
            self._write(row, summary, None if before is None else before.summary)

    def remove(self, application_id: ApplicationId) -> None:
        """Drop an application; one that is not there is ignored."""
        row = self._row_of.pop(application_id, None)
        document = None if row is None else self._documents[row]
        if row is None or document is None:
            return
        self._release_words(row, document.summary)
        self._documents[row], self._texts_of[row] = None, b""
        self.unread.discard(row)
        self._columns["state"][row] = _UNUSED
        self._free.append(row)
        self._forget_order()

    def _new_row(self, application_id: ApplicationId) -> int:
        if not self._free:
            rows = len(self._documents)
            more = max(_FIRST_ROWS, rows)
            self._documents += [None] * more
            self._texts_of += [b""] * more
            self._free = list(range(rows + more - 1, rows - 1, -1))
            self._amounts = np.concatenate((self._amounts, np.zeros((more, self._amounts.shape[1]), np.int64)))
            for name, kind in _COLUMNS.items():
                added = np.full(more, _UNUSED, kind)
                self._columns[name] = np.concatenate((self._columns[name], added))
        row = self._row_of[application_id] = self._free.pop()
        return row

    def _write(self, row: int, summary: ApplicationSummary, before: ApplicationSummary | None) -> None:
        if before is not None:
            self._release_words(row, before)
        self.rewritten.add(row)
        columns, numbers = self._columns, _numbers_of(summary)
        for name, word in zip(_WORDS, _words_of(summary), strict=True):
            columns[name][row] = self._words[name].take(word)
        for tag in summary.tags:
            self._tagged[tag].add(row)
        columns["state"][row] = _STATES[summary.state]
        columns["final_status"][row] = _FINAL_STATUSES[summary.final_status]
        if before is None or _numbers_of(before) != numbers:
            for name, number in zip(_NUMBERS, numbers, strict=True):
                columns[name][row] = number
            self._forget_order()

    def note_amounts(self, row: int, amounts: ApplicationAmounts) -> None:
        """Keep what the document of a row tells of its amounts."""
        self._amounts[row] = amounts.memory_mib, amounts.vcores, amounts.mib_s, amounts.is_beginning
        if self.unread:
            self.unread.discard(row)

    def _forget_order(self) -> None:
        self._order = None
        self._sorted_times.clear()
        self._by_time.clear()

    def _release_words(self, row: int, summary: ApplicationSummary) -> None:
        for name, word in zip(_WORDS, _words_of(summary), strict=True):
            self._words[name].give_back(word)
        for tag in summary.tags:
            rows = self._tagged[tag]
            rows.discard(row)
            if not rows:
                del self._tagged[tag]

    # -- what is known -----------------------------------------------------------------------------------------------

    def all(self) -> Mask:
        """The rows that hold an application; a new array."""
        held: Mask = self._columns["state"] >= 0
        return held

    def has_word(self, column: str, word: str) -> Mask:
        """The rows whose `user`, `queue`, `type` (in lower case), `name` or `home` is the word."""
        found: Mask = self._columns[column] == self._words[column].find(word)
        return found

    def has_any_word(self, column: str, words: AbstractSet[str]) -> Mask:
        known = self._words[column]
        return self._is_one_of(column, [known.find(word) for word in words], len(known))

    def has_any_id(self, application_ids: Iterable[ApplicationId]) -> Mask:
        """The rows of these applications, as far as they are known."""
        found = np.zeros(len(self._documents), np.bool_)
        found[[row for each in application_ids if (row := self._row_of.get(each)) is not None]] = True
        return found

    def has_live_of(self, user: str) -> bool:
        if self._words["user"].find(user) < 0:
            return False
        return bool((self.has_word("user", user) & self.all() & ~self.is_final()).any())

    def ids(self) -> AbstractSet[ApplicationId]:
        return self._row_of.keys()

    def words(self, column: str) -> Iterator[str]:
        return iter(self._words[column].numbers)

    def has_any_state(self, states: AbstractSet[YarnApplicationState]) -> Mask:
        return self._is_one_of("state", [_STATES[state] for state in states], len(_STATES))

    def is_final(self) -> Mask:
        return self.has_any_state(_FINAL)

    def has_final_status(self, status: FinalStatus) -> Mask:
        ended: Mask = self._columns["final_status"] == _FINAL_STATUSES[status]
        return ended

    def has_any_tag(self, tags: AbstractSet[str]) -> Mask:
        """The rows with one of the tags, which are in lower case."""
        found = np.zeros(len(self._documents), np.bool_)
        for tag in tags & self._tagged.keys():
            found[list(self._tagged[tag])] = True
        return found

    def time_ms(self, column: str) -> NDArray[np.int64]:
        """`started_ms` or `finished_ms` of every row, by the clock of its home."""
        return self._columns[column]

    def sorted_times_ms(self, column: str) -> Sequence[int]:
        """`started_ms` or `finished_ms` of every application, the smallest first."""
        known = self._sorted_times.get(column)
        if known is None:
            known = self._sorted_times[column] = np.sort(self._columns[column][self.all()]).tolist()
        return known

    def within(self, column: str, begin_ms: int, end_ms: int) -> Mask:
        """The rows whose `started_ms` or `finished_ms` is in a range, both ends included.

        Two bisections of the rows in the order of that time, which is kept until a time changes.
        """
        times, rows = self._rows_by_time(column)
        first = np.searchsorted(times, max(begin_ms, -_LARGEST), side="left")
        last = np.searchsorted(times, min(end_ms, _LARGEST), side="right")
        found = np.zeros(len(self._documents), np.bool_)
        found[rows[first:last]] = True
        return found

    def _rows_by_time(self, column: str) -> tuple[NDArray[np.int64], Rows]:
        known = self._by_time.get(column)
        if known is None:
            rows = np.flatnonzero(self.all())
            rows = rows[np.argsort(self._columns[column][rows], kind="stable")]
            known = self._by_time[column] = (self._columns[column][rows], rows)
        return known

    # -- words, states and final statuses alike ----------------------------------------------------------------------

    def distinct(self, column: str) -> int:
        """Number of different texts that a column may have at most; 0 for numbers."""
        return len(self._texts(column)) if column in _TEXTS else 0

    def has_any_text(self, column: str, texts: AbstractSet[str]) -> Mask:
        """The rows whose word, state or final status is one of these."""
        known = self._texts(column)
        return self._is_one_of(column, [known.get(text, _UNUSED) for text in texts], self._most_numbers(column))

    def frequent(self, column: str, mask: Mask, most: int) -> list[tuple[str, int]]:
        """The most frequent texts of the rows of a mask, each with its count; equal counts by the alphabet."""
        counts = np.bincount(self._columns[column][mask], minlength=self._most_numbers(column)).tolist()
        found = ((text, counts[number]) for text, number in self._texts(column).items() if counts[number])
        return nsmallest(most, found, key=lambda it: (-it[1], it[0]))

    def sort_keys(self, column: str) -> tuple[NDArray[np.int64], ...]:
        """Keys of every row for `numpy.lexsort`: of `id`, of a time, or of texts by the alphabet."""
        if column == "id":
            return self._columns["sequence"], self._columns["stamp"]
        if column not in _TEXTS:
            return (self._columns[column],)
        texts = self._texts(column)
        places = np.zeros(self._most_numbers(column) + 1, np.int64)
        places[[texts[text] for text in sorted(texts)]] = np.arange(len(texts))
        return (places[self._columns[column]],)

    def _texts(self, column: str) -> Mapping[str, int]:
        return _FIXED[column] if column in _FIXED else self._words[column].numbers

    def _most_numbers(self, column: str) -> int:
        return len(_FIXED[column]) if column in _FIXED else len(self._words[column])

    def by_home(self, values: Mapping[SubClusterId, int]) -> NDArray[np.int64]:
        """For every row the value of its home; 0 for homes without one."""
        homes = self._words["home"]
        table = np.zeros(len(homes) + 1, np.int64)
        for home, value in values.items():
            table[homes.find(home)] = value
        table[-1] = 0  # of unused rows, and of homes of no row
        return table[self._columns["home"]]

    def count_states(self, mask: Mask) -> Mapping[YarnApplicationState, int]:
        states = self._columns["state"][mask & self.all()]
        counts = np.bincount(states, minlength=len(_STATES)).tolist()
        return {state: counts[number] for state, number in _STATES.items()}

    def newest_first(self, mask: Mask | None = None, limit: int | None = None) -> Rows:
        """Rows by the time of submission, the last one first; equal times by id, the larger first.

        Args:
            mask: Which rows; None for all.
            limit: At most so many; None for all.
        """
        if self._order is None and limit is not None and limit * _FEW < len(self._row_of):
            return self._newest(self.all() if mask is None else np.logical_and(mask, self.all()), limit)
        order, rank = self._sorted()
        if mask is None:
            return order[:limit]
        found = np.flatnonzero(mask & self.all())
        if found.size * _FEW < order.size:
            return found[np.argsort(rank[found])][:limit]
        return order[mask[order]][:limit]

    def _newest(self, mask: Mask, limit: int) -> Rows:
        """The same, without an order of all: applications come and go all the time, and most ask for few."""
        found = np.flatnonzero(mask)
        if 0 < limit < found.size:
            started_ms = self._columns["started_ms"][found]
            found = found[started_ms >= np.partition(started_ms, found.size - limit)[found.size - limit]]
        return found[self._in_order(found)][:limit]

    def _in_order(self, rows: Rows) -> Rows:
        """Places among these rows, of that which started last first."""
        keys = tuple(self._columns[name][rows] for name in ("sequence", "stamp", "started_ms"))
        order: Rows = np.lexsort(keys)[::-1]
        return order

    def documents(self, rows: Rows) -> list[ApplicationDocument]:
        """The documents of rows, in their order."""
        known = self._documents
        return [document for row in rows.tolist() if (document := known[row]) is not None]

    def raws(self, rows: Rows) -> Iterator[bytes]:
        """The JSON objects of rows, in their order; those that are packed are unpacked as they are read."""
        return map(plain, [*map(self._texts_of.__getitem__, rows.tolist())])

    def document(self, row: int) -> ApplicationDocument | None:
        """The document of a row; None of one that is not used."""
        return self._documents[row]

    def amounts(self, rows: Rows) -> NDArray[np.int64]:
        """`ApplicationAmounts` of rows, one row of numbers for each; a new array."""
        return self._amounts[rows]

    def numbers(self, column: str, rows: Rows) -> NDArray[np.int64]:
        """Numbers that rows have in a column: of words, or times; a new array."""
        return self._columns[column][rows]

    def texts(self, column: str) -> list[str]:
        """Words of a column by their numbers; empty where a number has none."""
        found = [""] * len(self._words[column])
        for word, number in self._words[column].numbers.items():
            found[number] = word
        return found

    @property
    def capacity(self) -> int:
        """Number of rows, those that are not used included."""
        return len(self._documents)

    def _is_one_of(self, column: str, numbers: list[int], known: int) -> Mask:
        is_wanted = np.zeros(known + 1, np.bool_)
        is_wanted[numbers] = True
        is_wanted[-1] = False  # of unused rows, and of words that no row has
        return is_wanted[self._columns[column]]

    def _sorted(self) -> tuple[Rows, Rows]:
        """All rows in order, and the place of each row in it."""
        if self._order is None:
            rows = np.flatnonzero(self.all())
            self._order = rows[self._in_order(rows)]
            self._rank = np.zeros(len(self._documents), np.intp)
            self._rank[self._order] = np.arange(rows.size)
        return self._order, self._rank


def _words_of(summary: ApplicationSummary) -> tuple[str, ...]:
    return summary.user, summary.queue, summary.application_type.lower(), summary.name, summary.home_subcluster


def _numbers_of(summary: ApplicationSummary) -> tuple[int, ...]:
    id_ = summary.application_id
    times = summary.started_at_ms, summary.finished_at_ms, id_.cluster_timestamp, id_.sequence
    return tuple(max(-_LARGEST, min(_LARGEST, number)) for number in times)


# Numbers of the distinct words of a column.


class WordNumbers:
    """Numbers the distinct words of a column; the number of a word that no row has is used again."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uses: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._uses)

    def take(self, word: str) -> int:
        number = self._numbers.get(word)
        if number is None:
            number = self._free.pop() if self._free else len(self._uses)
            self._numbers[word] = number
            if number == len(self._uses):
                self._uses.append(0)
        self._uses[number] += 1
        return number

    def give_back(self, word: str) -> None:
        number = self._numbers[word]
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._numbers[word]
            self._free.append(number)

    def find(self, word: str) -> int:
        """The number of a word; -1, which no row has, if none has the word."""
        return self._numbers.get(word, -1)

    @property
    def numbers(self) -> Mapping[str, int]:
        return self._numbers
