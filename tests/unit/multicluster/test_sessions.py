"""A session elsewhere ends when it is told to, whatever happens in the same turn of the loop."""

import asyncio

import pytest

from shim.domain.allocations import SessionRequest
from shim.domain.ids import ApplicationId, SubClusterId
from shim.multicluster.core import LedgerEvent
from shim.multicluster.sessions import SessionSettings, SessionWorker
from shim.multicluster.unmanaged import Opened
from shim.ports.multicluster_store import RemoteSession
from shim.ports.resource_manager_rpc import RPCAnswer
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
SLOW = usual(SessionSettings, beat_s=3600.0)


class Login:
    """A scheduler that has nothing to tell."""

    def __init__(self) -> None:
        self.calls = 0

    async def call(self, _method: str, _payload: bytes, *, timeout_s: float | None = None) -> RPCAnswer:
        del timeout_s
        self.calls += 1
        return RPCAnswer(b"")

    async def close(self) -> None:
        """Nothing is open."""


def a_worker(login: Login, told: list[LedgerEvent]) -> SessionWorker:
    async def opening() -> Opened:
        return Opened(RemoteSession(ApplicationId(1, 1), WEST, EAST, "ada"), login, (), ())

    async def keep(*_kept: object) -> None:
        """Nothing is kept."""

    return SessionWorker(WEST, opening, told.append, keep, FakeClock(), SLOW)


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
