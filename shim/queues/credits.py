"""Keeps debits and credits of altruism: in the store, behind the looks that count them, and adds up what is kept.

Each part of an account is written by one process alone and grows only. So a part that is written twice counts once, and
an account that several Global Masters or several lives of one counted is the sum of its parts.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from shim.domain.credits import NO_CREDITS, Credits
from shim.domain.ids import ApplicationId
from shim.errors import StoreError
from shim.ports.clock import Clock
from shim.ports.queue_stores import CREDITS_KEPT_FOR_MS, GROUPS_OF_CREDITS, CreditQuestion, CreditRow, CreditStore

_log = structlog.get_logger("heddle.altruism")
_MOST_PARTS = 20_000
_IDLE_MS = 3_600_000
"""A part to which nothing was added for so long is closed: what comes later is another part."""
_TURN_S = 10.0
_ADD_UP_EVERY_S = 60.0
_FORGET_EVERY_S = 3600.0

Sums = dict[tuple[str, str], Credits]
"""By what is grouped, one of `GROUPS_OF_CREDITS`, and the name of the group."""


@dataclass(slots=True)
class _Part:
    """A part as it grows."""

    row: CreditRow
    written: Credits = NO_CREDITS


class CreditBook:
    """Takes down what is counted, and holds it until it is in the store and for a while after.

    Args:
        new_life: Draws a name that no other process has; asked when the first second is counted.
    """

    def __init__(self, new_life: Callable[[], str]) -> None:
        self._new_life = new_life
        self._life = ""
        self._opened = 0
        self._parts: OrderedDict[tuple[ApplicationId, str], _Part] = OrderedDict()
        self._counted: Sums = {}

    @property
    def counted(self) -> Mapping[tuple[str, str], Credits]:
        """Sums of what was counted here since this process runs."""
        return self._counted

    def add(self, application: ApplicationId, queue: str, user: str, more: Credits, at_ms: int) -> None:
        """Count more of an application, at some time in milliseconds since the epoch."""
        if more == NO_CREDITS:
            return
        part = self._parts.get((application, queue)) or self._open(application, queue, user, at_ms)
        part.row = replace(part.row, credits=part.row.credits + more, to_ms=max(part.row.to_ms, at_ms))
        self._parts.move_to_end((application, queue))
        _add(self._counted, part.row, more)

    def due(self) -> Sequence[CreditRow]:
        """Give parts of which the store has less, the longest unchanged first."""
        return [part.row for part in self._parts.values() if part.row.credits != part.written]

    def wrote(self, rows: Sequence[CreditRow], now_ms: int) -> Mapping[tuple[str, str], Credits]:
        """Take in that the store has rows, and let go of old parts; return what it has more."""
        more: Sums = {}
        for row in rows:
            part = self._parts.get((row.application, row.queue))
            if part is not None and part.row.part == row.part:
                _add(more, row, row.credits - part.written)
                part.written = row.credits
        for key, part in list(self._parts.items()):
            if part.row.to_ms >= now_ms - _IDLE_MS and len(self._parts) <= _MOST_PARTS:
                break
            if part.written == part.row.credits:
                del self._parts[key]
        return more

    def parts(self, application: ApplicationId) -> Sequence[CreditRow]:
        """Give the parts of an application's account that are here."""
        return [part.row for (name, _), part in self._parts.items() if name == application]

    def _open(self, application: ApplicationId, queue: str, user: str, at_ms: int) -> _Part:
        self._life = self._life or self._new_life()
        self._opened += 1
        row = CreditRow(application, f"{self._life}.{self._opened}", queue, user, at_ms, at_ms, NO_CREDITS)
        part = self._parts[application, queue] = _Part(row)
        if len(self._parts) > 2 * _MOST_PARTS:
            _log.warning("the store is away for long: some of what jobs gave and received is lost", part=row.part)
            self._parts.popitem(last=False)
        return part


class CreditKeeping:
    """Writes a book and knows the sums of all. `run` does it for ever, `turn` once."""

    def __init__(self, book: CreditBook, store: CreditStore, clock: Clock) -> None:
        self._book = book
        self._store = store
        self._clock = clock
        self._before: Sums = {}
        self._written: Sums = {}
        self._add_up_at_s = float("-inf")
        self._forget_at_s = float("-inf")

    async def run(self) -> None:
        while True:
            await self.turn()
            await self._clock.sleep(_TURN_S)

    async def turn(self) -> None:
        """Write what has changed, and now and then add up; what the store does not take now is written later."""
        now_s = self._clock.now_s()
        rows = self._book.due()
        try:
            await self._store.keep(rows)
            self._note(rows, now_s)
            if now_s >= self._add_up_at_s:
                await self._add_up()
                self._add_up_at_s = now_s + _ADD_UP_EVERY_S
            if now_s >= self._forget_at_s:
                await self._store.forget(int(now_s * 1000) - CREDITS_KEPT_FOR_MS)
                self._forget_at_s = now_s + _FORGET_EVERY_S
        except StoreError as exc:
            _log.warning("what jobs gave and received is not kept yet", parts=len(rows), reason=str(exc))

    def totals(self, by: str = "queue") -> Mapping[str, Credits]:
        """Give what the jobs of each queue, or user, gave and received, as far back as it is kept; it never falls."""
        counted = self._book.counted
        return {
            name: self._before.get((group, name), NO_CREDITS) + counted.get((group, name), NO_CREDITS)
            for group, name in {**self._before, **counted}
            if group == by
        }

    async def of(self, application: ApplicationId) -> Sequence[CreditRow]:
        """Give all parts of an application's account; without the store those that were counted here."""
        here = {row.part: row for row in self._book.parts(application)}
        try:
            kept = {row.part: row for row in await self._store.of(application)}
        except StoreError as exc:
            _log.warning("what a job gave and received before is not told", reason=str(exc))
            kept = {}
        return list({**kept, **here}.values())

    def _note(self, rows: Sequence[CreditRow], now_s: float) -> None:
        for group, more in self._book.wrote(rows, int(now_s * 1000)).items():
            self._written[group] = self._written.get(group, NO_CREDITS) + more

    async def _add_up(self) -> None:
        """Learn what other processes counted, and earlier lives of this one."""
        written = dict(self._written)
        for by in GROUPS_OF_CREDITS:
            for (name,), kept in await self._store.totals(CreditQuestion((by,))):
                before = kept - written.get((by, name), NO_CREDITS)
                if before.covers(self._before.get((by, name), NO_CREDITS)):  # rows that are forgotten stay counted
                    self._before[by, name] = before


def _add(sums: Sums, row: CreditRow, more: Credits) -> None:
    for group in (("queue", row.queue), ("user", row.user)):
        sums[group] = sums.get(group, NO_CREDITS) + more
