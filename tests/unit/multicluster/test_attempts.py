"""Who an ApplicationMaster is; its queue is asked for where it matters."""

import asyncio

import pytest

from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.queues import is_same_queue
from shim.errors import HomeUnreachableError, NotFoundError
from shim.multicluster.attempts import AttemptDirectory
from shim.ports.attempt_calls import Attempt
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import IsNeverReached, IsPaused

WEST = SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
ATTEMPT = ApplicationAttemptId(AN_ID, 2)


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


async def attempts_over(federation: ScriptedFederation, *spanning: str) -> AttemptDirectory:
    heddle = await federation.start()
    names = dict.fromkeys(spanning, {WEST: "root.default"} if spanning == ("root.ours",) else {})
    return AttemptDirectory(
        heddle.routing, heddle.view, federation.managers, federation.clock, answer_within_s=2.0, read=lambda: names
    )


async def test_an_attempt_is_at_its_applications_home(federation: ScriptedFederation) -> None:
    federation["west"].add_application(AN_ID)
    attempts = await attempts_over(federation)
    found = await attempts.find(ATTEMPT)
    assert (found.id, found.home_subcluster) == (ATTEMPT, WEST)
    assert not found.is_read


async def test_without_queues_that_span_nobody_is_asked_for_the_queue(federation: ScriptedFederation) -> None:
    attempts = await attempts_over(federation)
    federation["west"].add_application(AN_ID)
    assert await attempts.find(ATTEMPT) == Attempt(ATTEMPT, WEST, queue="", user="")


async def test_where_queues_span_the_home_is_asked_for_the_queue(federation: ScriptedFederation) -> None:
    attempts = await attempts_over(federation, "root.default", "root.prod")
    federation["west"].add_application(AN_ID)
    found = await attempts.find(ATTEMPT)
    assert found.queue == "root.default"
    assert found.is_read


async def test_a_queue_that_its_home_calls_otherwise_is_told_by_its_own_path(federation: ScriptedFederation) -> None:
    attempts = await attempts_over(federation, "root.ours")
    federation["west"].add_application(AN_ID)
    found = await attempts.find(ATTEMPT)
    assert found.queue == "root.ours"
    assert found.is_read


async def test_an_attempt_whose_calls_were_read_stays_read_when_the_policy_says_otherwise(
    federation: ScriptedFederation,
) -> None:
    heddle = await federation.start()
    federation["west"].add_application(AN_ID)
    queues: dict[str, dict[SubClusterId, str]] = {"root.default": {}}
    read: set[ApplicationAttemptId] = set()

    async def was_read(attempt: ApplicationAttemptId) -> bool:
        return attempt in read

    attempts = AttemptDirectory(
        heddle.routing,
        heddle.view,
        federation.managers,
        federation.clock,
        answer_within_s=2.0,
        read=lambda: queues,
        was_read=was_read,
    )
    assert (await attempts.find(ATTEMPT)).is_read
    queues.clear()
    assert not (await attempts.find(ATTEMPT)).is_read
    read.add(ATTEMPT)
    assert (await attempts.find(ATTEMPT)).is_read


async def test_an_attempt_has_the_gang_that_its_applications_tags_name(federation: ScriptedFederation) -> None:
    attempts = await attempts_over(federation, "root.default")
    federation["west"].add_application(AN_ID, applicationTags="etl,heddle-gang=20@5m")
    assert (await attempts.find(ATTEMPT)).gang == Gang(20, 300.0)


async def test_a_home_that_cannot_tell_the_queue_is_waited_for(federation: ScriptedFederation) -> None:
    attempts = await attempts_over(federation, "root.default")
    federation["west"].add_application(AN_ID)
    without = AttemptDirectory(
        attempts._routing, attempts._view, federation.managers, federation.clock, answer_within_s=2.0
    )
    await without.find(ATTEMPT)
    federation["west"].behave(IsNeverReached())
    with pytest.raises(HomeUnreachableError, match="in which queue"):
        await attempts.find(ATTEMPT)


async def test_made_up_ids_are_searched_for_a_few_at_a_time_and_hold_up_nobody_who_is_known(
    federation: ScriptedFederation,
) -> None:
    federation["west"].add_application(AN_ID)
    attempts = await attempts_over(federation)
    federation["west"].behave(IsPaused())
    asked = len(federation["west"].requests)
    made_up = [ApplicationAttemptId(ApplicationId(1, number), 1) for number in range(100)]
    searches = [asyncio.create_task(attempts.find(attempt)) for attempt in made_up]
    for _ in range(100):
        await asyncio.sleep(0)
    assert 0 < len(federation["west"].requests) - asked <= 8
    assert (await attempts.find(ATTEMPT)).home_subcluster == WEST
    for search in searches:
        search.cancel()
    await asyncio.wait(searches)


async def test_an_attempt_of_nobody_is_not_found(federation: ScriptedFederation) -> None:
    attempts = await attempts_over(federation)
    with pytest.raises(NotFoundError):
        await attempts.find(ATTEMPT)


@pytest.mark.parametrize(
    ("path", "told", "same"),
    [
        ("root.prod", "root.prod", True),
        ("root.prod", "prod", True),
        ("root.a.prod", "prod", True),
        ("root.a.prod", "root.prod", False),
        ("root.prod", "prod.x", False),
        ("root.prod", "", False),
    ],
)
def test_a_queue_is_told_by_its_path_or_its_last_part(path: str, told: str, *, same: bool) -> None:
    assert is_same_queue(path, told) is same
