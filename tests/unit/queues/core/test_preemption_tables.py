"""Preemption (`shim.queues.core`) by tables: when each stage comes, whose container goes first, who is spared.

`prod` waits; `dev` holds what is given, and is entitled to four of sixteen.
"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import (
    AskingAttempt,
    HeldContainer,
    PreemptionAct,
    PreemptionSettings,
    PreemptionStage,
    QueueShare,
    ShareSnapshot,
    WaitingWork,
)
from shim.domain.resources import ResourceVector
from shim.queues.core.preemption import Preemption, Victim, Victims
from shim.queues.core.preemption_effects import CapDemand, PreemptionEffect, Remind, Step
from shim.queues.core.preemption_memory import Begun, Memory, memory_of
from shim.queues.core.preemption_sizes import lacking, within

EAST, WEST = SubClusterId("east"), SubClusterId("west")
UNIT = ResourceVector(1024, 0)
CAPACITY = ResourceVector(16 * 1024, 0)
PATIENCE = PreemptionSettings(preempt_after_s=2, preempt_grace_s=4, settle_s=3, stuck_s=10)
ASKED, DEMANDED = PreemptionStage.ASKED, PreemptionStage.DEMANDED
RELEASED, SPARED, HELD_BACK = PreemptionStage.RELEASED, PreemptionStage.SPARED, PreemptionStage.HELD_BACK
ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
BEGAN_S = 1000.0


def slots(count: float) -> ResourceVector:
    return ResourceVector(round(1024 * count), 0)


def held(number: int, at: SubClusterId = EAST, *, age_s: float = 100.0, size: int = 1, node: int = 1, **more: object):
    container = ContainerId(ATTEMPT, number)
    since_s = BEGAN_S - age_s
    return HeldContainer(container, "root.dev", at, NodeId(f"{at}{node}", 1), slots(size), since_s, **more)  # type: ignore[arg-type]


def look_at(
    at_s: float,
    containers: tuple[HeldContainer, ...],
    waits: Mapping[SubClusterId, WaitingWork],
    *,
    used: int = 8,
    attempts: tuple[AskingAttempt, ...] = (),
    **dev: object,
) -> ShareSnapshot:
    size = sum(each.resource.memory_mib for each in containers)
    queues = (
        QueueShare("root.prod", slots(12), slots(used), waits),
        replace(
            QueueShare("root.dev", slots(4), ResourceVector(size, 0), {}, may_be_taken_from=True, budget=10),
            **dev,  # type: ignore[arg-type]
        ),
    )
    return ShareSnapshot(at_s, CAPACITY, queues, containers, attempts, dict.fromkeys((EAST, WEST), at_s + 0.001))


def steps(effects: list[PreemptionEffect], stage: PreemptionStage = ASKED) -> list[int]:
    return [each.container.id.number for each in effects if isinstance(each, Step) and each.stage is stage]


EIGHT = tuple(held(number) for number in range(2, 10))


# ---------------------------------------------------------------------- times and words


def test_each_stage_comes_in_its_time_and_says_why() -> None:
    """A release that has not come for ten seconds is stuck, and counts no more."""
    core, found = Preemption(PATIENCE), []
    for after_s in (number / 2 for number in range(33)):
        effects = core.handle(look_at(BEGAN_S + after_s, EIGHT, {EAST: WaitingWork(UNIT, 1)}))
        found += [(after_s, each.stage, each.reason, each.room) for each in effects if isinstance(each, Step)]
    dev = "queue root.dev holds 50% of the federation and is entitled to 25%"
    prod = "queue root.prod holds 50% of the federation and is entitled to 75%"
    assert [act[:3] for act in found] == [
        (2.0, ASKED, f"{dev}; {prod} and has waited 2 s"),
        (4.0, DEMANDED, "not given back in 2 s, while root.prod waits for its share"),
        (6.0, RELEASED, "not given back in 4 s, of 4 s grace, while root.prod waits for its share"),
        (16.0, ASKED, f"{dev}; {prod} and has waited 16 s"),
    ]
    rooms = [act[3] for act in found]
    assert rooms[0] == rooms[1] == rooms[2] != rooms[3]


@pytest.mark.parametrize("stage", [ASKED, DEMANDED, RELEASED])
def test_what_was_begun_before_goes_on_in_its_stage_and_its_attempt_is_told_again(stage: PreemptionStage) -> None:
    core = Preemption(PATIENCE)
    begun = Begun(EIGHT[0].id, "root.prod", "its room", BEGAN_S - 1.0, stage)
    core.recall(Memory(begun=(begun,), held_back=frozenset({ATTEMPT.application})), BEGAN_S)
    assert core.is_busy
    effects = core.handle(look_at(BEGAN_S, EIGHT, {EAST: WaitingWork(UNIT, 1)}))
    assert [each for each in effects if isinstance(each, Remind)] == [Remind(EIGHT[0], stage)]
    assert core.victims == {EIGHT[0].id: stage}
    assert not any(
        isinstance(each, Remind) for each in core.handle(look_at(BEGAN_S + 0.5, EIGHT, {EAST: WaitingWork(UNIT, 1)}))
    )


# ---------------------------------------------------------------------- who is held back


@pytest.mark.parametrize(
    ("wants", "places", "queue", "limits"),
    [
        ([3], {EAST}, "root.dev", [0]),
        ([3, 3], {EAST}, "root.dev", [0, 0]),
        ([3], {WEST}, "root.dev", [None]),
        ([3], {EAST, WEST}, "root.dev", [0]),
        ([3], {EAST}, "root.prod", [None]),
        ([3], {EAST}, "root.elsewhere", [None]),
    ],
)
def test_asks_are_held_back_of_those_who_could_get_what_another_queue_waits_for(
    wants: list[int], places: set[SubClusterId], queue: str, limits: list[int | None]
) -> None:
    attempts = tuple(
        AskingAttempt(ApplicationAttemptId(ApplicationId(1, number), 1), queue, slots(want), frozenset(places))
        for number, want in enumerate(wants, start=1)
    )
    core = Preemption(PATIENCE)
    effects = core.handle(look_at(BEGAN_S, EIGHT, {EAST: WaitingWork(UNIT, 1)}, attempts=attempts))
    told = {each.attempt: each.amount for each in effects if isinstance(each, CapDemand)}
    found = [told.get(each.id) for each in attempts]
    assert [None if each is None else each.memory_mib // 1024 for each in found] == limits
    assert core.limits == {name: amount for name, amount in told.items() if amount is not None}
    assert core.is_busy is any(limit is not None for limit in limits)


def test_what_a_queue_may_still_have_goes_to_its_attempts_in_turn_and_is_told_once() -> None:
    """Dev is entitled to six and holds three: the first two attempts share the rest."""
    attempts = tuple(
        AskingAttempt(ApplicationAttemptId(ApplicationId(1, number), 1), "root.dev", slots(2), frozenset({EAST}))
        for number in (3, 1, 2)
    )
    core, waits = Preemption(PATIENCE), {EAST: WaitingWork(UNIT, 1)}
    found = []
    for at_s in (BEGAN_S, BEGAN_S + 1.0):
        effects = core.handle(look_at(at_s, EIGHT[:3], waits, attempts=attempts, entitled=slots(6)))
        found.append(
            [
                (each.attempt.application.sequence, each.amount, each.reason)
                for each in effects
                if isinstance(each, CapDemand)
            ]
        )
    why = "queue root.dev holds 19% of the federation and is entitled to 38%, while root.prod waits for its share"
    amounts = [(1, 2048), (2, 1024), (3, 0)]
    assert found[0] == [(number, ResourceVector(memory, 0), why) for number, memory in amounts]
    assert found[1] == [(number, ResourceVector(memory, 0), "") for number, memory in amounts]
    lifted = core.handle(look_at(BEGAN_S + 2.0, EIGHT[:3], {}, attempts=attempts, entitled=slots(6)))
    well = "nobody else waits for its share any more"
    assert lifted == [CapDemand(each.id, None, well) for each in sorted(attempts, key=lambda each: each.id)]
    assert not core.is_busy


# ---------------------------------------------------------------------- whose container goes first


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ((held(2, WEST, age_s=900.0, is_lent=True),), (held(3, EAST, age_s=1.0),)),
        ((held(2, WEST, age_s=900.0, size=2),), (held(3, EAST, age_s=1.0), held(4, EAST, age_s=1.0))),
        ((held(2, WEST, age_s=10.0, size=2),), (held(3, EAST, age_s=20.0, size=2),)),
        ((held(3, EAST, age_s=10.0, size=2),), (held(2, WEST, age_s=10.0, size=2),)),
        ((held(3, EAST, age_s=10.0, size=2),), (held(2, EAST, age_s=20.0, size=2),)),
    ],
    ids=["lent ones", "fewer", "those with less work", "where it waits", "the younger"],
)
def test_of_two_ways_to_make_room_the_better_is_taken(
    first: tuple[HeldContainer, ...], others: tuple[HeldContainer, ...]
) -> None:
    """What waits has two units; a lent one is as large as what it takes the place of."""
    size = max(each.resource.memory_mib for each in first) // 1024
    waits = {EAST: WaitingWork(slots(size), 1, 0, {WEST: 1}), WEST: WaitingWork(slots(size), 0)}
    rest = tuple(held(number, EAST, age_s=900.0, node=9, is_given=False) for number in range(20, 26))
    for containers in ((*first, *others, *rest), (*others, *first, *rest)):
        core = Preemption(PATIENCE)
        core.handle(look_at(BEGAN_S, containers, waits))
        assert steps(core.handle(look_at(BEGAN_S + 2.0, containers, waits))) == [each.id.number for each in first]


@pytest.mark.parametrize(("budget", "asked"), [(0, 0), (1, 1), (2, 2), (3, 3), (9, 3)])
@pytest.mark.parametrize("may", [True, False])
def test_no_more_is_asked_back_than_is_waited_for_and_in_the_budget(budget: int, asked: int, *, may: bool) -> None:
    core, waits = Preemption(PATIENCE), {EAST: WaitingWork(UNIT, 3)}
    core.handle(look_at(BEGAN_S, EIGHT, waits, budget=budget, may_be_taken_from=may))
    now = look_at(BEGAN_S + 2.0, EIGHT, waits, budget=budget, may_be_taken_from=may)
    assert core.budget(now)["root.dev"] == (budget if may else 0)
    assert len(steps(core.handle(now))) == (asked if may else 0)
    assert core.budget(now)["root.dev"] == (max(0, budget - asked) if may else 0)


# ---------------------------------------------------------------------- who is spared


def asked_back(count: int) -> Preemption:
    """A core that has asked back so many of eight; the first ones lose the most work."""
    core, waits = Preemption(PATIENCE), {EAST: WaitingWork(UNIT, count)}
    core.handle(look_at(BEGAN_S, AGED, waits))
    assert len(steps(core.handle(look_at(BEGAN_S + 2.0, AGED, waits)))) == count
    return core


AGED = tuple(held(number, age_s=1000.0 - 100.0 * number) for number in range(2, 10))


def test_what_was_released_is_not_spared() -> None:
    core, waits = asked_back(1), {EAST: WaitingWork(UNIT, 1)}
    core.handle(look_at(BEGAN_S + 4.0, AGED, waits))
    assert steps(core.handle(look_at(BEGAN_S + 6.0, AGED, waits)), RELEASED) == [9]
    assert steps(core.handle(look_at(BEGAN_S + 7.0, AGED, {})), SPARED) == []


# ---------------------------------------------------------------------- victims


def a_victim(number: int, at: SubClusterId = EAST, *, here: SubClusterId = EAST, gone_s: float | None = None) -> Victim:
    return Victim(held(number, here), "root.prod", f"g{number}", at, BEGAN_S, BEGAN_S, ASKED, gone_s)


@pytest.mark.parametrize(("after_s", "known"), [(0.0, 1), (2.9, 1), (3.0, 0)])
def test_what_has_gone_is_on_its_way_until_reports_have_settled(after_s: float, known: int) -> None:
    victims = Victims(settle_s=3.0, stuck_s=10.0)
    victims.add(a_victim(2))
    for at_s in (BEGAN_S + 1.0, BEGAN_S + 1.0 + after_s):
        victims.follow(look_at(at_s, (), {}))
    assert len(victims) == known
    assert victims.active() == []
    assert victims.coming("root.prod", BEGAN_S, with_gone=True) == ({EAST: 1} if known else {})
    assert victims.coming("root.prod", BEGAN_S, with_gone=False) == {}


def test_what_moves_is_what_waits_here_and_is_made_room_for_elsewhere() -> None:
    victims = Victims(settle_s=3.0, stuck_s=10.0)
    for each in (a_victim(2), a_victim(3, here=WEST), a_victim(4, here=WEST), a_victim(5, at=WEST, here=WEST)):
        victims.add(each)
    assert victims.moving("root.prod", EAST) == {WEST: 2}
    assert victims.moving("root.prod", WEST) == {}
    assert victims.moving("root.dev", EAST) == {}


@pytest.mark.parametrize(("gone_s", "is_leaving"), [(None, True), (BEGAN_S + 1.0, True), (BEGAN_S + 0.9, False)])
def test_what_has_gone_before_the_reports_is_in_their_numbers(gone_s: float | None, *, is_leaving: bool) -> None:
    victims = Victims(settle_s=3.0, stuck_s=10.0)
    victims.add(a_victim(2, gone_s=gone_s))
    now = replace(look_at(BEGAN_S + 2.0, (), {}), as_of_s={EAST: BEGAN_S + 1.0})
    assert victims.leaving(now) == ({"root.dev": UNIT} if is_leaving else {})


# ---------------------------------------------------------------------- what was written down


def an_act(
    at_ms: int, stage: PreemptionStage | None, number: int | None = None, queue: str = "root.dev"
) -> PreemptionAct:
    container = None if number is None else ContainerId(ATTEMPT, number)
    return PreemptionAct(at_ms, ATTEMPT.application, queue, stage, "why", container, EAST, "root.prod", "room")


@pytest.mark.parametrize(
    ("acts", "since_s", "stage"),
    [
        ([an_act(1000, ASKED, 2)], 1.0, ASKED),
        ([an_act(1000, ASKED, 2), an_act(3000, DEMANDED, 2)], 1.0, DEMANDED),
        ([an_act(1000, ASKED, 2), an_act(3000, DEMANDED, 2), an_act(5000, RELEASED, 2)], 1.0, RELEASED),
        ([an_act(3000, DEMANDED, 2)], 3.0, DEMANDED),
        ([an_act(1000, ASKED, 2), an_act(2000, SPARED, 2)], None, None),
        ([an_act(1000, ASKED, 2), an_act(2000, SPARED, 2), an_act(9500, ASKED, 2)], 9.5, ASKED),
    ],
)
def test_the_newest_act_of_a_container_tells_its_stage_and_the_first_of_them_since_when(acts, since_s, stage) -> None:
    begun = memory_of(acts).begun
    assert begun == (() if stage is None else (Begun(ContainerId(ATTEMPT, 2), "root.prod", "room", since_s, stage),))


@pytest.mark.parametrize(
    ("stages", "is_held_back"),
    [
        ([HELD_BACK], True),
        ([HELD_BACK, None], False),
        ([None], False),
        ([HELD_BACK, None, HELD_BACK], True),
        ([], False),
    ],
)
def test_the_newest_word_of_an_application_tells_whether_its_asks_are_held_back(stages, is_held_back) -> None:
    found = memory_of([an_act(1000 + number, stage) for number, stage in enumerate(stages)])
    assert found.held_back == ({ATTEMPT.application} if is_held_back else frozenset())
    assert (found.begun, found.taken) == ((), {})


def test_what_was_asked_back_lately_is_counted_by_queue() -> None:
    lately = [
        an_act(1000, ASKED, 2),
        an_act(2000, DEMANDED, 2),
        an_act(3000, ASKED, 3),
        an_act(4000, ASKED, 4, "root.other"),
        an_act(5000, HELD_BACK),
    ]
    assert memory_of([], lately).taken == {
        "root.dev": {(1000, ContainerId(ATTEMPT, 2)), (3000, ContainerId(ATTEMPT, 3))},
        "root.other": {(4000, ContainerId(ATTEMPT, 4))},
    }


@pytest.mark.parametrize(
    ("count", "free", "on_way", "used", "lacks"),
    [
        (3, 0, 0, 8, 3),
        (3, 1, 0, 8, 2),
        (3, 0, 1, 8, 2),
        (3, 2, 1, 8, 0),
        (9, 0, 0, 8, 4),
        (9, 1, 0, 8, 3),
        (9, 0, 1, 8, 3),
        (9, 1, 1, 8, 2),
        (9, 0, 0, 12, 0),
        (9, 0, 0, 13, 0),
    ],
)
def test_a_queue_lacks_what_waits_without_room_within_its_share(count, free, on_way, used, lacks) -> None:
    queue = QueueShare("root.prod", slots(12), slots(used), {EAST: WaitingWork(UNIT, count, free)})
    assert lacking(queue, CAPACITY, {EAST: on_way}) == ({EAST: lacks} if lacks else {})
    assert within(queue, CAPACITY) == min(count, max(0, 12 - used))
    assert within(queue, ResourceVector()) == 0
