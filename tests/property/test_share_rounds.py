"""Who may start, against a slow form that adds everything up anew for each question."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.queues.core.entitle import PendingApplication, ShareSettings, decide_starts
from shim.queues.core.share_load import FederationLoad, QueueLoad
from shim.queues.core.share_round import RowSet, Shares, ShareSums
from tests.doubles.settings import usual

EAST = SubClusterId("east")
GIB = ResourceVector(1024, 1)
USERS = ("ada", "bob", "cy")
PARENTS = ("root.a", "root.b")
LEAVES = tuple(f"{parent}.{name}" for parent in ("root", *PARENTS) for name in "xyz")


class SlowShares(Shares):
    """Asks all queues for each start, and remembers nothing between two."""

    def objection(self, queue, applicant):
        rows = range(len(self._queues))
        self._sums = ShareSums(self._tree.parent[:-1], self._held, self._promised)
        self._owed = RowSet(row for row in rows if self._is_owed(row, self._queues[row]))
        self._wanting = RowSet(row for row in rows if self._wants(self._queues[row]))
        return super().objection(queue, applicant)


def slow_round(policy, load, applications, settings):
    """Starters and what waits, by queue, in their order."""
    waiting = {}
    for one in sorted(applications, key=lambda one: (one.since_ms, one.application_id)):
        waiting.setdefault(one.queue, []).append(one)
    shares = SlowShares(policy, load, waiting, settings)
    starters, queues, reasons = [], {}, {}
    for queue in shares.most_owed_first():
        left, kept = list(shares.waiting[queue.path]), []
        users = load.queues[queue.path].users
        while left:
            applicant = left[0] if queue.order == "fifo" else min(left, key=lambda one: users[one.user])
            left.remove(applicant)
            shares.waiting[queue.path] = left
            objection = shares.objection(queue, applicant)
            personal = "" if objection else shares.objection_to_user(queue, applicant)
            if objection or personal:
                reasons.setdefault(queue.path, objection or personal)
                kept.append(applicant)
                if objection:
                    kept += left
                    break
            else:
                shares.start(queue, applicant)
                starters.append(applicant.application_id)
        shares.end_turn(queue, kept)
        if kept:
            queues[queue.path] = [one.application_id for one in kept]
    return starters, queues, reasons, shares.statuses()


def amounts(most):
    return st.integers(0, most).map(lambda count: ResourceVector(1024 * count, count))


@st.composite
def queues(draw):
    leaves = draw(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=5, unique=True))
    paths = [*(parent for parent in PARENTS if draw(st.booleans())), *leaves]
    return SharePolicy(
        tuple(
            FederatedQueue(
                path,
                weight=draw(st.sampled_from([None, 0.0, 1.0, 1.0, 3.0])),
                guaranteed=draw(st.sampled_from([0.0, 0.0, 0.1])),
                maximum=draw(st.sampled_from([1.0, 1.0, 0.3])),
                max_running=draw(st.sampled_from([0, 0, 2])),
                max_user_running=draw(st.sampled_from([0, 0, 1])),
                user_maximum=draw(st.sampled_from([1.0, 0.2])),
                order=draw(st.sampled_from(["fifo", "fair"])),
            )
            for path in paths
        )
    )


@st.composite
def loads(draw, policy):
    most = draw(st.sampled_from([0, 6]))

    def load_of():
        users = draw(st.dictionaries(st.sampled_from(USERS), st.integers(1, 2), max_size=2))
        running = sum(users.values())
        return QueueLoad(
            used={EAST: draw(amounts(most))},
            pending=draw(st.just(ResourceVector()) | amounts(3)),
            running=running,
            unstarted=draw(st.integers(0, running)),
            users=Counter(users),
            user_used=dict.fromkeys(users, GIB),
        )

    return FederationLoad(draw(amounts(40)), {queue.path: load_of() for queue in policy.queues}, usable=(EAST,))


@st.composite
def rounds(draw):
    policy = draw(queues())
    paths = st.sampled_from([queue.path for queue in policy.queues])
    asked = draw(st.lists(st.tuples(paths, st.sampled_from(USERS), st.just(GIB) | amounts(3)), max_size=20))
    busy = draw(st.sampled_from([0, 0, 8]))  # of each queue: enough for all of them to come to their entitlement
    asked += [(queue.path, "ada", GIB) for queue in policy.queues for _ in range(busy)]
    applications = [
        PendingApplication(ApplicationId(1, number), path, user, size, since_ms=draw(st.integers(0, 3)))
        for number, (path, user, size) in enumerate(asked, start=1)
    ]
    return policy, draw(loads(policy)), applications


@given(rounds(), st.integers(0, 2))
def test_decides_as_if_everything_were_added_up_for_each_start(drawn, ahead):
    policy, load, applications = drawn
    settings = usual(ShareSettings, pending_per_cluster=ahead)
    outcome = decide_starts(policy, load.copy(), applications, settings)
    assert (outcome.starters, outcome.queues, outcome.reasons, outcome.statuses) == slow_round(
        policy, load.copy(), applications, settings
    )


@given(
    st.lists(st.integers(-1, 6), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), max_size=6),
)
def test_sums_are_those_of_all_queues_below(parents, starts):
    parent = np.array([min(above, row - 1) for row, above in enumerate(parents)])
    held = np.arange(1.0, len(parent) + 1)[:, None] * [1.0, 100.0]
    sums = ShareSums(parent, held, held * 2)
    for row, size in starts:
        if row < len(parent):
            held[row] += size
            sums.add(row, np.full(2, float(size)))
    for row in range(len(parent)):
        below = [other for other in range(len(parent)) if row in sums.upwards(other)]
        assert sums.held_below[row].tolist() == held[below].sum(axis=0).tolist()
    started = sum(size for row, size in starts if row < len(parent))
    assert sums.promised.tolist() == (held.sum(axis=0) * 2 - started).tolist()


@given(st.sets(st.integers(0, 20)), st.lists(st.tuples(st.integers(0, 20), st.booleans())), st.integers(0, 20))
def test_a_set_of_rows_is_a_sorted_set(rows, changes, asked):
    known, kept = set(rows), RowSet(rows)
    for row, is_in in changes:
        kept.put(row, is_in=is_in)
        known = known | {row} if is_in else known - {row}
    others = sorted(known - {asked})
    assert list(kept.others(asked, most=2)) == others[:2]
    assert kept.count_others(asked) == len(others)
    assert kept.has_other(asked) == bool(others)


class Counted(FederatedQueue):
    """A queue that counts how often somebody asks for its path."""

    looks = 0

    def __getattribute__(self, name):
        if name == "path":
            Counted.looks += 1
        return super().__getattribute__(name)


def looks_of(count):
    policy = SharePolicy(tuple(Counted(f"root.q{number}", weight=1.0) for number in range(count)))
    load = FederationLoad(GIB, {queue.path: QueueLoad(used={EAST: GIB}) for queue in policy.queues}, usable=(EAST,))
    applications = [
        PendingApplication(ApplicationId(1, number + 1), f"root.q{number}", "ada", GIB) for number in range(count)
    ]
    Counted.looks = 0
    outcome = decide_starts(policy, load, applications, usual(ShareSettings))
    assert len(outcome.queues) == count
    return Counted.looks


def test_looks_at_each_of_many_waiting_queues_a_few_times_only():
    """By counts: ten times the queues are ten times the looks, and not a hundred times."""
    assert looks_of(500) < 12 * looks_of(50)
