"""What queues hold and want over all sub-clusters, measured from what each of them told.

Expectations of work: of what recurs by its runs, of all else by its queue.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, SubClusterState
from shim.federation.core.federation_view import SubClusterView
from shim.queues.core.share_load import NO_EXPECTATION, QueueLoad, WorkHistory, measure, nowhere
from tests.doubles.live_applications import LiveApplication, live_groups
from tests.doubles.reports import a_queue_report

EAST, WEST, NORTH = (SubClusterId(name) for name in ("east", "west", "north"))
ABSENT_AFTER_S = 60.0
POLICY = SharePolicy(
    (
        FederatedQueue("root.prod", weight=3, names={WEST: "root.live"}),
        FederatedQueue("root.prod.ads", weight=1),
        FederatedQueue("root.dev", weight=1, user_maximum=0.5),
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
    return measure(POLICY, clusters, words, live_groups(live), absent_after_s=ABSENT_AFTER_S)


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
    known = load.queues["root.dev"]
    before = replace(known, users=known.users.copy(), user_used=dict(known.user_used))
    copy = load.copy()
    copy.queues["root.dev"].start("ada", gib(2))
    copy.queues["root.dev"].user_used["ada"] = gib(7)
    assert load.queues["root.dev"] == before
    assert copy.queues["root.dev"].learnt == gib(2), "the first of a queue is all that is known of it"
    assert (copy.queues["root.dev"].running, copy.queues["root.dev"].unstarted) == (2, 1)


WORKS = st.lists(st.floats(1.0, 1e12), min_size=1, max_size=30)


def test_of_a_queue_where_nothing_has_ended_nothing_is_expected():
    assert WorkHistory().expected("root.prod", "alice MAPREDUCE etl-#") == NO_EXPECTATION


def test_what_nobody_has_seen_is_expected_to_be_as_its_queue_is_in_the_mean():
    history = WorkHistory()
    for number, mib_s in enumerate((100.0, 300.0)):
        history.learn("root.prod", f"job {number}", mib_s)
    history.learn("root.dev", "job", 9_000.0)
    found = history.expected("root.prod", "another")
    assert (found.mib_s, found.runs, found.of_queue) == (200.0, 0, 2)


def test_each_further_run_of_a_job_counts_for_more_than_its_queue():
    history = WorkHistory()
    history.learn("root.prod", "giant", 100_000.0)
    expectations = []
    for _ in range(4):
        history.learn("root.prod", "small", 100.0)
        expectations.append(history.expected("root.prod", "small").mib_s)
    assert expectations == sorted(expectations, reverse=True)
    assert expectations[-1] < 0.1 * history.expected("root.prod", "unknown").mib_s * 4
    assert expectations[-1] < history.expected("root.prod", "unknown").mib_s < 100_000.0


def test_what_is_alike_but_for_numbers_counts_before_the_queue():
    history = WorkHistory()
    for name, mib_s in (("etl-1-#", 100.0), ("etl-2-#", 300.0), ("sort", 90_000.0)):
        history.learn("root.prod", f"alice SPARK {name}", mib_s)
    small, new, unknown = (history.expected("root.prod", f"alice SPARK {each}") for each in ("etl-1-#", "etl-3-#", "x"))
    assert 100.0 < small.mib_s < new.mib_s < unknown.mib_s
    assert (small.runs, new.runs, unknown.runs) == (1, 2, 0)


def test_the_newest_run_counts_half():
    history = WorkHistory()
    for mib_s in (100.0, 100.0, 100.0, 1_000.0):
        history.learn("root.prod", "job", mib_s)
    whole = 1_300.0 / 4
    assert history.expected("root.prod", "job").mib_s == pytest.approx((550.0 * 4 + whole * 0.5) / 4.5)


def test_what_never_ran_teaches_nothing():
    history = WorkHistory()
    history.learn("root.prod", "job", 0.0)
    assert history.expected("root.prod", "job") == NO_EXPECTATION


@given(WORKS)
def test_an_expectation_lies_between_the_least_and_the_most_that_was_seen(works):
    history = WorkHistory()
    for number, mib_s in enumerate(works):
        history.learn("root.prod", f"job {number % 3}", mib_s)
    for job in ("job 0", "unknown"):
        assert min(works) * 0.999 <= history.expected("root.prod", job).mib_s <= max(works) * 1.001


def test_memory_is_bounded_by_what_was_seen_last():
    history = WorkHistory()
    for number in range(20_000):
        history.learn(f"root.q{number}", "job", 1.0 + number)
    assert history.expected("root.q0", "job") == NO_EXPECTATION
    assert history.expected("root.q19999", "job").runs == 1


def test_an_expectation_says_what_it_rests_on():
    history = WorkHistory()
    history.learn("root.prod", "job", 2.0 * 1024 * 3600)
    assert history.expected("root.prod", "job").told() == "it is expected to take 2 GiB x h, by its last 1 runs"
    assert history.expected("root.prod", "new").told().endswith("by 1 applications of its queue")
