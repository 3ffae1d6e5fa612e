"""Invariants of a storm after each step, and once it is over.

The promises are those of docs/reliability.md.
"""

from collections.abc import Iterator

from shim.simulation.storms.schedule import FaultKind
from shim.simulation.storms.world import Client, StormWorld

__all__ = ["after_quiet", "always"]

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
