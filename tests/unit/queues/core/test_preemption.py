"""Room is made wherever a container that waits could be had, where that is cheapest, and only once."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import (
    AskingAttempt,
    HeldContainer,
    PreemptionSettings,
    PreemptionStage,
    QueueShare,
    ShareSnapshot,
    WaitingWork,
)
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption import Preemption
from shim.queues.core.preemption_effects import CapDemand, Step
from shim.queues.core.preemption_memory import Begun, Memory
from shim.queues.core.preemption_sizes import easy, lacking

EAST, WEST = SubClusterId("east"), SubClusterId("west")
UNIT = ResourceVector(1024, 0)
CAPACITY = ResourceVector(16 * 1024, 0)
PATIENCE = PreemptionSettings(preempt_after_s=2, preempt_grace_s=4, settle_s=3)


def slots(count: float) -> ResourceVector:
    return ResourceVector(round(1024 * count), 0)


def an_attempt(number: int) -> ApplicationAttemptId:
    return ApplicationAttemptId(ApplicationId(1, number), 1)


def containers_at(cluster: SubClusterId, numbers: range, *, since_s: float = 900.0) -> tuple[HeldContainer, ...]:
    return tuple(
        HeldContainer(ContainerId(an_attempt(1), number), "root.dev", cluster, NodeId(cluster, 1), UNIT, since_s)
        for number in numbers
    )


@dataclass
class Clusters:
    """Two clusters of eight, of which `dev` holds what is given; `prod`, entitled to twelve, waits in the east."""

    held: tuple[HeldContainer, ...]
    prod: int
    waits: Mapping[SubClusterId, WaitingWork]
    core: Preemption = field(default_factory=lambda: Preemption(PATIENCE))
    at_s: float = 1000.0

    def look(self, seconds: int = 1) -> list[object]:
        effects: list[object] = []
        for _ in range(seconds):
            self.at_s += 1
            effects += self.core.handle(self.snapshot())
        return effects

    def snapshot(self) -> ShareSnapshot:
        queues = (
            QueueShare("root.prod", slots(12), slots(self.prod), self.waits),
            QueueShare("root.dev", slots(4), slots(len(self.held)), {}, may_be_taken_from=True, budget=10),
        )
        attempts = (AskingAttempt(an_attempt(1), "root.dev", slots(4), frozenset({WEST})),)
        as_of_s = dict.fromkeys((EAST, WEST), self.at_s + 0.001)
        return ShareSnapshot(self.at_s, CAPACITY, queues, self.held, attempts, as_of_s)


def asked_at(effects: list[object]) -> list[SubClusterId]:
    return [
        each.container.subcluster for each in effects if isinstance(each, Step) and each.stage is PreemptionStage.ASKED
    ]


def spanning(count: int, *, free_west: int = 0, could: int | None = None) -> dict[SubClusterId, WaitingWork]:
    elsewhere = {WEST: count if could is None else could}
    return {EAST: WaitingWork(UNIT, count, 0, elsewhere), WEST: WaitingWork(UNIT, 0, free_west)}


def test_room_is_made_where_something_can_be_taken_and_the_ask_could_be():
    full_of_prod = Clusters(containers_at(WEST, range(2, 10)), 8, spanning(4))
    effects = full_of_prod.look(4)
    assert asked_at(effects) == [WEST] * 4
    assert any(isinstance(each, CapDemand) and each.amount is not None for each in effects), "who could be in the way"


def test_an_ask_that_could_be_nowhere_else_gets_room_where_it_waits():
    one_place = Clusters(containers_at(WEST, range(2, 10)), 8, {EAST: WaitingWork(UNIT, 4)})
    assert one_place.look(6) == []
    with_choice = Clusters(
        containers_at(WEST, range(2, 6)) + containers_at(EAST, range(12, 16), since_s=100.0), 8, spanning(4, could=1)
    )
    assert sorted(asked_at(with_choice.look(4))) == [EAST] * 3 + [WEST], "no more than could be there"


@pytest.mark.parametrize(("old", "young"), [(EAST, WEST), (WEST, EAST)])
def test_of_several_places_the_one_goes_first_where_the_least_work_is_lost(old: SubClusterId, young: SubClusterId):
    held = containers_at(old, range(2, 6), since_s=100.0) + containers_at(young, range(12, 16), since_s=990.0)
    assert asked_at(Clusters(held, 8, spanning(2)).look(4)) == [young] * 2


def test_room_that_is_made_elsewhere_counts_as_given_until_the_ask_has_moved():
    clusters = Clusters(containers_at(WEST, range(2, 10)), 10, spanning(2))
    assert asked_at(clusters.look(3)) == [WEST] * 2
    assert asked_at(clusters.look(4)) == [], "nothing is asked back twice"
    assert set(clusters.core.victims.values()) == {PreemptionStage.RELEASED}
    clusters.held, clusters.waits = clusters.held[2:], spanning(2, free_west=2)
    assert asked_at(clusters.look(10)) == [], "it has not moved yet, but there is room for it"
    clusters.waits = {EAST: WaitingWork(UNIT, 0), WEST: WaitingWork(UNIT, 2, 2)}
    assert asked_at(clusters.look(2)) == []
    clusters.prod, clusters.waits = 12, {}
    assert asked_at(clusters.look(5)) == []


def test_what_there_is_room_for_is_easy_wherever_it_could_be_and_only_once():
    waits = {
        EAST: WaitingWork(UNIT, 3, 1, {WEST: 2}),
        WEST: WaitingWork(UNIT, 2, 3, {EAST: 2}),
    }
    queue = QueueShare("root.prod", slots(12), slots(2), waits)
    assert easy(queue) == {EAST: 2, WEST: 2}
    assert lacking(queue, CAPACITY, {}) == {EAST: 1}
    assert lacking(queue, CAPACITY, {EAST: 1}) == {}


@dataclass
class SilentAtTimes(Clusters):
    """The west is not heard of while `is_silent`: its part is from before the last look."""

    is_silent: bool = False

    def snapshot(self) -> ShareSnapshot:
        whole = super().snapshot()
        return replace(whole, is_fresh=not self.is_silent)


def lifted(effects: list[object]) -> bool:
    return any(isinstance(each, CapDemand) and each.amount is None for each in effects)


def test_what_is_held_back_stays_so_when_one_poll_is_missed_and_goes_out_when_silence_lasts():
    clusters = SilentAtTimes(containers_at(WEST, range(2, 10)), 8, spanning(4))
    assert any(isinstance(each, CapDemand) and each.amount is not None for each in clusters.look(2))
    clusters.is_silent = True
    assert clusters.look(1) == [], "one missed poll says nothing"
    assert clusters.look(int(PATIENCE.stale_s) - 2) == []
    assert lifted(clusters.look(2)), "nobody knows who waits any more"
    clusters.is_silent = False
    assert not lifted(clusters.look(1))


def first_asked(held: tuple[HeldContainer, ...], waits: Mapping[SubClusterId, WaitingWork]) -> list[int]:
    """Numbers of the containers that are asked back first."""
    effects = Clusters(held, 8, waits).look(4)
    return [
        each.container.id.number for each in effects if isinstance(each, Step) and each.stage is PreemptionStage.ASKED
    ]


def test_lent_containers_go_first_whatever_work_is_lost_with_them() -> None:
    old, young = containers_at(EAST, range(2, 4), since_s=100.0), containers_at(EAST, range(4, 10))
    lent = tuple(replace(each, is_lent=True) for each in old)
    assert set(first_asked((*old, *young), {EAST: WaitingWork(UNIT, 2, 0)})).isdisjoint({2, 3})
    assert sorted(first_asked((*lent, *young), {EAST: WaitingWork(UNIT, 2, 0)})) == [2, 3]
    assert len(first_asked((*lent, *young), {EAST: WaitingWork(UNIT, 3, 0)})) == 3, "then those that are their own"


def test_lent_containers_of_another_cluster_go_before_ones_own_where_what_waits_could_be_had_there() -> None:
    own = containers_at(EAST, range(2, 6))
    lent = tuple(replace(each, is_lent=True) for each in containers_at(WEST, range(6, 10), since_s=100.0))
    assert set(first_asked((*own, *lent), spanning(2))) <= {6, 7, 8, 9}


IDLE = PreemptionSettings(preempt_after_s=2, preempt_grace_s=4, settle_s=3, idle_s=5)


def restrains(effects: list[object]) -> bool:
    return any(isinstance(each, CapDemand) and each.amount is not None for each in effects)


def test_nothing_is_kept_for_a_queue_that_leaves_its_room_idle_for_the_whole_time() -> None:
    """`prod` waits for two in the west, where there is room for both, and takes neither."""
    clusters = Clusters(containers_at(EAST, range(2, 10)), 8, {WEST: WaitingWork(UNIT, 2, 2)}, Preemption(IDLE))
    assert restrains(clusters.look(1))
    assert not lifted(clusters.look(4)), "it has had room for four seconds"
    assert lifted(clusters.look(1)), "and now for five"
    assert not restrains(clusters.look(3))


def test_a_queue_that_takes_some_of_its_room_has_the_whole_time_anew() -> None:
    clusters = Clusters(containers_at(EAST, range(2, 10)), 8, {WEST: WaitingWork(UNIT, 2, 2)}, Preemption(IDLE))
    clusters.look(5)
    clusters.prod = 9
    assert not lifted(clusters.look(5)), "it used more a moment before its time was over"
    assert lifted(clusters.look(1))


def test_a_queue_that_had_no_room_for_a_moment_has_the_whole_time_anew() -> None:
    clusters = Clusters(containers_at(EAST, range(2, 10)), 8, {WEST: WaitingWork(UNIT, 2, 2)}, Preemption(IDLE))
    clusters.look(5)
    clusters.waits = {WEST: WaitingWork(UNIT, 2, 1)}
    clusters.look(1)
    clusters.waits = {WEST: WaitingWork(UNIT, 2, 2)}
    assert not lifted(clusters.look(5))
    assert lifted(clusters.look(1))


def test_what_an_earlier_process_had_begun_is_forgotten_if_it_is_not_seen_in_time() -> None:
    clusters = Clusters((), 12, {}, Preemption(replace(PATIENCE, stuck_s=6)))
    gone = Begun(ContainerId(an_attempt(1), 2), "root.prod", "r", 990.0, PreemptionStage.ASKED)
    clusters.core.recall(Memory(begun=(gone,)), clusters.at_s)
    clusters.look(5)
    assert clusters.core.is_busy, "its cluster may tell of it yet"
    clusters.look(1)
    assert not clusters.core.is_busy


@dataclass
class ReportsAreOld(Clusters):
    """Both clusters told last at 950; what began later is not in `used`."""

    held_of_used: int = 0

    def snapshot(self) -> ShareSnapshot:
        whole = super().snapshot()
        prod, dev = whole.queues
        queues = (prod, replace(dev, used=slots(self.held_of_used)))
        return replace(whole, queues=queues, as_of_s=dict.fromkeys((EAST, WEST), 950.0))


@pytest.mark.parametrize(
    ("since_s", "queue", "left"), [(960.0, "root.dev", 1), (940.0, "root.dev", 3), (960.0, "root.prod", 3)]
)
def test_what_a_queue_was_granted_since_the_reports_counts_as_used_and_nothing_else(since_s, queue, left) -> None:
    """`dev` is entitled to four, of which one is in the reports."""
    held = tuple(replace(each, queue=queue) for each in containers_at(EAST, range(2, 4), since_s=since_s))
    clusters = ReportsAreOld(held, 8, spanning(4), held_of_used=1)
    amounts = [each.amount for each in clusters.look(1) if isinstance(each, CapDemand)]
    assert [each.memory_mib for each in amounts if each is not None] == [1024 * left]


@pytest.mark.parametrize(("ago_ms", "asked"), [(59_999 - 2000, 0), (60_000 - 2000, 1)])
def test_what_was_asked_back_a_minute_ago_is_out_of_the_budget(ago_ms: int, asked: int) -> None:
    """The first container could be asked back two seconds from now, when `prod` has waited for `preempt_after_s`."""
    clusters = Clusters(containers_at(EAST, range(2, 10)), 11, {EAST: WaitingWork(UNIT, 1)})
    before = (int(clusters.at_s * 1000) + 1000 - ago_ms, ContainerId(an_attempt(1), 99))
    clusters.core.recall(Memory(taken={"root.dev": frozenset({before})}), clusters.at_s)
    one_a_minute = [
        replace(snapshot, queues=(snapshot.queues[0], replace(snapshot.queues[1], budget=1)))
        for clusters.at_s in (1001.0, 1002.0, 1003.0)
        for snapshot in (clusters.snapshot(),)
    ]
    effects: list[object] = [effect for snapshot in one_a_minute for effect in clusters.core.handle(snapshot)]
    assert len(asked_at(effects)) == asked
