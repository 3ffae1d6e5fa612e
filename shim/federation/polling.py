"""One poll of one ResourceManager: which questions are due, and what the answers make.

A poll begins and ends with `/info`: only what one ResourceManager process told while it was ACTIVE is believed. Live
applications are asked for before ended ones, so that one that ends in between is in at least one of the lists. The
first list of a ResourceManager's life is everything that it knows; after that it is what lives, and what ended lately
by its own clock.
"""

import asyncio
import heapq
import math
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

import msgspec

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.packed_texts import PAGE_ROWS, Text, packed_rows, packing_steps, plain
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument, HaState, NodeReport
from shim.domain.told_bounds import (
    MOST_APPLICATIONS,
    MOST_NODES,
    MOST_QUEUES,
    LiveBudget,
    is_node_bounded,
    is_queue_bounded,
)
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, ResourceManagerError
from shim.federation import rm_questions as ask
from shim.federation.core.federation_view import Part
from shim.federation.core.report import Poll, absent
from shim.ports.clock import Clock
from shim.ports.resource_manager import Parameters, ResourceManager, RestAnswer
from shim.protocol.rest.documents import (
    ApplicationReader,
    NodeReader,
    read_info,
    read_metrics,
)
from shim.protocol.rest.queue_trees import open_scheduler
from shim.protocol.wire_values import whole

_T = TypeVar("_T")
_MAXIMUM = ("yarn.scheduler.maximum-allocation-mb", "yarn.scheduler.maximum-allocation-vcores")
_ASKED_AGAIN_S = 60.0
_MOST_LISTS = 8
_ROOM_WITHIN_S = 1.0
_TURN_S = 0.1
_FEW_TURNS = 0.5
_MOST_ASKED = 3
_INDEXED = 1000
"""Rows that are put in a table before others have their turn: a millisecond of work."""
_PACKED = 16 * PAGE_ROWS
"""The same of rows that are packed as well."""
_PLAIN = 32
"""Rows of a list that stay as they are, the newest: short lists show them again and again."""


@dataclass(frozen=True, slots=True)
class PollSettings:
    """Limits and intervals of questions to a ResourceManager.

    Attributes:
        info_timeout_s: For the answer to `/info`, which says whether it is there at all.
        busy_share: A question that took longer than this share of the time since it was last asked waits.
        most_fetches: How many applications are asked for by id in one poll.
        overlap_s: Ended applications are asked for from this long before the last poll: an end is told after its time.
        rows_per_s: Of one kind, over all sub-clusters that are polled together; where they have more than that in all,
            each is asked for its list less often.
        is_packed: Whether rows of applications and large documents are packed as soon as they are read: that costs
            processor time, and saves memory here and with everybody to whom they go.
    """

    timeout_s: float
    info_timeout_s: float = 2.0
    busy_share: float = 0.2
    most_fetches: int = 2
    overlap_s: float = 10.0
    rows_per_s: float = 20_000
    is_packed: bool = False


class ReadingPace:
    """Pace of the lists of all sub-clusters that one process polls, and whose turn it is to be read.

    Args:
        most_lists: That are asked for and read at a time.
        within_s: Nobody waits longer for others' lists before its own is asked for.
    """

    def __init__(self, *, most_lists: int = _MOST_LISTS, within_s: float = _ROOM_WITHIN_S) -> None:
        self._rows: defaultdict[Part, dict[SubClusterId, int]] = defaultdict(dict)
        self.all: Counter[Part] = Counter()
        """Rows of the lists of all sub-clusters."""
        self.turn = asyncio.Lock()
        """Held while a list is read. All would be there late if all were read by turns."""
        self._room = asyncio.Semaphore(most_lists)
        self._within_s = within_s

    @asynccontextmanager
    async def room(self) -> AsyncIterator[None]:
        """Room for one more list that is asked for and read: hundreds at once would fill the memory.

        Nobody waits for it for long: those who have it may be slow.
        """
        try:
            async with asyncio.timeout(self._within_s):
                await self._room.acquire()
        except TimeoutError:
            yield
            return
        try:
            yield
        finally:
            self._room.release()

    def note(self, part: Part, subcluster: SubClusterId, rows: int) -> None:
        self.all[part] += rows - self._rows[part].get(subcluster, 0)
        self._rows[part][subcluster] = rows


class _OwnTurns:
    """Turns that this process has while it waits for somebody: on a busy machine, fewer than the time tells."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s = clock.monotonic_s()
        self._count = 0

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        counting = asyncio.create_task(self._count_on())
        try:
            yield
        finally:
            counting.cancel()
            await asyncio.wait((counting,))

    async def _count_on(self) -> None:
        while True:
            await self._clock.sleep(_TURN_S)
            self._count += 1

    def were_few(self) -> bool:
        """Return whether it had less than half of those that it would have on a machine of its own."""
        expected = (self._clock.monotonic_s() - self._began_s) / _TURN_S
        return expected >= 1 / _FEW_TURNS and self._count < _FEW_TURNS * expected


class Poller:
    """Asks one ResourceManager, and remembers what was slow and how far ended applications were told."""

    def __init__(
        self, manager: ResourceManager, clock: Clock, settings: PollSettings, pace: ReadingPace | None = None
    ) -> None:
        """Begin without having asked anything; `pace` is that of other sub-clusters, too."""
        self._manager = manager
        self._clock = clock
        self._settings = settings
        self._pace = pace if pace is not None else ReadingPace()
        self._read_application = ApplicationReader(manager.subcluster)
        self._read_node = NodeReader()
        self._not_before_s: dict[Part, float] = {}
        self._listed_at_s: dict[Part, float] = {}
        self._told_until_s: float | None = None
        self._waited_s = 0.0
        self._listed_life = 0
        self._room = LiveBudget()
        self._maximum = (0, 0.0, ResourceVector())
        self._unreadable: dict[ApplicationId, float] = {}

    @property
    def subcluster(self) -> SubClusterId:
        return self._manager.subcluster

    async def ask_info(self) -> Poll:
        """Ask a ResourceManager if it is there and active.

        Where time ran out while this process hardly had a turn itself, the answer may have lain there unread: that is
        no failure of the ResourceManager's, so it is asked again, three times at most.

        Raises:
            ResourceManagerError: If it does not say.
        """
        for _ in range(_MOST_ASKED - 1):
            turns = _OwnTurns(self._clock)
            try:
                async with turns.counted():
                    return await self._ask_info_once()
            except (NeverReachedError, NoAnswerError):
                if not turns.were_few():
                    raise
        return await self._ask_info_once()

    async def _ask_info_once(self) -> Poll:
        began_at_s = self._clock.now_s()
        answer = await ask.ask_part(self._manager, Part.INFO, timeout_s=self._settings.info_timeout_s)
        told_at_s = ask.told_at_s(answer)
        middle_s = (began_at_s + self._clock.now_s()) / 2
        with ask.readable(self.subcluster):
            info = read_info(answer.body)
        return Poll(
            began_at_s=began_at_s,
            ha_state=info.ha_state,
            started_on_ms=info.started_on_ms,
            version=info.version,
            clock_skew_s=0.0 if told_at_s is None else told_at_s - middle_s,
            documents={Part.INFO.value: answer.body},
        )

    async def ask_everything(self, info: Poll, live: frozenset[ApplicationId]) -> Poll:
        """Ask a ResourceManager that has just said that it is active for everything that is due.

        Returns:
            A poll that may be believed as far as its `ha_state` says.

        Raises:
            ResourceManagerError: If one of the questions got no readable answer.
        """
        poll = await self._ask_parts(info)
        poll = await self._ask_applications(poll, live)
        after = await self.ask_info()
        if after.ha_state is not HaState.ACTIVE or after.started_on_ms != info.started_on_ms:
            return after if after.ha_state is not HaState.ACTIVE else replace(after, ha_state=HaState.INITIALIZING)
        if poll.live is not None:
            self._listed_life = info.started_on_ms
            self._told_until_s = info.began_at_s + info.clock_skew_s
        return poll

    async def _ask_parts(self, poll: Poll) -> Poll:
        raw = await self._ask_part(Part.METRICS)
        with ask.readable(self.subcluster):
            metrics = read_metrics(raw)
        documents: dict[str, Text] = {**poll.documents, Part.METRICS.value: raw}
        poll = replace(poll, capacity=metrics.capacity, used=metrics.used, documents=documents)
        left_out: Counter[str] = Counter()
        if self._is_due(Part.NODES):
            async with self._pace.room():
                raw = await self._ask_part(Part.NODES, ask.ask_rows)
                self._read_node.left_out.clear()
                told = await self._read_list(ask.NODES, raw, self._node, MOST_NODES)
            rows, beyond, raw = told
            documents[Part.NODES.value] = await self._kept(raw)
            nodes = list({node.node: node for node in reversed(rows)}.values())[::-1]  # a node has one row
            left_out["nodes"] = beyond + len(rows) - len(nodes)
            left_out += self._read_node.left_out
            self._read_node.forget_others(nodes)
            self._pace.note(Part.NODES, self.subcluster, len(nodes))
            poll = replace(poll, nodes=tuple(nodes))
        if self._is_due(Part.SCHEDULER):
            raw = await self._ask_part(Part.SCHEDULER)
            documents[Part.SCHEDULER.value] = await self._kept(raw)
            with ask.readable(self.subcluster):
                tree = await in_turns(open_scheduler(raw, metrics.capacity))
                queues, beyond = await _in_slices((tree.count, tree.queues), MOST_QUEUES, is_queue_bounded)
            left_out += tree.left_out
            left_out["queues"] += beyond
            largest = tree.maximum_allocation
            if largest.memory_mib <= 0:
                largest = await self._configured_maximum(poll.started_on_ms)
            poll = replace(poll, scheduler=tree.kind, queues=tuple(queues), maximum_allocation=largest)
        return replace(poll, left_out=+left_out)

    async def _configured_maximum(self, started_on_ms: int) -> ResourceVector:
        """The largest container by configuration, which schedulers of Hadoop 2.10 and 3.1 do not tell.

        It is asked for once in a ResourceManager's life; one that does not say is asked again after a minute.
        """
        life, until_s, maximum = self._maximum
        if life == started_on_ms and self._clock.monotonic_s() < until_s:
            return maximum
        told = []
        for name in _MAXIMUM:
            with suppress(ResourceManagerError):
                told.append(await ask.ask_setting(self._manager, name, timeout_s=self._settings.info_timeout_s))
        mib, vcores = map(whole, told) if len(told) == len(_MAXIMUM) else (0, 0)
        maximum = ResourceVector(mib, vcores)
        until_s = math.inf if maximum.memory_mib > 0 else self._clock.monotonic_s() + _ASKED_AGAIN_S
        self._maximum = started_on_ms, until_s, maximum
        return maximum

    async def _ask_applications(self, poll: Poll, live_before: frozenset[ApplicationId]) -> Poll:
        if not self._is_due(Part.APPLICATIONS):
            return poll
        began_s, self._waited_s = self._clock.monotonic_s(), 0.0
        if self._told_until_s is None or self._listed_life != poll.started_on_ms:
            told, beyond = await self._list(())
        else:
            since_ms = max(0, int((self._told_until_s - self._settings.overlap_s) * 1000))
            told, beyond = await self._list((("states", ask.LIVE_STATES),))
            ended, more = await self._list((("states", ask.ENDED_STATES), ("finishedTimeBegin", str(since_ms))))
            told, beyond = told | ended, beyond + more
        told, left_out = await in_turns(self._room.fit_steps(told, live_before))
        left_out["applications"] += beyond
        self._take_time(Part.APPLICATIONS, began_s, self._waited_s)
        self._pace.note(Part.APPLICATIONS, self.subcluster, len(told))
        now_s = self._clock.monotonic_s()
        self._unreadable = {name: until_s for name, until_s in self._unreadable.items() if now_s < until_s}
        missed = absent(live_before.difference(self._unreadable), told, self._settings.most_fetches)
        found, forgotten = await self._look_for(missed)
        told |= found
        ended = {name: document for name, document in told.items() if document.summary.state.is_final}
        live = dict(told)
        for name in ended:  # few, and the rest is copied without a look at each
            del live[name]
        self._read_application.forget_others(live)
        return replace(poll, live=live, ended=ended, forgotten=forgotten, left_out=+(Counter(poll.left_out) + left_out))

    async def _list(self, parameters: Parameters) -> tuple[dict[ApplicationId, ApplicationDocument], int]:
        async with self._pace.room():
            rows, beyond = await self._rows_of(parameters)
        told: dict[ApplicationId, ApplicationDocument] = {}
        at_once = _PACKED if self._settings.is_packed else _INDEXED
        newest = _newest(rows) if self._settings.is_packed else frozenset()
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            if self._settings.is_packed:
                rows[start : start + at_once] = some = _packed(some, newest)  # what was not packed goes at once
            told.update((each.summary.application_id, each) for each in some)
            await asyncio.sleep(0)
        return told, beyond

    async def _kept(self, raw: bytes) -> Text:
        return await in_turns(packing_steps(raw)) if self._settings.is_packed else raw

    async def _rows_of(self, parameters: Parameters) -> tuple[list[ApplicationDocument], int]:
        as_of_s, began_s = self._clock.now_s(), self._clock.monotonic_s()
        timeout_s = self._settings.timeout_s
        answer = await ask.ask_rows(self._manager, Part.APPLICATIONS, parameters, timeout_s=timeout_s)
        self._waited_s += self._clock.monotonic_s() - began_s
        read = partial(self._read_application, as_of_s=as_of_s)
        rows, beyond, _ = await self._read_list(ask.APPLICATIONS, answer.body, read, MOST_APPLICATIONS)
        return rows, beyond

    async def _read_list(
        self, kind: ask.ListOfRows, raw: bytes, read: Callable[[msgspec.Raw], _T | None], most: int
    ) -> tuple[list[_T], int, bytes]:
        """See `rm_questions.read_rows`; one list at a time is read."""
        async with self._pace.turn:
            with ask.readable(self.subcluster):
                return await ask.read_rows(kind, raw, read, most)

    def _node(self, raw: msgspec.Raw) -> NodeReport | None:
        node = self._read_node(raw)
        return node if node is not None and is_node_bounded(node) else None

    async def _look_for(
        self, missed: tuple[ApplicationId, ...]
    ) -> tuple[dict[ApplicationId, ApplicationDocument], tuple[ApplicationId, ...]]:
        found: dict[ApplicationId, ApplicationDocument] = {}
        forgotten: list[ApplicationId] = []
        for application_id in missed:
            as_of_s, timeout_s = self._clock.now_s(), self._settings.info_timeout_s
            try:
                document = await ask.ask_application(
                    self._manager, application_id, as_of_s=as_of_s, timeout_s=timeout_s
                )
            except MalformedAnswerError:  # it lives until it is told of, and costs no other one its turn
                self._unreadable[application_id] = self._clock.monotonic_s() + _ASKED_AGAIN_S
                continue
            if document is None:
                forgotten.append(application_id)
            else:
                found[application_id] = document
        return found, tuple(forgotten)

    async def _ask_part(self, part: Part, how: Callable[..., Awaitable[RestAnswer]] = ask.ask_part) -> bytes:
        began_s = self._clock.monotonic_s()
        answer = await how(self._manager, part, timeout_s=self._settings.timeout_s)
        self._take_time(part, began_s, self._clock.monotonic_s() - began_s)
        return answer.body

    def _is_due(self, part: Part) -> bool:
        """Not to keep a ResourceManager busy, nor Heddle with the lists of many."""
        now_s, rows = self._clock.monotonic_s(), self._pace.all[part]
        if now_s < self._not_before_s.get(part, 0.0):
            return False
        listed_at_s = self._listed_at_s.get(part, float("-inf"))
        return rows <= self._settings.rows_per_s or now_s >= listed_at_s + rows / self._settings.rows_per_s

    def _take_time(self, part: Part, began_s: float, waited_s: float) -> None:
        """Not to ask before its answer has taken no more than a share of the time; Heddle's own reading is no part."""
        self._listed_at_s[part] = began_s
        self._not_before_s[part] = began_s + waited_s / self._settings.busy_share


def _newest(rows: Sequence[ApplicationDocument]) -> frozenset[ApplicationId]:
    newest = heapq.nlargest(_PLAIN, rows, lambda row: (row.summary.started_at_ms, row.summary.application_id))
    return frozenset(each.summary.application_id for each in newest)


def _packed(rows: Sequence[ApplicationDocument], newest: frozenset[ApplicationId]) -> list[ApplicationDocument]:
    is_plain = [each.summary.application_id in newest for each in rows]
    texts = packed_rows(plain(each.told) for each, stays in zip(rows, is_plain, strict=True) if not stays)
    return [
        each if stays else ApplicationDocument(each.summary, next(texts), each.as_of_s, each.amounts)
        for each, stays in zip(rows, is_plain, strict=True)
    ]


async def in_turns(steps: Generator[None, None, _T]) -> _T:
    """Do work whose steps are a few milliseconds at most, and let others have their turn between two."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            done: _T = ended.value
            return done
        await asyncio.sleep(0)


async def _in_slices(
    rows: tuple[int, Iterator[_T]], most: int, is_bounded: Callable[[_T], bool] = lambda _: True
) -> tuple[list[_T], int]:
    """Read rows, letting others have their turn now and then; give those that are taken, and how many are not."""
    count, unread = rows
    taken: list[_T] = []
    for number, row in enumerate(islice(unread, most), start=1):
        if is_bounded(row):
            taken.append(row)
        if number % ask.ROWS_A_TURN == 0:
            await asyncio.sleep(0)
    return taken, count - len(taken)
