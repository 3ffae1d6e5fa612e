"""Who may start: queues by their shares over all sub-clusters, applications in their queue's order."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, PartitionReport, QueueReport, QueueState, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, SubClusterState
from shim.federation.core.federation_view import SubClusterView
from shim.queues.core.entitle import PendingApplication, Round, ShareSettings, decide_starts
from shim.queues.core.share_load import ExpectedWork, QueueLoad, measure, nowhere
from tests.doubles.live_applications import LiveApplication, live_groups
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
GIB = ResourceVector(1024, 1)
THREE_TO_ONE = SharePolicy((FederatedQueue("root.prod", weight=3), FederatedQueue("root.dev", weight=1)))


def gib(amount: int) -> ResourceVector:
    return ResourceVector(1024 * amount, amount)


def a_queue(path: str, used: int = 0, pending: int = 0) -> QueueReport:
    return QueueReport(
        path, QueueState.RUNNING, is_leaf=True, capacity=gib(4), maximum=gib(8), used=gib(used), pending=gib(pending)
    )


def a_cluster(
    name: SubClusterId = EAST, *queues: QueueReport, size: int = 8, used: int = 0, age_s: float = 1.0
) -> SubClusterView:
    return SubClusterView(
        name,
        SubClusterState.RUNNING,
        age_s,
        capacity=gib(size),
        used=gib(used),
        queues={queue.path: queue for queue in queues},
    )


def running(queue: str, count: int, home: SubClusterId = EAST, user: str = "alice") -> list[LiveApplication]:
    return [LiveApplication(home, queue, user, used=GIB)] * count


def waiting(
    queue: str, count: int, user: str = "alice", first: int = 1, resource: ResourceVector = GIB
) -> list[PendingApplication]:
    return [
        PendingApplication(ApplicationId(1, number), queue, user, resource, since_ms=number)
        for number in range(first, first + count)
    ]


def a_round(
    policy: SharePolicy,
    clusters: Sequence[SubClusterView],
    applications: Sequence[PendingApplication],
    live: Sequence[LiveApplication] = (),
    **admissions: Admission,
) -> Round:
    words = {SubClusterId(name): word for name, word in admissions.items()}
    load = measure(policy, clusters, words, live_groups(live), absent_after_s=60.0, now_s=100.0)
    return decide_starts(policy, load, applications, usual(ShareSettings))


def started(outcome: Round, applications: Sequence[PendingApplication], queue: str) -> int:
    mine = {one.application_id for one in applications if one.queue == queue}
    return len(mine & set(outcome.starters))


IDLE = (
    a_cluster(EAST, a_queue("root.prod"), a_queue("root.dev")),
    a_cluster(WEST, a_queue("root.prod"), a_queue("root.dev")),
)


def test_two_queues_with_much_to_do_start_by_their_weights_over_all_clusters_together():
    applications = waiting("root.prod", 50) + waiting("root.dev", 50, first=100)
    outcome = a_round(THREE_TO_ONE, IDLE, applications)
    assert started(outcome, applications, "root.prod") == 12
    assert started(outcome, applications, "root.dev") == 4
    assert outcome.statuses["root.prod"].entitlement == pytest.approx(0.75)
    assert "entitled to 25%" in outcome.reasons["root.dev"]


def test_what_nobody_wants_is_borrowed():
    applications = waiting("root.dev", 50)
    outcome = a_round(THREE_TO_ONE, IDLE, applications)
    assert len(outcome.starters) == 16
    dev = outcome.statuses["root.dev"]
    assert dev.entitlement == pytest.approx(1.0)
    assert dev.share == pytest.approx(0.25)
    assert outcome.statuses["root.prod"].lent == pytest.approx(0.75)


def test_a_queue_that_borrowed_waits_while_another_is_below_its_share():
    full = a_cluster(EAST, a_queue("root.prod"), a_queue("root.dev", used=8), used=8)
    applications = waiting("root.prod", 3) + waiting("root.dev", 3, first=100)
    outcome = a_round(THREE_TO_ONE, [full], applications, running("dev", 8))
    assert started(outcome, applications, "root.prod") == 3
    assert started(outcome, applications, "root.dev") == 0
    dev = outcome.statuses["root.dev"]
    assert dev.used - dev.share == pytest.approx(0.75)


def test_usage_on_one_cluster_counts_against_the_share_on_the_other():
    clusters = (
        a_cluster(EAST, a_queue("root.prod"), a_queue("root.dev", used=4), used=4),
        a_cluster(WEST, a_queue("root.prod"), a_queue("root.dev")),
    )
    applications = waiting("root.prod", 50) + waiting("root.dev", 50, first=100)
    outcome = a_round(THREE_TO_ONE, clusters, applications, running("dev", 4))
    assert started(outcome, applications, "root.dev") == 0
    assert started(outcome, applications, "root.prod") == 12


def test_an_application_on_its_way_counts_before_any_cluster_shows_it():
    on_way = [LiveApplication(EAST, "root.dev", "alice", has_started=False)] * 4
    applications = waiting("root.prod", 50) + waiting("root.dev", 50, first=100)
    outcome = a_round(THREE_TO_ONE, IDLE, applications, on_way)
    assert started(outcome, applications, "root.dev") == 0


def test_an_application_counts_with_what_others_of_its_queue_hold_on_average():
    clusters = (a_cluster(EAST, a_queue("root.prod", used=4), a_queue("root.dev"), used=4), IDLE[1])
    applications = waiting("root.prod", 50) + waiting("root.dev", 50, first=100)
    outcome = a_round(THREE_TO_ONE, clusters, applications, running("prod", 2))
    assert started(outcome, applications, "root.prod") == 4  # of 2 GiB each, beside the 4 GiB that are held
    assert started(outcome, applications, "root.dev") == 4


def test_applications_that_hold_a_master_alone_count_with_what_others_held():
    """Else more and more would start, until nothing but masters fits and none gets a container."""
    clusters = (
        a_cluster(EAST, a_queue("root.prod", used=3), a_queue("root.dev", used=4), used=7),
        a_cluster(WEST, a_queue("root.prod", used=0), a_queue("root.dev"), used=0),
    )
    applications = waiting("root.prod", 9) + waiting("root.dev", 9, first=100)
    live = running("prod", 3) + running("dev", 1)
    load = measure(THREE_TO_ONE, clusters, {}, live_groups(live), absent_after_s=60.0)
    load.queues["root.prod"].learnt = gib(4)
    assert decide_starts(THREE_TO_ONE, load.copy(), applications, usual(ShareSettings)).starters == []
    load.queues["root.prod"].learnt = gib(1)
    starters = decide_starts(THREE_TO_ONE, load.copy(), applications, usual(ShareSettings)).starters
    assert len(starters) == 9


def test_what_applications_hold_is_learnt_at_once_and_forgotten_slowly():
    load = QueueLoad(used={EAST: gib(8)}, running=2, learnt=gib(1))
    assert load.learn() == gib(4)
    load = QueueLoad(used={EAST: gib(2)}, running=2, learnt=gib(4))
    for _ in range(200):
        load.learnt = load.learn()
    assert gib(1).memory_mib < load.learnt.memory_mib < gib(3).memory_mib
    for _ in range(3000):
        load.learnt = load.learn()
    assert load.learnt == gib(1)


def test_a_queue_that_holds_nothing_starts_an_application_that_is_larger_than_its_entitlement():
    full = a_cluster(EAST, a_queue("root.prod", used=8), a_queue("root.dev"), used=8)
    applications = waiting("root.prod", 3) + waiting("root.dev", 3, first=100)
    load = measure(THREE_TO_ONE, [full], {}, live_groups(running("prod", 8)), absent_after_s=60.0)
    load.queues["root.dev"].learnt = gib(8)
    outcome = decide_starts(THREE_TO_ONE, load, applications, usual(ShareSettings))
    assert started(outcome, applications, "root.dev") == 1


def test_a_few_may_wait_at_the_clusters_while_nobody_else_wants_anything():
    full = a_cluster(EAST, a_queue("root.prod"), a_queue("root.dev", used=8), used=8)
    outcome = a_round(THREE_TO_ONE, [full], waiting("root.dev", 9), running("dev", 8))
    assert len(outcome.starters) == 2
    assert "full" in outcome.reasons["root.dev"]


def test_a_cluster_that_was_silent_for_too_long_is_not_divided():
    clusters = (IDLE[0], a_cluster(WEST, a_queue("root.prod", used=8), used=8, age_s=61))
    applications = waiting("root.prod", 50) + waiting("root.dev", 50, first=100)
    outcome = a_round(THREE_TO_ONE, clusters, applications, running("prod", 8, WEST))
    assert started(outcome, applications, "root.prod") == 6
    assert started(outcome, applications, "root.dev") == 2


def test_a_cluster_that_takes_nothing_new_counts_with_what_it_holds():
    clusters = (IDLE[0], a_cluster(WEST, a_queue("root.prod", used=2), used=2))
    applications = waiting("root.prod", 50) + waiting("root.dev", 50, first=100)
    outcome = a_round(THREE_TO_ONE, clusters, applications, running("prod", 2, WEST), west=Admission.DRAINING)
    assert started(outcome, applications, "root.prod") + started(outcome, applications, "root.dev") == 8


def test_queues_that_nobody_named_count_as_one_of_weight_1():
    crowded = a_cluster(
        EAST, a_queue("root.prod"), a_queue("root.dev"), a_queue("root.other", used=8, pending=80), used=8
    )
    applications = waiting("root.prod", 50) + waiting("root.dev", 50, first=100)
    outcome = a_round(THREE_TO_ONE, [crowded], applications)
    assert started(outcome, applications, "root.prod") == 5  # 3/5 of 8, to the nearest
    assert started(outcome, applications, "root.dev") == 2


def test_a_queue_of_weight_0_gets_what_is_left():
    policy = SharePolicy((FederatedQueue("root.prod", weight=1), FederatedQueue("root.dev", weight=0)))
    applications = waiting("root.prod", 3) + waiting("root.dev", 50, first=100)
    outcome = a_round(policy, [IDLE[0]], applications)
    assert started(outcome, applications, "root.prod") == 3
    assert started(outcome, applications, "root.dev") == 5


def test_queues_without_any_capacity_let_nobody_starve_and_divide_nothing_by_zero():
    empty = a_cluster(EAST, a_queue("root.prod"), size=0)
    outcome = a_round(THREE_TO_ONE, [empty], waiting("root.prod", 50))
    assert len(outcome.starters) == 2
    assert outcome.statuses["root.prod"].entitlement == 0


LIMITS = {
    "running": (FederatedQueue("root.prod", weight=1, max_running=3), 3, "its limit of 3 applications"),
    "maximum": (FederatedQueue("root.prod", weight=1, maximum=0.25), 4, "its maximum of 25%"),
    "running of a user": (FederatedQueue("root.prod", weight=1, max_user_running=2), 4, "alice runs the limit of 2"),
    "running without weight": (FederatedQueue("root.prod", max_running=3), 3, "its limit of 3 applications"),
}


@pytest.mark.parametrize(("queue", "most", "why"), LIMITS.values(), ids=LIMITS.keys())
def test_limits_hold_over_all_clusters(queue: FederatedQueue, most: int, why: str):
    applications = waiting("root.prod", 20) + waiting("root.prod", 20, "bob", first=100)
    outcome = a_round(SharePolicy((queue,)), IDLE, applications)
    assert len(outcome.starters) == most
    assert why in outcome.reasons["root.prod"]


def test_a_user_holds_no_more_than_his_part():
    policy = SharePolicy((FederatedQueue("root.prod", weight=1, user_maximum=0.25),))
    clusters = (a_cluster(EAST, a_queue("root.prod", used=3), used=3), IDLE[1])
    applications = waiting("root.prod", 20) + waiting("root.prod", 2, "bob", first=100)
    outcome = a_round(policy, clusters, applications, running("prod", 3))
    assert [number.sequence for number in outcome.starters] == [1, 100, 101]


def test_the_maximum_of_a_parent_holds_for_all_below_it():
    policy = SharePolicy(
        (
            FederatedQueue("root.lab", weight=1, maximum=0.25),
            FederatedQueue("root.lab.a", weight=1),
            FederatedQueue("root.lab.b", weight=1),
        )
    )
    clusters = [a_cluster(EAST, a_queue("root.lab.a"), a_queue("root.lab.b"), size=16)]
    applications = waiting("root.lab.a", 20) + waiting("root.lab.b", 20, first=100)
    outcome = a_round(policy, clusters, applications)
    assert started(outcome, applications, "root.lab.a") == started(outcome, applications, "root.lab.b") == 2


def test_users_take_turns_where_the_policy_says_so():
    policy = SharePolicy((FederatedQueue("root.prod", weight=1, max_running=4, order="users"),))
    applications = waiting("root.prod", 9) + waiting("root.prod", 2, "bob", first=100)
    outcome = a_round(policy, IDLE, applications)
    assert [number.sequence for number in outcome.starters] == [1, 100, 2, 101]


def test_who_came_first_is_next_and_positions_are_told():
    policy = SharePolicy((FederatedQueue("root.prod", weight=1, max_running=1),))
    applications = list(reversed(waiting("root.prod", 3)))
    outcome = a_round(policy, IDLE, applications)
    assert [number.sequence for number in outcome.starters] == [1]
    assert [number.sequence for number in outcome.queues["root.prod"]] == [2, 3]


def test_queues_that_no_cluster_has_by_any_name_are_told_of_and_parents_are_not() -> None:
    named = FederatedQueue("root.analytics", weight=1, names={EAST: "root.prod"})
    slip, above, below = (FederatedQueue(path, weight=1) for path in ("root.porsche", "root", "root.dev"))
    policy = SharePolicy((named, slip, above, below))
    clusters = [a_cluster(EAST, a_queue("root.prod"), a_queue("root.dev"))]
    assert nowhere(policy, measure(policy, clusters, {}, (), absent_after_s=60.0)) == ("root.porsche",)
    away = [a_cluster(EAST, age_s=1e6)]
    assert nowhere(policy, measure(policy, away, {}, (), absent_after_s=60.0)) == ()


BY_WORK = SharePolicy((FederatedQueue("root.prod", order="work"),))


def by_work(
    *mib_s: float, overdue: Sequence[int] = (), waited_s: Sequence[float] = (), runs: int = 3
) -> list[PendingApplication]:
    """Applications in the order of their arrival, with the work that each is expected to be."""
    return [
        replace(
            one,
            expected=ExpectedWork(amount, runs=runs, of_queue=9),
            is_overdue=at in overdue,
            waited_s=waited_s[at] if waited_s else 0.0,
        )
        for at, (one, amount) in enumerate(zip(waiting("root.prod", len(mib_s)), mib_s, strict=True))
    ]


def numbers(ids: Sequence[ApplicationId]) -> list[int]:
    return [each.sequence for each in ids]


def test_by_work_what_clusters_have_room_for_starts_at_once_and_a_few_ahead_the_least_work_first():
    cluster = a_cluster(EAST, a_queue("root.prod"), size=4, used=2)
    outcome = a_round(BY_WORK, [cluster], by_work(50, 10, 40, 30, 20))
    assert numbers(outcome.starters) == [2, 5, 4], "two for which there is room, one ahead"
    assert numbers(outcome.queues["root.prod"]) == [3, 1]
    assert "3 of queue root.prod wait for their ApplicationMasters" in outcome.reasons["root.prod"]


@pytest.mark.parametrize(("counts_all", "starters"), [(True, [2, 5]), (None, [2, 5, 4])])
def test_by_work_no_more_start_than_the_share_of_masters_has_room_for_however_much_is_free(counts_all, starters):
    """The rest would wait at the cluster, in the order of arrival."""
    part = PartitionReport("", gib(8), gib(2), masters=ResourceVector(4096, 3), masters_used=gib(2))
    cluster = a_cluster(EAST, replace(a_queue("root.prod"), partitions=(part,), counts_all=counts_all), size=8, used=2)
    assert numbers(a_round(BY_WORK, [cluster], by_work(50, 10, 40, 30, 20)).starters) == starters


@pytest.mark.parametrize(("containers", "starters"), [("learnt-work", [1, 2, 3, 4]), ("jockey", [4, 1])])
def test_by_deadlines_the_last_master_at_a_cluster_is_not_for_jobs_without_one(containers, starters):
    policy = SharePolicy((FederatedQueue("root.prod", order="work", containers=containers),))
    part = PartitionReport("", masters=gib(4), masters_used=gib(1))
    cluster = a_cluster(EAST, replace(a_queue("root.prod"), partitions=(part,)), size=8, used=1)
    *others, fourth = by_work(10, 20, 30, 40)
    due = replace(fourth, due_s=1_000.0 if containers == "jockey" else math.inf)
    outcome = a_round(policy, [cluster], [*others, due], running("root.prod", 2))
    assert numbers(outcome.starters) == starters
    assert ("with deadlines" in outcome.reasons.get("root.prod", "")) is (containers == "jockey")
    few = a_round(policy, [cluster], [*others, due], running("root.prod", 1))
    assert len(few.starters) >= len(starters), "where hardly any run nothing is kept"


def test_by_work_nothing_is_free_where_something_waits():
    cluster = replace(a_cluster(EAST, a_queue("root.prod"), size=4, used=2), pending=gib(1))
    slow = [LiveApplication(EAST, "root.prod", "alice", has_started=False, since_s=1.0)]
    assert numbers(a_round(BY_WORK, [cluster], by_work(50, 10, 40), slow).starters) == [], "one waits there already"
    many = a_round(BY_WORK, [cluster], by_work(*range(10, 30)))
    assert len(many.starters) == 9, "nobody waits for long: some are on their way, and one ahead"


@pytest.mark.parametrize(
    ("limit", "used", "pending", "starters"), [(4, 1, 1, 4), (4, 4, 1, 1), (4, 1, 0, 3), (2, 1, 0, 2), (0, 0, 0, 3)]
)
def test_by_work_no_more_start_than_a_limit_of_masters_leaves(limit, used, pending, starters):
    part = PartitionReport("", masters=gib(limit), masters_used=gib(used))
    queue = replace(a_queue("root.prod"), partitions=(part,))
    cluster = replace(a_cluster(EAST, queue, size=4, used=2), pending=gib(pending))
    assert len(a_round(BY_WORK, [cluster], by_work(50, 10, 40, 30, 20)).starters) == starters


def test_by_work_an_application_waits_while_those_with_less_left_hold_full_clusters():
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    smaller = [LiveApplication(EAST, "root.prod", "alice", used=gib(8), left_mib_s=100.0)]
    outcome = a_round(BY_WORK, [full], by_work(200, 50), smaller)
    assert numbers(outcome.starters) == [2], "what is less work than those that run is not held"
    assert numbers(outcome.queues["root.prod"]) == [1]
    assert "with less work left" in outcome.reasons["root.prod"]
    assert "by its last 3 runs" in outcome.reasons["root.prod"]
    larger = [replace(smaller[0], left_mib_s=1_000.0)]
    assert numbers(a_round(BY_WORK, [full], by_work(200, 50), larger).starters) == [2, 1]


@pytest.mark.parametrize(("used", "withheld", "starters"), [(8, 4, [2]), (6, 4, [2]), (5, 4, [2, 1]), (8, 0, [2, 1])])
def test_by_work_clusters_are_full_too_where_what_is_wanted_waits_here(used, withheld, starters):
    """Schedulers are told of no more than comes free soon: nothing is pending there however full they are."""
    full = a_cluster(EAST, a_queue("root.prod"), size=8, used=used)
    smaller = [LiveApplication(EAST, "root.prod", "alice", used=gib(8), left_mib_s=100.0)]
    load = measure(BY_WORK, [full], {}, live_groups(smaller), absent_after_s=60.0, withheld=gib(withheld))
    outcome = decide_starts(BY_WORK, load, by_work(200, 50), usual(ShareSettings))
    assert numbers(outcome.starters) == starters


def test_by_work_nobody_starts_behind_those_with_less_left_that_have_only_their_masters():
    """It would have nothing before them, and its own master took room from their tasks."""
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    begins = LiveApplication(EAST, "root.prod", "alice", used=GIB, left_mib_s=100.0, is_beginning=True)
    runs = replace(begins, used=gib(2), is_beginning=False)
    for live, starters in (([begins] * 2, [2]), ([begins, runs], [2, 1]), ([runs] * 2, [2, 1])):
        outcome = a_round(BY_WORK, [full], by_work(200, 50), live)
        assert numbers(outcome.starters) == starters
    larger = [replace(begins, left_mib_s=300.0)] * 9
    assert numbers(a_round(BY_WORK, [full], by_work(200, 50), larger).starters) == [2, 1], "those are behind it"
    reason = a_round(BY_WORK, [full], by_work(200), [begins] * 2).reasons["root.prod"]
    assert reason.startswith("2 of queue root.prod with less work left have no container but one; it is expected")


GIB_S = 8 * 1024.0
"""Work that a cluster of eight GiB does in a second."""


def test_by_work_what_has_waited_for_long_for_what_it_takes_counts_as_less():
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    slow = LiveApplication(EAST, "root.prod", "alice", has_started=False, since_s=1.0)
    expected = [30 * GIB_S, 1 * GIB_S, 2 * GIB_S, 0.0]
    for waited_s, order in (
        ([0.0, 0.0, 0.0, 0.0], [4, 2, 3, 1]),
        ([100.0, 0.0, 9.0, 0.0], [4, 3, 2, 1]),  # 4.3, 1 and 5.5 times what each takes: 6.9, 1 and 0.4
        ([900.0, 0.0, 9.0, 0.0], [4, 3, 1, 2]),  # 31 times: 0.97
        ([3000.0, 0.0, 9.0, 0.0], [4, 1, 3, 2]),  # 101 times: 0.3
    ):
        outcome = a_round(BY_WORK, [full], by_work(*expected, waited_s=waited_s), [slow])
        assert numbers(outcome.queues["root.prod"]) == order, waited_s


def test_by_work_what_is_known_by_its_queue_alone_is_held_for_nobody():
    """The mean of a queue is more than most of it are: all that run would go before whoever is new."""
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    smaller = [LiveApplication(EAST, "root.prod", "alice", used=gib(8), left_mib_s=100.0)]
    assert numbers(a_round(BY_WORK, [full], by_work(200, 300, runs=0), smaller).starters) == [1, 2]


def test_by_work_one_that_has_waited_counts_as_less_work_and_one_that_is_held_holds_nobody():
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    smaller = [LiveApplication(EAST, "root.prod", "alice", used=gib(8), left_mib_s=2 * GIB_S)]
    for waited_s, starters in ((0.0, [2]), (39.0, [2]), (41.0, [1, 2])):  # a fifth of it at five times its time
        applications = by_work(10 * GIB_S, 1 * GIB_S, waited_s=[waited_s, 0.0])
        assert sorted(numbers(a_round(BY_WORK, [full], applications, smaller).starters)) == starters, waited_s


def test_by_work_who_has_waited_too_long_goes_first():
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    smaller = [LiveApplication(EAST, "root.prod", "alice", used=gib(8), left_mib_s=100.0)]
    slow = LiveApplication(EAST, "root.prod", "alice", has_started=False, since_s=1.0)
    outcome = a_round(BY_WORK, [full], by_work(300, 50, 200, overdue=(0, 2)), [*smaller, slow])
    assert numbers(outcome.queues["root.prod"]) == [1, 3, 2]
    outcome = a_round(BY_WORK, [full], by_work(300, 50, 200, overdue=(0, 2)), smaller)
    assert numbers(outcome.starters) == [1, 3, 2], "no work that is left holds it back"


def test_by_work_who_has_a_deadline_to_meet_starts_before_those_of_none_the_nearest_first():
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    smaller = [LiveApplication(EAST, "root.prod", "alice", used=gib(8), left_mib_s=100.0)]
    slow = LiveApplication(EAST, "root.prod", "alice", has_started=False, since_s=1.0)
    first, second, third, fourth = by_work(300, 50, 200, 250, overdue=(3,))
    pending = [replace(first, due_s=2_000.0), second, replace(third, due_s=1_000.0), fourth]
    outcome = a_round(BY_WORK, [full], pending, [*smaller, slow])
    assert numbers(outcome.queues["root.prod"]) == [3, 1, 4, 2], "also before who has waited too long"
    outcome = a_round(BY_WORK, [full], pending[:3], smaller)
    assert numbers(outcome.starters) == [3, 1, 2], "no work that is left holds it back"
    held = [*pending[:1], replace(second, expected=replace(second.expected, mib_s=150.0))]
    assert numbers(a_round(BY_WORK, [full], held, smaller).starters) == [1], "but who has no deadline"


def test_no_order_of_work_holds_what_has_waited_for_as_long_as_tokens_last():
    full = replace(a_cluster(EAST, a_queue("root.prod"), size=8, used=8), pending=gib(4))
    smaller = [LiveApplication(EAST, "root.prod", "alice", used=gib(8), left_mib_s=100.0)]
    released = [replace(one, is_released=True) for one in by_work(*range(200, 700, 100))]
    assert len(a_round(BY_WORK, [full], released, smaller).starters) == 5
    assert a_round(BY_WORK, [full], by_work(200), smaller).starters == []


def test_masters_without_a_container_are_counted_at_each_cluster_but_for_those_that_a_limit_keeps():
    busy = replace(a_cluster(EAST, a_queue("root.prod")), waiting_applications=1)
    unstarted = LiveApplication(EAST, "root.other", "alice", has_started=False)
    load = measure(BY_WORK, [busy, a_cluster(WEST)], {}, live_groups([unstarted] * 3), absent_after_s=60.0)
    assert load.masters_at == {EAST: 2, WEST: 0}


@pytest.mark.parametrize(
    ("is_fair", "since_s", "all_of_it"), [(False, 95.0, True), (False, 80.0, False), (True, 95.0, False)]
)
def test_all_that_comes_free_is_left_to_a_master_that_would_stand_behind_what_is_asked_for(is_fair, since_s, all_of_it):
    queue = replace(a_queue("root.prod"), is_fair=is_fair)
    unstarted = LiveApplication(EAST, "root.prod", "alice", has_started=False, since_s=since_s)
    cluster = a_cluster(EAST, queue)
    load = measure(BY_WORK, [cluster, a_cluster(WEST)], {}, live_groups([unstarted]), absent_after_s=60.0, now_s=100.0)
    left = load.left_to_masters("root.prod")
    assert (left[EAST] > 1_000, left[WEST]) == (all_of_it, 0)
    assert load.by_arrival("root.prod") == (frozenset() if is_fair else {EAST})
    assert load.by_arrival("root.unnamed") == frozenset()
    limited = replace(cluster, waiting_applications=1)
    kept = measure(BY_WORK, [limited, a_cluster(WEST)], {}, live_groups([unstarted]), absent_after_s=60.0, now_s=100.0)
    assert kept.left_to_masters("root.prod") == {EAST: 0, WEST: 0}, "a limit keeps it from it"
    assert load.left_to_masters("root.dev") == {EAST: 1, WEST: 0}


def test_one_that_waits_below_its_entitlement_is_told_how_much_one_more_needs():
    busy = (
        a_cluster(EAST, a_queue("root.prod"), a_queue("root.dev", used=3), used=3),
        a_cluster(WEST, a_queue("root.prod"), a_queue("root.dev")),
    )
    applications = waiting("root.prod", 50) + waiting("root.dev", 1, first=100, resource=gib(4))
    outcome = a_round(THREE_TO_ONE, busy, applications, running("dev", 3))
    assert started(outcome, applications, "root.dev") == 0
    assert outcome.reasons["root.dev"] == (
        "queue root.dev holds 19% of the federation and is entitled to 25%; one more of its applications needs 25%, "
        "and the federation is full"
    )
