"""Containers that were lent between real MapReduce jobs: they go back first, and no fault leaves anything held back.

A job that gives has more maps to run, one at a time at the end, while its reduces wait in Heddle. Another job gets its
places meanwhile. Maps end when the test says so.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab, LabSpec
from tests.support.altruism_jobs import FAIR_LEAF, SHOWN_S, kept_s
from tests.support.gated_jobs import GatedClient, GatedJob
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import spanning_secret
from tests.support.tidying import end_applications

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

MIB = 512
"""Of every container: each of the two clusters has room for six."""
PLACES = 12
SIX_PLACES = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": str(6 * MIB),
        "yarn.nodemanager.resource.cpu-vcores": "16",
    },
    "capacity-scheduler.xml": dict(FAIR_LEAF),
}
POLICY = """
late_after_s = 10
[shares]
interval_s = 0.3
preempt_after_s = 1
preempt_grace_s = 3
[span]
beat_s = 0.5
lost_after_s = 60
[[queue]]
name = "root.dev"
weight = 1
span = true
order = "fifo"
containers = "unordered"
altruism = 1.0
preemptable = true
"""
TASK_S = 45.0
"""Of the first four maps, by which it is known how long one runs: as long the reduces wait, but for the lead of 5 s.
Containers are lent and looked at meanwhile, on a busy machine, too."""
AT_ONCE = 4
"""Maps of the giver that find room: of twelve places the borrower's maps and both masters have eight."""
MAPS = 8
REDUCES = 6
"""As many as its share has places: all are needed at once when its maps have ended."""
BORROWERS_MAPS = 6
LENT, MOST_LENT = 2, 4
"""At least, and at most: one of the giver's reduces is granted or not before it is seen that they can wait, and the
place of the borrower's map that ended counts, or no longer, when its first reduce is granted."""


@pytest.fixture(scope="module")
def lending_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("lending-lab")) as lab:
        lab.up(LabSpec.of(clusters=2, nodes=1, overrides=SIX_PLACES))
        yield lab


@dataclass(frozen=True, slots=True)
class Lending:
    """Two jobs of a full queue, of which one was lent places by the other.

    Attributes:
        giver: One of its maps runs, and its reduces wait in Heddle.
        ordinary: Containers of the borrower that are its maps' and its master's.
    """

    lab: Lab
    heddle: HeddleProcess
    client: GatedClient
    giver: GatedJob
    borrower: GatedJob
    ordinary: set[str]

    def taken(self, done: str) -> set[str]:
        """Containers of the borrower to which something was done."""
        return {str(act["container"]) for act in self.acts() if act["done"] == done}

    def acts(self) -> list[dict[str, Any]]:
        """What was done to containers of the borrower."""
        found: list[dict[str, Any]] = self.borrower.why()["preemption"]
        return [act for act in found if act["container"]]

    def asks_out(self, count: int, *clusters: str) -> bool:
        """Whether clusters were asked for so many reduces, or run them, while the last map has not ended."""
        assert len(self.giver.running) == 1
        return self.giver.put_off() == 0 and self.giver.asks(MIB, *clusters) >= count

    def both_end_well(self) -> None:
        """End both; each has to have written all that it has to."""
        self.giver.end_all()
        self.borrower.end_all()
        self.giver.ends_well()
        self.borrower.ends_well()


@contextmanager
def _lending(lab: Lab, folder: Path) -> Iterator[Lending]:
    with spanning_secret(folder), HeddleProcess(lab, folder, more=POLICY) as heddle:
        client = GatedClient(lab, folder, heddle, MIB)
        try:
            yield _lent_places(lab, heddle, client)
        except AssertionError as error:
            error.add_note("\n".join(job.told() for job in client.submitted))
            raise
        finally:
            end_applications(lab)


def _lent_places(lab: Lab, heddle: HeddleProcess, client: GatedClient) -> Lending:
    """Start both jobs, and wait until places were lent."""
    borrower = client.submit("borrower", BORROWERS_MAPS, REDUCES, slow_start=1 / BORROWERS_MAPS)
    until(lambda: len(borrower.running) == BORROWERS_MAPS, "the maps of the one that will borrow run")
    began_s = time.monotonic()
    giver = client.submit("giver", MAPS, REDUCES, slow_start=(AT_ONCE + 1) / MAPS)
    until(lambda: len(giver.running) == AT_ONCE, "the first maps of the one that will give run")
    # what follows takes about as long as this did: a slow machine needs more time for it
    task_s = max(TASK_S, 15.0 + 2.0 * (time.monotonic() - began_s))
    time.sleep(task_s)

    giver.end(AT_ONCE)
    until(lambda: len(giver.running) == MAPS - AT_ONCE, "its other maps run")
    giver.end()
    until(lambda: giver.put_off() >= REDUCES - 1, "its reduces wait")
    until(lambda: giver.asks(MIB) == 0, "what it asked for before was granted, or taken back")
    ordinary = borrower.containers()
    borrower.end()  # now it asks for its reduces
    giver.end(LENT)
    until(lambda: giver.put_off() == 0 or _lent_of(borrower) >= LENT, "places were lent", within_s=40)
    until(lambda: giver.put_off() == 0 or _used(giver, borrower) == PLACES, "no place is free", within_s=40)
    assert giver.put_off(), "its last map was about to end before places were lent: the machine is too busy"
    return Lending(lab, heddle, client, giver, borrower, ordinary)


def _lent_of(job: GatedJob) -> int:
    return int(job.altruism()["lent_containers"])


def _used(*jobs: GatedJob) -> int:
    return sum(sum(job.holds().values()) for job in jobs)


def test_lent_containers_are_taken_back_first_once_the_giver_needs_its_share(lending_lab: Lab, tmp_path: Path) -> None:
    with _lending(lending_lab, tmp_path) as lending:
        giver, borrower, before = lending.giver, lending.borrower, lending.giver.containers()
        giver.end()
        until(lambda: len(lending.taken("released")) >= LENT, "lent places go back")
        until(lambda: len(giver.containers() - before) >= LENT, "the giver has their places")
        assert len(borrower.running) == BORROWERS_MAPS - 1, "none of its maps was taken"
        lending.both_end_well()
        assert lending.taken("asked back") == lending.taken("released")
        assert len(lending.taken("released")) <= MOST_LENT, "the borrower had a place again, and lost it again"
        assert not lending.taken("asked back") & lending.ordinary, lending.acts()
        reasons = {act["reason"] for act in lending.acts() if act["done"] == "asked back"}
        assert all(f"it was lent, and {giver.id} needs" in each for each in reasons), reasons


def test_a_killed_heddle_forgets_who_lent_and_what_waited_is_asked_for(lending_lab: Lab, tmp_path: Path) -> None:
    with _lending(lending_lab, tmp_path) as lending:
        until(lambda: kept_s(lending.heddle) > SHOWN_S, "what it gave is in the store")
        lending.heddle.kill()
        lending.heddle.start()
        until(lambda: bool(lending.giver.altruism().get("stages")), "the giver is known again")
        until(lambda: lending.asks_out(REDUCES - 2), "all is asked for that waited")
        assert lending.giver.altruism()["unknown"], "it is planned by what the killed one knew"
        assert _lent_of(lending.borrower) == 0
        assert float(lending.giver.altruism()["given_s"]) > 0, "what it gave, and was stored, is forgotten"
        assert not lending.acts(), "containers count as ordinary ones whose marks are forgotten"
        lending.both_end_well()
