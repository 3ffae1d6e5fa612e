"""A second book of tentative allocations, written from its rules alone: everything is added up anew at each question.

Nothing is kept but what was told and where each container is counted, so that no sum can go stale.
"""

from dataclasses import dataclass, field
from itertools import count

FOREVER = 1 << 31
SHORT_FOR_S = 3.0


@dataclass
class Promise:
    """Containers of one kind since a moment; `rows` has one row of a node for each that a node has room for."""

    kind: object
    number: int
    at_s: float
    rows: list[int] = field(default_factory=list)
    short_since_s: float | None = None


class PlainTentativeAllocations:
    """Rules of `TentativeAllocations` of `shim.scheduling.local_master`, without a cache or an array."""

    def __init__(self, lasts_s):
        self.lasts_s, self.reported_at_s = lasts_s, float("-inf")
        self.nodes, self.queues = [], {}
        self.promises, self.granted, self.answers = {}, [], {}

    def _counted(self):
        return [*self.granted, *self.promises.values()]

    def free(self, row):
        """What a node has by name of type, less what it holds and what is counted on it."""
        node = self.nodes[row]
        left = {name: amount - amounts(node.used).get(name, 0) for name, amount in amounts(node.total).items()}
        for promise in self._counted():
            for name, amount in amounts(promise.kind.resource).items():
                left[name] = left.get(name, 0) - amount * promise.rows.count(row)
        return left

    def _slots(self, kind, row):
        node, free = self.nodes[row], self.free(row)
        right_partition = kind.label in node.labels if kind.label else node.labels == ()
        named = not kind.places or node.node.host in kind.places or node.rack in kind.places
        told = {name for each in self.nodes for name in amounts(each.total)}  # of other types nobody can say anything
        needs = {name: amount for name, amount in amounts(kind.resource).items() if amount and name in told}
        if not (right_partition and named and needs):
            return 0
        return next(more for more in count() if any(free.get(name, 0) < n * (more + 1) for name, n in needs.items()))

    def left_of(self, path):
        """Memory and virtual cores that a queue may still have; -1 where it is not bounded."""
        if path not in self.queues:
            return None
        queue = self.queues[path]
        held = [
            p.kind.resource
            for p in self._counted()
            for _ in range(p.number)
            if (p.kind.queue, p.kind.label) == (path, "")
        ]
        pairs = [
            (queue.maximum.memory_mib, queue.used.memory_mib + sum(each.memory_mib for each in held)),
            (queue.maximum.vcores, queue.used.vcores + sum(each.vcores for each in held)),
        ]
        return tuple(max(0, most - taken) if most > 0 else -1 for most, taken in pairs)

    def room(self, kind):
        """How many containers could be promised now: of the nodes, and of the queue where no label is asked for."""
        limits = [sum(self._slots(kind, row) for row in range(len(self.nodes)))]
        left = None if kind.label else self.left_of(kind.queue)
        for have, need in zip(left or (), (kind.resource.memory_mib, kind.resource.vcores), strict=False):
            if have >= 0 and need > 0:
                limits.append(have // need)
        return min(limits)

    def _lay(self, promise):
        promise.rows = []
        for row in range(len(self.nodes)):
            promise.rows += [row] * min(self._slots(promise.kind, row), promise.number - len(promise.rows))
        if len(promise.rows) == promise.number:
            promise.short_since_s = None
        elif promise.short_since_s is None:
            promise.short_since_s = self.reported_at_s

    def _lay_all(self):
        promises = self._counted()
        for promise in promises:
            promise.rows = []
        for promise in promises:
            self._lay(promise)

    def _give_up(self, key, number):
        """Take containers off a promise, those without a node first; return the rows that they leave."""
        promise = self.promises.get(key)
        if promise is None:
            return []
        promise.number -= min(promise.number, number)
        spare = max(0, len(promise.rows) - promise.number)
        rows, promise.rows = promise.rows[:spare], promise.rows[spare:]
        if promise.number == 0:
            del self.promises[key]
        return rows

    def apply(self, nodes, queues, polled_at_s):
        """Take over a report that is newer."""
        if polled_at_s <= self.reported_at_s:
            return
        self.reported_at_s, self.queues = polled_at_s, queues
        self.nodes = [node for node in nodes if node.state == "RUNNING"]
        self.granted = [each for each in self.granted if each.at_s >= polled_at_s]
        self.promises = {key: each for key, each in self.promises.items() if key[0] != ""}
        self.expire(polled_at_s)
        self._lay_all()

    def expire(self, at_s):
        """Forget what is older than it may be; one that is just as old stays."""
        for key in [key for key, each in self.promises.items() if at_s - each.at_s > self.lasts_s]:
            del self.promises[key]
        young = [each for each in self.granted if at_s - each.at_s <= self.lasts_s]
        if len(young) < len(self.granted):
            self.granted = young
            self._lay_all()

    def propose(self, sender, proposal, at_s):
        """Return how many are promised."""
        self.expire(at_s)
        key = (sender, proposal.number)
        if key not in self.answers:
            accepted = max(0, min(proposal.count, self.room(proposal.kind)))
            self.answers[key] = [accepted, 0, 0]
            if accepted:
                promise = Promise(proposal.kind, accepted, at_s)
                self._lay(promise)
                self.promises[key] = promise
        return self.answers[key][0]

    def tell(self, sender, news, at_s):
        """Move what was granted to where it waits for a report, and drop what was withdrawn."""
        key = (sender, news.number)
        if key not in self.answers:
            self.answers[key] = [0, 0, 0]
            return
        _, honoured, withdrawn = self.answers[key]
        self.answers[key][1:] = max(honoured, news.honoured), max(withdrawn, news.withdrawn)
        if key not in self.promises:
            return
        promise = self.promises[key]
        moved = min(max(0, news.honoured - honoured), promise.number)
        if moved:
            self.granted.append(Promise(promise.kind, moved, at_s, self._give_up(key, moved)))
        self._give_up(key, max(0, news.withdrawn - withdrawn))

    def took(self, _holder, kind, at_s):
        """Count a container that was granted without a promise."""
        promise = Promise(kind, 1, at_s)
        self._lay(promise)
        self.granted.append(promise)

    def lost(self, sender, number):
        """Containers of a proposal that are promised no more, or that no node has had room for during a while."""
        key = (sender, number)
        if key not in self.promises:
            accepted, honoured, withdrawn = self.answers.get(key, (0, 0, 0))
            return max(0, accepted - honoured - withdrawn)
        promise = self.promises[key]
        is_long = promise.short_since_s is not None and self.reported_at_s - promise.short_since_s >= SHORT_FOR_S
        return promise.number - len(promise.rows) if is_long else 0

    def correct(self, sender, number, accepted):
        """Of a proposal less was promised than was believed."""
        key = (sender, number)
        if key in self.answers and accepted < self.answers[key][0]:
            surplus, self.answers[key][0] = self.answers[key][0] - accepted, accepted
            self._give_up(key, surplus)

    def learn(self, promised, at_s):
        """Take over others' promises, in place of those told before."""
        self.promises = {key: each for key, each in self.promises.items() if key[0] != ""}
        for place, each in enumerate(promised):
            number = min(each.count, self.room(each.kind))
            if number:
                promise = Promise(each.kind, number, at_s)
                self._lay(promise)
                self.promises["", place] = promise

    @property
    def open(self):
        """Containers that are promised and not granted."""
        return sum(promise.number for promise in self.promises.values())


def amounts(vector):
    """Amounts by name of type."""
    return {"memory-mb": vector.memory_mib, "vcores": vector.vcores, **vector.others}
