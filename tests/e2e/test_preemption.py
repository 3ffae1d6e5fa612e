"""Containers are taken back over two real clusters: a queue that waits gets its share while a borrower runs on."""

import getpass
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from shim.lab.distributed_shell import DistributedShell
from tests.support.backlogs import held_by_queues
from tests.support.client_jars import compile_program
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import spanning_secret
from tests.support.stock_client import StockClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

MIB = 2048
"""Of every container: eight of them fill the shared clusters, two of them are a quarter."""

POLICY = """
[shares]
interval_s = 0.3
preempt_after_s = 1
preempt_grace_s = 3
[span]
beat_s = 0.5
[[queue]]
name = "root.prod"
weight = 3
span = true
order = "fifo"
containers = "unordered"
[[queue]]
name = "root.dev"
weight = 1
span = true
order = "fifo"
containers = "unordered"
preemptable = true
"""
BASE = "/ws/v1/cluster"
ENDED = ("FINISHED", "FAILED", "KILLED")
WITHIN_S = 240.0


@dataclass(slots=True)
class Divided:
    """A Heddle whose queue `dev` may be taken from, and what queues hold by the ResourceManagers' own words."""

    lab: Lab
    heddle: HeddleProcess
    client: StockClient
    http: httpx.Client

    def ask(self, path: str, method: str = "GET", body: object = None) -> Any:
        self.http.cookies.clear()
        user = {"user.name": getpass.getuser()}
        answer = self.http.request(method, f"{self.heddle.url}{path}", json=body, params=user)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def app(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(f"{BASE}/apps/{id_}")["app"]
        return found

    def containers(self, queue: str) -> int:
        """How many containers a queue holds."""
        return sum(held_by_queues(self.http, self.lab, [queue])[queue].values()) // MIB

    def home(self, id_: str) -> str:
        """The cluster of an application's own ApplicationMaster."""
        return str(self.ask(f"/heddle/v1/apps/{id_}")["app"]["cluster"])

    def is_noted(self, id_: str) -> bool:
        """Whether the store knows all that an application has beyond its home: the next Heddle gives back the rest."""
        home = self.home(id_)
        held = held_by_queues(self.http, self.lab, ["dev"])["dev"]
        away = sum(mib for cluster, mib in held.items() if cluster != home) // MIB
        with closing(sqlite3.connect(self.heddle.store)) as store:
            (count,) = store.execute("SELECT count(*) FROM span_containers").fetchone()
        return bool(count == away)

    def borrow(self, program: Path, gate: Path, maps: int) -> str:
        """A MapReduce job in `dev` whose maps run until there is a file."""
        settings = {
            "mapreduce.job.queuename": "dev",
            "yarn.app.mapreduce.am.resource.mb": MIB,
            "mapreduce.map.memory.mb": MIB,
            "sleeping.until": gate,
        }
        options = [f"-D{name}={value}" for name, value in settings.items()]
        words = ("SleepingMaps", *options, "1", str(maps), "3600")
        printed = self.client.run(*words, user=getpass.getuser(), class_path=str(program))
        found = re.search(r"submitted job_(\d+_\d+)", printed)
        assert found is not None, printed
        return f"application_{found[1]}"

    def claim(self, gate: Path, containers: int) -> str:
        """A DistributedShell in `prod` whose containers run until there is a file."""
        id_ = str(self.ask(f"{BASE}/apps/new-application", "POST")["application-id"])
        shell = DistributedShell(
            "claim",
            f"until [ -e {gate} ]; do sleep 0.2; done",
            containers,
            self.client.folder / "shell",
            master_mib=MIB,
            container_mib=MIB,
        )
        shell.prepare()
        context = shell.context(id_, queue="prod", jars=self.client.jars, conf=str(self.client.folder))
        self.ask(f"{BASE}/apps", "POST", context)
        return id_

    def succeeds(self, id_: str) -> None:
        until(lambda: self.app(id_)["state"] in ENDED, f"{id_} is over", within_s=WITHIN_S)
        app = self.app(id_)
        assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"]

    def acts(self, id_: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask(f"/heddle/v1/apps/{id_}/why")["preemption"]
        return found


@pytest.fixture
def divided(lab: Lab, tmp_path: Path) -> Iterator[Divided]:
    with spanning_secret(tmp_path), HeddleProcess(lab, tmp_path, more=POLICY) as heddle:
        client = StockClient(
            lab,
            tmp_path / "client",
            address=heddle.client_rpc,
            scheduler_address=heddle.scheduler_rpc,
            webapp_address=heddle.rest,
        )
        with httpx.Client(timeout=30, trust_env=False) as http:
            yield Divided(lab, heddle, client, http)


def test_after_a_restart_a_queue_gets_its_share_back_wherever_and_the_borrowers_job_succeeds(
    divided: Divided, tmp_path: Path
):
    program = compile_program("SleepingMaps", [divided.client.jars], tmp_path)
    borrowers_gate, claimants_gate = tmp_path / "borrower may end", tmp_path / "claimant-may-end"
    borrower = divided.borrow(program, borrowers_gate, maps=9)
    until(lambda: divided.containers("dev") == 8, "dev has borrowed everything", within_s=WITHIN_S)
    until(lambda: divided.is_noted(borrower), "all of that would be known after a restart")

    divided.heddle.kill()
    divided.heddle.start()  # what the borrower has it was given before: its home and the store tell the next Heddle

    # all of its share: more than is in the way in either cluster, so that what waits has to go where room can be made
    claimant = divided.claim(claimants_gate, containers=5)
    until(lambda: divided.containers("prod") == 6, "prod has all of its share", within_s=WITHIN_S)
    acts = divided.acts(borrower)
    stages = {container: [act["done"] for act in acts if act["container"] == container] for container in by_id(acts)}
    released = [container for container, done in stages.items() if done[-1] == "released"]
    at_home = {act["container"] for act in acts if act["cluster"] == divided.home(borrower)}
    assert not any(container.endswith("_000001") for container in at_home), "an ApplicationMaster's own"
    assert len(released) >= 5, acts
    assert {act["cluster"] for act in acts if act["done"] == "released"} == set(divided.lab.clusters), acts
    assert all(stages[container][-3:] == ["asked back", "demanded", "released"] for container in released), stages
    first = next(act for act in acts if act["done"] == "held back")
    assert "while root.prod waits for its share" in first["reason"], first
    shares = {row["queue"]: row for row in divided.ask("/heddle/v1/shares")["queues"]}
    assert shares["root.dev"]["preempted"] >= len(released)
    assert shares["root.prod"]["preempted"] == 0

    claimants_gate.touch()
    divided.succeeds(claimant)
    borrowers_gate.touch()
    divided.succeeds(borrower)
    assert any(act["done"] == "passed on again" for act in divided.acts(borrower))


def by_id(acts: list[dict[str, Any]]) -> list[str]:
    """The containers that something was done to."""
    return list(dict.fromkeys(act["container"] for act in acts if act["container"]))
