"""Three made-up clusters as a console shows them: busy in different ways, the same each time."""

import random
from dataclasses import replace
from math import sin

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.identity.service import IdentityRules
from shim.ports.multicluster_store import RemoteSession
from shim.telemetry.application_life import LifeEvent
from tests.doubles.rm_documents import a_node, a_queue
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer

NOW_MS = 1_800_000_000_000
"""When it is looked at."""
_STARTED_S = 1_799_990_000
_NODE = ResourceVector(65_536, 16)
_NODES, _RACK, _APPLICATIONS = 96, 32, 240
_HEALTHY = 0.98
_SAMPLES, _SETTLING = 360, 60
_QUEUES = (("default", 0.2), ("nightly", 0.3), ("hourly", 0.2), ("adhoc", 0.3))
_NAMES = (("sessions", "SPARK"), ("nightly sort", "MAPREDUCE"), ("report", "TEZ"))
_STATES = ("RUNNING", "RUNNING", "FINISHED", "ACCEPTED", "FAILED")

_POLICY = """\
[[queue]]
name = "root.nightly"
weight = 3

[[queue]]
name = "root.hourly"
weight = 2

[[queue]]
name = "root.adhoc"
weight = {adhoc}
max_running = 200

[[queue]]
name = "root.default"
weight = 1
"""


def _part(amount: ResourceVector, share: float) -> ResourceVector:
    return ResourceVector(round(amount.memory_mib * share), round(amount.vcores * share))


def an_id(number: int) -> ApplicationId:
    """An application of the made-up clusters."""
    return ApplicationId(_STARTED_S * 1000, number)


SPANNING = ApplicationAttemptId(an_id(2), 1)
"""An attempt that has containers in two clusters."""


async def made_up() -> ScriptedServer:
    """Three clusters, busy in different ways, under a policy that was changed twice."""
    server = ScriptedServer(
        ("east", "north", "west"), rules=usual(IdentityRules, allow_anonymous=True, admins=("oona",))
    )
    chosen = random.Random(7)  # noqa: S311 - a picture
    for place, (name, busy) in enumerate(zip(("east", "north", "west"), (0.9, 0.5, 0.3), strict=True)):
        _fill(server, name, place, busy, chosen)
    policies = server.use_cases.shares.policies
    await policies.apply(_POLICY.format(adhoc=1), source="a file", by="oona", note="nightly work first")
    await policies.apply(_POLICY.format(adhoc=2), source="a file", by="oona", note="analysts waited for hours")
    await server.poll()
    await _decide(server)
    await _live_a_while(server)
    return server


def _fill(server: ScriptedServer, name: str, place: int, busy: float, chosen: random.Random) -> None:
    """Nodes, queues and applications of one cluster."""
    manager = server.federation[name]
    used = [_part(_NODE, min(1.0, max(0.0, chosen.gauss(busy, 0.2)))) for _ in range(_NODES)]
    manager.nodes[:] = [
        a_node(
            f"{name}-{number:03}:45454",
            _NODE,
            used=amount,
            state="RUNNING" if chosen.random() < _HEALTHY else "UNHEALTHY",
        )
        | {"rack": f"/rack-{number // _RACK + 1}"}
        for number, amount in enumerate(used)
    ]
    whole = _part(_NODE, _NODES)
    manager.queues[:] = [
        a_queue(
            f"root.{queue}",
            _part(whole, share),
            maximum=whole,
            used=_part(whole, share * busy * chosen.uniform(0.6, 1.1)),
        )
        for queue, share in _QUEUES
    ]
    for number in range(_APPLICATIONS):
        kind, framework = chosen.choice(_NAMES)
        state = chosen.choice(_STATES)
        begun_ms = (_STARTED_S + 40 * number) * 1000
        manager.add_application(
            an_id(3 * number + place + 1),
            state,
            user=chosen.choice(("ada", "lin", "oona")),
            name=f"{kind} {number}",
            queue=f"root.{chosen.choice(_QUEUES)[0]}",
            applicationType=framework,
            startedTime=begun_ms,
            progress=round(chosen.uniform(5, 95)) if state == "RUNNING" else 0,
            runningContainers=chosen.randint(2, 60) if state == "RUNNING" else 0,
            allocatedMB=4096 * chosen.randint(2, 60) if state == "RUNNING" else 0,
        )


async def _decide(server: ScriptedServer) -> None:
    """Decisions as a morning has them, and an application that spans two clusters."""
    note = server.decisions.note
    scores = {"east": 0.41, "north": 0.86, "west": 0.52}
    for number in range(700, 712):
        note(LifeEvent.SUBMITTED, an_id(number), {"user": "ada", "queue": "root.adhoc", "type": "SPARK"})
        note(LifeEvent.HOME_CHOSEN, an_id(number), {"home": "north", "reason": "most room for it", "scores": scores})
        note(LifeEvent.STARTED, an_id(number), {"cluster": "north"})
    note(
        LifeEvent.WAITS,
        an_id(713),
        {"user": "lin", "queue": "root.adhoc", "reason": "root.adhoc runs its limit of 200"},
    )
    note(LifeEvent.PREEMPTED, an_id(701), {"cluster": "north", "reason": "root.nightly is owed 12 %"})
    spans, there = SPANNING.application, [ContainerId(SPANNING, number) for number in range(20, 32)]
    await server.spans.save_session(RemoteSession(spans, SubClusterId("west"), SubClusterId("north"), "ada"))
    await server.spans.give(spans, SubClusterId("west"), there, "1")


async def _live_a_while(server: ScriptedServer) -> None:
    """Six hours of shares, a sample a minute, and then what the clusters use now."""
    shares, clock = server.use_cases.shares, server.federation.clock
    chosen, now_s = random.Random(3), clock.wall_s  # noqa: S311 - a picture
    shares.room.look()
    statuses = shares.room.latest.statuses
    waves = {path: chosen.uniform(0.5, 1.5) for path in statuses}
    for minute in range(_SAMPLES):
        clock.wall_s = now_s - 60 * (_SAMPLES - minute)
        apart = min(1.0, (_SAMPLES - minute) / _SETTLING)
        shares.room.latest.statuses = {
            path: replace(
                each,
                used=(1 - apart) * each.used
                + apart * max(0.0, each.entitlement * (0.8 + 0.5 * sin(waves[path] * minute / 40)))
                + abs(chosen.gauss(0, 0.004)),
            )
            for path, each in statuses.items()
        }
        shares.over_time.sample()
    clock.wall_s = now_s
    shares.room.look()


def some_containers() -> list[dict[str, object]]:
    """Containers of an application, of which some are in another cluster."""
    chosen, now_ms = random.Random(5), NOW_MS  # noqa: S311 - a picture
    return [
        {
            "containerId": str(ContainerId(SPANNING, number)),
            "startedTime": now_ms - round(chosen.uniform(20, 700)) * 1000,
            "finishedTime": 0,
            "allocatedMB": 4096,
            "assignedNodeId": f"north-{number:03}:45454",
        }
        for number in range(1, 32)
    ]
