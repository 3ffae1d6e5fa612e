"""What is asked for by one ask key of one attempt, and its tentative allocations, from the proposal to the grant.

    proposed ── accepted ──▶ asked for at that scheduler ── granted
        └───── rejected ──▶ (the next cycle)     └── not in time: withdrawn

What is asked for at a scheduler is the sum of the tentative allocations there and of what is `queued` without one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from shim.domain.allocations import ANY, Ask, AskKey, PendingRequest, RequestPlan
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
from shim.domain.resources import ResourceVector
from shim.multicluster.core.events import ClusterCapacity

_MOST_VERDICTS = 12
_NOTHING = PendingRequest(AskKey(0, -1, is_opportunistic=False, resource=ResourceVector()), 0)


@dataclass(slots=True)
class TentativeAllocation:
    """One proposal, while its containers are waited for.

    Attributes:
        number: Of the proposal, among those of the attempt.
        was_queued: How many of them the scheduler was asked for before: it still is if they are rejected.
        is_pending: Whether the Local Master has not answered.
        hosts: Where they alone shall be, with how many at most; empty for anywhere in the sub-cluster.
    """

    number: int
    subcluster: SubClusterId
    proposed: int
    count: int
    was_queued: int = 0
    is_pending: bool = True
    is_asked: bool = False
    honoured: int = 0
    withdrawn: int = 0
    hosts: Counter[str] = field(default_factory=Counter)

    def cut_hosts(self) -> None:
        """Name no more hosts than there are containers left."""
        surplus = self.hosts.total() - self.count
        for host in list(self.hosts) if surplus > 0 else ():
            cut = min(surplus, self.hosts[host])
            self.hosts[host] -= cut
            surplus -= cut
        self.hosts = +self.hosts


@dataclass(slots=True)
class AskGroup:
    """Asks with one key, of containers that can stand for each other, and what became of them.

    What the ApplicationMaster said, up to `has_spares`, is taken back with its call (`take_back`). What a cycle made of
    it outlives the call, until the splitter drops the key (`forget_plan`).

    Invariant: `asked` and `awaited` together are never more than what is wanted, after each `trim`.

    Attributes:
        rows: As requested last, by place; counts fall with the grants.
        wanted: Containers that no scheduler has granted.
        targets: How many of them each session is to be asked for, by the newest split.
        pins: Hosts that are named to a session, with how many at each; those of all rows where it is not in here.
        starved: Beats since a session granted one, while it was asked for some.
        refused: Sub-clusters whose scheduler refused such an ask.
        rejected: Sub-clusters that found no place for it, since the ApplicationMaster asked last.
        spent: Rows of named places whose last container was granted, kept while that may be wanted again.
        has_spares: Whether several sessions are asked for the same containers, which the first to grant binds.
        request: As it was split last.
        is_split: Whether it was, since the splitter dropped it.
        eligible: Sub-clusters that may be asked, as they were known then.
        most_at: Containers that a placement constraint leaves to the nodes of each; none where nothing bounds them.
        allocations: Oldest first.
        queued: What schedulers are asked for without a tentative allocation.
        may_queue: Where they may be, by the newest plan.
        at_most: How many of them may be there by that plan, less what was granted since; any number if not in here.
        plan: The newest plan; None before the first.
        planned: How many of the wanted containers a plan has looked at.
        published: The row that the queue's cycle has; None if it has none.
        reason: Why no cycle plans these; empty if one does.
        verdicts: The newest, each with how many containers were proposed.
        repairs: Containers whose tentative allocation was not honoured in time.
        forgiven: Heartbeats without an allocation that do not count, as nothing has been asked for since then.
        unresponsive: For how many splits each sub-cluster has granted nothing though it has capacity.
    """

    key: AskKey
    rows: dict[str, Ask] = field(default_factory=dict)
    wanted: int = 0
    targets: dict[SubClusterId, int] = field(default_factory=dict)
    pins: Mapping[SubClusterId, Mapping[str, int]] = field(default_factory=dict)
    starved: dict[SubClusterId, int] = field(default_factory=dict)
    refused: set[SubClusterId] = field(default_factory=set)
    rejected: set[SubClusterId] = field(default_factory=set)
    spent: dict[str, Ask] = field(default_factory=dict)
    has_spares: bool = False

    request: PendingRequest = _NOTHING
    is_split: bool = False
    eligible: Mapping[SubClusterId, ClusterCapacity] = field(default_factory=dict)
    most_at: Mapping[SubClusterId, int] = field(default_factory=dict)
    allocations: list[TentativeAllocation] = field(default_factory=list)
    queued: Counter[SubClusterId] = field(default_factory=Counter)
    may_queue: frozenset[SubClusterId] = frozenset()
    at_most: dict[SubClusterId, int] = field(default_factory=dict)
    plan: RequestPlan | None = None
    planned: int = 0
    published: PendingRequest | None = None
    reason: str = ""
    verdicts: list[tuple[int, LaunchVerdict]] = field(default_factory=list)
    repairs: int = 0
    forgiven: dict[SubClusterId, int] = field(default_factory=dict)
    unresponsive: Counter[SubClusterId] = field(default_factory=Counter)

    # ------------------------------------------------------------------ what the ApplicationMaster said

    def put(self, ask: Ask) -> None:
        """Take in a row; one of a named place that wants nothing is not kept, or rows would only ever become more."""
        if ask.count or ask.place == ANY:
            self.rows[ask.place] = ask
        else:
            self.rows.pop(ask.place, None)

    @property
    def places(self) -> dict[str, int]:
        """Counts at named hosts and racks."""
        return {place: row.count for place, row in self.rows.items() if place != ANY and row.count}

    @property
    def allowed(self) -> tuple[str, ...]:
        """Return the places that a strict ask allows: hosts, and racks that may stand in for hosts."""
        rows = ((place, row) for place, row in self.rows.items() if place != ANY and row.count)
        return tuple(sorted(place for place, row in rows if row.relaxes or not place.startswith("/")))

    @property
    def is_strict(self) -> bool:
        """Return whether only the named places will do."""
        row = self.rows.get(ANY)
        return row is not None and not row.relaxes

    def take_back(self, before: "AskGroup | None") -> None:
        """Forget what was said since `before`, a copy; all of it for None."""
        self._become(before or AskGroup(self.key), _SAID)

    def _become(self, other: "AskGroup", names: Iterable[str]) -> None:
        for name in names:
            setattr(self, name, getattr(other, name))

    # ------------------------------------------------------------------ what a cycle made of it

    def forget_plan(self) -> None:
        """Forget all that was planned, allocated and published."""
        self._become(AskGroup(self.key), _PLANNED)

    @property
    def missing(self) -> int:
        """Containers that a plan has looked at, and that nobody is asked for."""
        return min(self.planned, self.request.wanted) - self.committed()

    def tentative(self) -> Counter[SubClusterId]:
        """Containers with a tentative allocation, also those whose verdict is on its way."""
        counts: Counter[SubClusterId] = Counter()
        for each in self.allocations:
            counts[each.subcluster] += each.count
        return counts

    def asked(self) -> Counter[SubClusterId]:
        """Count of containers to ask each scheduler for."""
        counts = Counter(self.queued)
        for each in self.allocations:
            if each.is_asked:
                counts[each.subcluster] += each.count
        return +counts

    @property
    def may_have_spares(self) -> bool:
        """Return whether schedulers may be asked for the same containers.

        Not beyond what the queue may have, as two could grant at once; nor where places, or a constraint, decide.
        """
        request = self.request
        is_bound = bool(self.reason) or request.is_limited or request.is_strict or request.key.placement is not None
        return self.plan is not None and self.plan.is_late_bound and not is_bound

    def planned_hosts(self) -> Mapping[SubClusterId, Mapping[str, int]]:
        """Hosts that are to be named to each scheduler, with how many at each, where the plan decides on hosts.

        What waits at a scheduler without an allocation waits by that scheduler's rules: it is told of every place.
        """
        found: dict[SubClusterId, Counter[str]] = {}
        if self.plan is not None and self.plan.hosts is not None:
            for each in self.allocations:
                if each.is_asked and not self.queued[each.subcluster]:
                    found.setdefault(each.subcluster, Counter()).update(each.hosts)
        return found

    def _still_named(self) -> Mapping[str, int]:
        """Count what is wanted at named places beyond what is allocated there tentatively.

        A task names each host with a copy of its data. Rows do not tell which ones are the same task's, so that each
        host has its part of the tasks that are left, at least one.
        """
        request = self.request
        hosts = {place: count for place, count in request.named.items() if not place.startswith("/")}
        left, copies = request.wanted - sum(self.tentative().values()), sum(hosts.values())
        if left >= copies:
            return request.named
        pinned: Counter[str] = Counter()
        for each in self.allocations:
            pinned.update(each.hosts)
        parts = {host: min(count - pinned[host], -(-count * left // copies)) for host, count in hosts.items()}
        return {place: most for place, count in request.named.items() if (most := parts.get(place, count)) > 0}

    def verified(self) -> Counter[SubClusterId]:
        """Containers whose tentative allocation a Local Master has accepted, or left without an answer."""
        counts: Counter[SubClusterId] = Counter()
        for each in self.allocations:
            if not each.is_pending:
                counts[each.subcluster] += each.count
        return +counts

    def may_still_queue(self) -> Mapping[SubClusterId, int]:
        """Count what may be queued beyond what is, where the newest plan bounds it."""
        return {name: max(0, most - self.queued[name]) for name, most in self.at_most.items()}

    @property
    def is_new(self) -> bool:
        """Return whether more is published than a plan has looked at."""
        return self.published is not None and self.planned < self.published.wanted

    def begin_anew(self) -> None:
        """Forget what was planned and queued, once nothing is allocated any more."""
        self.queued.clear()
        self.reason, self.plan, self.planned = "", None, 0
        self.unresponsive.clear()

    def ask_for(self, counts: Mapping[SubClusterId, int], planned: int) -> None:
        """Ask schedulers for so many, those with an allocation among them."""
        for each in self.allocations:
            each.is_asked = True
        self.tidy()
        tentative = self.tentative()
        self.queued = +Counter({name: count - tentative[name] for name, count in counts.items()})
        self.planned = planned

    def keep_to(self, plan: RequestPlan) -> None:
        """Queue nothing where a plan does not allow it, and no more than it allows."""
        for name in tuple(self.queued):
            if name not in plan.may_queue:
                self.forgiven[name] = self.request.starved.get(name, 0)
                del self.queued[name]
        for name, most in plan.at_most.items():
            self.queued[name] = min(self.queued[name], most)
        self.tidy()

    def count_silence(self, move_after_beats: int) -> frozenset[SubClusterId]:
        """Count a split for those that grant nothing though they have capacity; return all that grant nothing."""
        asked, capacities = self.asked(), self.plan.capacity if self.plan else {}
        starving = {name for name in self.eligible if self.beats_without_grant(name) >= move_after_beats}
        for name in self.eligible:
            if name not in starving or not (capacities.get(name) or self.verified()[name]):
                self.unresponsive[name] = self.unresponsive[name] if name in starving else 0
            else:
                self.unresponsive[name] += bool(asked[name])
        return frozenset(starving)

    def trim_queued(self, surplus: int) -> int:
        """Queue so many fewer, first where there is the least capacity; return how many of them are left."""
        capacity = self.plan.capacity if self.plan else {}
        for name in sorted(self.queued, key=lambda name: capacity.get(name, 0)):
            taken = max(0, min(surplus, self.queued[name]))
            self.queued[name] -= taken
            surplus -= taken
        return surplus

    def committed(self) -> int:
        """Containers that some scheduler is asked for, or that a verdict is awaited for."""
        return sum(self.queued.values()) + sum(each.count for each in self.allocations)

    def beats_without_grant(self, subcluster: SubClusterId) -> int:
        """Heartbeats since a sub-cluster granted one of those that it is asked for."""
        return max(0, self.request.starved.get(subcluster, 0) - self.forgiven.get(subcluster, 0))

    def granted(self, subcluster: SubClusterId, host: str = "") -> TentativeAllocation | None:
        """Count a grant: on the oldest tentative allocation for the host, else there, else on what is queued."""
        self.forgiven.pop(subcluster, None)
        self.unresponsive.pop(subcluster, None)
        self.planned = max(0, self.planned - 1)
        there = [each for each in self.allocations if each.subcluster == subcluster and each.is_asked and each.count]
        found = next((each for each in there if each.hosts[host]), next(iter(there), None))
        if found is not None:
            found.hosts[host] = max(0, found.hosts[host] - 1)
            found.count -= 1
            found.honoured += 1
            self.tidy()
        elif self.queued[subcluster]:
            self.queued[subcluster] -= 1
            if subcluster in self.at_most:
                self.at_most[subcluster] = max(0, self.at_most[subcluster] - 1)
        return found

    def hear(self, verdict: LaunchVerdict) -> bool:
        """Take in a verdict; return whether it was awaited.

        Silence stands in nobody's way: the ResourceManager has the last word.
        """
        for each in self.allocations:
            if each.is_pending and (each.subcluster, each.number) == (verdict.subcluster, verdict.number):
                each.is_pending, each.is_asked = False, True
                self.verdicts.append((each.proposed, verdict))
                del self.verdicts[:-_MOST_VERDICTS]
                if verdict.verdict is not Verdict.UNVERIFIED:
                    rejected = min(each.count, max(0, each.proposed - verdict.accepted))
                    each.count -= rejected
                    self.queued[each.subcluster] += min(rejected, each.was_queued)
                self.tidy()
                return True
        return False

    def newest(self, subcluster: SubClusterId, *, is_asked: bool = True) -> Iterator[TentativeAllocation]:
        """Tentative allocations in a sub-cluster, the newest first."""
        return (
            each for each in reversed(self.allocations) if (each.subcluster, each.is_asked) == (subcluster, is_asked)
        )

    def tidy(self) -> None:
        """Forget allocations that nobody waits for, and clusters where nothing is queued."""
        self.allocations = [each for each in self.allocations if each.count]
        for each in self.allocations:
            if each.hosts:
                each.cut_hosts()
        self.queued = +self.queued

    def row(
        self, local: Mapping[SubClusterId, int], avoided: frozenset[SubClusterId], move_after_beats: int
    ) -> PendingRequest:
        """Make the row for the queue's next cycle.

        Args:
            avoided: Sub-clusters where nothing new is to start.
            move_after_beats: Beats without a grant after which a sub-cluster counts as unresponsive.
        """
        return replace(
            self.request,
            named=self._still_named(),
            tentative=dict(+self.tentative()),
            queued=dict(+self.queued),
            may_use=frozenset(self.eligible),
            avoided=avoided,
            unresponsive=frozenset(name for name, beats in self.unresponsive.items() if beats >= move_after_beats),
            local={name: count for name, count in local.items() if count},
            weights={name: room.weight for name, room in self.eligible.items() if room.weight != 1.0},
            most_at=self.most_at,
        )


_SAID = ("rows", "wanted", "targets", "pins", "starved", "refused", "rejected", "spent", "has_spares")
_PLANNED = tuple(each.name for each in fields(AskGroup) if each.name not in {"key", *_SAID})
