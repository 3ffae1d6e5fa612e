"""One storm from begin to end, and many.

Invariants of a storm after each step, and once it is over.

The promises are those of docs/operators/reliability.md.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shim.simulation.virtual_time import VirtualClock, VirtualTimeLoop, own_tasks, run_in_virtual_time
from tests.support.storms.schedule import LARGE, FaultKind, Schedule, StormSetting, draw
from tests.support.storms.world import Client, StormWorld

_WARM_UP_S = 5.0
_STEP_S = 0.5
_MOST_QUIET_S = 75.0  # longer than an ApplicationMaster waits for an answer that was lost: it runs until then
_MOST_S = 400.0


@dataclass(frozen=True, slots=True)
class StormResult:
    """Result of a storm.

    Attributes:
        broken: What did not hold; empty if all did.
        trace: What happened, in order.
        turns: Steps of the loop.
        ended_s: When it was over, in virtual time.
    """

    schedule: Schedule
    broken: tuple[str, ...]
    trace: tuple[str, ...]
    turns: int
    ended_s: float

    @property
    def digest(self) -> str:
        """Of the trace: equal digests are equal runs."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


def storms(seeds: Iterable[int], setting: StormSetting = LARGE) -> Iterator[StormResult]:
    """Play the storms of some seeds."""
    for seed in seeds:
        yield play_storm(draw(seed, setting))


def play_storm(schedule: Schedule) -> StormResult:
    """Play a storm."""
    return run_in_virtual_time(_play(schedule))


async def _play(schedule: Schedule) -> StormResult:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    loop.set_task_factory(own_tasks)
    clock = VirtualClock()
    world = StormWorld.of(schedule, clock)
    world.begin()
    await clock.sleep(_WARM_UP_S)
    work = [asyncio.create_task(world.play(fault)) for fault in schedule.faults]
    work += [asyncio.create_task(world.run_client(client)) for client in world.clients]
    broken: dict[str, None] = {}
    end_s = clock.monotonic_s() + schedule.setting.lasts_s
    while clock.monotonic_s() < end_s and not broken:
        await clock.sleep(_STEP_S)
        broken |= dict.fromkeys(always(world))
    for task in work[: len(schedule.faults)]:
        task.cancel()
    world.heal()
    while not broken and not _is_over(world) and clock.monotonic_s() < _MOST_S:
        await clock.sleep(_STEP_S)
        broken |= dict.fromkeys(always(world))
    if not broken:
        broken |= await _be_quiet(world, clock)
    for client in world.clients:
        world.note(
            f"{client.job.name} {client.name} {world.federation.starts.get(client.name) if client.name else None}"
        )
    for name, account in world.federation.accounts.items():
        world.note(f"{name} {account.done_s} {[str(each) for each in account.granted]}")
    for what in broken:
        world.note(f"BROKEN {what}")
    world.note(f"{loop.turns} turns, messages {dict(sorted(world.network.messages.items()))}")
    result = StormResult(schedule, tuple(broken), tuple(world.trace), loop.turns, clock.monotonic_s())
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()
    return result


async def _be_quiet(world: StormWorld, clock: VirtualClock) -> dict[str, None]:
    """Wait until all has held for as long as it must; returns what does not at the end."""
    begun_s = held_since_s = clock.monotonic_s()
    while True:
        await clock.sleep(_STEP_S)
        broken, now_s = dict.fromkeys(always(world)), clock.monotonic_s()
        late = dict.fromkeys(after_quiet(world))
        if late:
            held_since_s = now_s
        if broken or now_s - begun_s >= _MOST_QUIET_S or now_s - held_since_s >= world.schedule.setting.quiet_s:
            return broken | late


def _is_over(world: StormWorld) -> bool:
    """Return whether every application that was acknowledged has ended."""
    for client in world.clients:
        if client.acknowledged_s is None:
            return False
        known = [
            each.manager.applications[client.name]
            for each in world.federation.clusters.values()
            if client.name in each.manager.applications
        ]
        if not any(each.is_over and not each.order.is_unmanaged for each in known):
            return False
    return True


_REGISTERED = "already registered"
_LOSES_ANSWERS = frozenset(
    {
        FaultKind.RM_KILLED,
        FaultKind.RM_PAUSED,
        FaultKind.HEDDLE_KILLED,
        FaultKind.HEDDLE_PAUSED,
        FaultKind.CLUSTER_CUT,
        FaultKind.ANSWERS_CUT,
        FaultKind.MESSAGES_LOST,
    }
)
"""A registration whose answer is lost fails the attempt, with or without Heddle: YARN answers it once."""


def always(world: StormWorld) -> Iterator[str]:
    """Yield the invariants that are broken now."""
    for name, clusters in world.federation.starts.items():
        if len(set(clusters)) > 1:
            yield f"{name} ran twice: its ApplicationMaster was started in {', '.join(sorted(set(clusters)))}"
    for program, account in world.federation.accounts.items():
        for container, times in account.granted.items():
            if times > 1:
                yield f"{program}: {container} was given {times} times"
        for container, times in account.ended.items():
            if times > 1 and FaultKind.RM_KILLED not in world.schedule.kinds:  # nodes tell of ends again to a new life
                yield f"{program}: the end of {container} was told {times} times"
    for client in world.clients:
        yield from _of_gang(world, client)
    for process in world.processes:
        yield from process.bugs
    yield from _owned_twice(world)


def _owned_twice(world: StormWorld) -> Iterator[str]:
    """Queues that several Global Masters believe to be theirs at one moment."""
    owners: dict[str, list[str]] = {}
    for heddle in world.heddles:
        if heddle.is_up and heddle.master is not None:
            for queue in heddle.master.ownership.owned:
                owners.setdefault(queue, []).append(heddle.name)
    for queue in sorted(owners):
        if len(owners[queue]) > 1:
            yield f"{queue} is owned by {', '.join(owners[queue])} at once"


def _of_gang(world: StormWorld, client: Client) -> Iterator[str]:
    """An attempt that found no containers of an earlier one is given its gang in one answer."""
    job, account = client.job, world.federation.accounts.get(client.job.name)
    if job.gang and account is not None and not job.keeps_containers:
        for count in account.first_given:
            if count < job.gang:
                yield f"{client.name} ({job.name}) was given {count} containers, a part of its gang of {job.gang}"


def after_quiet(world: StormWorld) -> Iterator[str]:
    """Yield the invariants that are broken though everything was mended long ago."""
    for client in world.clients:
        yield from _of_client(world, client)
    over = {client.name for client in world.clients}
    for container, place in world.federation.running().items():
        if container.attempt.application in over:
            yield f"{container} still runs in {place}"
    for name, cluster in world.federation.clusters.items():
        for known in cluster.manager.applications.values():
            if not known.is_over:
                kind = "unmanaged ApplicationMaster" if known.order.is_unmanaged else "application"
                yield f"{known.order.id}: its {kind} in {name} is {known.state}"
        if cluster.manager.used().memory_mib:
            yield f"{name} counts {cluster.manager.used()} as used"
    yield from _of_masters(world)
    yield from _of_shares(world)


def _of_shares(world: StormWorld) -> Iterator[str]:
    """Yield beliefs of Heddle about queues that are not so after quiet: nobody waits, no queue has anything."""
    for heddle in world.heddles:
        if not heddle.is_ready:
            continue
        room = heddle.use_cases.shares.room
        for path, count in room.counts().items():
            if count:
                yield f"{heddle.name} believes that {count} applications wait in {path}"
        for path, load in room.load().queues.items():
            if load.total_used.memory_mib or load.running:
                yield f"{heddle.name} believes that {path} holds {load.total_used} by {load.running} applications"


def _of_masters(world: StormWorld) -> Iterator[str]:
    """Masters have found together: each queue has one owner, each Global Master follows every Local Master."""
    masters = [heddle.master for heddle in world.heddles if heddle.master is not None]
    if not masters:
        return
    queues = {queue for cluster in world.federation.clusters.values() for queue in cluster.manager.spec.queues}
    for queue in sorted(queues):
        owners = [master.name for master in masters if queue in master.ownership.owned]
        if len(owners) != 1:
            yield f"{queue} is owned by {owners}"
    for master in masters:
        for link in master.following.links():
            if not link.is_linked:
                yield f"{master.name} does not follow the Local Master of {link.subcluster}: {link.trouble}"


def _of_client(world: StormWorld, client: Client) -> Iterator[str]:
    name = client.name
    if name is None or client.acknowledged_s is None:
        yield f"{client.job.name} was never acknowledged"
        return
    account = world.federation.accounts[client.job.name]
    ends = {
        cluster: known
        for cluster, each in world.federation.clusters.items()
        if (known := each.manager.applications.get(name)) is not None and not known.order.is_unmanaged
    }
    if not ends:
        yield f"{name} ({client.job.name}) was acknowledged and is nowhere"
        return
    if len(ends) > 1:
        yield f"{name} is in {', '.join(sorted(ends))}"
    if client.is_killed:
        return
    for cluster, known in ends.items():
        if known.final_status != "SUCCEEDED":
            yield f"{name} ({client.job.name}) in {cluster} is {known.state} {known.final_status}: {known.diagnostics}"
    for reason in account.failed:
        if _REGISTERED in reason and world.schedule.kinds & _LOSES_ANSWERS:
            continue
        yield f"{name} ({client.job.name}): an ApplicationMaster failed: {reason}"
