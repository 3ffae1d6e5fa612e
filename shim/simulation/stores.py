"""Stores in memory that keep their ports' contracts; each forgets with the process, and can be away."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.credits import NO_CREDITS, Credits
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.errors import StoreUnavailableError, VersionConflictError
from shim.ports.act_store import KEPT_FOR_MS, MOST_OF_ONE
from shim.ports.clock import Clock
from shim.ports.history_store import HistoryStore
from shim.ports.lease_store import Lease
from shim.ports.multicluster_store import MultiClusterStore, RegisteredAttempt, RemoteSession, ShownAsks
from shim.ports.queue_stores import (
    MOST_CREDITS,
    MOST_GROUPS,
    CreditQuestion,
    CreditRow,
    KeptRun,
    PolicyVersion,
    UsageQuestion,
    UsageRow,
    UsageTotal,
)
from shim.ports.state_store import StateStore
from shim.ports.token_store import APIToken, StoredToken, TooManyTokensError
from shim.simulation.state_stores import InMemoryHistoryStore, InMemoryStateStore
from shim.store.stores import Stores


@dataclass(slots=True)
class _CanBeAway:
    """A store of which every call fails while `is_away` is true, as that of a database that cannot be reached."""

    is_away: bool = field(default=False, kw_only=True)

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("the store is away")


@dataclass(slots=True)
class InMemoryActStore(_CanBeAway):
    """Implements `ActStore`."""

    _acts: list[PreemptionAct] = field(default_factory=list)
    _counts: Counter[tuple[str, PreemptionStage]] = field(default_factory=Counter)

    async def add(self, acts: Sequence[PreemptionAct]) -> None:
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
        self._check()
        return [act for act in self._acts if act.application == application][-MOST_OF_ONE:]

    async def since(self, at_ms: int) -> Sequence[PreemptionAct]:
        self._check()
        return [act for act in self._acts if act.at_ms >= at_ms]

    async def counts(self) -> Mapping[tuple[str, PreemptionStage], int]:
        self._check()
        return dict(self._counts)


def _key(act: PreemptionAct) -> tuple[object, ...]:
    return act.application, act.at_ms, act.container, act.stage


@dataclass(slots=True)
class InMemoryAskStore(_CanBeAway):
    """Implements `AskStore`."""

    writes: int = 0
    _asks: dict[ApplicationId, ShownAsks] = field(default_factory=dict)

    async def keep(self, asks: Mapping[ApplicationId, ShownAsks]) -> None:
        self._check()
        self.writes += 1
        self._asks.update(asks)

    async def of(self, application: ApplicationId) -> ShownAsks:
        self._check()
        return self._asks.get(application, ())


@dataclass(slots=True)
class InMemoryLeaseStore(_CanBeAway):
    """Keeps leases in this process; several masters of a test share one."""

    clock: Clock
    _kept: dict[str, tuple[Lease, float]] = field(default_factory=dict)

    async def acquire(self, name: str, *, holder: str, address: str, for_s: float) -> Lease | None:
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
        asked = [await self.acquire(name, holder=holder, address=address, for_s=for_s) for name in sorted(names)]
        return [lease for lease in asked if lease is not None]

    async def release(self, name: str, *, holder: str) -> None:
        self._check()
        known = self._kept.get(name)
        if known is not None and known[0].holder == holder:
            self._kept[name] = replace(known[0], holder=""), float("-inf")

    async def release_all(self, *, holder: str) -> None:
        for name in tuple(self._kept):
            await self.release(name, holder=holder)

    async def leases(self, prefix: str = "") -> Sequence[Lease]:
        self._check()
        now_s = self.clock.monotonic_s()
        return [
            replace(lease, remaining_s=ends_at_s - now_s)
            for name, (lease, ends_at_s) in sorted(self._kept.items())
            if name.startswith(prefix)
        ]


@dataclass(slots=True)
class InMemoryPolicyStore:
    """Keeps every version in this process."""

    now_s: Callable[[], float] = time.time
    _versions: list[PolicyVersion] = field(default_factory=list)

    async def apply(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        stands = self._versions[-1] if self._versions else None
        if stands is not None and (stands.version, stands.text, stands.applied_by) == (version, text, by):
            return stands
        if version != len(self._versions) + 1:
            raise VersionConflictError(f"the newest is version {len(self._versions)}")
        self._versions.append(PolicyVersion(version, text, by, int(self.now_s() * 1000), note))
        return self._versions[-1]

    async def newest(self) -> PolicyVersion | None:
        return self._versions[-1] if self._versions else None

    async def history(self) -> Sequence[PolicyVersion]:
        return self._versions[::-1]


@dataclass(slots=True)
class InMemoryTokenStore(_CanBeAway):
    """Keeps tokens in this process."""

    tokens: dict[str, StoredToken] = field(default_factory=dict)
    reads: int = 0

    async def insert(self, token: StoredToken, *, now_ms: int, most_of_owner: int, most: int) -> None:
        self._check()
        if token.key in self.tokens:
            return
        live = {key: each for key, each in self.tokens.items() if each.good_until_ms > now_ms}
        if sum(each.owner == token.owner for each in live.values()) >= most_of_owner or len(live) >= most:
            raise TooManyTokensError("there are as many delegation tokens as may be")
        self.tokens = live | {token.key: token}

    async def find(self, key: str) -> StoredToken | None:
        self._check()
        self.reads += 1
        return self.tokens.get(key)

    async def renew(self, key: str, *, good_until_ms: int) -> bool:
        self._check()
        if key in self.tokens:
            self.tokens[key] = replace(self.tokens[key], good_until_ms=good_until_ms)
        return key in self.tokens

    async def remove(self, key: str) -> bool:
        self._check()
        return self.tokens.pop(key, None) is not None


@dataclass(slots=True)
class InMemoryAPITokenStore(_CanBeAway):
    """Keeps API tokens in this process."""

    tokens: dict[str, APIToken] = field(default_factory=dict)
    reads: int = 0

    async def insert(self, token: APIToken, *, most_of_owner: int, most: int) -> None:
        self._check()
        if token.id in self.tokens:
            return
        live = {key: each for key, each in self.tokens.items() if each.good_until_ms > token.created_at_ms}
        if sum(each.owner == token.owner for each in live.values()) >= most_of_owner or len(live) >= most:
            raise TooManyTokensError("there are as many API tokens as may be")
        self.tokens = live | {token.id: token}

    async def find(self, token_id: str) -> APIToken | None:
        self._check()
        self.reads += 1
        return self.tokens.get(token_id)

    async def of(self, owner: str | None) -> Sequence[APIToken]:
        """Tokens, the newest first."""
        self._check()
        found = (each for each in self.tokens.values() if owner in (None, each.owner))
        return sorted(found, key=lambda each: (-each.created_at_ms, each.id))

    async def remove(self, token_id: str, owner: str | None) -> bool:
        self._check()
        token = self.tokens.get(token_id)
        if token is None or owner not in (None, token.owner):
            return False
        del self.tokens[token_id]
        return True


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
        clusters=InMemoryPolicyStore(now_s=clock.now_s),
        tokens=InMemoryTokenStore(),
        api_tokens=InMemoryAPITokenStore(),
        acts=InMemoryActStore(),
        usage=InMemoryUsageStore(),
        credits=InMemoryCreditStore(),
        runs=InMemoryFormerRunStore(),
        asks=InMemoryAskStore(),
        leases=InMemoryLeaseStore(clock),
    )


# `UsageStore` in memory. Limits: forgets with the process.

_SUMS = ("memory_mib_s", "vcore_s", "preempted_memory_mib_s", "preempted_vcore_s")


class InMemoryUsageStore(_CanBeAway):
    """Implements `UsageStore`."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.rows: dict[tuple[ApplicationId, SubClusterId], UsageRow] = {}

    async def keep(self, rows: Sequence[UsageRow]) -> None:
        self._check()
        for row in rows:
            self.writes += 1
            known = self.rows.get((row.application, row.subcluster))
            if known is None or _is_more(row, known):
                self.rows[row.application, row.subcluster] = row

    async def spanning(self, most: int) -> Sequence[UsageRow]:
        self._check()
        beyond = {row.application for row in self.rows.values() if not row.is_home}
        return [row for _, row in sorted(self.rows.items()) if row.application in beyond][:most]

    async def totals(self, question: UsageQuestion) -> Sequence[UsageTotal]:
        self._check()
        counts: dict[tuple[str, ...], int] = defaultdict(int)
        sums: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0] * len(_SUMS))
        for row in self.rows.values():
            ended = row.ended_at_ms or question.now_ms
            is_in = row.started_at_ms < question.to_ms and ended >= question.from_ms
            if not is_in or question.user not in (None, row.user):
                continue
            values = {"queue": row.queue, "user": row.user, "cluster": str(row.subcluster)}
            group = tuple(values[name] for name in question.by)
            overlap = min(ended, question.to_ms) - max(row.started_at_ms, question.from_ms)
            is_whole = ended <= question.to_ms and row.started_at_ms >= question.from_ms
            part = 1.0 if is_whole else overlap / max(1, ended - row.started_at_ms)
            counts[group] += 1 if "cluster" in question.by or row.is_home else 0
            for place, name in enumerate(_SUMS):
                sums[group][place] += row.part.spent.get(name, 0) * part
        found = [UsageTotal(group, counts[group], *map(round, amounts)) for group, amounts in sums.items()]
        return sorted(found, key=lambda each: (-each.memory_mib_s, each.group))[: MOST_GROUPS + 1]

    async def forget(self, ended_before_ms: int) -> None:
        self._check()
        self.rows = {key: row for key, row in self.rows.items() if not 0 < row.ended_at_ms < ended_before_ms}


def _is_more(row: UsageRow, known: UsageRow) -> bool:
    names = ("memory_mib_s", "vcore_s")
    is_no_less = all(row.part.spent.get(name, 0) >= known.part.spent.get(name, 0) for name in names)
    return is_no_less and (not known.ended_at_ms or row.ended_at_ms > 0)


# `CreditStore` in memory. Limits: forgets with the process.


class InMemoryCreditStore(_CanBeAway):
    """Implements `CreditStore`.

    Attributes:
        loses_answers: Whether rows are kept, and whoever wrote them is told that they are not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loses_answers = False
        self.writes = 0
        self.rows: dict[tuple[ApplicationId, str], CreditRow] = {}

    async def keep(self, rows: Sequence[CreditRow]) -> None:
        self._check()
        for row in rows:
            self.writes += 1
            known = self.rows.get((row.application, row.part))
            if known is None or row.credits.covers(known.credits):
                self.rows[row.application, row.part] = row
        if self.loses_answers:
            raise StoreUnavailableError("the answer is lost, as a test wants it")

    async def of(self, application: ApplicationId) -> Sequence[CreditRow]:
        self._check()
        return [row for _, row in sorted(self.rows.items()) if row.application == application]

    async def totals(self, question: CreditQuestion) -> Sequence[tuple[tuple[str, ...], Credits]]:
        self._check()
        found: dict[tuple[str, ...], Credits] = {}
        for row in self.rows.values():
            to_ms = row.to_ms if question.to_ms is None else min(row.to_ms, question.to_ms)
            from_ms = max(row.from_ms, question.from_ms)
            is_whole = (from_ms, to_ms) == (row.from_ms, row.to_ms)
            if (from_ms > to_ms if is_whole else from_ms >= to_ms) or question.user not in (None, row.user):
                continue
            part = 1.0 if is_whole else (to_ms - from_ms) / max(1, row.to_ms - row.from_ms)
            group = tuple({"queue": row.queue, "user": row.user}[name] for name in question.by)
            found[group] = found.get(group, NO_CREDITS) + _part_of(row.credits, part)
        return sorted(found.items(), key=lambda each: (-each[1].given_mib_s, each[0]))[:MOST_GROUPS]

    async def forget(self, before_ms: int, most: int = MOST_CREDITS) -> None:
        self._check()
        newest = sorted(self.rows.items(), key=lambda each: (-each[1].to_ms, each[0]))[:most]
        self.rows = {key: row for key, row in newest if row.to_ms >= before_ms}


def _part_of(credits_: Credits, part: float) -> Credits:
    return Credits(
        credits_.given_s * part, credits_.received_s * part, credits_.given_mib_s * part, credits_.received_mib_s * part
    )


# `FormerRunStore` in memory. Limits: forgets with the process.


class InMemoryFormerRunStore(_CanBeAway):
    """Implements `FormerRunStore`."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, KeptRun] = {}

    async def keep(self, runs: Sequence[KeptRun]) -> None:
        """See `FormerRunStore`."""
        self._check()
        for run in runs:
            known = self.runs.get(run.name)
            if known is None or run.at_ms >= known.at_ms:
                self.runs[run.name] = run

    async def since(self, at_ms: int, most: int) -> Sequence[KeptRun]:
        """See `FormerRunStore`."""
        self._check()
        newest = sorted(self.runs.values(), key=lambda run: (run.at_ms, run.name))
        return [run for run in newest if run.at_ms >= at_ms][-most:]

    async def forget(self, before_ms: int, most: int) -> None:
        """See `FormerRunStore`."""
        self._check()
        self.runs = {run.name: run for run in await self.since(before_ms, most)}


# `MultiClusterStore` in memory. Limits: seals nothing, and forgets with the process.


class InMemoryMultiClusterStore(_CanBeAway):
    """Implements `MultiClusterStore`."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[tuple[ApplicationId, SubClusterId], RemoteSession] = {}
        self._attempts: dict[ApplicationAttemptId, RegisteredAttempt] = {}
        self._containers: dict[ApplicationId, dict[SubClusterId, dict[ContainerId, str]]] = defaultdict(dict)

    async def save_session(self, session: RemoteSession) -> None:
        self._check()
        self._sessions[session.application, session.subcluster] = session

    async def sessions(self, application: ApplicationId | None = None) -> Sequence[RemoteSession]:
        self._check()
        return [each for (owner, _), each in sorted(self._sessions.items()) if application in (None, owner)]

    async def remove_session(self, application: ApplicationId, subcluster: SubClusterId) -> None:
        self._check()
        self._sessions.pop((application, subcluster), None)
        self._containers[application].pop(subcluster, None)

    async def save_attempt(self, attempt: RegisteredAttempt) -> None:
        self._check()
        self._attempts[attempt.attempt] = attempt

    async def find_attempt(self, attempt: ApplicationAttemptId) -> RegisteredAttempt | None:
        self._check()
        return self._attempts.get(attempt)

    async def remove_attempts(self, application: ApplicationId) -> None:
        self._check()
        self._attempts = {name: each for name, each in self._attempts.items() if name.application != application}
        given = self._containers[application]
        for subcluster in [name for name in given if (application, name) not in self._sessions]:
            del given[subcluster]

    async def give(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId], answer: str
    ) -> None:
        self._check()
        for container in containers:
            self._containers[application].setdefault(subcluster, {}).setdefault(container, answer)

    async def withdraw(self, application: ApplicationId, answer: str) -> None:
        self._check()
        for subcluster, known in self._containers[application].items():
            heard = {container: given_in for container, given_in in known.items() if given_in != answer}
            self._containers[application][subcluster] = heard

    async def take(
        self, application: ApplicationId, subcluster: SubClusterId, containers: Collection[ContainerId]
    ) -> None:
        self._check()
        known = self._containers[application].get(subcluster, {})
        for container in containers:
            known.pop(container, None)

    async def containers(self, application: ApplicationId) -> Mapping[SubClusterId, frozenset[ContainerId]]:
        self._check()
        return {name: frozenset(kept) for name, kept in self._containers[application].items() if kept}
