"""What breaks while a job puts tasks off for another: both succeed, and words are counted as ever."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab
from tests.support.altruism_jobs import AltruismJobs, SleepingDag, policy_of
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import SpanningApplication, end_first_master, spanning_secret

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

OVERRIDES = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": "3072",
        "yarn.nodemanager.resource.cpu-vcores": "16",
        "yarn.nm.liveness-monitor.expiry-interval-ms": "10000",
    },
    "capacity-scheduler.xml": {"yarn.scheduler.capacity.maximum-am-resource-percent": "0.6"},
}
LENDER = SleepingDag("lender", {"wide": (16, 3000), "long": (1, 25000), "end": (1, 1000)}, {"end": ("wide", "long")})
MAPS = 40
_LENDS_WITHIN_S = 60.0
_TRIES = 3


class Lending:
    """A job that puts tasks off, and one that has its containers meanwhile."""

    def __init__(self, lab: Lab, folder: Path, heddle: HeddleProcess) -> None:
        self.lab, self.heddle, self.folder = lab, heddle, folder
        self.jobs = AltruismJobs(lab, folder, heddle)
        self.runs = 0

    @contextmanager
    def running(self) -> Iterator[dict[str, str]]:
        """Ids of both by their names, while containers are lent; both have ended well after it."""
        self.runs += 1
        label = f"words-{self.runs}"
        with ThreadPoolExecutor(2) as pool:
            lender = pool.submit(self.jobs.dag, LENDER, "lender")
            borrower = pool.submit(self.jobs.word_count, label, MAPS, 1)
            try:
                yield self._lent(lender, borrower)
            finally:
                for each in (lender, borrower):
                    each.result()
        counted = Counter[str]()
        for part in (self.folder / f"out-{label}").glob("part-r-*"):
            counted.update({word: int(count) for word, count in map(str.split, part.read_text().splitlines())})
        expected = Counter(dict.fromkeys(("a", "few", "words", "of", "text"), 100 * MAPS))
        assert counted == expected + Counter({str(number): 100 for number in range(MAPS)})

    def _lent(self, *jobs: "Future[None]") -> dict[str, str]:
        """Wait until the lender puts something off while both run; empty if that does not come about."""
        began_s = time.monotonic()
        with self.jobs.asking() as http:
            while time.monotonic() - began_s < _LENDS_WITHIN_S and not any(each.done() for each in jobs):
                running = http.get("/heddle/v1/apps", params={"states": "RUNNING"}).json()["apps"]
                told: dict[str, dict[str, Any]] = dict(self.jobs.told_of_altruism(http))
                if len(running) == len(jobs) and told.get("lender", {}).get("puts_off"):
                    return {app["name"]: app["id"] for app in running}
                time.sleep(0.5)
        return {}


def has_broken(lending: Lending, fault: Callable[[dict[str, str]], None]) -> bool:
    """Run both jobs, and break something if the one puts tasks off; a busy machine may see nothing put off."""
    with lending.running() as ids:
        if ids:
            fault(ids)
    return bool(ids)


@pytest.fixture
def lending(fresh_lab: Callable[..., Lab], tmp_path: Path) -> Iterator[Lending]:
    lab = fresh_lab(clusters=2, nodes=1, overrides=OVERRIDES)
    more = policy_of(tmp_path, altruism=1.0, span=True) + "[span]\nbeat_s = 0.5\nlost_after_s = 6\n"
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=more) as heddle:
        yield Lending(lab, tmp_path, heddle)


def test_jobs_that_lend_and_borrow_end_well_whatever_dies(lending: Lending) -> None:
    """One lab and one learning run for all: each start of clusters takes as long as a fault."""
    lending.jobs.dag(LENDER, "lender")  # how long its tasks run is known after it

    def kill_heddle(_: dict[str, str]) -> None:
        lending.heddle.kill()
        lending.heddle.start()

    def kill_master(ids: dict[str, str]) -> None:
        end_first_master(ids["lender"])
        spanned = SpanningApplication(lending.lab, lending.heddle, ids["lender"])
        until(lambda: len(spanned.attempts()) == 2, "the lender's second attempt")

    def kill_cluster(ids: dict[str, str]) -> None:
        homes = {SpanningApplication(lending.lab, lending.heddle, id_).home for id_ in ids.values()}
        lost = next((name for name in lending.lab.clusters if name not in homes), None)
        daemons = [each.name for each in lending.lab.status() if lost and each.name.startswith(f"{lost}-")]
        daemons = daemons or [f"{min(homes)}-rm"]  # each is somebody's home: its scheduler alone
        for name in daemons:
            lending.lab.kill(name)
        for name in daemons:
            lending.lab.start(name)
        lending.lab.wait_ready()

    for fault in (kill_heddle, kill_master, kill_cluster):
        assert any(has_broken(lending, fault) for _ in range(_TRIES)), f"nothing was put off before {fault.__name__}"
