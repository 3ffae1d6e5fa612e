"""Amounts of preemption one by one: what is scarce, what fits, what is lacking, and who makes room at what cost."""

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import HeldContainer, QueueShare, ShareSnapshot, WaitingWork
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption_sizes import (
    Fleet,
    count_fitting,
    easy,
    lacking,
    part_of,
    plenty,
    positive,
    smaller,
    total_of,
    within,
)

EAST, WEST, NORTH = map(SubClusterId, ("east", "west", "north"))
R = ResourceVector
UNIT, TWO, EIGHT, SIXTEEN = (R(1000 * count, count) for count in (1, 2, 8, 16))

# ---------------------------------------------------------------------- amounts


@pytest.mark.parametrize(
    ("scarce", "part"),
    [
        (R(1, 1, {"gpu": 1}), R(5, 6, {"gpu": 7})),
        (R(0, 1), R(0, 6)),
        (R(1, 0, {"gpu": 0}), R(5, 0)),
        (R(), R()),
    ],
    ids=["one of all", "cores", "memory", "nothing"],
)
def test_only_what_there_is_some_of_is_scarce(scarce, part):
    assert part_of(R(5, 6, {"gpu": 7, "fpga": 8}), scarce) == part


def test_of_what_is_not_scarce_there_is_plenty_and_of_the_rest_nothing():
    assert plenty(R(1, 1)) == R()
    for amount, others in (
        (plenty(R(0, 1)).memory_mib, plenty(R(0, 1)).vcores),
        (plenty(R(1)).vcores, plenty(R(1)).memory_mib),
    ):
        assert amount > 10**12
        assert others == 0


def test_amounts_are_taken_type_by_type():
    assert smaller(R(3, 9, {"gpu": 2, "fpga": 5}), R(4, 1, {"gpu": 1, "disk": 3})) == R(3, 1, {"gpu": 1, "fpga": 0})
    assert positive(R(-1, 2, {"gpu": -3, "fpga": 4})) == R(0, 2, {"gpu": 0, "fpga": 4})
    assert positive(R(3, -2, {"gpu": 0})) == R(3, 0, {"gpu": 0})
    assert total_of([R(1, 2), R(3, 4, {"gpu": 1})]) == R(4, 6, {"gpu": 1})
    assert total_of([]) == R()


@pytest.mark.parametrize(
    ("amount", "unit", "count"),
    [
        (R(9000, 9, {"gpu": 2}), R(1000, 1, {"gpu": 1}), 2),
        (R(9000, 9), R(1000, 1, {"gpu": 1}), 0),
        (R(9000, 9), R(1000, 1, {"gpu": 0}), 9),
        (R(9000, 0), R(1000, 0), 9),
        (R(-9000, 9), R(1000, 1), 0),
        (R(9000, 3), R(0, 1), 3),
    ],
    ids=["gpus", "no gpus", "needs no gpu", "needs no cores", "below zero", "needs no memory"],
)
def test_as_many_fit_as_the_scarcest_type_that_they_need_has(amount, unit, count):
    assert count_fitting(amount, unit) == count


def test_of_what_needs_nothing_any_number_fits():
    assert count_fitting(R(), R()) > 10**9


# ---------------------------------------------------------------------- what waits


def a_queue(waiting, *, used=TWO):
    return QueueShare("root.a", EIGHT, used, waiting)


@pytest.mark.parametrize(
    ("waiting", "found"),
    [
        ({EAST: WaitingWork(UNIT, 3, 2)}, {EAST: 2}),
        ({EAST: WaitingWork(UNIT, 2, 3)}, {EAST: 2}),
        ({EAST: WaitingWork(UNIT, 3, 1, {WEST: 1}), WEST: WaitingWork(UNIT, 0, 5)}, {EAST: 2, WEST: 0}),
        ({EAST: WaitingWork(UNIT, 3, 1, {WEST: 9}), WEST: WaitingWork(UNIT, 0, 1)}, {EAST: 2, WEST: 0}),
        ({EAST: WaitingWork(UNIT, 3, 1, {WEST: 9}), WEST: WaitingWork(UNIT, 4, 5)}, {EAST: 2, WEST: 4}),
        ({EAST: WaitingWork(UNIT, 2, 1, {NORTH: 9})}, {EAST: 1}),
        (
            {
                EAST: WaitingWork(UNIT, 2, 0, {NORTH: 9}),
                WEST: WaitingWork(UNIT, 2, 0, {NORTH: 9}),
                NORTH: WaitingWork(UNIT, 0, 3),
            },
            {EAST: 2, WEST: 1, NORTH: 0},
        ),
    ],
    ids=["room", "more room", "few could move", "little room there", "what waits there goes first", "unknown", "once"],
)
def test_what_there_is_room_for_is_easy(waiting, found):
    assert easy(a_queue(waiting)) == found


@pytest.mark.parametrize(
    ("waiting", "on_way", "found"),
    [
        ({EAST: WaitingWork(UNIT, 3, 1)}, {}, {EAST: 2}),
        ({EAST: WaitingWork(UNIT, 3, 1)}, {EAST: 1}, {EAST: 1}),
        ({EAST: WaitingWork(UNIT, 3, 3)}, {}, {}),
        ({EAST: WaitingWork(UNIT, 9)}, {}, {EAST: 6}),
        ({EAST: WaitingWork(UNIT, 9)}, {EAST: 2}, {EAST: 4}),
        ({EAST: WaitingWork(UNIT, 9, 2)}, {}, {EAST: 4}),
        ({EAST: WaitingWork(UNIT, 9, 1)}, {EAST: 2}, {EAST: 3}),
        ({EAST: WaitingWork(UNIT, 4), WEST: WaitingWork(UNIT, 5)}, {}, {EAST: 1, WEST: 5}),
        ({EAST: WaitingWork(UNIT, 6, 3), WEST: WaitingWork(UNIT, 4)}, {}, {WEST: 3}),
        ({EAST: WaitingWork(UNIT, 0), WEST: WaitingWork(UNIT, 1)}, {}, {WEST: 1}),
    ],
    ids=[
        "no room",
        "on its way",
        "room for all",
        "the share",
        "on its way and the share",
        "room and the share",
        "room, on its way, and the share",
        "most waits",
        "most lacks",
        "nothing waits",
    ],
)
def test_room_is_lacking_for_what_waits_within_the_share_most_first(waiting, on_way, found):
    """The queue may have six more."""
    assert lacking(a_queue(waiting), R(99000, 99), on_way) == found


def test_only_what_is_scarce_bounds_what_is_lacking():
    queue = a_queue({EAST: WaitingWork(UNIT, 9)}, used=R(2000, 7))
    assert [lacking(queue, scarce, {}) for scarce in (R(99000, 99), R(99000, 0))] == [{EAST: 1}, {EAST: 6}]


@pytest.mark.parametrize(
    ("waiting", "scarce", "count"),
    [
        ({EAST: WaitingWork(UNIT, 3)}, R(99000, 99), 3),
        ({EAST: WaitingWork(UNIT, 9)}, R(99000, 99), 6),
        ({EAST: WaitingWork(UNIT, 1), WEST: WaitingWork(UNIT, 2)}, R(99000, 99), 2),
        ({EAST: WaitingWork(UNIT, 9)}, R(), 0),
        ({EAST: WaitingWork(R(1000, 9), 9)}, R(99000), 6),
        ({}, R(99000, 99), 0),
    ],
    ids=["few", "the share", "most", "nothing is scarce", "cores are not scarce", "nothing waits"],
)
def test_so_many_that_wait_are_within_the_share(waiting, scarce, count):
    assert within(a_queue(waiting), scarce) == count


# ---------------------------------------------------------------------- who makes room


def held(number, *, queue="root.b", at=EAST, node="n1", resource=UNIT, since_s=90.0, is_lent=False):
    name = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), number)
    return HeldContainer(name, queue, at, NodeId(node, 1), resource, since_s, is_lent=is_lent)


def a_fleet(*containers, used=EIGHT, entitled=TWO, capacity=SIXTEEN, leaving=None):
    queues = (
        QueueShare("root.a", R(8000, 8), R(0, 0)),
        QueueShare("root.b", entitled, used),
        QueueShare("root.c", R(0, 0), R(8000, 8)),
    )
    return Fleet(ShareSnapshot(100.0, capacity, queues), containers, leaving or {})


def chosen(fleet, unit=UNIT, *, at=EAST, taker="root.a", **budget):
    left = {"root.a": 9, "root.b": 9, "root.c": 9} | {f"root.{name}": count for name, count in budget.items()}
    return [each.id.number for each in fleet.choose(unit, taker, at, left)]


def test_what_makes_room_is_of_that_cluster_of_another_queue_and_within_its_budget():
    fleet = a_fleet(held(2, at=WEST), held(3, queue="root.a"), held(4, queue="root.c", since_s=95.0), held(5))
    assert chosen(fleet) == [4], "the least work is lost"
    assert chosen(fleet, c=0) == [5]
    assert chosen(fleet, b=0, c=0) == []
    assert chosen(fleet, at=WEST) == [2]
    assert [chosen(fleet, taker=f"root.{name}") for name in "bc"] == [[4], [5]], "never of the queue itself"


@pytest.mark.parametrize(("budget", "taken"), [(1, []), (2, [2, 3]), (3, [2, 3])])
def test_a_choice_that_takes_more_than_the_budget_is_none(budget, taken):
    assert chosen(a_fleet(held(2), held(3)), R(2000, 2), b=budget) == taken


def test_lent_ones_are_taken_alone_if_they_are_enough_and_else_with_the_others():
    fleet = a_fleet(held(2, since_s=99.0), held(3, is_lent=True, since_s=10.0))
    assert chosen(fleet) == [3]
    assert chosen(fleet, R(2000, 2)) == [2, 3]


def test_one_node_is_enough_if_any_has_enough():
    fleet = a_fleet(held(2, node="n1", since_s=99.0), held(3, node="n2"), held(4, node="n2"))
    assert chosen(fleet, R(2000, 2)) == [3, 4]
    assert chosen(a_fleet(held(2, node="n1"), held(3, node="n2")), R(2000, 2)) == [2, 3], "and if none has, several"


def test_what_was_taken_is_taken_once_and_its_queue_keeps_its_share():
    containers = [held(number, since_s=90.0 + number) for number in range(2, 7)]
    fleet = a_fleet(*containers, used=R(5000, 5), entitled=R(2500, 2))
    assert chosen(fleet) == [6]
    fleet.take(containers[4:])
    assert chosen(fleet) == [5]
    fleet.take(containers[3:4])
    assert chosen(fleet) == [], "two of five are gone: with three gone it would hold less than its share"


@pytest.mark.parametrize(("leaving", "taken"), [({}, [2]), ({"root.b": R(5000, 5)}, [2]), ({"root.b": R(6000, 6)}, [])])
def test_what_is_leaving_a_queue_already_is_not_its_any_more(leaving, taken):
    assert chosen(a_fleet(held(2), leaving=leaving)) == taken


def test_a_resource_that_is_not_scarce_protects_nobody():
    fleet = a_fleet(*(held(number) for number in range(2, 10)), entitled=R(4000, 0), capacity=R(16000, 0))
    assert len(chosen(fleet, R(4000, 0))) == 4
    assert chosen(fleet, R(5000, 0)) == [], "by its memory"


def test_further_resource_types_count_by_their_name():
    with_gpu, without = held(3, resource=R(1000, 1, {"gpu": 2})), held(2)
    fleet = a_fleet(without, with_gpu, used=R(8000, 8, {"gpu": 2}), capacity=R(16000, 16, {"disk": 9, "gpu": 4}))
    assert chosen(fleet, R(1000, 1, {"gpu": 1})) == [3]
    assert chosen(fleet, R(1000, 1, {"disk": 1})) == []


def test_a_choice_costs_containers_and_the_work_that_is_lost_with_them():
    old, large, new = held(2, since_s=40.0), held(3, resource=R(3000, 1)), held(4, since_s=105.0)
    fleet = a_fleet(old, large, new)
    assert fleet.cost([old, large]) == (2, 60.0 * 1000 + 10.0 * 3000)
    assert fleet.cost([new]) == (1, 0.0), "it is younger than the snapshot"
