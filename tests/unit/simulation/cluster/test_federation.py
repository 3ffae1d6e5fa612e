"""Modelled clusters by themselves: jobs run to their end, through restarts, pauses and dead nodes."""

import asyncio
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.applications import Order
from shim.simulation.cluster.federation import ModelledFederation
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec, Timing
from shim.simulation.virtual_time import VirtualClock, run_in_virtual_time

MAPS_AND_REDUCES = (ModelledStage((5.0,) * 10), ModelledStage((2.0,) * 2, needs=(0,)))
NAME = ApplicationId(1, 1)


class World:
    """One cluster of two nodes, and one job that is submitted to it after 3 s."""

    def __init__(self, stages=MAPS_AND_REDUCES, *, keeps=False, recovers=True, seed=1, **timing):
        self.clock = VirtualClock()
        spec = ModelledClusterSpec.even(
            "east",
            nodes=2,
            size=ResourceVector(4096, 4),
            epoch=1000,
            queues={"root.default": QueueSpec(am_share=0.5)},
            timing=Timing(**timing),
        )
        spec = replace(spec, recovers=recovers)
        self.federation = ModelledFederation.of([spec], self.clock, seed)
        self.manager = self.federation["east"].manager
        self.job = ModelledJob("job", 3.0, stages)
        self.account = self.federation.add(self.job)
        self.keeps = keeps

    async def begin(self):
        self.federation.begin()
        await asyncio.sleep(3.0)
        order = Order(NAME, "alice", "job", "default", program="job", keeps_containers=self.keeps)
        self.manager.submit(order)

    @property
    def application(self):
        return self.manager.applications[NAME]

    async def end(self, most_s=3000):
        for _ in range(int(most_s)):
            if self.application.is_over:
                break
            await asyncio.sleep(1.0)
        await asyncio.sleep(5.0)

    def is_empty(self):
        assert self.federation.running() == {}
        assert self.manager.used() == ResourceVector()
        queue = self.manager.scheduler.queues["root.default"]
        assert queue.used == queue.masters == ResourceVector()


def play(world, events=None):
    async def main():
        await world.begin()
        if events is not None:
            await events(world)
        await world.end()

    run_in_virtual_time(main())


def test_a_job_of_two_stages_runs_to_its_end_and_leaves_nothing():
    world = World()
    play(world)
    assert world.application.state, world.application.final_status == ("FINISHED", "SUCCEEDED")
    assert len(world.account.granted) == 12 + world.account.surplus
    assert set(world.account.granted.values()) == {1}
    first_reduce = min(at_s for (stage, _), at_s in world.account.started_s.items() if stage == 1)
    last_map = max(at_s for (stage, _), at_s in world.account.started_s.items() if stage == 0)
    assert first_reduce > last_map + 5.0
    world.is_empty()


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    runs = []
    for seed in (1, 1, 2):
        world = World(seed=seed)
        play(world)
        runs.append(world.account)
    assert runs[0] == runs[1] != runs[2]


async def restart(world):
    await asyncio.sleep(8.0)
    world.manager.kill()
    await asyncio.sleep(4.0)
    world.manager.start()


@pytest.mark.parametrize("recovery_s", [0.0, 10.0])
def test_a_job_goes_on_through_a_restart_with_recovery(recovery_s):
    world = World(recovery_s=recovery_s)
    play(world, restart)
    assert world.application.final_status == "SUCCEEDED"
    assert len(world.application.attempts) == 1
    assert {name.epoch for name in world.account.granted} == {1000, 1001}
    world.is_empty()


def test_a_restart_without_recovery_ends_everything():
    world = World(recovers=False)

    async def main():
        await world.begin()
        await restart(world)
        await asyncio.sleep(5.0)
        assert NAME not in world.manager.applications

    run_in_virtual_time(main())
    world.is_empty()


def test_a_submission_that_is_not_stored_yet_is_forgotten_in_a_crash():
    world = World()

    async def main():
        await world.begin()
        world.manager.kill()
        world.manager.start()
        assert NAME not in world.manager.applications
        world.manager.submit(Order(NAME, "alice", "job", "default", program="job"))
        await asyncio.sleep(1.0)
        world.manager.kill()
        world.manager.start()
        assert NAME in world.manager.applications

    run_in_virtual_time(main())


def test_a_paused_resource_manager_only_delays():
    world = World()

    async def pause(world):
        await asyncio.sleep(8.0)
        world.manager.pause()
        await asyncio.sleep(60.0)
        world.manager.resume()

    play(world, pause)
    assert world.application.final_status == "SUCCEEDED"
    assert world.account.done_s > 70.0
    assert not world.account.failed


def test_the_tasks_of_a_dead_node_run_again():
    world = World(node_expiry_s=20.0, master_expiry_s=20.0)

    async def kill_a_node(world):
        await asyncio.sleep(8.0)
        master = world.application.attempt.master
        nodes = world.manager.nodes.values()
        next(node for node in nodes if master not in node.running).die()

    play(world, kill_a_node)
    assert world.application.final_status == "SUCCEEDED"
    assert len(world.account.granted) > 12
    assert len(world.application.attempts) == 1


@pytest.mark.parametrize("keeps", [False, True])
def test_an_attempt_whose_node_dies_is_followed_by_another(keeps):
    world = World(keeps=keeps, node_expiry_s=20.0, master_expiry_s=20.0)

    async def kill_its_node(world):
        await asyncio.sleep(8.0)
        master = world.application.attempt.master
        node = next(node for node in world.manager.nodes.values() if master in node.running)
        node.die()
        await asyncio.sleep(40.0)
        node.revive()

    play(world, kill_its_node)
    assert world.application.final_status == "SUCCEEDED"
    assert len(world.application.attempts) == 2
    world.is_empty()


def test_a_killed_application_leaves_nothing():
    world = World()

    async def kill(world):
        await asyncio.sleep(8.0)
        assert len(world.federation.running()) > 1
        world.manager.kill_application(NAME, "somebody said so")

    play(world, kill)
    assert (world.application.state, world.application.diagnostics) == ("KILLED", "somebody said so")
    world.is_empty()


def test_application_masters_wait_for_their_queues_part_of_them():
    world = World(stages=(ModelledStage((30.0,)),))
    others = [ApplicationId(1, number) for number in range(2, 12)]

    async def more(world):
        for name in others:
            world.manager.submit(Order(name, "alice", "job", "default", "job", ResourceVector(1024, 1)))
        await asyncio.sleep(10.0)
        states = [world.manager.applications[name].state for name in others]
        assert states.count("RUNNING") == 3  # half of 8 GiB, with the first one's 512 MiB
        await asyncio.sleep(400.0)
        assert all(world.manager.applications[name].is_over for name in others)

    play(world, more)
    world.is_empty()


def test_an_application_master_is_done_when_it_hears_of_its_last_task():
    world = World(stages=(ModelledStage((5.0,)),), node_heartbeat_s=0.01)
    play(world)
    # 0.3 s to launch and 5 s to run, then its next heartbeat
    assert world.account.done_s - world.account.started_s[0, 0] == pytest.approx(6.0, abs=0.1)


def test_what_is_granted_between_two_heartbeats_is_granted_again_and_given_back():
    """`AMRMClientImpl` tells the count that is left after a grant; the scheduler takes it for what it is to give."""
    world = World(stages=(ModelledStage((5.0,) * 6),), node_heartbeat_s=0.5)
    play(world)
    assert world.application.final_status == "SUCCEEDED"
    assert world.account.surplus > 0
    assert len(world.account.granted) == 6 + world.account.surplus
    world.is_empty()
