"""The federation as preemption sees it: only work that a scheduler would let its queue have counts as waiting."""

from dataclasses import replace

import pytest

from shim.domain.allocations import AskKey, Grant
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import WaitingWork
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import SubClusterState
from shim.federation.core.federation_view import SubClusterView
from shim.multicluster.core import AttemptHoldings
from shim.multicluster.core.containers import Container, ContainerState
from shim.ports.attempt_calls import Attempt
from shim.queues.core.entitle import ShareSettings, division_of
from shim.queues.core.share_load import measure
from shim.queues.share_snapshot import FederationNow, RelayedAttempt, take_snapshot
from tests.doubles.reports import a_node_report, a_queue_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
POLICY = SharePolicy(
    (FederatedQueue("root.prod", weight=3), FederatedQueue("root.dev", weight=1, preemptable=True)), version=1
)
ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)


def gib(amount: int, vcores: int | None = None) -> ResourceVector:
    return ResourceVector(1024 * amount, amount if vcores is None else vcores)


def a_cluster(name: SubClusterId, prod: int, pending: int, dev: int, *, most: int = 8, age_s: float = 1.0):
    node = replace(a_node_report(total=gib(8, 16)), used=gib(prod + dev))
    queues = (
        a_queue_report(
            "root.prod", used=gib(prod), pending=gib(pending), pending_containers=pending // 2, maximum=gib(most)
        ),
        a_queue_report("root.dev", used=gib(dev)),
    )
    return SubClusterView(
        name,
        SubClusterState.RUNNING,
        age_s,
        capacity=gib(8, 16),
        used=gib(prod + dev),
        nodes=(node,),
        queues={queue.path: queue for queue in queues},
    )


def now(*looks: SubClusterView, late: frozenset[SubClusterId] = frozenset()) -> FederationNow:
    load = measure(POLICY, looks, {}, (), absent_after_s=60.0)
    return FederationNow(1000.0, POLICY, load, division_of(POLICY, load, (), usual(ShareSettings)), looks, late)


def a_container(state: ContainerState, subcluster: SubClusterId = EAST) -> Container:
    grant = Grant(ContainerId(ATTEMPT, 2), NodeId("n1", 45454), 1, -1, gib(1))
    return Container(grant.container, subcluster, state, None, grant)


def test_what_waits_is_counted_in_containers_and_so_is_what_is_free():
    prod, dev = take_snapshot(now(a_cluster(EAST, 1, 4, 5), a_cluster(WEST, 0, 0, 8)), (), {}).queues
    assert prod.waiting == {EAST: WaitingWork(gib(2), count=2, free=1)}
    assert (prod.may_be_taken_from, dev.may_be_taken_from, dev.budget) == (False, True, 20)
    assert dev.waiting == {}


def test_what_the_schedulers_own_limit_forbids_is_not_waited_for():
    prod, _ = take_snapshot(now(a_cluster(EAST, 1, 4, 7, most=3), a_cluster(WEST, 0, 0, 8)), (), {}).queues
    assert prod.waiting == {EAST: WaitingWork(gib(2), count=1, free=0)}
    prod, _ = take_snapshot(now(a_cluster(EAST, 1, 4, 7, most=1)), (), {}).queues
    assert prod.waiting == {}


def test_only_what_is_scarce_counts():
    taken = take_snapshot(now(a_cluster(EAST, 0, 8, 8)), (), {})
    assert taken.capacity == ResourceVector(8192, 0), "of virtual cores there are enough"
    assert [queue.entitled for queue in taken.queues] == [ResourceVector(6144, 0), ResourceVector(2048, 0)]
    assert take_snapshot(now(a_cluster(EAST, 1, 2, 3)), (), {}).capacity == ResourceVector()


@pytest.mark.parametrize(("state", "may"), [(ContainerState.GIVEN, True), (ContainerState.QUEUED, False)])
def test_only_a_container_that_was_given_may_be_taken(state: ContainerState, may: bool):  # noqa: FBT001
    relayed = RelayedAttempt(
        Attempt(ATTEMPT, EAST, "root.dev", "alice"),
        AttemptHoldings((a_container(state),), gib(3), gib(1), frozenset({EAST})),
    )
    taken = take_snapshot(now(a_cluster(EAST, 0, 8, 8)), [relayed], {ContainerId(ATTEMPT, 2): 900.0})
    assert [(each.since_s, each.is_given) for each in taken.containers] == [(900.0, may)]
    assert [(each.wants, each.places) for each in taken.attempts] == [(gib(3), frozenset({EAST}))]


def test_a_cluster_that_is_late_makes_everything_stale_until_it_does_not_count():
    east, west = a_cluster(EAST, 0, 8, 8), a_cluster(WEST, 0, 0, 8)
    assert take_snapshot(now(east, west), (), {}).is_fresh
    assert not take_snapshot(now(east, west, late=frozenset({WEST})), (), {}).is_fresh
    absent = a_cluster(WEST, 0, 0, 8, age_s=90.0)
    assert take_snapshot(now(east, absent, late=frozenset({WEST})), (), {}).is_fresh


def test_a_cluster_whose_nodes_come_back_one_by_one_makes_everything_stale():
    """It tells less capacity and less use than there is: nobody's share is smaller for that."""
    back = replace(a_cluster(WEST, 0, 0, 8), awaits_nodes=True)
    taken = take_snapshot(now(a_cluster(EAST, 1, 4, 5), back), (), {})
    assert not taken.is_fresh
    assert list(taken.as_of_s) == [EAST]


def test_the_first_container_is_the_masters_own_at_home_alone():
    """Elsewhere Heddle's own master has none, so that the first is one like the others."""

    def a_first(subcluster: SubClusterId) -> Container:
        grant = Grant(ContainerId(ATTEMPT, 1), NodeId("n1", 45454), 1, -1, gib(1))
        return Container(grant.container, subcluster, ContainerState.GIVEN, None, grant)

    relayed = RelayedAttempt(
        Attempt(ATTEMPT, EAST, "root.dev", "alice"), AttemptHoldings((a_first(EAST), a_first(WEST)), gib(3))
    )
    taken = take_snapshot(now(a_cluster(EAST, 0, 8, 8), a_cluster(WEST, 0, 0, 8)), [relayed], {})
    assert [(each.subcluster, each.is_master) for each in taken.containers] == [(EAST, True), (WEST, False)]


def a_span(movable: dict[tuple[SubClusterId, SubClusterId], int], queue: str = "root.prod") -> RelayedAttempt:
    holdings = AttemptHoldings((), gib(8), ResourceVector(), frozenset({EAST, WEST}), movable)
    return RelayedAttempt(Attempt(ATTEMPT, EAST, queue, "alice"), holdings)


def test_what_waits_is_known_with_every_cluster_where_it_could_be():
    clusters = a_cluster(EAST, 4, 6, 4), a_cluster(WEST, 0, 0, 7)
    alone, _ = take_snapshot(now(*clusters), [a_span({(EAST, WEST): 2}, "root.dev")], {}).queues
    assert alone.waiting == {EAST: WaitingWork(gib(2), 2, 0)}, "another queue's asks may move"
    prod, _ = take_snapshot(now(*clusters), [a_span({(EAST, WEST): 1}), a_span({(EAST, WEST): 3})], {}).queues
    assert prod.waiting == {
        EAST: WaitingWork(gib(2), 2, 0, {WEST: 2}),
        WEST: WaitingWork(gib(2), 1, 0),
    }, "of three that wait one is more than its scheduler lets it have in the east"


def test_where_a_scheduler_forbids_it_or_is_not_known_nothing_could_be():
    clusters = a_cluster(EAST, 4, 4, 4), a_cluster(WEST, 0, 0, 8, most=2)
    prod, _ = take_snapshot(now(*clusters), [a_span({(EAST, WEST): 2, (EAST, SubClusterId("north")): 2})], {}).queues
    assert prod.waiting[EAST].elsewhere == {WEST: 1}
    late = now(*clusters, late=frozenset({WEST}))
    prod, _ = take_snapshot(late, [a_span({(EAST, WEST): 2})], {}).queues
    assert prod.waiting == {EAST: WaitingWork(gib(2), 2, 0)}


def test_what_an_order_holds_back_waits_though_no_scheduler_was_told_of_it():
    key = AskKey(20, -1, is_opportunistic=False, resource=gib(2))
    relayed = RelayedAttempt(
        Attempt(ATTEMPT, WEST, "root.prod", "alice"),
        AttemptHoldings((), gib(6), gib(6), frozenset({EAST, WEST}), asks={key: 3}),
    )
    clusters = a_cluster(EAST, 0, 0, 8), a_cluster(WEST, 0, 0, 7, most=4)
    prod, _ = take_snapshot(now(*clusters), [relayed], {}).queues
    assert prod.waiting == {
        WEST: WaitingWork(gib(2), 2, 0, {EAST: 2}),
        EAST: WaitingWork(gib(2), 1, 0),
    }, "at its home as far as the scheduler there lets it, and elsewhere"
    nothing_held = replace(relayed, holdings=replace(relayed.holdings, withheld=ResourceVector()))
    assert take_snapshot(now(*clusters), [nothing_held], {}).queues[0].waiting == {}
