"""Kill Global and Local Masters over real clusters, again and again: `python scripts/master_trials.py --kills 60`.

Two Global Masters take submissions for two queues, each at the server of either; two Local Masters of each cluster are
up. In each trial one Global Master dies by SIGKILL while it takes submissions, now and then a Local Master with it,
and both are started again when the queues have moved. In the end every application is looked for on the clusters.
Needs PostgreSQL's binaries; exit code 1 if something was lost or doubled.
"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp

from shim.lab import Lab, LabSpec
from tests.doubles.postgresql import LocalPostgreSQL
from tests.support.masters import (
    MasterProcess,
    MasterProcesses,
    fresh_database,
    masters_over,
    names_that_share,
    until,
)
from tests.support.nursery import Nursery

_QUEUES = ("root.default", "root.prod")
_AT_ONCE = 8
_LONGEST_DELAY_S = 0.15
_LOCAL_MASTERS_TOO = 0.3
_SETTLE_S = 15.0


@dataclass(slots=True)
class _Trials:
    """Masters that die, and what became of the applications."""

    masters: MasterProcesses
    rng: Random
    gms: list[MasterProcess] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    moved_after_s: list[float] = field(default_factory=list)
    local_kills: int = 0

    async def start(self) -> None:
        """Start everything, and wait until the queues are shared."""
        starting = [self.masters.start_lm(cluster, number) for cluster in self.masters.managers for number in (1, 2)]
        await asyncio.gather(*starting)
        names = names_that_share(_QUEUES)
        self.gms = list(await asyncio.gather(*(self.masters.start_gm(name) for name in names)))
        for gm in self.gms:
            await self._until_it_owns(gm, at_least=1)

    async def trial(self) -> None:
        """Submit, kill, wait until the other one owns everything, start again."""
        ids = [await self.masters.new_id(self.rng.choice(self.gms)) for _ in range(_AT_ONCE)]
        self.ids += ids
        submissions = [asyncio.create_task(self._submit(an_id)) for an_id in ids]
        await asyncio.sleep(self.rng.random() * _LONGEST_DELAY_S)
        victim = self.rng.randrange(2)
        self.gms[victim].kill()
        if self.rng.random() < _LOCAL_MASTERS_TOO:
            await self._kill_a_local_master()
        await asyncio.gather(*submissions)
        self.moved_after_s.append(await self._until_it_owns(self.gms[1 - victim], at_least=3))
        self.gms[victim] = await self.masters.start_gm(self.gms[victim].name)
        await self._until_it_owns(self.gms[victim], at_least=1)

    async def summary(self) -> tuple[str, bool]:
        """What became of it, and whether all is well."""
        await asyncio.sleep(_SETTLE_S)
        homes = {an_id: await self.masters.homes(an_id) for an_id in self.ids}
        acknowledged = set(self.masters.acknowledged)
        lost = sorted(an_id for an_id in acknowledged if not homes[an_id])
        doubled = sorted(an_id for an_id, its in homes.items() if len(its) > 1)
        anyway = sum(bool(homes[an_id]) for an_id in self.ids if an_id not in acknowledged)
        told = (
            f"{len(self.moved_after_s)} Global and {self.local_kills} Local Masters killed; {len(acknowledged)} of "
            f"{len(self.ids)} acknowledged, of the others {anyway} run; lost {lost}, doubled {doubled}; queues moved "
            f"after {median(self.moved_after_s):.1f} s (median), {max(self.moved_after_s):.1f} s (longest)"
        )
        return told, not lost and not doubled

    async def _submit(self, application_id: str) -> None:
        gm, queue = self.rng.choice(self.gms), self.rng.choice(_QUEUES)
        try:
            await self.masters.submit(gm, queue, application_id=application_id)
        except (aiohttp.ClientError, TimeoutError):
            return  # it died over it: the client heard nothing

    async def _kill_a_local_master(self) -> None:
        local = [each for each in self.masters.running.values() if each.name.startswith("lm-") and each.is_running]
        victim = self.rng.choice(local)
        victim.kill()
        self.local_kills += 1
        _, cluster, number = victim.name.split("-")
        await self.masters.start_lm(cluster, int(number))

    async def _until_it_owns(self, gm: MasterProcess, *, at_least: int) -> float:
        async def owns() -> bool:
            told = await self.masters.get(gm, "/heddle/v1/masters")
            owned = [queue for queue in told["queues"] if queue["owner"] == gm.name]
            return len(owned) >= at_least

        return await until(owns, within_s=120)


async def _run(lab: Lab, folder: Path, postgresql: str, arguments: argparse.Namespace) -> int:
    store = await fresh_database(postgresql, "trials")
    with Nursery() as nursery:
        async with masters_over(nursery, folder, store, lab) as masters:
            trials = _Trials(masters, Random(arguments.seed))  # noqa: S311 - chooses victims, protects nothing
            await trials.start()
            for number in range(1, arguments.kills + 1):
                await trials.trial()
                print(f"\r{number} of {arguments.kills}", end="", file=sys.stderr, flush=True)
            told, is_well = await trials.summary()
            print(f"\n{told}")
            await masters.kill_applications(trials.gms[0])
            return 0 if is_well else 1


def main() -> int:
    """Start a lab and a PostgreSQL, kill, check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lab", type=Path, help="folder of a running lab of two clusters; else one is started")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-master-trials-") as folder, LocalPostgreSQL() as postgresql:
        lab = Lab(arguments.lab or Path(folder) / "lab")
        if arguments.lab is None:
            lab.up(LabSpec.of(clusters=2, nodes=1))
        try:
            return asyncio.run(_run(lab, Path(folder), postgresql.url, arguments))
        finally:
            if arguments.lab is None:
                lab.down()


if __name__ == "__main__":
    sys.exit(main())
