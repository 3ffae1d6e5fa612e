"""Rules of preemption one by one: who is held back and by how much, who is asked back when, and who is spared why."""

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
from shim.queues.core.preemption_effects import CapDemand, Remind, Step
from shim.queues.core.preemption_memory import Begun, Memory

EAST, WEST = SubClusterId("east"), SubClusterId("west")
UNIT = ResourceVector(1024, 1)
CAPACITY = ResourceVector(16 * 1024, 0)
ASKED, DEMANDED, RELEASED, SPARED = (
    PreemptionStage.ASKED,
    PreemptionStage.DEMANDED,
    PreemptionStage.RELEASED,
    PreemptionStage.SPARED,
)
PATIENCE = PreemptionSettings(preempt_after_s=2, preempt_grace_s=8, settle_s=3, stale_s=10, stuck_s=20)


def slots(count):
    return ResourceVector(1024 * count, 0)


def an_attempt(number):
    return ApplicationAttemptId(ApplicationId(1, number), 1)


THREE = slots(3)


def held(number, *, queue="root.dev", attempt=1, at=EAST, since_s=900.0, **more):
    name = ContainerId(an_attempt(attempt), number)
    return HeldContainer(name, queue, at, NodeId("n1", 1), UNIT, since_s, **more)


def waiting(path, entitled, used, count, *, at=EAST, free=0, **elsewhere):
    moves = {SubClusterId(name): most for name, most in elsewhere.items()}
    return QueueShare(path, slots(entitled), slots(used), {at: WaitingWork(UNIT, count, free, moves)})


def giving(path="root.dev", *, entitled=4, used=8, budget=9, **more):
    return QueueShare(path, slots(entitled), slots(used), may_be_taken_from=True, budget=budget, **more)


def asking(number, queue="root.dev", wants=THREE, places=(EAST,)):
    return AskingAttempt(an_attempt(number), queue, wants, frozenset(places))


PROD = waiting("root.prod", 12, 8, 1)
EIGHT = tuple(held(number) for number in range(2, 10))


@dataclass
class Federation:
    """A federation of sixteen slots that is looked at each second."""

    queues: tuple[QueueShare, ...] = (PROD, giving())
    containers: tuple[HeldContainer, ...] = EIGHT
    attempts: tuple[AskingAttempt, ...] = ()
    settings: PreemptionSettings = PATIENCE
    capacity: ResourceVector = CAPACITY
    is_fresh: bool = True
    at_s: float = 1000.0
    as_of_s: float = 2000.0
    core: Preemption = field(init=False)

    def __post_init__(self):
        self.core = Preemption(self.settings)

    def look(self, seconds=1):
        """Effects of so many looks, with the second of each."""
        found = []
        for _ in range(seconds):
            self.at_s += 1
            found += [(self.at_s, effect) for effect in self.core.handle(self.snapshot())]
        return found

    def snapshot(self):
        as_of_s = dict.fromkeys((EAST, WEST), self.as_of_s)
        return ShareSnapshot(
            self.at_s, self.capacity, self.queues, self.containers, self.attempts, as_of_s, self.is_fresh
        )


def steps(found, stage=None):
    return [effect for _, effect in found if isinstance(effect, Step) and stage in {None, effect.stage}]


def numbers(found, stage):
    return sorted(step.container.id.number for step in steps(found, stage))


def caps(found):
    return {effect.attempt.application.sequence: effect.amount for _, effect in found if isinstance(effect, CapDemand)}


# ---------------------------------------------------------------------- stages


def test_a_queue_that_is_owed_nothing_for_a_moment_has_waited_no_longer():
    federation = Federation()
    federation.look(2)
    federation.queues = (giving(),)
    federation.look(1)
    federation.queues = (PROD, giving())
    assert [at_s for at_s, _ in federation.look(4)] == [1006.0]


def test_what_makes_room_for_each_container_has_a_name_of_its_own():
    found = Federation((waiting("root.prod", 12, 8, 3), giving())).look(4)
    groups = [step.room for step in steps(found, ASKED)]
    assert len(set(groups)) == 3


@pytest.mark.parametrize(("lab", "first"), [(9, "root.lab"), (11, "root.prod"), (10, "root.lab")])
def test_the_largest_violation_goes_first_and_of_equals_the_first_by_name(lab, first):
    """`prod` lacks two of its twelve."""
    queues = (waiting("root.prod", 12, 10, 2), waiting("root.lab", 12, lab, 3), giving(budget=1))
    assert [step.taker for step in steps(Federation(queues).look(3), ASKED)] == [first]


@pytest.mark.parametrize(
    ("containers", "taken"),
    [
        ((held(2, is_given=False), held(3)), [3]),
        ((held(1), held(3)), [3]),
        ((held(1, is_home=False), held(3)), [1, 3]),
        ((held(2, queue="root.prod"), held(3)), [3]),
        ((held(2, queue="root.gone"), held(3)), [3]),
        ((held(2, queue="root.lab"), held(3)), [3]),
        ((held(2, at=WEST), held(3)), [3]),
    ],
    ids=[
        "not given",
        "a master",
        "the first elsewhere",
        "its own",
        "of no queue",
        "of one that nothing is taken from",
        "at another cluster",
    ],
)
def test_what_is_taken_was_given_and_is_no_master_and_of_a_queue_that_gives(containers, taken):
    lab = QueueShare("root.lab", slots(0), slots(8), budget=9)
    found = Federation((waiting("root.prod", 12, 8, 2), giving(), lab), containers).look(5)
    assert numbers(found, ASKED) == taken


def test_what_was_asked_back_for_another_reason_is_off_the_budget():
    federation = Federation((waiting("root.prod", 12, 8, 4), giving(budget=3), giving("root.lab", budget=2)))
    federation.core.spend("root.dev", held(20).id, federation.at_s)
    federation.core.spend("root.dev", held(21).id, federation.at_s)
    assert federation.core.budget(federation.snapshot()) == {"root.prod": 0, "root.dev": 1, "root.lab": 2}
    assert len(steps(federation.look(5), ASKED)) == 1
    assert federation.core.budget(federation.snapshot()) == {"root.prod": 0, "root.dev": 0, "root.lab": 2}
    federation.at_s = 1059.9
    assert federation.core.budget(federation.snapshot())["root.dev"] == 0
    federation.at_s = 1060.0
    assert federation.core.budget(federation.snapshot())["root.dev"] == 2, "the two of 1000 s are a minute old"


def test_of_places_that_cost_the_same_the_one_where_it_waits_goes_first():
    for home, other in ((EAST, WEST), (WEST, EAST)):
        queue = waiting("root.prod", 12, 8, 2, at=home, **{other: 2})
        queue = replace(queue, waiting={**queue.waiting, other: WaitingWork(UNIT, 0)})
        containers = tuple(held(number, at=(EAST, WEST)[number % 2]) for number in range(2, 10))
        found = Federation((queue, giving()), containers).look(4)
        assert [step.container.subcluster for step in steps(found, ASKED)] == [home, home]


# ---------------------------------------------------------------------- who is held back


def test_attempts_may_ask_for_what_their_queue_may_have_who_came_first_goes_first():
    federation = Federation((PROD, giving(used=1)), (), (asking(3), asking(2, wants=slots(2))))
    assert caps(federation.look()) == {2: slots(2), 3: slots(1)}
    assert federation.core.limits == {an_attempt(2): slots(2), an_attempt(3): slots(1)}


def test_it_is_said_once_why_asks_are_held_back_and_once_that_they_are_not_any_more():
    federation = Federation((PROD, giving(), waiting("root.lab", 2, 0, 1)), (), (asking(2),))
    standing = "queue root.dev holds 50% of the federation and is entitled to 25%"
    reasons = [effect.reason for _, effect in federation.look(2)]
    assert reasons == [f"{standing}, while root.prod and root.lab wait for their shares", ""]
    federation.queues = (giving(),)
    ((_, lifted),) = federation.look(3)
    assert lifted == CapDemand(an_attempt(2), None, "nobody else waits for its share any more")
    assert not federation.core.is_busy


@pytest.mark.parametrize(
    ("attempt", "is_capped"),
    [
        (asking(2), True),
        (asking(2, places=(WEST,)), False),
        (asking(2, places=(WEST, EAST)), True),
        (asking(2, places=()), False),
        (asking(2, queue="root.prod"), False),
        (asking(2, queue="root.lab"), False),
        (asking(2, queue="root.gone"), False),
    ],
    ids=["in the way", "elsewhere", "also there", "nowhere", "its own", "nothing is taken from it", "of no queue"],
)
def test_only_attempts_that_could_get_what_another_queue_waits_for_are_held_back(attempt, is_capped):
    lab = QueueShare("root.lab", slots(0), slots(8))
    found = Federation((PROD, giving(), lab), (), (attempt,)).look()
    assert caps(found) == ({2: ResourceVector()} if is_capped else {})


def test_who_is_owed_alone_is_not_held_back_and_who_is_owed_beside_another_is():
    dev = replace(giving(used=2), waiting={EAST: WaitingWork(UNIT, 3)})
    attempts = (asking(2),)
    assert caps(Federation((dev,), (), attempts).look()) == {}
    assert caps(Federation((dev, PROD), (), attempts).look()) == {2: slots(2)}


def test_what_is_not_scarce_may_be_asked_for_as_wanted():
    wants = ResourceVector(3072, 700, {"gpu": 5})
    prod = replace(PROD, entitled=ResourceVector(12 * 1024, 9))
    federation = Federation((prod, giving(used=2)), (), (asking(2, wants=wants),))
    assert caps(federation.look()) == {2: ResourceVector(2048, 700)}
    federation.capacity = ResourceVector(16 * 1024, 16)
    assert caps(federation.look()) == {2: ResourceVector(2048, 0)}


@pytest.mark.parametrize(("since_s", "left"), [(949.9, 3), (950.0, 1), (950.1, 1)])
def test_what_began_when_its_report_was_made_may_not_be_in_it(since_s, left):
    containers = (held(2, since_s=since_s), held(3, since_s=since_s))
    federation = Federation((PROD, giving(used=1)), containers, (asking(2),), as_of_s=950.0)
    assert caps(federation.look()) == {2: slots(left)}


def test_asks_stay_held_back_for_so_long_as_a_cluster_may_be_silent():
    federation = Federation(attempts=(asking(2),), containers=())
    federation.look()
    federation.is_fresh = False
    assert federation.look(9) == []
    ((at_s, lifted),) = federation.look(5)
    assert at_s == 1011.0
    assert lifted.amount is None
    assert lifted.reason.startswith("a sub-cluster does not tell how it is")


# ---------------------------------------------------------------------- who is spared


def after_two(**more):
    """Two of `dev` are asked back for `prod`."""
    federation = Federation((waiting("root.prod", 12, 8, 2), giving()), **more)
    assert len(steps(federation.look(3), ASKED)) == 2
    return federation


@pytest.mark.parametrize("dev", [(), (replace(giving(), may_be_taken_from=False),)], ids=["gone", "closed"])
def test_nothing_stays_on_its_way_from_a_queue_that_nothing_is_taken_from_any_more(dev):
    federation = after_two()
    federation.queues = (federation.queues[0], *dev)
    spared = steps(federation.look(), SPARED)
    assert [step.reason for step in spared] == ["nothing is taken from root.dev any more"] * 2
    assert federation.core.victims == {}


@pytest.mark.parametrize(("waits", "count"), [(2, 0), (1, 1), (0, 2), (None, 2)])
def test_as_many_are_spared_as_are_not_needed_any_more_the_dearest_first(waits, count):
    """Container 2 is the oldest; the queue that waited may be gone altogether."""
    containers = (held(2, since_s=100.0), held(3, since_s=800.0), held(1, since_s=0.0))
    federation = after_two(containers=containers)
    federation.queues = (*(() if waits is None else (waiting("root.prod", 12, 8, waits),)), giving())
    spared = steps(federation.look(), SPARED)
    assert [step.container.id.number for step in spared] == [2, 3][:count]
    assert {step.reason for step in spared} <= {"root.prod has its share, or waits no more"}
    assert numbers(federation.look(3), SPARED) == []


def test_what_has_gone_already_makes_room_and_saves_nobody():
    federation = after_two()
    gone, stays = sorted(federation.core.victims)
    federation.containers = tuple(each for each in federation.containers if each.id != gone)
    federation.queues = (waiting("root.prod", 12, 8, 2, free=1), giving(used=7))
    assert federation.look() == []
    assert list(federation.core.victims) == [stays]


@pytest.mark.parametrize(("entitled", "count"), [(4, 0), (6, 0), (7, 1), (8, 2)])
def test_a_queue_never_gives_what_it_is_entitled_to(entitled, count):
    """It holds eight, of which two are on their way back."""
    federation = after_two()
    federation.queues = (federation.queues[0], giving(entitled=entitled))
    spared = steps(federation.look(), SPARED)
    assert len(spared) == count
    told = f"queue root.dev holds 50% of the federation and is entitled to {entitled / 16:.0%}: no more than that"
    assert {step.reason for step in spared} <= {told}


def test_containers_that_make_room_together_are_spared_together():
    """One that waits is as large as two; the other queue's victim stays."""
    large = ResourceVector(2048, 1)
    prod = QueueShare("root.prod", slots(12), slots(8), {EAST: WaitingWork(large, 1)})
    lab = waiting("root.lab", 6, 0, 1, at=WEST)
    federation = Federation((prod, giving(), lab), (held(2), held(3), held(4, at=WEST)))
    assert numbers(federation.look(3), ASKED) == [2, 3, 4]
    federation.queues = (giving(), lab)
    assert numbers(federation.look(), SPARED) == [2, 3]
    assert [name.number for name in federation.core.victims] == [4]


# ---------------------------------------------------------------------- what an earlier process had begun


def begun(number, stage=DEMANDED):
    return Begun(held(number).id, "root.prod", "before", 996.0, stage)


def test_what_an_earlier_process_had_begun_is_said_again_once_and_goes_on():
    federation = Federation()
    federation.core.recall(Memory(begun=(begun(2),)), federation.at_s)
    assert federation.core.is_busy
    assert federation.look() == [(1001.0, Remind(held(2), DEMANDED))]
    assert federation.core.victims == {held(2).id: DEMANDED}
    federation.core.recall(Memory(begun=(begun(2, ASKED),)), federation.at_s)
    found = federation.look(5)
    assert [(at_s, step.stage) for at_s, step in found] == [(1004.0, RELEASED)], "eight seconds after it was asked back"


def test_asks_that_an_earlier_process_held_back_go_out_again_if_nobody_waits_and_else_stay_so_without_a_word():
    memory = Memory(held_back=frozenset({an_attempt(2).application}))
    for queues, told in (
        ((giving(),), CapDemand(an_attempt(2), None, "nobody else waits for its share any more")),
        ((PROD, giving()), CapDemand(an_attempt(2), ResourceVector(), "")),
    ):
        federation = Federation(queues, (), (asking(2),))
        assert not federation.core.is_busy
        federation.core.recall(memory, federation.at_s)
        assert federation.core.is_busy
        assert [effect for _, effect in federation.look()] == [told]
        assert federation.look() == ([] if told.amount is None else [(1002.0, told)])


def test_budgets_count_what_an_earlier_process_took():
    federation = Federation((PROD, giving(budget=2)))
    for number in (20, 21):
        taken = frozenset({(999_000, held(number).id)})
        federation.core.recall(Memory(taken={"root.dev": taken}), federation.at_s)
    assert federation.core.budget(federation.snapshot())["root.dev"] == 0
    assert not federation.core.is_busy
