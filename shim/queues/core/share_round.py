"""The arithmetic of one look at all queues: what each holds, wants and is entitled to, and what forbids a start.

Kernels of `fairness` see arrays; rows are the policy's sharing queues, parents first, and one last row for whatever the
policy does not name, of weight 1.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fairness import FloatArray, QueueTree, dominant_share, hierarchical_entitlement
from shim.domain.ids import ApplicationId
from shim.domain.queues import FederatedQueue, SharePolicy, parent_of
from shim.domain.resources import ResourceVector
from shim.queues.core.share_load import NO_EXPECTATION, ExpectedWork, FederationLoad
from shim.scheduling.queue_policies import goes_by_deadlines

# Sums over all queues that a round needs again and again, kept up to date instead of added up anew.


class ShareSums:
    """Sums over the queues of a round.

    Args:
        parent: Row of the queue above each, below 0 for none; parents come first.
        held: Amounts by row and resource.

    Attributes:
        held_below: What each queue holds with all queues below it.
    """

    def __init__(self, parent: NDArray[np.int64], held: FloatArray, promised: FloatArray) -> None:
        self._parent = [int(above) for above in parent]
        self.held_below = held.copy()
        for row in reversed(range(len(self._parent))):
            if self._parent[row] >= 0:
                self.held_below[self._parent[row]] += self.held_below[row]
        self.promised: FloatArray = promised.sum(axis=0)

    def upwards(self, row: int) -> Iterator[int]:
        """The queue itself and every queue above it."""
        while row >= 0:
            yield row
            row = self._parent[row]

    def add(self, row: int, size: FloatArray) -> None:
        """A queue holds, and will hold, so much more."""
        for above in self.upwards(row):
            self.held_below[above] += size
        self.promised = self.promised + size


class RowSet:
    """Rows of which something is true, in order."""

    def __init__(self, rows: Iterable[int]) -> None:
        self._rows = sorted(rows)

    def put(self, row: int, *, is_in: bool) -> None:
        place = bisect_left(self._rows, row)
        was_in = self._rows[place : place + 1] == [row]
        if is_in and not was_in:
            insort(self._rows, row)
        elif was_in and not is_in:
            del self._rows[place]

    def has_other(self, row: int) -> bool:
        return self.count_others(row) > 0

    def count_others(self, row: int) -> int:
        place = bisect_left(self._rows, row)
        return len(self._rows) - (self._rows[place : place + 1] == [row])

    def others(self, row: int, *, most: int) -> Iterator[int]:
        return islice((other for other in self._rows if other != row), most)


_HALF = 0.501  # an application may start if more than half of it is within the entitlement: rounding to the nearest
_ROUNDING = 1e-6
_FULL = 0.9
"""Part of the federation that applications with less work left must hold, before one with more waits for them."""
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Settings of shares.

    Attributes:
        pending_per_cluster: Applications of a queue, for each usable sub-cluster, that may wait for their
            ApplicationMaster there.
        absent_after_s: A sub-cluster that told nothing for this long is left out.
        overtaken_s: An application that has waited for this long goes before others that are less work.
    """

    pending_per_cluster: int
    absent_after_s: float
    overtaken_s: float


@dataclass(frozen=True, slots=True)
class PendingApplication:
    """An application that waits for its queue's turn.

    Attributes:
        queue: Path of its queue in the policy.
        since_ms: When it was submitted; milliseconds since the epoch.
        expected: Work that it is expected to be, by what is learnt from those like it.
        is_overdue: Whether it has been overtaken for so long that it goes first (`ShareSettings.overtaken_s`).
        due_s: Its deadline, seconds since the epoch, where its queue's containers go by deadlines and it is not over:
            then it starts before those of none, overdue ones too, the nearest deadline first. Infinite for none.
        is_released: Whether no order holds it back any more: nobody renews the tokens of what waits here.
        waited_s: Seconds since it was submitted, where the queue's order makes that matter.
    """

    application_id: ApplicationId
    queue: str
    user: str
    resource: ResourceVector
    since_ms: int = 0
    expected: ExpectedWork = NO_EXPECTATION
    is_overdue: bool = False
    due_s: float = math.inf
    is_released: bool = False
    waited_s: float = 0.0

    def counted_mib_s(self, capacity_mib: int) -> float:
        """Expected work by its response ratio: waiting time and expected time by expected time, with all that there is.

        Source of the ratio: Brinch Hansen, "An analysis of response ratio scheduling", IFIP Congress 1971.
        """
        alone_s = self.expected.mib_s / max(1, capacity_mib)
        return self.expected.mib_s * alone_s / (self.waited_s + alone_s) if alone_s > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class QueueShareStatus:
    """State of a queue; shares are dominant ones, parts of the federation.

    Attributes:
        share: What it gets when everybody wants everything.
        entitlement: What it gets among those that want something now.
        held: What it has, applications that are about to start included.
        is_owed: Whether it holds less than it is entitled to and has work waiting.
    """

    path: str
    share: float
    entitlement: float
    used: float
    held: float
    wanted: float
    waiting: int
    is_owed: bool

    @property
    def borrowed(self) -> float:
        return max(0.0, self.used - self.share)

    @property
    def lent(self) -> float:
        return max(0.0, self.share - max(self.entitlement, self.used))


@dataclass(frozen=True, slots=True)
class Division:
    """Present division of the federation.

    Attributes:
        scarce: What there is of what is scarce; 0 of what there is enough of for everything that all queues want.
        entitled: What each sharing queue is entitled to, by path.
    """

    scarce: ResourceVector
    entitled: Mapping[str, ResourceVector]
    used: Mapping[str, ResourceVector]


class Shares:
    """The arithmetic of one round."""

    def __init__(
        self,
        policy: SharePolicy,
        load: FederationLoad,
        waiting: dict[str, list[PendingApplication]],
        settings: ShareSettings,
    ) -> None:
        self.load = load
        self.waiting = {queue.path: waiting.get(queue.path, []) for queue in policy.queues}
        self._policy = policy
        self._settings = settings
        self._names = sorted(set(load.capacity.others))
        self._capacity = self._vector(load.capacity)
        self._queues = _parents_first(policy.sharing)
        self._row = {queue.path: row for row, queue in enumerate(self._queues)}
        self._tree = _tree(self._queues, self._capacity)
        self._held = np.array([self._held_by(queue.path) for queue in self._queues]).reshape(-1, self._capacity.size)
        self._size = {
            queue.path: self._vector(load.queues[queue.path].typical(self._mean_master(queue.path)))
            for queue in policy.queues
        }
        # what queues will hold once each application has what one usually holds: most begin with a master alone
        whole = [self._size[queue.path] * load.queues[queue.path].running for queue in self._queues]
        self._promised = np.maximum(self._held, np.array(whole).reshape(self._held.shape))
        self._wanted = self._demand()
        self._entitled = hierarchical_entitlement(self._tree, self._wanted, self._capacity)[:-1]
        self._sums = ShareSums(self._tree.parent[:-1], self._held, self._promised)
        self._owed: RowSet | None = None  # made when first needed: most rounds find room for all
        self._by_left: dict[str, tuple[FloatArray, NDArray[np.int64], FloatArray]] = {}
        self._wanting: RowSet | None = None  # the same all round: what starts wants its ApplicationMaster's container

    # -- measuring ---------------------------------------------------------------------------------------------------

    def _vector(self, amount: ResourceVector) -> FloatArray:
        return np.array(
            [amount.memory_mib, amount.vcores, *(amount.others.get(name, 0) for name in self._names)], dtype=np.float64
        )

    def _mean_master(self, path: str) -> ResourceVector:
        """The mean ApplicationMaster of those that wait: all that is known of a queue in which nothing runs."""
        waiting = self.waiting[path]
        if not waiting:
            return ResourceVector()
        memory = sum(one.resource.memory_mib for one in waiting) // len(waiting)
        return ResourceVector(memory, max(1, sum(one.resource.vcores for one in waiting) // len(waiting)))

    def _held_by(self, path: str) -> FloatArray:
        """Use of a queue, and of its applications that have not started."""
        load = self.load.queues[path]
        unstarted = self._vector(load.typical(self._mean_master(path))) * load.unstarted
        held: FloatArray = self._vector(load.total_used) + unstarted
        return held

    def _demand(self) -> FloatArray:
        """Demand of each sharing queue, held and wanted, and in the last row that of all others."""
        rows = [
            held
            + self._vector(self.load.queues[queue.path].pending)
            + self._size[queue.path] * len(self.waiting[queue.path])
            for queue, held in zip(self._queues, self._held, strict=True)
        ]
        return np.array([*rows, self._vector(self.load.others_used + self.load.others_pending)])

    # -- deciding ----------------------------------------------------------------------------------------------------

    def most_owed_first(self) -> list[FederatedQueue]:
        """Queues with something waiting: those that hold least of what they are entitled to go first."""

        def satisfaction(queue: FederatedQueue) -> float:
            row = self._row.get(queue.path)
            if row is None:
                return 0.0
            entitled = float(dominant_share(self._entitled[row : row + 1], self._capacity)[0])
            held = float(dominant_share(self._held[row : row + 1], self._capacity)[0])
            return held / entitled if entitled > 0 else np.inf

        return sorted((queue for queue in self._policy.queues if self.waiting[queue.path]), key=satisfaction)

    def objection(self, queue: FederatedQueue, application: PendingApplication) -> str:
        """Reason why no application of a queue may start now; empty if one may."""
        load = self.load.queues[queue.path]
        if 0 < queue.max_running <= load.running:
            return f"queue {queue.path} runs its limit of {queue.max_running} applications"
        if queue.order == "work" and not application.is_released:
            most = self.load.startable(queue.path, application.resource, max(1, len(self.load.usable)))
            if load.unstarted >= most:
                return f"{load.unstarted} of queue {queue.path} wait for their ApplicationMasters at the clusters"
            is_undue = application.due_s == math.inf and goes_by_deadlines(queue.containers)
            if is_undue and load.unstarted >= self.load.undue_startable(queue.path, application.resource):
                return f"what queue {queue.path} may still have of ApplicationMasters is for jobs with deadlines"
        row = self._row.get(queue.path)
        if row is None:
            return ""
        size = np.maximum(self._size[queue.path], self._vector(application.resource))
        entitled = self._entitled[row]
        # whoever is entitled to something and holds nothing may start one, however large
        least = np.where(entitled > 0, np.minimum(size, entitled), size)
        if self._fits(self._promised[row] + least * _HALF, entitled):
            return ""
        return self._objection_to_borrowing(queue, row, size)

    def _objection_to_borrowing(self, queue: FederatedQueue, row: int, size: FloatArray) -> str:
        """Reason why a queue may not start an application beyond its entitlement; empty if it may."""
        limited = self._at_its_maximum(row, size)
        if limited is not None:
            return f"queue {limited.path} holds its maximum of {limited.maximum:.0%} of the federation"
        held, entitled = self._share(self._held[row]), self._share(self._entitled[row])
        holds = f"queue {queue.path} holds {held:.0%} of the federation and is entitled to {entitled:.0%}"
        if held < entitled:  # else it would be told to wait below its entitlement, and not why
            holds += f"; one more of its applications needs {self._share(size):.0%}"
        if self._owed is None:
            self._owed = RowSet(at for at, other in enumerate(self._queues) if self._is_owed(at, other))
        if self._owed.has_other(row):
            return f"{holds}, while {self._waiters(self._owed, row)}"
        if self._fits(self._sums.promised + self._vector(self.load.others_used) + size, self._capacity):
            return ""
        if self.load.queues[queue.path].unstarted < self._ahead() and self._is_alone(row):
            return ""
        return f"{holds}, and the federation is full"

    def objection_to_work(self, queue: FederatedQueue, application: PendingApplication) -> str:
        """Reason why others with less work go on before an application is let start; empty if it may.

        What has waited counts as less work, by its response ratio. An expectation that rests on the queue alone holds
        nothing: most applications are less than the mean.
        """
        expected = application.expected
        is_free = application.is_released or application.is_overdue or application.due_s < math.inf
        if queue.order != "work" or is_free or not expected.runs or not self.load.is_full:
            return ""
        mib_s = application.counted_mib_s(self.load.capacity.memory_mib)
        held_mib, beginning = self._with_less(queue.path, mib_s)
        if held_mib >= _FULL * self.load.capacity.memory_mib:
            return f"applications of queue {queue.path} with less work left hold the clusters; {expected.told()}"
        if beginning < self._ahead():
            return ""
        return f"{beginning} of queue {queue.path} with less work left have no container but one; {expected.told()}"

    def _with_less(self, path: str, mib_s: float) -> tuple[int, int]:
        """Memory that applications of a queue with less work left hold, and how many of them begin."""
        if path not in self._by_left:
            load = self.load.queues[path]
            left = np.array(load.left)
            order = np.argsort(left)
            held = np.cumsum(np.array([0, *load.held_mib])[np.concatenate(([0], order + 1))])
            self._by_left[path] = left[order], held, np.sort(load.beginning)
        left, held, beginning = self._by_left[path]
        return int(held[np.searchsorted(left, mib_s)]), int(np.searchsorted(beginning, mib_s))

    def _ahead(self) -> int:
        """Applications of one queue that may wait for their ApplicationMasters at sub-clusters."""
        return self._settings.pending_per_cluster * max(1, len(self.load.usable))

    def _waiters(self, owed: RowSet, row: int) -> str:
        """Queues that wait for a share, for people: a few by name, as there may be thousands."""
        first = [self._queues[other].path for other in owed.others(row, most=_MOST_NAMED)]
        more = owed.count_others(row) - len(first)
        if more:
            return f"{', '.join(first)} and {more} more wait for their shares"
        return f"{' and '.join(first)} {'wait for their shares' if len(first) > 1 else 'waits for its share'}"

    def _is_alone(self, row: int) -> bool:
        if self._wanting is None:
            self._wanting = RowSet(at for at, other in enumerate(self._queues) if self._wants(other))
        return not self._wanting.has_other(row)

    def _wants(self, queue: FederatedQueue) -> bool:
        load = self.load.queues[queue.path]
        return bool(load.unstarted or load.pending.memory_mib > 0 or self.waiting[queue.path])

    def _at_its_maximum(self, row: int, size: FloatArray) -> FederatedQueue | None:
        for above in self._sums.upwards(row):
            if not self._fits(self._sums.held_below[above] + size * _HALF, self._tree.maximum[above]):
                return self._queues[above]
        return None

    def objection_to_user(self, queue: FederatedQueue, application: PendingApplication) -> str:
        """Reason why no application of this user may start in a queue now; empty if one may."""
        load, user = self.load.queues[queue.path], application.user
        if 0 < queue.max_user_running <= load.users[user]:
            return f"{user} runs the limit of {queue.max_user_running} applications in queue {queue.path}"
        used = load.user_used.get(user)
        if queue.user_maximum < 1 and used is not None:
            size = np.maximum(self._size[queue.path], self._vector(application.resource))
            if not self._fits(self._vector(used) + size * _HALF, self._capacity * queue.user_maximum):
                return f"{user} holds the limit of {queue.user_maximum:.0%} of the federation in queue {queue.path}"
        return ""

    def start(self, queue: FederatedQueue, application: PendingApplication) -> None:
        load = self.load.queues[queue.path]
        load.start(application.user, application.resource)
        size = np.maximum(self._size[queue.path], self._vector(application.resource))
        if queue.user_maximum < 1:
            load.user_used[application.user] = (
                load.user_used.get(application.user, ResourceVector()) + application.resource
            )
        row = self._row.get(queue.path)
        if row is not None:
            self._held[row] += size
            self._promised[row] += size
            self._sums.add(row, size)

    def end_turn(self, queue: FederatedQueue, kept: list[PendingApplication]) -> None:
        """End a queue's turn: these applications go on waiting; the others of it have started."""
        self.waiting[queue.path] = kept
        row = self._row.get(queue.path)
        if row is not None and self._owed is not None:
            self._owed.put(row, is_in=self._is_owed(row, queue))

    def _is_owed(self, row: int, queue: FederatedQueue) -> bool:
        load = self.load.queues[queue.path]
        if self._tree.weight[row] <= 0 and queue.guaranteed <= 0:
            return False
        first = self.waiting[queue.path][:1]
        has_work = load.pending.memory_mib > 0 or any(not self.objection_to_user(queue, one) for one in first)
        if not has_work or 0 < queue.max_running <= load.running:
            return False
        missing = self._entitled[row] - self._held[row]
        return bool((missing > np.maximum(self._size[queue.path] * _HALF, self._capacity * _ROUNDING)).any())

    def _fits(self, amount: FloatArray, room: FloatArray) -> bool:
        return bool((amount <= room + self._capacity * _ROUNDING + _ROUNDING).all())

    def _share(self, amount: FloatArray) -> float:
        return float(dominant_share(amount[None, :], self._capacity)[0])

    # -- telling -----------------------------------------------------------------------------------------------------

    def division(self) -> Division:
        """Entitlement and holdings of every sharing queue, in whole units."""
        return Division(
            self.scarce(),
            {queue.path: self._amount(self._entitled[row]) for row, queue in enumerate(self._queues)},
            {queue.path: self.load.queues[queue.path].total_used for queue in self._queues},
        )

    def scarce(self) -> ResourceVector:
        """The capacity, with 0 for what there is enough of for everything that all queues want."""
        return self._amount(np.where(self._wanted.sum(axis=0) > self._capacity, self._capacity, 0.0))

    def _amount(self, row: FloatArray) -> ResourceVector:
        memory, vcores, *others = (round(float(value)) for value in row)
        return ResourceVector(memory, vcores, dict(zip(self._names, others, strict=True)))

    def statuses(self) -> dict[str, QueueShareStatus]:
        endless = np.full_like(self._wanted, np.inf)
        endless[-1] = self._wanted[-1]
        shares = hierarchical_entitlement(self._tree, endless, self._capacity)[:-1]
        return {
            queue.path: QueueShareStatus(
                path=queue.path,
                share=self._share(shares[row]),
                entitlement=self._share(self._entitled[row]),
                used=self._share(self._vector(self.load.queues[queue.path].total_used)),
                held=self._share(self._held[row]),
                wanted=self._share(self._wanted[row]),
                waiting=len(self.waiting[queue.path]),
                is_owed=self._is_owed(row, queue),
            )
            for row, queue in enumerate(self._queues)
        }


def _parents_first(queues: Sequence[FederatedQueue]) -> list[FederatedQueue]:
    return sorted(queues, key=lambda queue: queue.path.count("."))


def _tree(queues: Sequence[FederatedQueue], capacity: FloatArray) -> QueueTree:
    """The sharing queues as the kernels want them, and one last root for all that the policy does not name."""
    row: Mapping[str, int] = {queue.path: number for number, queue in enumerate(queues)}
    parents = [row.get(parent_of(queue.path, row), -1) for queue in queues]
    guaranteed = [capacity * queue.guaranteed for queue in queues]
    endless = np.full_like(capacity, np.inf)
    maximum = [capacity * queue.maximum if queue.maximum < 1 else endless for queue in queues]
    return QueueTree(
        parent=np.array([*parents, -1], dtype=np.int64),
        weight=np.array([*(queue.weight or 0.0 for queue in queues), 1.0]),
        guaranteed=np.array([*guaranteed, np.zeros_like(capacity)]),
        maximum=np.array([*maximum, endless]),
    )
