"""What is compared: one ResourceManager asked directly, Hadoop's Java Router and Heddle, over the same two clusters."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from scripts.bench.cells import Say
from scripts.bench.java_router import JavaRouter
from scripts.bench.load import USER, count_known, measure_posts, new_ids, resident_mib
from scripts.bench.real_masters import register
from scripts.bench.targets import HeddleProcess
from shim.domain.ids import ApplicationId
from shim.lab import Lab, LabSpec
from tests.support.tidying import end_applications_at

FEW, MANY = 100, 5000
_ENDS_S = 600.0
_FILLED_WITHIN_S = 1500.0
_AT_A_TIME = 500
_OK = 200
_TRIES = 20
_OVERRIDES = {
    "yarn-site.xml": {
        "yarn.resourcemanager.max-completed-applications": "20000",
        "yarn.resourcemanager.state-store.max-completed-applications": "0",
    }
}


@dataclass(frozen=True, slots=True)
class Stage:
    """The running targets, by name.

    Attributes:
        lab: The clusters; the first one's ResourceManager is the one that is asked directly.
        managers: Web addresses of the ResourceManagers.
        bases: Web address of each target.
        rpcs: `host:port` of each for clients.
        pids: Process of each.
        started_mib: Memory that each held when it had started.
        client_confs: Configuration folder of a stock client of each.
    """

    lab: Lab
    managers: Sequence[str]
    bases: Mapping[str, str]
    rpcs: Mapping[str, str]
    pids: Mapping[str, int]
    started_mib: Mapping[str, int]
    client_confs: Mapping[str, Path]

    def tidy(self) -> None:
        """End every live application."""
        end_applications_at(self.managers, USER, within_s=_ENDS_S)

    def fill(self, count: int) -> None:
        """Give the clusters so many more ended applications."""
        for manager in self.managers:
            asyncio.run(_post(manager, count // len(self.managers)))
        self.tidy()

    def fill_to(self, count: int, say: Say) -> None:
        """Give them as many as are missing until they know so many together.

        Some at a time: thousands that live at once hold up the ResourceManagers, which store and end each of them.

        Raises:
            TimeoutError: If they do not know so many in time.
        """
        ends_s = time.monotonic() + _FILLED_WITHIN_S
        while (known := sum(map(count_known, self.managers))) < count:
            if time.monotonic() > ends_s:
                raise TimeoutError(f"the clusters know {known} of {count} applications after {_FILLED_WITHIN_S:g} s")
            say(f"{known} of {count} applications")
            # no fewer than one each
            self.fill(min(_AT_A_TIME, max(count - known, len(self.managers))))

    @contextlib.contextmanager
    def known_application(self) -> Iterator[str]:
        """A live application that every target knows; it ends with the block.

        The Router gives out no ids over REST, puts what it is given where it likes, and knows nothing else; of what has
        ended it soon knows nothing more, and what has no page yet it cannot tell of over RPC.
        """
        first = next(iter(self.lab.clusters.values()))
        try:
            known = self._known_application()
            asyncio.run(register(first.client_rpc, first.scheduler_rpc, ApplicationId.parse(known)))
            yield known
        finally:
            self.tidy()

    def _known_application(self) -> str:
        for _ in range(_TRIES):
            (id_,) = asyncio.run(new_ids(self.managers[0], 1))
            asyncio.run(measure_posts(self.bases["router"], [id_], at_once=1))
            urls = (f"{self.bases[target]}/ws/v1/cluster/apps/{id_}?user.name={USER}" for target in ("rm", "router"))
            if all(httpx.get(url, trust_env=False, timeout=30).status_code == _OK for url in urls):
                return id_
        raise RuntimeError(f"the Router has put none of {_TRIES} applications on the first cluster")


@contextlib.contextmanager
def a_stage(folder: Path, base_port: int, say: Say) -> Iterator[Stage]:
    """Start the targets, and give them `FEW` ended applications."""
    heddle_port = base_port + 910
    with Lab(folder / "lab", front=HeddleProcess.front_at(heddle_port)) as lab:
        say("starting two clusters")
        lab.up(LabSpec.of(base_port=base_port, tuning="throughput", overrides=_OVERRIDES, hosts="loopback"))
        managers = [cluster.url for cluster in lab.clusters.values()]
        say("starting the Router")
        (folder / "router").mkdir(parents=True, exist_ok=True)
        with JavaRouter(lab, folder / "router", base_port=base_port + 900) as router:
            confs = {id_: cluster.conf_dir for id_, cluster in lab.clusters.items()}
            say("starting Heddle")
            with HeddleProcess(folder / "heddle", port=heddle_port, subclusters=confs, servers=True) as heddle:
                stage = _stage(lab, managers, router, heddle)
                stage.fill(FEW)
                yield stage


def _stage(lab: Lab, managers: Sequence[str], router: JavaRouter, heddle: HeddleProcess) -> Stage:
    first = next(iter(lab.clusters.values()))
    manager_pid = next(daemon.pid for daemon in lab.status() if daemon.name.endswith("-rm")) or 0
    pids = {"rm": manager_pid, "router": router.pid, "heddle": heddle.pid}
    return Stage(
        lab=lab,
        managers=managers,
        bases={"rm": managers[0], "router": router.url, "heddle": heddle.url},
        rpcs={"rm": first.client_rpc, "router": router.client_rpc, "heddle": heddle.front.client_rpc},
        pids=pids,
        started_mib={target: resident_mib(pid) for target, pid in pids.items()},
        client_confs={"rm": first.conf_dir, "router": router.client_conf(), "heddle": lab.client_conf},
    )


async def _post(manager: str, count: int) -> None:
    await measure_posts(manager, await new_ids(manager, count), at_once=8)
