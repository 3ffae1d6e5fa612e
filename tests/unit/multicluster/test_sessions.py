"""A session elsewhere ends when it is told to, whatever happens in the same turn of the loop."""

import asyncio

import pytest

from shim.domain.allocations import SessionRequest
from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import NoAnswerError
from shim.multicluster.core import LedgerEvent, SessionLost
from shim.multicluster.sessions import SessionSettings, SessionWorker
from shim.multicluster.unmanaged import Opened
from shim.ports.multicluster_store import RemoteSession
from shim.ports.resource_manager_rpc import RPCAnswer
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
SLOW = usual(SessionSettings, beat_s=3600.0)


class Login:
    """A scheduler that has nothing to tell, or does not answer."""

    def __init__(self) -> None:
        self.calls = 0
        self.is_silent = False

    async def call(self, _method: str, _payload: bytes, *, timeout_s: float | None = None) -> RPCAnswer:
        del timeout_s
        self.calls += 1
        if self.is_silent:
            raise NoAnswerError(WEST, "it is silent")
        return RPCAnswer(b"")

    async def close(self) -> None:
        """Nothing is open."""


def a_worker(login: Login, told: list[LedgerEvent], clock: FakeClock | None = None) -> SessionWorker:
    async def opening() -> Opened:
        return Opened(RemoteSession(ApplicationId(1, 1), WEST, EAST, "ada"), login, (), ())

    async def keep(*_kept: object) -> None:
        """Nothing is kept."""

    return SessionWorker(WEST, opening, told.append, keep, clock or FakeClock(), SLOW)


@pytest.mark.parametrize("turns", range(8))
async def test_a_stop_in_any_turn_after_something_is_to_be_said_ends_it(turns):
    login, told = Login(), list[LedgerEvent]()
    worker = a_worker(login, told)
    worker.start()
    assert await worker.opened is not None
    for _ in range(5):
        await asyncio.sleep(0)
    worker.say(SessionRequest(serial=1, response_id=0))
    for _ in range(turns):
        await asyncio.sleep(0)
    stopping = asyncio.create_task(worker.stop())
    for _ in range(50):
        await asyncio.sleep(0)
    assert stopping.done(), "the cancellation was lost"
    opened = await stopping
    assert opened is not None


async def test_what_is_to_be_said_is_said_before_the_beat():
    login, told = Login(), list[LedgerEvent]()
    worker = a_worker(login, told)
    worker.start()
    await worker.opened
    worker.say(SessionRequest(serial=1, response_id=0))
    for _ in range(10):
        await asyncio.sleep(0)
    assert login.calls == 1
    await worker.stop()


async def test_who_is_silent_is_given_up_once_it_was_not_heard_for_so_long_whenever_that_began():
    login, told, clock = Login(), list[LedgerEvent](), FakeClock()
    worker = a_worker(login, told, clock)
    worker.start()
    await worker.opened

    async def says_after(seconds: float) -> None:
        await clock.advance(seconds)
        worker.say(SessionRequest(serial=1, response_id=0))
        for _ in range(10):
            await asyncio.sleep(0)

    lasts_s = SLOW.lost_after_s
    for _ in range(3):
        await says_after(0.9 * lasts_s)
    login.is_silent = True
    await says_after(0.9 * lasts_s)
    assert SessionLost not in map(type, told)
    await says_after(0.2 * lasts_s)
    assert [type(each) for each in told].count(SessionLost) == 1
    await worker.stop()
