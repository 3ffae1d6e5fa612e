"""What stands behind the server: names of queues by the sub-clusters' schedulers, and how long answers may take."""

import asyncio
from dataclasses import replace

import pytest

from shim.domain.ids import SubClusterId
from shim.errors import HomeUnreachableError
from shim.federation.core.federation_view import Part
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.protocol.rest.filters import QueueScope
from shim.server.rest.backend import Backend
from tests.doubles.reports import a_queue_report, a_report
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.support.scripted_server import ScriptedServer

EAST, WEST = SubClusterId("east"), SubClusterId("west")
QUEUES = (
    a_queue_report("root", is_leaf=False),
    a_queue_report("root.dev"),
    a_queue_report("root.eng", is_leaf=False),
    a_queue_report("root.eng.x"),
)


def find(scheduler: str, text: str) -> QueueScope | None:
    server = ScriptedServer()
    for name in (EAST, WEST):
        server.view.apply(a_report(name, scheduler=scheduler, queues=QUEUES))
    return server.backend.find_queue(text)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("root.dev", QueueScope("root.dev", is_leaf=True)),
        ("dev", QueueScope("root.dev", is_leaf=True)),
        ("root", QueueScope("root", is_leaf=False, leaves=frozenset({"dev", "x"}))),
        ("eng", QueueScope("root.eng", is_leaf=False, leaves=frozenset({"x"}))),
        ("x", QueueScope("root.eng.x", is_leaf=True)),
        ("nosuch", None),
    ],
)
def test_a_capacity_scheduler_knows_a_queue_by_its_last_name(text, scope):
    assert find("capacityScheduler", text) == scope


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("root.dev", QueueScope("root.dev", is_leaf=True)),
        # measured on 3.4.2: only the live ones of root.dev
        ("dev", QueueScope("dev", is_leaf=False, leaves=frozenset({"root.dev"}))),
        ("eng", QueueScope("eng", is_leaf=False, leaves=frozenset({"root.eng", "root.eng.x"}))),
        ("eng.x", QueueScope("eng.x", is_leaf=False, leaves=frozenset({"root.eng.x"}))),
        ("x", None),
    ],
)
def test_a_fair_scheduler_reads_a_name_below_root(text, scope):
    assert find("fairScheduler", text) == scope


class AnswersLate:
    """Healthy, but answers one path only when told to."""

    def __init__(self, path: str) -> None:
        self.may_answer = asyncio.Event()
        self._path = path

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        """Wait, but no longer than the caller."""
        if request.path == self._path:
            async with asyncio.timeout(timeout_s):
                await self.may_answer.wait()
        return manager.take(request)


ASKED = RestRequest("GET", "/ws/v1/cluster/metrics", user="ada")


async def slow_east() -> tuple[ScriptedServer, Backend, AnswersLate]:
    server = ScriptedServer()
    await server.poll()
    late = AnswersLate(ASKED.path)
    server.federation["east"].behave(late)
    return server, replace(server.backend, answer_within_s=0.05), late


async def test_what_takes_its_time_is_waited_for_while_its_cluster_is_heard():
    _, backend, late = await slow_east()
    with pytest.raises(HomeUnreachableError, match=r"no answer within 0\.05 s"):
        await backend.exchange(EAST, ASKED)

    asking = asyncio.create_task(backend.exchange(EAST, ASKED, is_slow=True))
    await asyncio.sleep(0.3)
    assert not asking.done()
    late.may_answer.set()
    assert (await asking).status == 200


async def test_what_takes_its_time_is_not_waited_for_when_its_cluster_falls_silent():
    server, backend, _ = await slow_east()
    asking = asyncio.create_task(backend.exchange(EAST, ASKED, is_slow=True))
    await asyncio.sleep(0.01)
    server.view.note_failure(EAST, "is away", at_s=server.federation.clock.now_s())
    with pytest.raises(HomeUnreachableError, match="nor do polls"):
        async with asyncio.timeout(60):
            await asking


def test_an_answer_of_the_view_is_as_old_as_its_oldest_part_that_is_not_missing():
    server = ScriptedServer()
    assert server.backend.as_of_s(Part.NODES, ()) == server.backend.clock.now_s(), "nothing is known"
    for name, at_s in ((EAST, 100.0), (WEST, 90.0)):
        server.view.apply(a_report(name, polled_at_s=at_s))
    assert server.backend.as_of_s(Part.NODES, ()) == 90.0
    assert server.backend.as_of_s(Part.NODES, (WEST,)) == 100.0


def test_the_lead_of_a_clock_is_told_in_milliseconds():
    server = ScriptedServer()
    server.view.apply(a_report(EAST, clock_skew_s=1.5))
    assert server.backend.skews_ms() == {EAST: 1500, WEST: 0}
