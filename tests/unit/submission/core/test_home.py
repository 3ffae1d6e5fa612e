import random
import sys
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.domain.queues import QueueState, QueueUser
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, HaState
from shim.federation.core.federation_view import FederationView, PendingPlacement, ViewSettings, find_queue
from shim.submission.core.completion import Expectation, QueueWork, expected_completion
from shim.submission.core.home import HomeSettings, WeighedHomes, choose_home, next_best
from tests.doubles.builders import a_submission
from tests.doubles.reports import a_document, a_node_report, a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
NOW_S = 101.0


def a_view(**reports):
    """A view of the named sub-clusters; each value overrides fields of its report."""
    view = FederationView(tuple(SubClusterId(name) for name in reports), usual(ViewSettings, late_after_s=6.0))
    for name, fields in reports.items():
        if fields is not None:
            view.apply(a_report(name, **fields))
    return view


def asked(**changes):
    return a_submission(**({"resource": ResourceVector(1024, 1), "queue": "default"} | changes))


def reason_of(view, submission, name, **more):
    decision = choose_home(submission, view, more.pop("admissions", {}), more.pop("now_s", NOW_S), **more)
    found = next(candidate for candidate in decision.candidates if candidate.subcluster == name)
    return found.reason if found.score is None else None


BAD = "east"
REFUSALS = {
    "never reported": ({"east": None}, {}, "has not reported yet"),
    "late": ({"east": {"polled_at_s": 60.0}}, {}, "last seen 41 s ago"),
    "recovering": ({"east": {"ha_state": HaState.INITIALIZING}}, {}, "its ResourceManager is INITIALIZING"),
    "standby": ({"east": {"ha_state": HaState.STANDBY}}, {}, "its ResourceManager is STANDBY"),
    "no such queue": ({"east": {}}, {"queue": "ml"}, "has no queue ml"),
    "stopped": ({"east": {"queues": (a_queue_report(state=QueueState.STOPPED),)}}, {}, "queue STOPPED"),
    "a parent": ({"east": {"queues": (a_queue_report(is_leaf=False),)}}, {}, "queue root.default is a parent"),
    "full": (
        {"east": {"queues": (a_queue_report(applications=5, maximum_applications=5),)}},
        {},
        "queue root.default holds its limit of 5 applications",
    ),
    "no label": ({"east": {}}, {"label": "gpu"}, "has no node label gpu"),
    "a label, and no such queue": ({"east": {"labels": ("gpu",)}}, {"label": "gpu", "queue": "ml"}, "has no queue ml"),
    "label not for the queue": (
        {"east": {"labels": ("gpu",), "queues": (a_queue_report(labels=("ssd",)),)}},
        {"label": "gpu"},
        "queue root.default may not use node label gpu",
    ),
    "too large by configuration": (
        {"east": {"maximum_allocation": ResourceVector(512, 4)}},
        {},
        "1024 MiB and 1 vcores is above its maximum allocation of 512 MiB and 4 vcores",
    ),
    "too large for every node": (
        {"east": {"nodes": (a_node_report(total=ResourceVector(512, 1)),)}},
        {},
        "no node has room for 1024 MiB and 1 vcores",
    ),
    "too large for the labelled nodes": (
        {
            "east": {
                "labels": ("gpu",),
                "nodes": (a_node_report(), a_node_report("n2:1", ResourceVector(512, 1), labels=["gpu"])),
            }
        },
        {"label": "gpu"},
        "no node has room for 1024 MiB and 1 vcores",
    ),
    "queues not told": (
        {"east": {"documents": {"info": b""}, "is_complete": False}},
        {},
        "its queues are not known yet",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_sub_cluster_that_may_not_have_it_says_why(case):
    reports, changes, reason = REFUSALS[case]
    view = a_view(**reports)
    assert reason_of(view, asked(**changes), EAST) == reason
    assert choose_home(asked(**changes), view, {}, NOW_S).home_subcluster is None


@pytest.mark.parametrize(
    ("queue", "path"),
    [("default", "root.default"), ("root.default", "root.default"), ("", "root.default"), ("dev", "root.eng.dev")],
)
def test_a_queue_may_be_named_by_its_leaf_or_by_its_path(queue, path):
    queues = (a_queue_report("root", is_leaf=False), a_queue_report(), a_queue_report("root.eng.dev"))
    view = a_view(east={"queues": queues})
    assert choose_home(asked(queue=queue), view, {}, NOW_S).home_subcluster == EAST
    assert find_queue(view.look(EAST, NOW_S), queue or "default").path == path


def test_a_fair_scheduler_makes_the_queues_that_it_lacks_but_not_below_a_leaf():
    queues = (a_queue_report("root", is_leaf=False), a_queue_report("root.default"))
    view = a_view(east={"scheduler": "fairScheduler", "queues": queues})
    assert choose_home(asked(queue="new.one"), view, {}, NOW_S).home_subcluster == EAST
    assert reason_of(view, asked(queue="root"), EAST) == "queue root is a parent"


def test_a_fifo_scheduler_takes_every_queue():
    view = a_view(east={"scheduler": "fifoScheduler", "queues": (a_queue_report("default"),)})
    assert choose_home(asked(queue="whatever"), view, {}, NOW_S).home_subcluster == EAST


def test_a_parent_that_makes_leaves_takes_a_leaf_that_is_not_there_yet():
    parent = a_queue_report("root.auto", is_leaf=False, creates_children=True)
    view = a_view(east={"queues": (a_queue_report(), parent)})
    assert choose_home(asked(queue="root.auto.alice"), view, {}, NOW_S).home_subcluster == EAST
    assert reason_of(view, asked(queue="root.default.alice"), EAST) == "has no queue root.default.alice"


@pytest.mark.parametrize("admission", [Admission.CORDONED, Admission.DRAINING])
def test_an_operators_word_counts(admission):
    view = a_view(east={}, west={})
    decision = choose_home(asked(), view, {EAST: admission}, NOW_S)
    assert decision.home_subcluster == WEST
    assert reason_of(view, asked(), EAST, admissions={EAST: admission}) == admission.value


def test_one_that_rejected_it_is_out_of_the_question():
    view = a_view(east={}, west={})
    decision = choose_home(asked(), view, {}, NOW_S, excluded={EAST: "rejected it: no"})
    assert decision.home_subcluster == WEST


def test_one_whose_last_poll_failed_is_passed_over_though_its_report_is_young():
    view = a_view(east={}, west={})
    view.note_failure(EAST, "connection refused", at_s=100.5)
    assert choose_home(asked(), view, {}, NOW_S).home_subcluster == WEST
    assert reason_of(view, asked(), EAST) == "does not answer now (connection refused)"


def test_an_unmanaged_application_master_needs_no_room():
    view = a_view(east={"maximum_allocation": ResourceVector(512, 1)})
    assert choose_home(asked(is_unmanaged=True), view, {}, NOW_S).home_subcluster == EAST


def test_a_resource_type_that_a_sub_cluster_does_not_tell_of_is_not_held_against_it():
    view = a_view(east={})
    wants_gpu = asked(resource=ResourceVector(1024, 1, {"yarn.io/gpu": 1}))
    assert choose_home(wants_gpu, view, {}, NOW_S).home_subcluster == EAST


def test_one_without_nodes_gets_it_only_if_no_other_may():
    empty = {"nodes": (), "capacity": ResourceVector()}
    busy = {"used": ResourceVector(8192, 8), "queues": (a_queue_report(used=ResourceVector(8192, 8)),)}
    assert choose_home(asked(), a_view(east=empty, west=busy), {}, NOW_S).home_subcluster == WEST
    assert choose_home(asked(), a_view(east=empty), {}, NOW_S).home_subcluster == EAST


def test_the_freer_one_gets_it_by_queue_and_by_cluster():
    used = ResourceVector(4096, 4)
    busy_cluster = {"used": used}
    busy_queue = {"queues": (a_queue_report(used=used),)}
    waiting = {"queues": (a_queue_report(pending=used),)}
    for worse in (busy_cluster, busy_queue, waiting):
        assert choose_home(asked(), a_view(east=worse, west={}), {}, NOW_S).home_subcluster == WEST


def test_of_two_that_are_full_the_less_wanted_gets_it():
    full = ResourceVector(4096, 4)
    east = {"queues": (a_queue_report(used=full, pending=ResourceVector(40960, 40)),)}
    west = {"queues": (a_queue_report(used=full, pending=ResourceVector(8192, 8)),)}
    assert choose_home(asked(), a_view(east=east, west=west), {}, NOW_S).home_subcluster == WEST


def test_one_with_room_for_its_master_gets_it_before_a_full_one_where_its_queue_has_nothing():
    full = {"used": ResourceVector(8192, 8)}
    busy = {"used": ResourceVector(6144, 6), "queues": (a_queue_report(used=ResourceVector(3072, 3)),)}
    decision = choose_home(asked(), a_view(east=full, west=busy), {}, NOW_S)
    assert decision.home_subcluster == WEST
    assert decision.candidates[0].reason == "queue 100% free, cluster 0% free, it would wait there"
    larger = asked(resource=ResourceVector(3072, 1))
    assert choose_home(larger, a_view(east=full, west=busy), {}, NOW_S).home_subcluster == EAST, "it waits anyway"
    unmanaged = asked(is_unmanaged=True)
    assert choose_home(unmanaged, a_view(east=full, west=busy), {}, NOW_S).home_subcluster == EAST, "it needs no room"


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4), st.integers(0, 12)), min_size=2, max_size=3),
    st.integers(1, 4),
)
def test_nobody_waits_where_the_queue_is_within_its_guarantee_elsewhere_and_there_is_room(loads, master_gib):
    """In GiB: of the cluster, of the queue, and what waits in the queue."""
    reports = {
        name: {
            "used": ResourceVector(used * 1024, used),
            "queues": (
                a_queue_report(used=ResourceVector(mine * 1024, mine), pending=ResourceVector(pending * 1024, pending)),
            ),
        }
        for name, (used, mine, pending) in zip(("east", "west", "north"), loads, strict=False)
    }
    home = choose_home(asked(resource=ResourceVector(master_gib * 1024, 1)), a_view(**reports), {}, NOW_S)
    has_room = {name: used + pending + master_gib <= 8 for name, (used, _, pending) in zip(reports, loads, strict=True)}
    is_within = {name: mine + pending <= 2 for name, (_, mine, pending) in zip(reports, loads, strict=True)}
    if any(has_room[name] and is_within[name] for name in reports):
        assert has_room[str(home.home_subcluster)]


def test_equals_are_taken_in_the_configured_order():
    assert choose_home(asked(), a_view(west={}, east={}), {}, NOW_S).home_subcluster == WEST
    assert choose_home(asked(), a_view(east={}, west={}), {}, NOW_S).home_subcluster == EAST


@given(st.integers(1, 30), st.sampled_from(["", "default", "root.default"]))
def test_submissions_between_two_polls_spread_over_equals(count, queue):
    view = a_view(east={}, west={}, north={})
    homes = []
    for _ in range(count):
        submission = asked(queue=queue)
        home = choose_home(submission, view, {}, NOW_S).home_subcluster
        view.note_placed(home, PendingPlacement(submission.queue, submission.resource, NOW_S))
        homes.append(home)
    numbers = [homes.count(name) for name in (EAST, WEST, NORTH)]
    assert max(numbers) - min(numbers) <= 1


def test_submissions_spread_by_what_applications_take_there_on_average():
    used = ResourceVector(4096, 4)
    view = a_view(east={"used": used, "applications": [a_document(1, "east")]}, west={"used": used})
    view.note_placed(EAST, PendingPlacement("default", ResourceVector(1, 1), NOW_S))
    view.note_placed(WEST, PendingPlacement("default", ResourceVector(2, 1), NOW_S))
    assert choose_home(asked(), view, {}, NOW_S).home_subcluster == WEST


def test_applications_that_wait_for_their_masters_count_as_much_as_one_that_has_started():
    """They have asked for a master alone, so that used and pending say little of them."""
    used, documents = ResourceVector(4096, 4), [a_document(number, "east") for number in range(4)]
    started = {"used": used, "applications": documents[:1], "queues": (a_queue_report(used=used),)}
    waiting = a_queue_report(used=used, pending=ResourceVector(3072, 3), applications=4, waiting_applications=3)
    crowded = {"used": used, "applications": documents, "queues": (waiting,)}
    decision = choose_home(asked(), a_view(east=crowded, west=started), {}, NOW_S)
    assert decision.home_subcluster == WEST
    # 4 of 8 GiB used, 3 asked for by masters, and 3 more for each of the three that wait
    assert decision.candidates[0].reason == (
        "queue 300% more than full, cluster 100% more than full, it would wait there, 3 wait in its queue"
    )


def test_applications_that_wait_in_another_queue_are_not_ahead():
    other = a_queue_report("root.ml", applications=9, waiting_applications=9)
    used = {"used": ResourceVector(2048, 2), "applications": [a_document(1, "east")]}
    decision = choose_home(asked(), a_view(east=used | {"queues": (a_queue_report(), other)}), {}, NOW_S)
    assert decision.candidates[0].reason == "queue 100% free, cluster 75% free"


def test_the_average_is_of_those_that_have_started():
    documents = [a_document(number, "east") for number in range(5)]
    waiting = a_queue_report("root.ml", applications=4, waiting_applications=4)
    view = a_view(
        east={"used": ResourceVector(2048, 2), "applications": documents, "queues": (a_queue_report(), waiting)}
    )
    view.note_placed(EAST, PendingPlacement("default", ResourceVector(1, 1), NOW_S))
    assert "queue 50% free, cluster 50% free, 1 on the way" in choose_home(asked(), view, {}, NOW_S).reason


def test_the_reason_names_every_sub_cluster_when_none_may_have_it():
    stopped = {"queues": (a_queue_report("root.ml", state=QueueState.STOPPED),)}
    view = a_view(c1={"queues": (a_queue_report("root.ml"),)}, c2=stopped, c3={"polled_at_s": 60.0})
    decision = choose_home(asked(queue="root.ml"), view, {SubClusterId("c1"): Admission.DRAINING}, NOW_S)
    assert "in queue root.ml: c1 draining, c2 queue STOPPED, c3 has no queue root.ml." in decision.reason
    assert not decision.is_lasting


def test_the_reason_says_why_the_home_was_the_best():
    decision = choose_home(asked(), a_view(east={}, west={}), {}, NOW_S)
    assert decision.reason == "east (queue 100% free, cluster 100% free) was the best of 2"


def test_every_kind_of_placement_counts_in_its_queue_and_on_its_cluster():
    queues = (a_queue_report(capacity=ResourceVector(8192, 8)), a_queue_report("root.ml"))
    view = a_view(east={"capacity": ResourceVector(16384, 16), "queues": queues})
    for queue, memory in (("default", 1024), ("root.default", 2048), ("", 512), ("root.ml", 512)):
        view.note_placed(EAST, PendingPlacement(queue, ResourceVector(memory, 1), NOW_S))
    reason = choose_home(asked(), view, {}, NOW_S).reason
    assert "queue 56% free, cluster 75% free, 4 on the way" in reason


@pytest.mark.parametrize(
    ("changes", "fields", "lasts"),
    [
        ({"queue": "nosuch"}, {}, True),
        ({"resource": ResourceVector(10**6, 1)}, {}, True),
        ({"queue": "nosuch"}, {"polled_at_s": 60.0}, True),
        ({}, {"polled_at_s": 60.0}, False),
        ({}, {"nodes": (a_node_report(total=ResourceVector(512, 1)),)}, False),
    ],
)
def test_a_wrong_submission_is_told_from_an_unlucky_one(changes, fields, lasts):
    decision = choose_home(asked(**changes), a_view(east=fields), {}, NOW_S)
    assert decision.home_subcluster is None
    assert decision.is_lasting is lasts


def test_a_sub_cluster_that_was_never_heard_of_may_yet_have_the_queue():
    assert not choose_home(asked(queue="nosuch"), a_view(east={}, west=None), {}, NOW_S).is_lasting


def test_the_score_to_beat_is_the_second_of_all():
    view = a_view(
        east={"used": ResourceVector(1024, 1)},
        west={"used": ResourceVector(2048, 2)},
        north={"used": ResourceVector(4096, 4)},
    )
    decision = choose_home(asked(), view, {}, NOW_S)
    scores = {candidate.subcluster: candidate.score for candidate in decision.candidates}
    assert decision.home_subcluster == EAST
    assert next_best(decision) == scores[WEST] > scores[NORTH]


GIB_S = 1024.0


def by_work(view, own_gib_s, submission=None, *, ordered=(), **left_gib_s):
    """A choice where each sub-cluster's queue has such applications left, all started, in GiB x s."""
    works = {SubClusterId(name): QueueWork.of((each * GIB_S, True) for each in of) for name, of in left_gib_s.items()}
    settings = HomeSettings(
        expected=lambda _: Expectation(own_gib_s * GIB_S, "its last 3 runs"),
        work_in=lambda seen, _: works.get(seen.subcluster),
        orders_asks=lambda queue: queue in ordered,
    )
    return choose_home(submission or asked(), view, {}, NOW_S, settings)


def full(*, is_fair=True, **fields):
    """Nothing free, and its one queue may have all of it; 8 GiB of work are done in a second."""
    size = ResourceVector(8192, 8)
    queue = {"capacity": size, "used": size, "is_fair": is_fair, "pending": ResourceVector(1024, 1)}
    return {"used": size, "queues": (a_queue_report(**(queue | fields)),)}


def test_a_backlog_that_is_soon_done_is_better_than_a_full_cluster_that_is_not():
    """By free shares the backlog made the half-empty one negative, and the full one got the application."""
    used = ResourceVector(4096, 4)
    half = full(is_fair=False, used=used, pending=ResourceVector(8192, 8)) | {"used": used}
    view = a_view(east=full(is_fair=False, pending=ResourceVector()), west=half)
    assert choose_home(asked(), view, {}, NOW_S).home_subcluster == EAST
    assert by_work(view, 20, east=[4000], west=[8] * 8).home_subcluster == WEST


def test_in_a_fair_queue_a_small_one_goes_beside_a_giant_and_a_giant_goes_where_little_is_left():
    view = a_view(east=full(), west=full())
    assert by_work(view, 10, east=[5000], west=[100, 100]).home_subcluster == EAST
    assert by_work(view, 5000, east=[5000], west=[100, 100]).home_subcluster == WEST


def test_in_a_queue_by_arrival_all_of_a_giant_is_ahead():
    view = a_view(east=full(is_fair=False), west=full(is_fair=False))
    assert by_work(view, 10, east=[5000], west=[100, 100]).home_subcluster == WEST


@pytest.mark.parametrize(("queue", "home", "told"), [("default", EAST, "ordered"), ("other", WEST, "fifo")])
def test_a_giant_is_not_ahead_where_heddle_orders_what_the_queue_asks_for(queue, home, told):
    view = a_view(east=full(is_fair=False), west=full(is_fair=False))
    decision = by_work(view, 10, ordered=(queue,), east=[5000], west=[100, 100])
    assert decision.home_subcluster == home
    assert f"ahead in its {told} queue" in decision.reason


def test_what_is_free_and_wanted_by_nobody_is_had_at_once_whatever_is_ahead():
    half = ResourceVector(4096, 4)
    free = full(is_fair=False, used=half, pending=ResourceVector()) | {"used": half}
    view = a_view(east=free, west=full(is_fair=False))
    assert by_work(view, 10, east=[5000], west=[100]).home_subcluster == EAST


def test_where_cores_are_used_up_nothing_is_free_however_much_memory_is():
    """46 % of its memory is used, and all of its cores."""
    used = ResourceVector(3768, 8)
    busy = full(is_fair=False, used=used, pending=ResourceVector()) | {"used": used}
    view = a_view(east=busy, west=full(is_fair=False))
    assert by_work(view, 10, east=[5000], west=[100]).home_subcluster == WEST


def test_work_takes_as_long_as_the_scarcest_type_lets_it():
    """Half of the memory is all that can be used while cores are used up."""
    cores = full(used=ResourceVector(4096, 8), pending=ResourceVector()) | {"used": ResourceVector(4096, 8)}
    decision = by_work(a_view(east=cores, west=full()), 80, east=[], west=[])
    assert [each.reason.partition(";")[0].rpartition(", ")[2] for each in decision.candidates] == [
        "20 s of its own by its last 3 runs",
        "10 s of its own by its last 3 runs",
    ]


def test_memory_alone_counts_where_the_scheduler_counts_nothing_else():
    cores = full(used=ResourceVector(4096, 8), pending=ResourceVector(), counts_all=False)
    decision = by_work(a_view(east=cores | {"used": ResourceVector(4096, 8)}), 80, east=[])
    assert "10 s of its own" in decision.reason


def test_what_other_queues_hold_is_not_there_but_for_what_the_queue_is_guaranteed():
    size = ResourceVector(8192, 8)
    queues = (a_queue_report(capacity=ResourceVector(2048, 2)), a_queue_report("root.ml", used=size))
    assert "40 s of its own" in by_work(a_view(east={"used": size, "queues": queues}), 80, east=[]).reason


def test_a_start_that_waits_for_others_to_end_is_part_of_the_completion():
    waiting = full(applications=5, waiting_applications=2)
    decision = by_work(a_view(east=waiting, west=full()), 8, east=[80, 80, 80], west=[80, 80, 80])
    assert decision.home_subcluster == WEST
    told = decision.candidates[0].reason.partition(";")[0]
    assert told == (
        "would end in 31 s: 30 s until it starts, 0.0 s for what is ahead in its fair queue, "
        "1.0 s of its own by its last 3 runs"
    )


def test_where_it_may_wait_for_ever_it_goes_last_however_little_is_ahead():
    odd = {"nodes": (a_node_report(labels=["gpu"]),), "labels": ("gpu",)}
    decision = by_work(a_view(east=odd, west=full()), 8, east=[], west=[10_000] * 9)
    assert decision.home_subcluster == WEST


def test_nothing_is_decided_by_work_before_any_is_known():
    view = a_view(east={"used": ResourceVector(1024, 1)}, west={})
    assert by_work(view, 0, east=[], west=[5000]).home_subcluster == WEST


def test_a_local_master_is_asked_for_the_room_that_was_believed_where_work_decided():
    """It knows nothing of work: the home has less room than the other, and that is no reason against it."""
    view = a_view(east=full(is_fair=False), west={"used": ResourceVector(1024, 1)})
    decision = by_work(view, 10_000, east=[1], west=[5000] * 9)
    room = {each.subcluster: each.room for each in decision.candidates}
    assert decision.home_subcluster == EAST
    assert next_best(decision) == room[EAST] < room[WEST]


# ---------------------------------------------------------------------- scores, against a twin in plain numbers


@dataclass
class Drawn:
    """One sub-cluster with two queues, in (MiB, virtual cores); `sent` are queue, master and number of placements."""

    capacity: tuple[int, int]
    used: tuple[int, int]
    guaranteed: tuple[int, int]
    maximum: tuple[int, int]
    own: tuple[int, int]
    pending: tuple[int, int]
    elsewhere: tuple[int, int]
    running: int
    waiting: tuple[int, int]
    sent: list[tuple[str, tuple[int, int], int]]
    master: tuple[int, int]
    weight: float

    @classmethod
    def of(cls, chance):
        def pair(most):
            return chance.randint(0, most) * 256, chance.randint(0, most)

        queues = ["", "default", "root.default", "root.ml"]
        return cls(
            capacity=(chance.randint(8, 32) * 1024, chance.randint(8, 32)),
            used=pair(20),
            guaranteed=(chance.choice([0, 4096, 8192]), chance.randint(1, 8)),
            maximum=(chance.choice([32768, 65536]), chance.randint(64, 128)),
            own=pair(12),
            pending=pair(3),
            elsewhere=pair(3),
            running=chance.randint(0, 6),
            waiting=(chance.randint(0, 2), chance.randint(0, 2)),
            sent=[(chance.choice(queues), pair(4), chance.randint(1, 2)) for _ in range(chance.randint(0, 3))],
            master=(chance.randint(1, 8) * 256, chance.randint(1, 2)),
            weight=chance.choice([0.0, 0.25, 0.5, 1.0]),
        )

    def queues(self, **changes):
        own = {
            "capacity": ResourceVector(*self.guaranteed),
            "maximum": ResourceVector(*self.maximum),
            "used": ResourceVector(*self.own),
            "pending": ResourceVector(*self.pending),
            "applications": self.running,
            "waiting_applications": self.waiting[0],
        }
        other = a_queue_report("root.ml", pending=ResourceVector(*self.elsewhere), waiting_applications=self.waiting[1])
        return a_queue_report(**(own | changes)), other

    def sent_here(self):
        return sum(count for name, _, count in self.sent if name != "root.ml")

    def power_and_free(self, *, counts_all, most):
        """Memory that the queue may hold, and what of it is free and wanted by nobody."""
        started = self.running
        loads = []
        for kind in (0, 1):
            mean = self.used[kind] // started if started else 0
            sent = sum(max(master[kind], mean) * count for _, master, count in self.sent)
            wanted = self.used[kind] + self.pending[kind] + self.elsewhere[kind]
            loads.append((wanted, wanted + sent))

        def part(at):
            """Of the memory, when the scarcer type is used up."""
            share = [loads[kind][at] / self.capacity[kind] for kind in (0, 1)]
            return 1.0 if counts_all is False or not share[0] else min(1.0, share[0] / max(share))

        others = max(0, loads[0][0] - self.own[0] - self.pending[0])
        power = max(self.guaranteed[0] * part(0), self.capacity[0] * part(0) - others)
        power = min(power, most * part(0)) if most else power
        return power, min(power, self.capacity[0] * part(1) - loads[0][1])

    def view(self, *queues):
        queue, other = queues or self.queues()
        made = a_view(
            east={
                "capacity": ResourceVector(*self.capacity),
                "used": ResourceVector(*self.used),
                "queues": (queue, other),
                "nodes": (a_node_report(total=ResourceVector(65536, 64)),),
                "applications": [a_document(number, "east") for number in range(self.running + sum(self.waiting))],
            }
        )
        for name, master, count in self.sent:
            for _ in range(count):
                made.note_placed(EAST, PendingPlacement(name, ResourceVector(*master), NOW_S))
        return made

    def told(self):
        """The score and the reason, by the definition: one type at a time, one application at a time."""
        applications = self.running + sum(self.waiting)
        started = applications - sum(self.waiting)
        shares = {"queue": [], "cluster": [], "with it": []}
        guaranteed = self.guaranteed if self.guaranteed[0] else self.maximum
        for kind in (0, 1):
            mean = self.used[kind] // started if started > 0 else 0
            sent = [(name, max(master[kind], mean)) for name, master, count in self.sent for _ in range(count)]
            here = sum(takes for name, takes in sent if name != "root.ml")
            ahead = sum(max(0, mean - self.master[kind]) for _ in range(self.waiting[0]))
            load = self.used[kind] + self.pending[kind] + self.elsewhere[kind] + sum(each for _, each in sent) + ahead
            shares["cluster"].append(load / self.capacity[kind])
            shares["with it"].append((load + self.master[kind]) / self.capacity[kind])
            shares["queue"].append((self.own[kind] + self.pending[kind] + here + ahead) / guaranteed[kind])
        free = {name: 1.0 - max(each) for name, each in shares.items()}
        mixed = self.weight * free["queue"] + (1 - self.weight) * free["cluster"]
        score = mixed if mixed >= 0 else mixed / (1 - mixed)
        told = (
            f"{what} {part:.0%} free" if part >= 0 else f"{what} {-part:.0%} more than full"
            for what, part in free.items()
        )
        reason = ", ".join(list(told)[:2])
        if free["with it"] < 0:
            score, reason = score - 4.0, f"{reason}, it would wait there"
        if self.waiting[0]:
            reason += f", {self.waiting[0]} wait in its queue"
        if self.sent:
            reason += f", {sum(count for _, _, count in self.sent)} on the way"
        return score, reason


def test_expected_completions_are_those_of_their_twin():
    """What a queue may hold, what of it is free and who is ahead, by the definition, in plain numbers."""
    chance, kinds = random.Random(5), set()  # noqa: S311 - a test repeats itself
    for _ in range(200):
        drawn, counts_all = Drawn.of(chance), chance.choice([True, False, None])
        most = chance.choice([0, 4096, 65536])
        queue, other = drawn.queues(maximum=ResourceVector(most, 128), counts_all=counts_all, is_fair=True)
        drawn.maximum = (most or 65536, 128)
        submission, work = asked(resource=ResourceVector(*drawn.master)), QueueWork.of([(64 * GIB_S, True)] * 3)
        settings = HomeSettings(
            queue_weight=drawn.weight,
            expected=lambda _: Expectation(32 * GIB_S, "its last 3 runs"),
            work_in=lambda *_, work=work: work,
            home_with_data=0.25,
            data_parts=lambda _: {EAST: 0.5},
        )
        (candidate,) = choose_home(submission, drawn.view(queue, other), {}, NOW_S, settings).candidates
        if drawn.guaranteed[0] == 0 or "it would wait there: " in candidate.reason:
            continue
        by_room, reason = drawn.told()
        is_held = "would wait" in reason
        power, free = drawn.power_and_free(counts_all=counts_all, most=most)
        ahead = drawn.waiting[0] + drawn.sent_here() + 1 if drawn.waiting[0] else 0
        completion = expected_completion(
            work, 32 * GIB_S, is_fair=True, power_mib=power, free_mib=0.0 if is_held else free, masters_ahead=ahead
        )
        told = f"{completion.told('fair', 'its last 3 runs')}; {reason}"
        assert candidate.reason == f"{told}, 50% of its files are in its file systems (home_with_data)", drawn
        assert candidate.score == pytest.approx(60.0 / (60.0 + completion.total_s) + 0.125)
        assert candidate.room == pytest.approx(by_room + 0.125)
        kinds.add((is_held, bool(ahead), free > 0))
    assert len(kinds) >= 5


def test_scores_and_reasons_are_those_of_their_twin():
    chance, waits = random.Random(3), 0  # noqa: S311 - a test repeats itself
    for _ in range(150):
        drawn = Drawn.of(chance)
        settings = HomeSettings(queue_weight=drawn.weight)
        submission = asked(resource=ResourceVector(*drawn.master))
        (candidate,) = choose_home(submission, drawn.view(), {}, NOW_S, settings).candidates
        score, reason = drawn.told()
        assert (candidate.score, candidate.reason) == (pytest.approx(score), reason), drawn
        waits += "would wait" in reason
    assert 30 < waits < 120


@pytest.mark.parametrize(
    ("capacity", "used", "free"),
    [
        ((1024, 1), (1024, 1), "0% free"),
        ((1024, 4), (512, 4), "0% free"),
        ((1, 4), (0, 0), "100% free"),
        ((0, 4), (0, 0), "0% free"),
        ((1024, 4), (4096, 1), "300% more than full"),
    ],
)
def test_a_share_is_free_of_what_there_is_and_none_of_nothing(capacity, used, free):
    view = a_view(east={"capacity": ResourceVector(*capacity), "used": ResourceVector(*used)})
    (candidate,) = choose_home(asked(), view, {}, NOW_S).candidates
    assert f"cluster {free}" in candidate.reason


def test_files_are_worth_their_part_of_what_all_of_them_are():
    parts = {EAST: 0.25, WEST: 1.0, NORTH: 0.0}
    settings = HomeSettings(home_with_data=0.5, data_parts=lambda _: parts)
    busy = {"used": ResourceVector(4096, 4)}
    decision = choose_home(asked(), a_view(east={}, west=busy, north=busy), {}, NOW_S, settings)
    east, west, north = decision.candidates
    assert [each.for_data for each in decision.candidates] == [0.125, 0.5, 0.0]
    assert west.score - north.score == pytest.approx(0.5)
    assert east.score == pytest.approx(1.125)
    assert decision.home_subcluster == WEST or east.score >= west.score
    assert east.reason.endswith("25% of its files are in its file systems (home_with_data)")
    home = next(each for each in decision.candidates if each.subcluster == decision.home_subcluster)
    second = max(each.score for each in decision.candidates if each is not home)
    assert next_best(decision) == pytest.approx(second - home.for_data)
    without = choose_home(asked(), a_view(east={}, west=busy), {}, NOW_S, HomeSettings(data_parts=lambda _: parts))
    assert [each.for_data for each in without.candidates] == [0.0, 0.0]


def test_a_score_to_beat_needs_another_candidate():
    assert next_best(choose_home(asked(), a_view(east={}, west=None), {}, NOW_S)) is None
    nobody = choose_home(asked(queue="nosuch"), a_view(east={}), {}, NOW_S)
    assert next_best(nobody) is None


@pytest.mark.parametrize(
    ("own", "others", "used", "seconds"),
    [
        # 8 GiB and 8 cores: a queue may have what it is guaranteed, or what others leave, up to its maximum
        ({"capacity": ResourceVector(4096, 4)}, (0, 0), (0, 0), 8),
        ({"capacity": ResourceVector(4096, 4)}, (6144, 6), (6144, 6), 16),
        ({"capacity": ResourceVector(2048, 2)}, (2048, 2), (2048, 2), 11),
        ({"maximum": ResourceVector(2048, 2)}, (0, 0), (0, 0), 32),
        ({"maximum": ResourceVector(0, 0)}, (0, 0), (0, 0), 8),
        ({"capacity": ResourceVector(2048, 2)}, (2048, 8), (2048, 8), 128),
        ({"capacity": ResourceVector(2048, 2), "counts_all": False}, (2048, 8), (2048, 8), 11),
    ],
)
def test_work_takes_the_memory_that_its_queue_may_have(own, others, used, seconds):
    queues = (a_queue_report(**own), a_queue_report("root.ml", used=ResourceVector(*others)))
    view = a_view(east={"used": ResourceVector(*used), "queues": queues})
    reason = by_work(view, 64, east=[]).reason
    assert float(reason.partition(" s of its own")[0].rpartition(", ")[2]) == seconds


def test_what_will_never_be_taken_is_to_be_corrected_and_what_may_be_is_tried_again():
    lasting = choose_home(asked(queue="ml"), a_view(east={}, west={}), {}, NOW_S)
    assert lasting.reason.endswith(": east has no queue ml, west has no queue ml. Correct the submission.")
    late = {"polled_at_s": 60.0, "queues": (a_queue_report("root.ml"),)}
    unlucky = choose_home(asked(queue="ml"), a_view(east={}, west=late), {}, NOW_S)
    assert unlucky.reason.endswith(". Try again, or another queue.")


@pytest.mark.parametrize(
    ("reports", "praise"),
    [
        ({"east": {}}, "was the only one possible"),
        ({"east": {}, "west": None}, "was the only one possible"),
        ({"east": {}, "west": {}, "north": None}, "was the best of 2"),
    ],
)
def test_of_how_many_it_was_the_best_is_told(reports, praise):
    assert choose_home(asked(), a_view(**reports), {}, NOW_S).reason.endswith(praise)


def test_a_label_that_the_queue_names_is_its_own():
    nodes = (a_node_report(), a_node_report("n2:1", labels=["gpu"]))
    for labels in (("gpu",), ("*",), ("ssd", "gpu")):
        view = a_view(east={"labels": ("gpu",), "nodes": nodes, "queues": (a_queue_report(labels=labels),)})
        assert choose_home(asked(label="gpu"), view, {}, NOW_S).home_subcluster == EAST


def report_of(name, number, rng):
    """The next report of a sub-cluster, of a few that differ in what weighs."""
    user = QueueUser("alice", applications=rng.randrange(3), used=ResourceVector(1024 * rng.randrange(9), 1))
    queue = a_queue_report(
        used=ResourceVector(1024 * rng.randrange(5), 1),
        state=rng.choice((QueueState.RUNNING, QueueState.RUNNING, QueueState.STOPPED)),
        waiting_applications=rng.randrange(3),
        users=rng.choice(((), (user,))),
        maximum_applications_of_user=rng.choice((0, 2)),
        most_running=rng.choice((None, 3)),
        applications=rng.randrange(4),
    )
    nodes = (a_node_report(), a_node_report("n2:1", labels=["gpu"]))
    return a_report(
        name,
        number,
        polled_at_s=NOW_S + number,
        started_on_ms=rng.choice((1, 2)),
        capacity=ResourceVector(rng.choice((1024, 8192)), 8),
        ha_state=rng.choice((HaState.ACTIVE, HaState.ACTIVE, HaState.ACTIVE, HaState.STANDBY)),
        used=ResourceVector(1024 * rng.randrange(9), rng.randrange(8)),
        queues=(queue, a_queue_report("root.ml", used=ResourceVector(1024 * rng.randrange(5), 1))),
        nodes=rng.choice((nodes[:1], nodes, ())),
        labels=rng.choice(((), ("gpu",))),
        applications=[a_document(each, name, as_of_s=NOW_S + number) for each in range(rng.randrange(4))],
    )


def change(view, number, rng, admissions, names, work):
    name = rng.choice(view.subclusters)
    placed = PendingPlacement(rng.choice(("default", "ml")), ResourceVector(1024, 1), NOW_S + number)
    rng.choice(
        (
            lambda: view.apply(report_of(name, number, rng)),
            lambda: view.apply(report_of(name, number, rng)),
            lambda: view.note_failure(name, f"failure {number}", at_s=NOW_S + number),
            lambda: view.retire(rng.choice(((), (name,)))),
            lambda: view.note_placed(name, placed),
            lambda: view.replace_placed(name, [placed] * rng.randrange(3)),
            lambda: view.applications.note(a_document(number, name, as_of_s=NOW_S + number)),
            lambda: admissions.update({name: rng.choice(tuple(Admission))}),
            lambda: names.update({"ml": rng.choice(("ml", "default"))}),
            lambda: work[name].add(float(1 << rng.randrange(20))),
            lambda: work.update({name: some_work(rng)}),
        )
    )()


def some_work(rng):
    return QueueWork.of((float(1 << rng.randrange(20)), rng.random() < 0.5) for _ in range(rng.randrange(3)))


@pytest.mark.parametrize("seed", range(8))
def test_what_was_weighed_before_is_as_if_it_were_weighed_anew(seed):
    rng, admissions, known = random.Random(seed), {}, WeighedHomes()  # noqa: S311 - no secret
    view = a_view(east={}, west={}, north={})
    work = {name: some_work(rng) for name in view.subclusters}
    names, expected = {"ml": "ml"}, {"usual": (float(1 << 20), "a"), "other": (float(1 << 10), "b")}
    settings = HomeSettings(
        name_at=lambda _, queue: names.get(queue, "default"),
        expected=lambda it: Expectation(*expected[it.name]) if it.name in expected else Expectation(),
        work_in=lambda seen, _: work[seen.subcluster],
        containers_up_to=lambda it: ResourceVector(9000, 1) if it.name == "large" else ResourceVector(),
        reserved_at=lambda it: EAST if it.name == "reserved" else None,
        orders_asks=lambda queue: queue == names.get("ordered", "ml"),
    )
    pool = [
        asked(
            queue=rng.choice(("", "default", "ml")),
            user=rng.choice(("alice", "bob")),
            name=rng.choice(("usual", "large", "reserved", "other", "other")),
            label=rng.choice(("", "", "gpu")),
            is_unmanaged=rng.random() < 0.2,
            resource=ResourceVector(rng.choice((1024, 3072)), 1, rng.choice(({}, {}, {}, {"gpu": 1}))),
        )
        for _ in range(4)
    ]
    pool += [replace(rng.choice(pool), **rng.choice(({"user": "alice"}, {"user": "bob"}, {"queue": "ml"})))]
    for number in range(2, 22):
        change(view, number, rng, admissions, names, work)
        work[rng.choice(view.subclusters)] = some_work(rng)
        expected |= {rng.choice(("usual", "other")): (float(1 << rng.choice((10, 20))), rng.choice("ab"))}
        names["ordered"] = rng.choice(("ml", "default"))
        excluded = {rng.choice(view.subclusters): "it said no"} if rng.random() < 0.2 else {}
        now_s = NOW_S + number + rng.random() * 3
        for submission in pool:
            anew = choose_home(submission, view, admissions, now_s, settings, excluded=excluded)
            again = choose_home(submission, view, admissions, now_s, settings, excluded=excluded, known=known)
            assert again == anew


def works(*left):
    return QueueWork.of((float(each << 20), True) for each in left)


@pytest.mark.parametrize(
    "what",
    [
        {"work": works(64, 64)},
        {"added": 64.0 * (1 << 20)},
        {"expected": Expectation(float(1 << 26), "a run")},
        {"expected": Expectation(float(1 << 20), "two runs")},
        {"ordered": True},
    ],
    ids=lambda what: next(iter(what)),
)
def test_what_was_found_by_work_stands_while_all_that_it_goes_by_does(what):
    facts: dict[str, Any] = {"work": works(1, 2), "expected": Expectation(float(1 << 20), "a run"), "ordered": False}
    settings = HomeSettings(
        expected=lambda _: facts["expected"],
        work_in=lambda _, __: facts["work"],
        orders_asks=lambda _: facts["ordered"],
    )
    used = {"used": ResourceVector(8192, 8)}
    view, known = a_view(east={**used, "queues": (a_queue_report(**used),)}), WeighedHomes()

    before = choose_home(asked(), view, {}, NOW_S, settings, known=known)
    assert choose_home(asked(), view, {}, NOW_S, settings, known=known).candidates[0] is before.candidates[0]
    if "added" in what:
        facts["work"].add(what["added"])
    facts |= what

    after = choose_home(asked(), view, {}, NOW_S, settings, known=known)
    assert after == choose_home(asked(), view, {}, NOW_S, settings)
    assert after != before


class CountedView(FederationView):
    """Notes which sub-clusters were looked at."""

    looked = ()

    def look(self, subcluster, now_s):
        self.looked = (*self.looked, subcluster)
        return super().look(subcluster, now_s)


def test_a_choice_looks_anew_at_those_alone_of_which_something_new_is_known():
    names, known = tuple(SubClusterId(f"c{number}") for number in range(100)), WeighedHomes()
    view = CountedView(names, usual(ViewSettings, late_after_s=6.0))
    for name in names:
        view.apply(a_report(name))
    for sequence in range(1, 5):
        home = choose_home(asked(), view, {}, NOW_S, known=known).home_subcluster
        assert view.looked == (names if sequence == 1 else names[sequence - 2 : sequence - 1])
        assert home == names[sequence - 1]
        view.looked = ()
        view.note_placed(home, PendingPlacement("default", ResourceVector(1024, 1), NOW_S))


def test_one_users_kinds_cannot_fill_the_memory():
    view, known, body = a_view(east={}), WeighedHomes(), bytes(range(100))
    held = sys.getrefcount(body)
    for size in range(500):
        choose_home(asked(resource=ResourceVector(size, 1), body=body), view, {}, NOW_S, known=known)
    assert known.count <= 64
    assert sys.getrefcount(body) == held  # nothing of what clients sent
