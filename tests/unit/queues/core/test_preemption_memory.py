"""What the acts of an earlier process say of preemption that it had begun."""

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.preemption import PreemptionAct, PreemptionStage
from shim.queues.core.preemption_memory import Begun, Memory, memory_of

APPLICATION = ApplicationId(1, 1)
FIRST, SECOND = (ContainerId(ApplicationAttemptId(APPLICATION, 1), number) for number in (2, 3))
ASKED, DEMANDED, RELEASED, SPARED = (
    PreemptionStage.ASKED,
    PreemptionStage.DEMANDED,
    PreemptionStage.RELEASED,
    PreemptionStage.SPARED,
)


def act(at_ms, stage, container=None, *, number=1, queue="root.b"):
    return PreemptionAct(at_ms, ApplicationId(1, number), queue, stage, "why", container, None, "root.a", "g1")


def test_who_has_no_acts_had_begun_nothing():
    assert memory_of([]) == Memory()


@pytest.mark.parametrize(
    ("stages", "stage"),
    [
        ([ASKED], ASKED),
        ([ASKED, DEMANDED], DEMANDED),
        ([ASKED, DEMANDED, RELEASED], RELEASED),
        ([ASKED, SPARED], None),
        ([ASKED, SPARED, ASKED], ASKED),
    ],
)
def test_a_container_is_as_far_as_its_newest_act_says_and_was_asked_back_when_it_was_last_so(stages, stage):
    acts = [act(5_500 + 1000 * place, each, FIRST) for place, each in enumerate(stages)]
    since_s = 7.5 if stages.count(ASKED) > 1 else 5.5
    assert memory_of(acts).begun == ((Begun(FIRST, "root.a", "g1", since_s, stage),) if stage else ())


def test_a_container_whose_first_acts_are_gone_was_asked_back_when_it_is_first_heard_of():
    (begun,) = memory_of([act(8_000, DEMANDED, FIRST)]).begun
    assert begun.since_s == 8.0


def test_asks_are_held_back_if_the_newest_act_of_their_application_says_so():
    acts = [
        act(1, PreemptionStage.HELD_BACK),
        act(2, PreemptionStage.HELD_BACK, number=2),
        act(3, None),
        act(4, None, number=3),
        act(5, PreemptionStage.HELD_BACK, number=3),
        act(6, ASKED, FIRST, number=4),
    ]
    assert memory_of(acts).held_back == {ApplicationId(1, 2), ApplicationId(1, 3)}


def test_budgets_count_what_was_asked_back_of_each_queue_and_nothing_else():
    lately = [
        act(1, ASKED, FIRST),
        act(2, DEMANDED, FIRST),
        act(3, PreemptionStage.HELD_BACK),
        act(4, ASKED, SECOND),
        act(5, ASKED, FIRST, queue="root.c"),
    ]
    memory = memory_of([], lately)
    assert memory.taken == {"root.b": {(1, FIRST), (4, SECOND)}, "root.c": {(5, FIRST)}}
    assert memory.begun == ()
