"""When a home's word on an id counts."""

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId
from shim.federation.home_questions import HomeKnows, Life, Uncertain, ask_home, ask_life
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS
from tests.doubles.clock import FakeClock
from tests.doubles.misbehaviours import (
    AnswersGarbage,
    FailsInternally,
    IsNeverReached,
    IsRecovering,
    IsStandby,
    MisbehavesFor,
)
from tests.doubles.resource_manager import ScriptedResourceManager

AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)


@pytest.fixture
def manager() -> ScriptedResourceManager:
    return ScriptedResourceManager("east", clock=FakeClock())


async def test_an_active_home_tells_its_life_and_what_it_knows(manager: ScriptedResourceManager) -> None:
    manager.add_application(AN_ID, "RUNNING")
    unknown = ApplicationId(FEDERATION_TIMESTAMP_MS, 2)
    life = Life(manager.started_on_ms)
    assert await ask_life(manager, timeout_s=1.0) == life
    knows = await ask_home(manager, [AN_ID, unknown], timeout_s=1.0)
    assert isinstance(knows, HomeKnows)
    assert knows.life == life
    assert {an_id: seen.state for an_id, seen in knows.applications.items()} == {AN_ID: YarnApplicationState.RUNNING}


@pytest.mark.parametrize(
    "behaviour",
    [IsNeverReached(), IsRecovering(), IsStandby(), AnswersGarbage(), FailsInternally()],
    ids=lambda behaviour: type(behaviour).__name__,
)
async def test_the_word_of_a_home_that_is_not_active_does_not_count(
    manager: ScriptedResourceManager, behaviour: IsNeverReached
) -> None:
    manager.behave(behaviour)
    assert isinstance(await ask_home(manager, [AN_ID], timeout_s=1.0), Uncertain)


async def test_the_word_of_a_home_that_restarts_meanwhile_does_not_count(manager: ScriptedResourceManager) -> None:
    class RestartsWhenAsked:
        async def __call__(
            self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
        ) -> RestAnswer:
            del timeout_s
            if str(AN_ID) in request.path:
                manager.restart(forgets=True)
            return manager.take(request)

    manager.behave(RestartsWhenAsked())
    assert isinstance(await ask_home(manager, [AN_ID], timeout_s=1.0), Uncertain)


async def test_a_404_of_something_else_is_not_a_word(manager: ScriptedResourceManager) -> None:
    class IsNoResourceManager:
        async def __call__(
            self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
        ) -> RestAnswer:
            del manager, request, timeout_s
            return RestAnswer(404, (), b"<html>nothing here</html>")

    manager.behave(MisbehavesFor(IsNoResourceManager(), applies=lambda request: str(AN_ID) in request.path))
    assert isinstance(await ask_home(manager, [AN_ID], timeout_s=1.0), Uncertain)
