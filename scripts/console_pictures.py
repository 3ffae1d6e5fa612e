"""Take the pictures of the console that are in the documentation: `python -m scripts.console_pictures`.

A browser looks at scripted clusters with made-up applications, the same each time. Needs Chromium.
"""

import asyncio
import random
from pathlib import Path

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from shim.identity.service import IdentityRules
from shim.testing.rm_documents import a_node, a_queue
from tests.support.console_pages import chromium, looking, serving
from tests.support.scripted_server import ScriptedServer

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
VIEWS = {"applications": "applications?sort=id&group=queue", "clusters": "clusters"}
_NODE = ResourceVector(65_536, 16)
_NODES, _APPLICATIONS = 96, 240
_LOOK_S = 1.5
_HEALTHY = 0.98


def _part(amount: ResourceVector, share: float) -> ResourceVector:
    return ResourceVector(round(amount.memory_mib * share), round(amount.vcores * share))


def made_up() -> ScriptedServer:
    """Three clusters, busy in different ways."""
    server = ScriptedServer(("east", "north", "west"), rules=IdentityRules(allow_anonymous=True, admins=("oona",)))
    chosen = random.Random(7)  # noqa: S311 - a picture
    for place, (manager, busy) in enumerate(zip(server.federation.managers.values(), (0.9, 0.5, 0.3), strict=True)):
        used = [_part(_NODE, min(1.0, max(0.0, chosen.gauss(busy, 0.2)))) for _ in range(_NODES)]
        manager.nodes[:] = [
            a_node(
                f"{manager.subcluster}-{number:03}:45454",
                _NODE,
                used=amount,
                state="RUNNING" if chosen.random() < _HEALTHY else "UNHEALTHY",
            )
            for number, amount in enumerate(used)
        ]
        whole = _part(_NODE, _NODES)
        manager.queues[:] = [
            a_queue(f"root.{name}", _part(whole, share), maximum=whole, used=_part(whole, share * busy))
            for name, share in (("default", 0.2), ("etl", 0.5), ("adhoc", 0.3))
        ]
        for number in range(_APPLICATIONS):
            name, kind = chosen.choice((("sessions", "SPARK"), ("nightly sort", "MAPREDUCE"), ("report", "TEZ")))
            manager.add_application(
                ApplicationId(1_799_990_000_000, 3 * number + place + 1),
                chosen.choice(("RUNNING", "RUNNING", "FINISHED", "ACCEPTED", "FAILED")),
                user=chosen.choice(("ada", "lin", "oona")),
                name=f"{name} {number}",
                queue=chosen.choice(("root.default", "root.etl", "root.adhoc")),
                applicationType=kind,
            )
    return server


async def _take() -> None:
    server = made_up()
    await server.poll()
    async with serving(server) as url, chromium() as browser, looking(browser, url, width=1200, height=640) as looker:
        for name, view in VIEWS.items():
            await looker.go(view, user="oona")
            await asyncio.sleep(_LOOK_S)
            await looker.page.screenshot(path=str(PICTURES / f"console-{name}.png"))


if __name__ == "__main__":
    asyncio.run(_take())
