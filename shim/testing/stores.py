"""Stores in memory that keep their ports' contracts; each forgets with the process, and can be away."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.ids import ApplicationId
from shim.domain.leases import Lease
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.errors import StoreUnavailableError, VersionConflictError
from shim.ports.act_store import KEPT_FOR_MS, MOST_OF_ONE
from shim.ports.api_token_store import APIToken
from shim.ports.ask_store import ShownAsks
from shim.ports.clock import Clock
from shim.ports.history_store import HistoryStore
from shim.ports.multicluster_store import MultiClusterStore
from shim.ports.policy_store import PolicyVersion
from shim.ports.state_store import StateStore
from shim.ports.token_store import StoredToken, TooManyTokensError
from shim.store.stores import Stores
from shim.testing.credit_stores import InMemoryCreditStore
from shim.testing.multicluster_stores import InMemoryMultiClusterStore
from shim.testing.state_stores import InMemoryHistoryStore, InMemoryStateStore
from shim.testing.usage_stores import InMemoryUsageStore

__all__ = [
    "InMemoryActStore",
    "InMemoryAskStore",
    "InMemoryLeaseStore",
    "InMemoryPolicyStore",
    "InMemoryTokenStore",
    "in_memory_stores",
]


@dataclass(slots=True)
class InMemoryActStore:
    """Implements `ActStore`.

    Attributes:
        is_away: Whether it answers nothing.
    """

    is_away: bool = False
    _acts: list[PreemptionAct] = field(default_factory=list)
    _counts: Counter[tuple[str, PreemptionStage]] = field(default_factory=Counter)

    async def add(self, acts: Sequence[PreemptionAct]) -> None:
        """See `ActStore`."""
        self._check()
        for act in acts:
            if _key(act) in {_key(known) for known in self._acts}:
                continue
            self._acts.append(act)
            if act.stage is not None:
                self._counts[act.queue, act.stage] += 1
        if acts:
            oldest_ms = max(act.at_ms for act in acts) - KEPT_FOR_MS
            self._acts = [act for act in self._acts if act.at_ms >= oldest_ms]

    async def of(self, application: ApplicationId) -> Sequence[PreemptionAct]:
        """See `ActStore`."""
        self._check()
        return [act for act in self._acts if act.application == application][-MOST_OF_ONE:]

    async def since(self, at_ms: int) -> Sequence[PreemptionAct]:
        """See `ActStore`."""
        self._check()
        return [act for act in self._acts if act.at_ms >= at_ms]

    async def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        """See `ActStore`."""
        self._check()
        return dict(self._counts)

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away")


def _key(act: PreemptionAct) -> tuple[object, ...]:
    return act.application, act.at_ms, act.container, act.stage


@dataclass(slots=True)
class InMemoryAskStore:
    """Implements `AskStore`.

    Attributes:
        is_away: Whether it answers nothing.
        writes: How often something was kept.
    """

    is_away: bool = False
    writes: int = 0
    _asks: dict[ApplicationId, ShownAsks] = field(default_factory=dict)

    async def keep(self, asks: Mapping[ApplicationId, ShownAsks]) -> None:
        """See `AskStore`."""
        self._check()
        self.writes += 1
        self._asks.update(asks)

    async def of(self, application: ApplicationId) -> ShownAsks:
        """See `AskStore`."""
        self._check()
        return self._asks.get(application, ())

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away")


@dataclass(slots=True)
class InMemoryLeaseStore:
    """Keeps leases in this process; several masters of a test share one.

    Attributes:
        is_away: While true, every call fails as that of a database that cannot be reached.
    """

    clock: Clock
    is_away: bool = False
    _kept: dict[str, tuple[Lease, float]] = field(default_factory=dict)

    async def acquire(self, name: str, *, holder: str, address: str, for_s: float) -> Lease | None:
        """Take or prolong a lease; None if another one holds it."""
        self._check()
        now_s = self.clock.monotonic_s()
        known, ends_at_s = self._kept.get(name, (Lease(name, "", "", 0, 0.0), float("-inf")))
        if known.holder != holder and ends_at_s > now_s:
            return None
        fence = known.fence + (known.holder != holder)
        lease = Lease(name, holder, address, fence, for_s)
        self._kept[name] = lease, now_s + for_s
        return lease

    async def acquire_all(self, names: Collection[str], *, holder: str, address: str, for_s: float) -> Sequence[Lease]:
        """Take or prolong those of many leases that can be had."""
        asked = [await self.acquire(name, holder=holder, address=address, for_s=for_s) for name in sorted(names)]
        return [lease for lease in asked if lease is not None]

    async def release(self, name: str, *, holder: str) -> None:
        """Give a lease back, if it is this holder's."""
        self._check()
        known = self._kept.get(name)
        if known is not None and known[0].holder == holder:
            self._kept[name] = replace(known[0], holder=""), float("-inf")

    async def release_all(self, *, holder: str) -> None:
        """Give back every lease of this holder."""
        for name in tuple(self._kept):
            await self.release(name, holder=holder)

    async def leases(self, prefix: str = "") -> Sequence[Lease]:
        """Every lease whose name begins with `prefix`."""
        self._check()
        now_s = self.clock.monotonic_s()
        return [
            replace(lease, remaining_s=ends_at_s - now_s)
            for name, (lease, ends_at_s) in sorted(self._kept.items())
            if name.startswith(prefix)
        ]

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the lease store is away")


@dataclass(slots=True)
class InMemoryPolicyStore:
    """Keeps every version in this process."""

    now_s: Callable[[], float] = time.time
    _versions: list[PolicyVersion] = field(default_factory=list)

    async def apply(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        """Keep a new one."""
        stands = self._versions[-1] if self._versions else None
        if stands is not None and (stands.version, stands.text, stands.applied_by) == (version, text, by):
            return stands
        if version != len(self._versions) + 1:
            raise VersionConflictError(f"the newest policy is version {len(self._versions)}")
        self._versions.append(PolicyVersion(version, text, by, int(self.now_s() * 1000), note))
        return self._versions[-1]

    async def newest(self) -> PolicyVersion | None:
        """The one that holds."""
        return self._versions[-1] if self._versions else None

    async def history(self) -> Sequence[PolicyVersion]:
        """All, newest first."""
        return self._versions[::-1]


@dataclass(slots=True)
class InMemoryTokenStore:
    """Keeps tokens in this process.

    Attributes:
        tokens: By key.
        reads: How often `find` was asked.
        is_away: Whether every method fails.
    """

    tokens: dict[str, StoredToken] = field(default_factory=dict)
    reads: int = 0
    is_away: bool = False

    async def insert(self, token: StoredToken, *, now_ms: int, most_of_owner: int, most: int) -> None:
        """Keep a new token."""
        self._check()
        if token.key in self.tokens:
            return
        live = {key: each for key, each in self.tokens.items() if each.good_until_ms > now_ms}
        if sum(each.owner == token.owner for each in live.values()) >= most_of_owner or len(live) >= most:
            raise TooManyTokensError("there are as many delegation tokens as may be")
        self.tokens = live | {token.key: token}

    async def find(self, key: str) -> StoredToken | None:
        """The token."""
        self._check()
        self.reads += 1
        return self.tokens.get(key)

    async def renew(self, key: str, *, good_until_ms: int) -> bool:
        """Let it be good for longer."""
        self._check()
        if key in self.tokens:
            self.tokens[key] = replace(self.tokens[key], good_until_ms=good_until_ms)
        return key in self.tokens

    async def remove(self, key: str) -> bool:
        """Forget it."""
        self._check()
        return self.tokens.pop(key, None) is not None

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away, as a test wants it")


@dataclass(slots=True)
class InMemoryAPITokenStore:
    """Keeps API tokens in this process.

    Attributes:
        tokens: By id.
        reads: How often `find` was asked.
        is_away: Whether every method fails.
    """

    tokens: dict[str, APIToken] = field(default_factory=dict)
    reads: int = 0
    is_away: bool = False

    async def insert(self, token: APIToken, *, most_of_owner: int, most: int) -> None:
        """Keep a new token."""
        self._check()
        if token.id in self.tokens:
            return
        live = {key: each for key, each in self.tokens.items() if each.good_until_ms > token.created_at_ms}
        if sum(each.owner == token.owner for each in live.values()) >= most_of_owner or len(live) >= most:
            raise TooManyTokensError("there are as many API tokens as may be")
        self.tokens = live | {token.id: token}

    async def find(self, token_id: str) -> APIToken | None:
        """The token."""
        self._check()
        self.reads += 1
        return self.tokens.get(token_id)

    async def of(self, owner: str | None) -> Sequence[APIToken]:
        """Tokens, the newest first."""
        self._check()
        found = (each for each in self.tokens.values() if owner in (None, each.owner))
        return sorted(found, key=lambda each: (-each.created_at_ms, each.id))

    async def remove(self, token_id: str, owner: str | None) -> bool:
        """Forget it."""
        self._check()
        token = self.tokens.get(token_id)
        if token is None or owner not in (None, token.owner):
            return False
        del self.tokens[token_id]
        return True

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away, as a test wants it")


def in_memory_stores(
    clock: Clock,
    *,
    state: StateStore | None = None,
    history: HistoryStore | None = None,
    spans: MultiClusterStore | None = None,
) -> Stores:
    """Stores that live as long as the process; any that is given takes the place of a new one."""
    memory = InMemoryStateStore(now_s=clock.now_s)
    return Stores(
        state=state or memory,
        history=history or InMemoryHistoryStore(state if isinstance(state, InMemoryStateStore) else memory),
        spans=spans or InMemoryMultiClusterStore(),
        policies=InMemoryPolicyStore(now_s=clock.now_s),
        tokens=InMemoryTokenStore(),
        api_tokens=InMemoryAPITokenStore(),
        acts=InMemoryActStore(),
        usage=InMemoryUsageStore(),
        credits=InMemoryCreditStore(),
        asks=InMemoryAskStore(),
        leases=InMemoryLeaseStore(clock),
    )
