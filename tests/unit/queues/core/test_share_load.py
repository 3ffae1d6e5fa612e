"""What queues hold and want over all sub-clusters, measured from what each of them told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, SubClusterState
from shim.federation.core.subcluster_view import SubClusterView
from shim.queues.core.share_load import LiveApplication, QueueLoad, measure, nowhere
from tests.doubles.reports import a_queue_report

EAST, WEST, NORTH = (SubClusterId(name) for name in ("east", "west", "north"))
ABSENT_AFTER_S = 60.0
POLICY = SharePolicy(
    (
        FederatedQueue("root.prod", weight=3, names={WEST: "root.live"}),
        FederatedQueue("root.prod.ads", weight=1),
        FederatedQueue("root.dev", weight=1),
    )
)


def gib(count, vcores=None, **others):
    return ResourceVector(1024 * count, count if vcores is None else vcores, others)


def a_queue(path, used=0, pending=0, *, is_leaf=True):
    return a_queue_report(path, used=gib(used), pending=gib(pending), is_leaf=is_leaf)


def a_cluster(name, *queues, age_s=1.0, state=SubClusterState.RUNNING, used=3, failure=""):
    by_path = {queue.path: queue for queue in queues}
    return SubClusterView(name, state, age_s, failure, capacity=gib(8), used=gib(used), queues=by_path)


def load_of(*clusters, live=(), **admissions):
    words = {SubClusterId(name): word for name, word in admissions.items()}
    return measure(POLICY, clusters, words, live, absent_after_s=ABSENT_AFTER_S)


def test_leaves_count_for_the_nearest_queue_of_the_policy_by_the_name_that_their_cluster_has_for_it():
    load = load_of(
        a_cluster(EAST, a_queue("root.prod.ads", 1, 2), a_queue("root.prod.other.deep", 2), a_queue("root.dev", 4)),
        a_cluster(WEST, a_queue("root.live", 8, 16), a_queue("root.prod", 32, 64)),
    )
    assert load.queues["root.prod.ads"].used == {EAST: gib(1)}
    assert load.queues["root.prod"].used == {EAST: gib(2), WEST: gib(8)}
    assert load.queues["root.prod"].pending == gib(16)
    assert load.queues["root.dev"].total_used == gib(4)
    assert (load.others_used, load.others_pending) == (gib(32), gib(64)), "west calls another queue so"


def test_what_a_parent_tells_is_not_counted_beside_its_leaves():
    load = load_of(a_cluster(EAST, a_queue("root.prod", 5, 5, is_leaf=False), a_queue("root.prod.ads", 1)))
    assert load.queues["root.prod"].used == {}
    assert load.queues["root.prod.ads"].total_used == gib(1)


@pytest.mark.parametrize(("age_s", "counts"), [(0.0, True), (ABSENT_AFTER_S, True), (ABSENT_AFTER_S + 0.1, False)])
def test_a_cluster_that_was_silent_for_too_long_is_left_out_with_all_that_runs_there(age_s, counts):
    live = [LiveApplication(EAST, "root.dev", "ada"), LiveApplication(WEST, "root.dev", "ada")]
    load = load_of(
        a_cluster(EAST, a_queue("root.dev", 1)), a_cluster(WEST, a_queue("root.dev", 2), age_s=age_s), live=live
    )
    assert load.counted == ((EAST, WEST) if counts else (EAST,))
    assert load.capacity == (gib(16) if counts else gib(8))
    assert load.queues["root.dev"].running == (2 if counts else 1)
    assert load.queues["root.dev"].total_used == (gib(3) if counts else gib(1))


@pytest.mark.parametrize(
    ("word", "used", "capacity"),
    [(Admission.OPEN, 3, 8), (Admission.CORDONED, 3, 3), (Admission.DRAINING, 3, 3), (Admission.CORDONED, 9, 8)],
)
def test_a_cluster_that_takes_nothing_new_counts_with_what_it_holds(word, used, capacity):
    assert load_of(a_cluster(EAST, used=used), east=word).capacity == gib(capacity)


def test_only_clusters_that_answer_are_usable():
    lost = a_cluster(WEST, state=SubClusterState.LOST)
    late = a_cluster(NORTH, failure="no answer within 2 s")
    assert load_of(a_cluster(EAST), lost, late).usable == (EAST,)
    assert load_of(a_cluster(EAST), lost, late).counted == (EAST, WEST, NORTH)


def test_applications_are_counted_by_user_with_what_they_hold():
    live = [
        LiveApplication(EAST, "root.dev", "ada", used=gib(1)),
        LiveApplication(EAST, "dev", "ada", has_started=False, used=gib(2)),
        LiveApplication(WEST, "root.live", "bob", used=gib(4)),
        LiveApplication(EAST, "root.elsewhere", "eve", used=gib(8)),
    ]
    load = load_of(a_cluster(EAST), a_cluster(WEST), live=live)
    dev, prod = load.queues["root.dev"], load.queues["root.prod"]
    assert (dev.running, dev.unstarted, dev.users, dev.user_used) == (2, 1, {"ada": 2}, {"ada": gib(3)})
    assert (prod.running, prod.unstarted, prod.users) == (1, 0, {"bob": 1})


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ((), ("root.prod.ads", "root.dev")),  # the leaves below root.prod may all be other queues of the policy
        (("root.prod.ads", "root.dev"), ()),
        (("root.prod",), ("root.prod.ads", "root.dev")),
    ],
)
def test_queues_that_no_cluster_has_are_named(queues, expected):
    assert nowhere(POLICY, load_of(a_cluster(EAST, *map(a_queue, queues)))) == expected


def test_nobody_knows_which_queues_there_are_while_no_cluster_counts():
    assert nowhere(POLICY, load_of(a_cluster(EAST, age_s=ABSENT_AFTER_S * 2))) == ()


def a_load(used=0, running=0, unstarted=0, learnt=None):
    return QueueLoad({EAST: gib(used)}, running=running, unstarted=unstarted, learnt=learnt or ResourceVector())


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (a_load(), gib(1, 2, gpu=1)),  # at least what is told
        (a_load(used=12, running=3), gib(4, gpu=1)),
        (a_load(used=12, running=3, unstarted=1), gib(6, gpu=1)),
        (a_load(used=12, running=3, learnt=gib(9, 1)), gib(9, 4, gpu=1)),  # by type
    ],
)
def test_an_application_is_taken_for_as_large_as_those_that_run_or_ran(load, expected):
    assert load.typical(gib(1, 2, gpu=1)) == expected


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (a_load(used=8, running=2), gib(4)),
        (a_load(used=8, running=2, learnt=gib(3)), gib(4)),
        (a_load(used=8, running=2, unstarted=2, learnt=gib(3)), gib(3)),  # none has begun
        (a_load(used=0, running=2, learnt=gib(3)), gib(3)),  # they are about to end
        (a_load(used=8, running=2, learnt=ResourceVector(4096 + 1000, 5)), ResourceVector(4096 + 995, 4)),
    ],
)
def test_sizes_are_learnt_at_once_upwards_and_slowly_downwards(load, expected):
    assert load.learn() == expected


@given(learnt=st.integers(1, 10_000), seen=st.integers(1, 10_000))
def test_what_is_learnt_goes_down_to_what_is_seen_and_never_below(learnt, seen):
    load = QueueLoad({EAST: ResourceVector(seen, 1)}, running=1, learnt=ResourceVector(learnt, 1))
    for _ in range(3000):
        before = load.learnt.memory_mib
        load.learnt = load.learn()
        assert max(seen, before - max(1, (before - seen) // 200)) == load.learnt.memory_mib
        if load.learnt.memory_mib == before:
            break
    assert load.learnt.memory_mib == seen


def test_a_copy_grows_by_itself():
    load = load_of(
        a_cluster(EAST, a_queue("root.dev", 1)), live=[LiveApplication(EAST, "root.dev", "ada", used=gib(1))]
    )
    before = replace(load.queues["root.dev"], users=load.queues["root.dev"].users.copy())
    copy = load.copy()
    copy.queues["root.dev"].start("ada", gib(2))
    copy.queues["root.dev"].used[WEST] = gib(5)
    copy.queues["root.dev"].user_used["ada"] = gib(7)
    assert load.queues["root.dev"] == before
    assert copy.queues["root.dev"].learnt == gib(2), "the first of a queue is all that is known of it"
    assert (copy.queues["root.dev"].running, copy.queues["root.dev"].unstarted) == (2, 1)
