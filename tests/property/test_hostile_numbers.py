"""Whatever numbers a ResourceManager tells, Heddle reads, divides, keeps and shows them, and no part of it fails."""

import asyncio
import json
import random

import pytest
import structlog
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.told_bounds import MOST
from shim.ports.resource_manager import RestAnswer
from shim.protocol.wire_values import number, whole
from shim.store import open_state_store
from tests.doubles.resource_manager import AnswersProperly
from tests.support.databases import SECRET
from tests.support.examples import examples
from tests.support.scripted_server import ScriptedServer

ODD: list[object] = [
    -1,
    -(2**31),
    -(2**31 - 1),
    2**31 - 1,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    2**70,
    -(2**70),
    10**300,
    1.5,
    -0.0,
    1e300,
]
ODD += [-1e300, "NaN", "Infinity", "-Infinity", "5", "-5", "", "x", "9" * 400, "1_0", "\u0661", True, False, None]
POLICY = SharePolicy(
    (
        FederatedQueue("root.prod", weight=2.0, user_maximum=0.5, maximum=0.9),
        FederatedQueue("root.default", max_running=3),
    )
)


class TellsOddNumbers:
    """A healthy ResourceManager but for some of its numbers."""

    def __init__(self, seed, share):
        self._random, self._share = random.Random(seed), share  # noqa: S311 - examples
        self._started_on = self._random.choice(
            [*ODD, 5, 5, 5]
        )  # told twice a poll: of another life nothing is believed

    async def __call__(self, manager, request, timeout_s):
        answer = await AnswersProperly()(manager, request, timeout_s)
        if answer.status != 200:
            return answer
        return RestAnswer(200, answer.headers, json.dumps(self._odd(json.loads(answer.body))).encode())

    def _odd(self, value):
        if isinstance(value, dict):
            odd = {name: self._odd(each) for name, each in value.items()}
            return odd | ({"startedOn": self._started_on} if "startedOn" in odd else {})
        if isinstance(value, list):
            return [self._odd(each) for each in value]
        if isinstance(value, int | float) and self._random.random() < self._share:
            return self._random.choice(ODD)
        return value


def applications(server):
    now_ms = int(server.federation.clock.now_s() * 1000)
    for manager in server.federation.managers.values():
        for place, state in enumerate(("RUNNING", "ACCEPTED", "FINISHED", "FAILED")):
            name = ApplicationId(now_ms, len(manager.subcluster) * 100 + place)
            seconds = {"entry": {"key": "gpu", "value": "7"}}
            manager.add_application(name, state, queue=("prod", "default")[place % 2], resourceSecondsMap=seconds)


async def a_life(seed, share):
    """Some heartbeats, everything that runs by itself, and every list that clients ask for."""
    with structlog.testing.capture_logs() as logs:
        server = await live(seed, share)
    assert not [each for each in logs if each["log_level"] == "error"], "a boundary caught what no document may cause"
    return server


async def live(seed, share):
    server = ScriptedServer(policy=POLICY)
    made = server.use_cases
    applications(server)
    waits = server.federation.wait_for
    for turn in range(2):
        for place, manager in enumerate(server.federation.managers.values()):
            manager.behave(TellsOddNumbers(seed * 10 + 3 * turn + place, share))
        for master in made.pollers.masters.values():
            await waits(master.poll())
        await waits(made.starting.round())
        await waits(made.usage.turn())
        await waits(made.credits.turn())
        await waits(made.preemption.round())
        await waits(made.retirement.round())
        await waits(made.spans.watch.sweep(asks_homes=True))
        made.altruism.look()
        made.shares.over_time.sample()
        await server.federation.clock.advance(6.0)
        for target in ("apps", "metrics", "scheduler", "nodes", "info"):
            assert (await server.get(f"/{target}")).status in (200, 503), target
        for target in ("clusters", "queues", "doctor", "usage", "matching"):
            answer = await server.ask("GET", f"/heddle/v1/{target}?user.name=oona")
            assert answer.status in (200, 403, 404, 503), (target, answer.body)
    return server


@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 2**20), share=st.sampled_from([0.1, 0.5, 1.0]))
@example(seed=1, share=1.0)
def test_odd_numbers_pass_through_everything(seed, share):
    asyncio.run(a_life(seed, share))


async def test_the_numbers_of_one_cluster_are_clamped_and_those_of_others_are_as_told():
    server = ScriptedServer()
    east, _ = server.federation.managers.values()
    east.queues[0]["resources"] = {
        "resourceUsagesByPartition": [{"pending": {"memory": -5, "vCores": -2147483647}, "used": {"memory": 2**70}}]
    }
    await server.poll()
    queue = server.view.look(east.subcluster, server.federation.clock.now_s()).queues["root.default"]
    assert (queue.pending.memory_mib, queue.pending.vcores, queue.used.memory_mib) == (0, 0, MOST)


@given(st.one_of(st.sampled_from(ODD), st.integers(), st.floats(), st.text(max_size=30)))
def test_whatever_is_told_becomes_a_number_that_can_be_kept(told):
    assert 0 <= whole(told) <= MOST
    assert type(whole(told)) is int
    assert 0.0 <= number(told) <= MOST
    assert 0.0 <= number(told, most=100.0) <= 100.0


@given(st.integers(0, MOST))
def test_good_numbers_stay_as_they_are(told):
    assert whole(told) == whole(str(told)) == told


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_told_is_kept_by_a_database(tmp_path, seed):
    server = await a_life(seed, 1.0)
    rows = list(server.use_cases.runtime.stores.usage.rows.values())
    opened = await open_state_store(f"sqlite:///{tmp_path}/heddle.db", now_s=server.federation.clock.now_s)
    try:
        usage = opened.stores(SECRET).usage
        await usage.keep(rows)
        assert rows
        assert len(await usage.spanning(100)) <= len(rows)
    finally:
        await opened.close()
