"""One cluster first: a single one is asked what clients ask, at once, in their order, with nothing added."""

import json

import pytest

from shim.domain.queues import FederatedQueue, SharePolicy
from tests.support.scripted_server import ScriptedServer, context

BASE = "/ws/v1/cluster"
MANY = 60
"""More than fit, as each asks for an eighth of the cluster."""


async def submitted(server: ScriptedServer) -> list[tuple[str, bytes]]:
    """Submit more than there is room for; what clients sent, by id."""
    await server.poll()
    sent = []
    for number in range(MANY):
        id_ = await server.submit(f"user{number % 3}", priority=number % 5, resource={"memory": 1024, "vCores": 1})
        body = context(id_, priority=number % 5, resource={"memory": 1024, "vCores": 1})
        sent.append((str(id_), body))
        if number % 10 == 0:
            await server.poll()
            await server.starting.round()
    return sent


def faults(server: ScriptedServer, sent: list[tuple[str, bytes]]) -> list[str]:
    """What Heddle did besides passing on."""
    manager, shares = server.federation["east"], server.use_cases.shares
    taken = [each for each in manager.taken if (each.method, each.path.rstrip("/")) == ("POST", f"{BASE}/apps")]
    wanted = [(id_, json.loads(body)) for id_, body in sent]
    got = [(str(json.loads(each.body)["application-id"]), json.loads(each.body)) for each in taken]
    return [
        *(["held"] if len(got) < len(wanted) else []),
        *(["ordered"] if [id_ for id_, _ in got] != [id_ for id_, _ in wanted][: len(got)] else []),
        *(["changed"] if any(dict(wanted)[id_] != body for id_, body in got) else []),
        *(["doubled"] if any(count != 1 for count in manager.submissions.values()) else []),
        *(["calls of ApplicationMasters are read"] if shares.read() else []),
    ]


async def test_with_one_cluster_nothing_is_held_spanned_or_ordered() -> None:
    server = ScriptedServer(("east",))
    assert faults(server, await submitted(server)) == []


@pytest.mark.parametrize(
    ("queue", "fault"),
    [
        (FederatedQueue("root.default", weight=1.0, max_running=3), "held"),
        (FederatedQueue("root.default", span=True), "calls of ApplicationMasters are read"),
    ],
)
async def test_what_a_queue_would_hold_back_or_read_is_seen_here(queue: FederatedQueue, fault: str) -> None:
    server = ScriptedServer(("east",), policy=SharePolicy((queue,)))
    assert fault in faults(server, await submitted(server))
