"""How long clients wait while a ResourceManager is frozen or dead: `python scripts/fault_table.py` prints a table.

The questions are those at which Hadoop's Router was measured. Starts a lab of two clusters and a Heddle of its own.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from shim.lab import Lab, LabSpec
from shim.telemetry import configure_logs
from tests.faults.conftest import Federation, Reply, federation_over

_LISTS = ("apps", "metrics", "nodes", "info", "scheduler")


async def _timed(what: str, federation: Federation, path: str, method: str = "GET") -> tuple[str, str]:
    began_s = time.perf_counter()
    reply = await federation.heddle.ask(path, method)
    return what, _cell(reply, time.perf_counter() - began_s)


async def _timed_submit(federation: Federation, application_id: str) -> tuple[str, str]:
    began_s = time.perf_counter()
    reply = await federation.heddle.submit(application_id)
    return "submit", _cell(reply, time.perf_counter() - began_s)


def _cell(reply: Reply, took_s: float) -> str:
    named = f", names {reply.missing}" if reply.missing else ""
    return f"{reply.status} after {took_s * 1000:.0f} ms{named}"


async def _ask_everything(federation: Federation, apps: dict[str, str], ids: list[str]) -> dict[str, list[str]]:
    cells: dict[str, list[str]] = {}
    questions = [_timed(path, federation, path) for path in _LISTS]
    questions += [_timed(f"app at {home}", federation, f"apps/{an_id}") for home, an_id in apps.items()]
    questions += [_timed("new-application", federation, "apps/new-application", "POST")]
    questions += [_timed_submit(federation, application_id) for application_id in ids]
    for what, cell in await asyncio.gather(*questions):
        cells.setdefault(what, []).append(cell)
    return cells


async def _measure(lab: Lab, folder: Path) -> None:
    async with federation_over(lab, folder) as federation:
        apps: dict[str, str] = {}
        while len(apps) < len(lab.clusters):
            application_id = await federation.heddle.new_id()
            await federation.heddle.submit(application_id)
            apps[(await federation.homes(application_id))[0]] = application_id
        for title, begin, end in (("frozen", lab.pause, lab.resume), ("dead", lab.kill, lab.start)):
            ids = [await federation.heddle.new_id() for _ in range(24)]
            await asyncio.to_thread(begin, "west-rm")
            at_once = await _ask_everything(federation, apps, ids[:12])
            await asyncio.sleep(3)
            later = await _ask_everything(federation, apps, ids[12:])
            await asyncio.to_thread(end, "west-rm")
            await asyncio.to_thread(lab.wait_ready)
            print(f"\n| question | west {title}, at once | 3 s into it |\n|---|---|---|")
            for what in at_once:
                print(f"| {what} | {_shown(at_once[what])} | {_shown(later[what])} |")
        await asyncio.sleep(5)
        homes = [await federation.homes(application_id) for application_id in federation.heddle.acknowledged]
        twice, none = sum(len(found) > 1 for found in homes), sum(not found for found in homes)
        print(f"\n{len(homes)} acknowledged, {twice} on two clusters, {none} on none")


def _shown(cells: list[str]) -> str:
    if len(cells) == 1:
        return cells[0]
    waits = sorted(int(cell.split()[2]) for cell in cells)
    statuses = ", ".join(sorted({cell.split()[0] for cell in cells}))
    return f"{len(cells)} times {statuses}, after {waits[0]} to {waits[-1]} ms"


def main() -> None:
    """Start, measure, stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lab", type=Path, help="folder of a running lab of two clusters, east and west")
    arguments = parser.parse_args()
    configure_logs(level="error", style="json", stream=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="heddle-faults-") as folder:
        lab = Lab(arguments.lab or Path(folder) / "lab")
        if arguments.lab is None:
            lab.up(LabSpec.of(clusters=2, nodes=1))
        try:
            asyncio.run(_measure(lab, Path(folder)))
        finally:
            if arguments.lab is None:
                lab.down()


if __name__ == "__main__":
    main()
