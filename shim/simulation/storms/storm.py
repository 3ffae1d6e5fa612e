"""One storm from begin to end, and many."""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shim.simulation.storms.invariants import after_quiet, always
from shim.simulation.storms.schedule import LARGE, Schedule, StormSetting, draw
from shim.simulation.storms.world import StormWorld
from shim.simulation.virtual_time import VirtualClock, VirtualTimeLoop, run_in_virtual_time
from shim.simulation.yarn_sim.process import own_tasks

__all__ = ["StormResult", "play_storm", "storms"]

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
    assert isinstance(loop, VirtualTimeLoop)  # noqa: S101 - `play_storm` made it
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
    """Tell whether every application that was acknowledged has ended."""
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
