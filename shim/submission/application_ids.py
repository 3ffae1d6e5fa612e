"""The ids that this process issues: an epoch of its own, and numbers from blocks that the store has reserved.

The epoch (`shim.domain.ids`) keeps ids apart from those of every other process, also where the store has lost
what was reserved. The numbers are shared by all processes of a federation: people tell applications by them.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Collection

from shim.domain.ids import ApplicationId
from shim.errors import StoreUnavailableError, UnavailableError
from shim.ports.random_source import RandomSource
from shim.ports.state_store import StateStore

_BLOCK = 100
_LARGEST_BLOCK = (
    1600  # a burst of thousands then waits for the disk a few times, and a restart wastes no more than this
)


class ApplicationIds:
    """Issues ids. The next block is fetched while the last one is used up, so that callers seldom wait.

    Each block is twice as large as the one before, up to a limit. A restart leaves the rest of its block unused.

    Args:
        store: Where epochs and numbers come from.
        listed: What ResourceManagers list, asked once, when the epoch begins.
        is_known: Whether an application is known under an id: then it is not issued.
    """

    def __init__(
        self,
        store: StateStore,
        *,
        block: int = _BLOCK,
        listed: Callable[[], Collection[ApplicationId]] = tuple,
        is_known: Callable[[ApplicationId], bool] = lambda _: False,
    ) -> None:
        self._store = store
        self._block = block
        self._few = block // 2
        self._listed = listed
        self._is_known = is_known
        self._timestamp_ms: int | None = None
        self._founded_ms: int | None = None
        self._beginning = asyncio.Lock()
        self._numbers: deque[int] = deque()
        self._fetch: asyncio.Task[None] | None = None

    @property
    def are_there(self) -> bool:
        return bool(self._numbers)

    @property
    def is_founding_known(self) -> bool:
        return self._founded_ms is not None

    async def begin(self) -> int:
        """Begin the epoch, once; return its time stamp. The clusters that answer have been asked before.

        Raises:
            StoreUnavailableError: No epoch has begun.
        """
        async with self._beginning:
            if self._timestamp_ms is None:
                self._timestamp_ms = await self._store.begin_epoch(self._listed())
                await self.founded_ms()  # known from now on, also while the store is away
            return self._timestamp_ms

    async def founded_ms(self) -> int:
        """When the federation was founded: of one store it is the same in every process, and over restarts.

        Raises:
            StoreUnavailableError: The store cannot tell.
        """
        if self._founded_ms is None:
            self._founded_ms = await self._store.federation_timestamp_ms()
        return self._founded_ms

    async def issue(self) -> ApplicationId:
        """A new id, larger than those that this process has issued before.

        Raises:
            UnavailableError: If none is left and the store does not reserve more.
        """
        while (issued := self.issue_at_once()) is None:
            await self._wait_for_more()
        return issued

    def issue_at_once(self) -> ApplicationId | None:
        """A new id as `issue` gives it, if one is there without waiting for the store."""
        if len(self._numbers) <= self._few:
            self._start_fetching()
        while self._timestamp_ms is not None and self._numbers:
            issued = ApplicationId(self._timestamp_ms, self._numbers.popleft())
            if not self._is_known(issued):  # a client may have submitted under a number that it made up
                return issued
        return None

    def _start_fetching(self) -> None:
        if self._fetch is None or self._fetch.done():
            self._fetch = asyncio.create_task(self._fetch_block())
            self._fetch.add_done_callback(_hear)

    async def _wait_for_more(self) -> None:
        self._start_fetching()
        assert self._fetch is not None  # noqa: S101 - just started
        try:
            await asyncio.shield(self._fetch)
        except StoreUnavailableError as exc:
            raise UnavailableError(f"no application id can be issued: {exc}") from exc

    async def _fetch_block(self) -> None:
        await self.begin()
        self._numbers.extend(await self._store.reserve_sequences(self._block))
        self._few = self._block // 2
        self._block = max(self._block, min(2 * self._block, _LARGEST_BLOCK))


def _hear(task: "asyncio.Task[None]") -> None:
    """Take note of a failure that nobody waits for: the next caller without a number tries again."""
    if not task.cancelled():
        task.exception()


# Names of intents: no two are the same, whichever Heddle writes them.

_BYTES = 10


class IntentIds:
    """Names of the intents of one process; call it for the next.

    Args:
        random: Asked once, as true randomness can cost half a millisecond.
    """

    def __init__(self, random: RandomSource) -> None:
        self._process = random.randbytes(_BYTES).hex()
        self._numbers = itertools.count(1)

    def __call__(self) -> str:
        return f"{self._process}-{next(self._numbers):x}"
