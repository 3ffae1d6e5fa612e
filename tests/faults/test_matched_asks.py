"""Two Global Masters whose queues span fill two real clusters at once: what collides is repaired, nothing doubled."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.yarn.rm_rpc import YarnRPC
from shim.domain.ids import ContainerId
from shim.lab import Lab
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    ContainerIdProto,
    FinalApplicationStatusProto,
    FinishApplicationMasterRequestProto,
    PriorityProto,
    RegisterApplicationMasterRequestProto,
    ResourceProto,
    ResourceRequestProto,
)
from shim.protocol.yarn.allocations import read_allocate_answer
from tests.faults.test_masters import QUEUES, started
from tests.faults.test_passing_on import SERVER, rpc_to, token_of
from tests.support.masters import (
    MasterProcess,
    MasterProcesses,
    fresh_database,
    masters_over,
    names_that_share,
    told,
    until,
)
from tests.support.nursery import Nursery

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_MIB = 1024
_MOST_ROUNDS = 12


@asynccontextmanager
async def masters_that_span(
    nursery: Nursery, lab: Lab, postgres_url: str, folder: Path, name: str, *, more: str = ""
) -> AsyncIterator[MasterProcesses]:
    """Masters with scheduler servers, and two queues that span.

    Views may be old on a busy machine: they are matched on all the same, and nobody is given up.

    Args:
        nursery: Starts them.
        lab: Whose clusters.
        postgres_url: Of the server of their store.
        folder: For their files.
        name: Of the store's database, made anew.
        more: Further lines of both queues.
    """
    more = more if "containers" in more else f'containers = "unordered"\n{more}'
    spanning = (
        "".join(f'[[queue]]\nname = "{queue}"\nspan = true\norder = "fifo"\n{more}' for queue in QUEUES)
        + '[span]\nplacement = "heddle"\nbeat_s = 0.2\nmove_after_beats = 100\noldest_view_s = 300\npromise_s = 120\n'
    )
    store = await fresh_database(postgres_url, name)
    poll = "interval_s = 1.0\nlate_after_s = 300"
    async with masters_over(nursery, folder, store, lab, poll=poll, spanning=spanning) as prepared:
        yield prepared


@pytest.fixture
async def masters(
    nursery: Nursery, fault_lab: Lab, postgres_url: str, tmp_path: Path
) -> AsyncIterator[MasterProcesses]:
    """Two queues of Heddle's own order."""
    async with masters_that_span(nursery, fault_lab, postgres_url, tmp_path, "matched_asks") as prepared:
        yield prepared


@dataclass
class AM:
    """An ApplicationMaster that asks, holds what it gets, and gives it back.

    Attributes:
        held: Containers by id.
        seen: Every container that it was ever given.
        hosts: Where each of those is or was.
    """

    rpc: YarnRPC
    wanted: int = 0
    response_id: int = 0
    held: set[ContainerId] = field(default_factory=set)
    seen: set[ContainerId] = field(default_factory=set)
    ended: set[ContainerId] = field(default_factory=set)
    hosts: dict[ContainerId, str] = field(default_factory=dict)

    async def register(self) -> None:
        message = RegisterApplicationMasterRequestProto(host="nowhere", rpc_port=0)
        await self._call("registerApplicationMaster", message.SerializeToString())

    async def want(self, count: int) -> None:
        """Ask for so many in all, beside those that it holds."""
        self.wanted = count
        await self.allocate(asks=True)

    async def give_back(self) -> None:
        """Release everything, and wait until it is told that all has ended."""
        gone, self.held = self.held, set()
        await self.allocate(releases=gone)

        async def has_heard() -> bool:
            await self.allocate()
            return gone <= self.ended

        await until(has_heard, within_s=120)

    def rows(self) -> list[ResourceRequestProto]:
        """What is told of all that is wanted."""
        return [row_of(self.wanted, "*")]

    async def allocate(self, *, asks: bool = False, releases: set[ContainerId] | None = None) -> None:
        request = AllocateRequestProto(
            response_id=self.response_id,
            progress=0.5,
            ask=self.rows() if asks else [],
            release=[_message(each) for each in releases or ()],
        )
        answer = read_allocate_answer(await self._call("allocate", request.SerializeToString()))
        self.response_id = answer.response_id
        for grant in answer.grants:
            assert grant.container not in self.seen, f"{grant.container} was given twice"
            self.seen.add(grant.container)
            self.held.add(grant.container)
            self.hosts[grant.container] = grant.node.host
        self.wanted -= len(answer.grants)
        assert self.wanted >= 0, "more than was asked for"
        for each in answer.ended:
            self.ended.add(each.container)
            self.held.discard(each.container)

    async def finish(self) -> None:
        message = FinishApplicationMasterRequestProto(
            final_application_status=FinalApplicationStatusProto.Value("APP_SUCCEEDED"), diagnostics="", tracking_url=""
        )
        await self._call("finishApplicationMaster", message.SerializeToString())
        await self.rpc.close()

    async def _call(self, method: str, payload: bytes) -> bytes:
        answer = await self.rpc.call(RPCCall(APPLICATION_MASTER.name, method, payload, ""), timeout_s=60)
        assert answer.refusal is None, answer.refusal
        return answer.payload


def row_of(count: int, place: str) -> ResourceRequestProto:
    """A row of asks for containers of one size."""
    return ResourceRequestProto(
        priority=PriorityProto(priority=10),
        resource_name=place,
        capability=ResourceProto(memory=_MIB, virtual_cores=1),
        num_containers=count,
        relax_locality=True,
    )


def _message(container: ContainerId) -> ContainerIdProto:
    message = ContainerIdProto(id=container.number)
    message.app_attempt_id.attemptId = container.attempt.attempt
    message.app_attempt_id.application_id.id = container.attempt.application.sequence
    message.app_attempt_id.application_id.cluster_timestamp = container.attempt.application.cluster_timestamp
    return message


async def begin(masters: MasterProcesses, lab: Lab, gm: MasterProcess, queue: str) -> AM:
    """An application of a queue, with its ApplicationMaster at the server of the queue's owner."""
    assert await masters.submit(gm, queue) == 202
    application = masters.acknowledged[-1]

    async def has_a_home() -> bool:
        return bool(await masters.homes(application))

    await until(has_a_home)
    (home,) = await masters.homes(application)
    server = SERVER.search(told(gm))
    assert server is not None
    am = AM(rpc_to(server[1], await token_of(lab, home, application)))
    await am.register()
    return am


async def leave_all_to(first: AM, second: AM, *, within_s: float) -> None:
    """Have one give all back and want nothing more, until the other has all that it wants."""
    first.wanted = 0
    await first.want(0)
    await first.give_back()

    async def has_the_rest() -> bool:
        await asyncio.gather(first.allocate(), second.allocate())
        return not second.wanted

    await until(has_the_rest, within_s=within_s)


async def metrics_of(masters: MasterProcesses, cluster: str) -> dict[str, int]:
    """What a cluster's own ResourceManager tells of its use."""
    async with masters.session.get(f"{masters.managers[cluster]}/ws/v1/cluster/metrics") as answer:
        found: dict[str, int] = (await answer.json())["clusterMetrics"]
        return found


async def free_of(masters: MasterProcesses) -> int:
    """How many containers all clusters could hold now."""
    return sum([(await metrics_of(masters, name))["availableMB"] for name in masters.managers]) // _MIB


async def asks_of(masters: MasterProcesses, *gms: MasterProcess) -> Counter[str]:
    """What the Global Masters tell of their matching, together."""
    counted: Counter[str] = Counter()
    for gm in gms:
        part = (await masters.get(gm, "/heddle/v1/masters"))["asks"]
        counted.update({name: part[name] for name in ("inconsistencies", "repairs", "fallbacks")} | part["verdicts"])
    return counted


async def test_spanning_applications_of_two_global_masters_fill_two_clusters_at_once(
    masters: MasterProcesses, fault_lab: Lab
) -> None:
    gms = await started(masters, names_that_share(QUEUES))
    ams = [await begin(masters, fault_lab, gm, queue) for gm, queue in zip(gms, QUEUES, strict=True)]
    free = await free_of(masters)
    each = free * 3 // 4  # both do not fit

    async def hold(count: int) -> bool:
        await asyncio.gather(*(am.allocate() for am in ams))
        return sum(len(am.held) for am in ams) >= count

    for _ in range(_MOST_ROUNDS):
        await asyncio.gather(*(am.want(each) for am in ams))
        await until(lambda: hold(free), within_s=180)
        left = [(await metrics_of(masters, name))["availableMB"] for name in masters.managers]
        assert max(left) < _MIB, "both clusters are full"
        assert len({container.epoch // 1000 for am in ams for container in am.held}) == len(masters.managers)
        if (await asks_of(masters, *gms))["inconsistencies"]:
            break
        await asyncio.gather(*(am.want(0) for am in ams))
        await asyncio.gather(*(am.give_back() for am in ams))
    counted = await asks_of(masters, *gms)
    assert counted["inconsistencies"], "two that do not know of each other's promises never collided"
    assert counted["accepted"], counted

    first, second = ams
    asked = first.wanted
    await leave_all_to(first, second, within_s=180)
    assert (len(second.held), len(first.held)) == (each, 0), asked
    record = await masters.why(gms[1], masters.acknowledged[1])
    (told_of,) = record["asks"]
    assert told_of["by"] == "heddle"
    assert {one["cluster"] for one in told_of["candidates"]} == set(masters.managers)
    assert {one["verdict"] for one in told_of["verdicts"]} <= {"accepted", "rejected", "unverified"}

    await second.give_back()
    await asyncio.gather(*(am.finish() for am in ams))

    async def is_empty() -> bool:
        told_by = [await metrics_of(masters, name) for name in masters.managers]
        return all(one["allocatedMB"] == 0 and one["appsRunning"] == 0 for one in told_by)

    await until(is_empty, within_s=120)
