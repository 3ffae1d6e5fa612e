"""Real Tez and Spark jobs put off what can wait, and another job has their room meanwhile."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab, LabSpec
from tests.support.altruism_jobs import FAIR_LEAF, SHOWN_S, AltruismJobs, SleepingDag, kept_s, policy_of
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import spanning_secret
from tests.support.tidying import end_applications

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

RIVALS_MIB, TASK_MIB = 1024, 768
"""Of each task of the job that wants room, and of each task or executor of the one that gives it: as larger containers
pack better, leftover goes to the first, whichever is nearer its end."""
MASTER_MIB, DRIVER_MIB = 512, 640
NODE_MIB = 7296
ONE_NODE = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": str(NODE_MIB),
        "yarn.nodemanager.resource.cpu-vcores": "16",
    },
    "capacity-scheduler.xml": dict(FAIR_LEAF),
}
RIVAL = SleepingDag("rival", {"many": (32, 8000), "end": (1, 1000)}, {"end": ("many",)})
"""Each of its tasks is over before what is put off has to start: only what stays free for all of a task is lent."""


@pytest.fixture(scope="module")
def one_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("one-node")) as lab:
        lab.up(LabSpec.of(clusters=1, nodes=1, overrides=ONE_NODE))
        yield lab


class Engines:
    """A Heddle before one node, a job that may give, and another one that wants all the room that there is.

    Args:
        lab: With the node.
        folder: For all of it.
        heddle: What stands before it.
        name: Of the application that may give.
    """

    def __init__(self, lab: Lab, folder: Path, heddle: HeddleProcess, name: str) -> None:
        self.heddle, self.gate = heddle, folder / "gate"
        self.jobs = AltruismJobs(lab, folder, heddle, more={"tez.task.resource.memory.mb": str(TASK_MIB)})
        more = {"tez.task.resource.memory.mb": str(RIVALS_MIB)}
        self._rivals = AltruismJobs(lab, folder / "rival", heddle, more=more)
        self._name = name

    def holds(self, name: str) -> int:
        """MiB of an application, by what Heddle tells."""
        with self.jobs.asking() as http:
            return self.jobs.holds(http, name)

    def lends(self) -> None:
        """Fill the node, open the gate, and see that the other job has room that is given."""
        has, seen = self.holds(self._name), list[str]()
        with ThreadPoolExecutor(1) as pool:
            rival = pool.submit(self._rivals.dag, RIVAL, RIVAL.name)
            try:
                until(lambda: self._told(RIVAL.name).get("ends_by_ms") is not None, "the other job is planned")
                until(lambda: NODE_MIB - has - self.holds(RIVAL.name) < TASK_MIB, "it has what is left")
                self.gate.touch()
                until(lambda: self._gives(seen), "something is put off, and the other has its room")
                assert self.holds(self._name) == has, "it has more than it began with"
            except AssertionError as error:
                error.add_note("\n".join(seen))
                raise
            rival.result()

    def _gives(self, seen: list[str]) -> bool:
        giver, rival = self._told(self._name), self._told(RIVAL.name)
        seen.append(f"{giver}\n  {rival}")
        return bool(giver.get("puts_off")) and giver["given_s"] > SHOWN_S and rival["received_s"] > SHOWN_S

    def _told(self, name: str) -> dict[str, Any]:
        with self.jobs.asking() as http:
            return dict(self.jobs.told_of_altruism(http)).get(name, {})


@contextmanager
def _engines(lab: Lab, folder: Path, name: str) -> Iterator[Engines]:
    (folder / "rival").mkdir()
    more = policy_of(folder, folder / "rival", altruism=1.0, span=False, order="packing")
    with spanning_secret(folder), HeddleProcess(lab, folder, more=more) as heddle:
        try:
            yield Engines(lab, folder, heddle, name)
        finally:
            end_applications(lab)


LONG_MS, SHORT_TASKS, SHORT_MS = 45_000, 4, 5_000
"""Of the Spark job: with its share of executors the short tasks can wait for half of the long one's time."""


def test_a_spark_application_puts_executors_off_and_another_job_has_their_room(one_node: Lab, tmp_path: Path) -> None:
    work = (1, LONG_MS, SHORT_TASKS, SHORT_MS)
    with _engines(one_node, tmp_path, "spark-1") as engines, ThreadPoolExecutor(1) as pool:
        engines.jobs.join_in_spark("spark-0", *work)  # teaches how long its tasks run
        spark = pool.submit(engines.jobs.join_in_spark, "spark-1", *work, gate=engines.gate, executors=2)
        try:
            until(
                lambda: engines.holds("spark-1") == DRIVER_MIB + 2 * TASK_MIB, "its driver and its first executors run"
            )
            engines.lends()
        finally:
            engines.gate.touch()
        spark.result()


STAGES = {"wide": (6, 3000), "long": (1, LONG_MS), "end": (1, 1000)}
"""Its short tasks can wait until the long one is about to end; Tez serves them last."""
DAGS = [SleepingDag(f"large-{number}", STAGES, {"end": ("wide", "long")}) for number in range(2)]


def test_a_tez_session_puts_tasks_off_and_what_it_gave_outlives_heddle(one_node: Lab, tmp_path: Path) -> None:
    done = tmp_path / "done"
    with _engines(one_node, tmp_path, "session") as engines, ThreadPoolExecutor(1) as pool:
        session = pool.submit(engines.jobs.session, "session", *DAGS, done=done, gate=engines.gate)
        try:
            until(lambda: any(done.glob("large-0.end.*")), "the first has told how long tasks run")
            until(lambda: engines.holds("session") == MASTER_MIB, "what it held is given back")
            engines.lends()
        finally:
            engines.gate.touch()
        assert session.result().count("state SUCCEEDED") == len(DAGS)
        _is_kept(engines)


def _is_kept(engines: Engines) -> None:
    """What was given comes into the store, which is written every ten seconds, and is told after a restart."""
    until(lambda: kept_s(engines.heddle) > SHOWN_S, "what was given is in the store", within_s=180)
    with engines.jobs.asking() as http:
        ids = [app["id"] for app in http.get("/heddle/v1/apps").json()["apps"]]
    engines.heddle.kill()
    engines.heddle.start()
    with engines.jobs.asking() as http:
        told_after = [http.get(f"/heddle/v1/apps/{id_}/why").json().get("altruism") for id_ in ids]
        used = http.get("/heddle/v1/usage", params={"by": "user"}).json()["usage"]
        assert any(each["given_s"] > 0 for each in told_after if each is not None)
        until(lambda: engines.jobs.credits(http)[0] > 0, "the sums of queues are read again", within_s=180)
    assert sum(row["given_mib_s"] for row in used) > 0
