"""Shares of queues over two real clusters: what is above its entitlement waits in Heddle, and starts in its turn."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from shim.cli.main import app
from shim.lab import Lab
from tests.support.heddle_process import HeddleProcess, until
from tests.support.stock_client import StockClient

pytestmark = pytest.mark.lab

POLICY = """
[shares]
interval_s = 0.3
[[queue]]
name = "root.prod"
weight = 3
[[queue]]
name = "root.dev"
weight = 1
"""
MEMORY_MIB = 1024
BASE = "/ws/v1/cluster"
ENDED = ("FINISHED", "FAILED", "KILLED")


@dataclass(slots=True)
class Shared:
    """A Heddle with a policy, and both of its ResourceManagers asked directly."""

    heddle: HeddleProcess
    managers: dict[str, str]
    http: httpx.Client
    submitted: list[str] = field(default_factory=list)

    def ask(self, path: str, method: str = "GET", body: object = None, user: str = "alice") -> httpx.Response:
        self.http.cookies.clear()  # a login goes before `user.name`
        return self.http.request(method, f"{self.heddle.url}{path}", json=body, params={"user.name": user})

    def submit(self, queue: str, seconds: float, user: str = "alice") -> str:
        """An application whose ApplicationMaster sleeps and never registers: it ends when that ends."""
        id_ = str(self.ask(f"{BASE}/apps/new-application", "POST").json()["application-id"])
        context = {
            "application-id": id_,
            "application-name": "share",
            "queue": queue,
            "max-app-attempts": 1,
            "am-container-spec": {"commands": {"command": f"sleep {seconds}"}},
            "resource": {"memory": MEMORY_MIB, "vCores": 1},
        }
        answer = self.ask(f"{BASE}/apps", "POST", context, user)
        assert answer.status_code == 202, answer.text
        self.submitted.append(id_)
        return id_

    def app(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(f"{BASE}/apps/{id_}").json()["app"]
        return found

    def used_mib(self, queue: str) -> int:
        """What a queue holds by the ResourceManagers' own words, over both clusters."""
        return sum(leaf["resourcesUsed"]["memory"] for leaf in self._leaves(queue))

    def given_mib(self, queue: str) -> int:
        """What a queue holds, and what its applications at the clusters wait for.

        These are nothing but ApplicationMasters, and the clusters let them have 80 % of what a queue may use: a queue
        with much has some that wait there, where a queue with little has none.
        """
        return MEMORY_MIB * sum(int(leaf["numApplications"]) for leaf in self._leaves(queue))

    def share_over(self, seconds: float, seen: list[tuple[float, int, int]]) -> float:
        """The part of `prod` in what both were given in the last seconds; none before there are so many."""
        now_s = time.monotonic()
        seen.append((now_s, self.given_mib("prod"), self.given_mib("dev")))
        if now_s - seen[0][0] < seconds:
            return 0.0
        lately = [(prod, dev) for at_s, prod, dev in seen if at_s >= now_s - seconds]
        return sum(prod for prod, _ in lately) / max(1, sum(prod + dev for prod, dev in lately))

    def _leaves(self, queue: str) -> Iterator[dict[str, Any]]:
        for url in self.managers.values():
            root = self.http.get(f"{url}{BASE}/scheduler").json()["scheduler"]["schedulerInfo"]
            yield from (leaf for leaf in root["queues"]["queue"] if leaf["queueName"] == queue)

    def is_at(self, url: str, id_: str) -> bool:
        """Whether a ResourceManager knows an application."""
        return self.http.get(f"{url}{BASE}/apps/{id_}").status_code == 200

    def end_everything(self) -> None:
        for id_ in self.submitted:
            self.ask(f"{BASE}/apps/{id_}/state", "PUT", {"state": "KILLED"})
        until(lambda: all(self.app(id_)["state"] in ENDED for id_ in self.submitted), "ended")


@pytest.fixture
def shared(lab: Lab, tmp_path: Path) -> Iterator[Shared]:
    heddle = HeddleProcess(lab, tmp_path, more=POLICY)
    with heddle, httpx.Client(timeout=30, trust_env=False) as http:
        running = Shared(heddle, {id_: each.url for id_, each in lab.clusters.items()}, http)
        yield running
        running.end_everything()


@pytest.mark.main_promise
def test_two_queues_with_much_to_do_hold_3_to_1_over_both_clusters(shared: Shared) -> None:
    for number in range(160):
        shared.submit("dev" if number % 3 == 0 else "prod", 10)
    waiting = shared.app(shared.submitted[-1])
    assert waiting["state"] == "ACCEPTED"
    assert "Waits in Heddle for its queue's turn" in waiting["diagnostics"]
    until(lambda: shared.used_mib("prod") >= 4 * MEMORY_MIB, "the first wave has begun")
    seen: list[tuple[float, int, int]] = []
    until(lambda: abs(shared.share_over(25.0, seen) - 0.75) <= 0.05, "a share of 3 in 4 over 25 s", within_s=180)
    rows = {row["queue"]: row for row in shared.ask("/heddle/v1/shares").json()["queues"]}
    assert all(row["waiting"] for row in rows.values()), "somebody had all he wanted"


def test_what_waits_survives_a_kill_of_heddle_and_can_be_ended(shared: Shared) -> None:
    policy = {"text": '[[queue]]\nname = "root.prod"\nweight = 1\nmax_running = 2\n', "source": "limits.toml"}
    told = shared.ask("/heddle/v1/policy", "POST", policy, "root").json()
    assert told["version"] == 1
    first, second = (shared.submit("prod", 40) for _ in range(2))  # longer than it takes to end what waits
    third, fourth, fifth = (shared.submit("prod", 5) for _ in range(3))
    until(lambda: "runs its limit of 2 applications" in shared.app(fifth)["diagnostics"], "the reason is told")
    refused = shared.ask(f"{BASE}/apps/{fourth}/state", "PUT", {"state": "KILLED"}, "mallory")
    assert refused.status_code == 403
    ended = shared.ask(f"{BASE}/apps/{fourth}/state", "PUT", {"state": "KILLED"})
    assert (ended.status_code, ended.json()) == (200, {"state": "KILLED"})
    assert shared.ask(f"{BASE}/apps/{fifth}/state").json() == {"state": "ACCEPTED"}
    shared.heddle.kill()
    shared.heddle.start()
    assert shared.app(fourth)["state"] == "KILLED"
    assert shared.app(fifth)["state"] == "ACCEPTED"
    until(lambda: all(shared.app(id_)["state"] in ENDED for id_ in (first, second, third, fifth)), "all have run")
    homes = [name for name, url in shared.managers.items() for id_ in (third, fifth) if shared.is_at(url, id_)]
    assert len(homes) == 2, "each ran once"
    assert not any(shared.is_at(url, fourth) for url in shared.managers.values())


@pytest.mark.main_promise
def test_hadoops_own_client_sees_and_ends_what_waits(shared: Shared, lab: Lab, tmp_path: Path) -> None:
    shared.ask("/heddle/v1/policy", "POST", {"text": '[[queue]]\nname = "root.prod"\nmax_running = 1\n'}, "root")
    shared.submit("prod", 300)  # longer than two Java programs take to start on a busy machine
    waiting = shared.submit("prod", 5)
    client = StockClient(lab, tmp_path / "client", address=shared.heddle.client_rpc)
    printed = client.yarn("application", "-status", waiting, user="alice")
    assert "ACCEPTED" in printed
    assert "Waits in Heddle for its queue's turn" in printed, printed
    client.yarn("application", "-kill", waiting, user="alice")
    assert shared.app(waiting)["state"] == "KILLED"


NAMED = """
[[queue]]
name = "root.analytics"
weight = 2
names.east = "root.prod"
names.west = "root.dev"
[[queue]]
name = "root.porsche"
weight = 1
"""


def test_a_queue_of_other_names_is_shown_where_it_is_and_one_that_is_nowhere_is_told_of(shared: Shared) -> None:
    told = shared.ask("/heddle/v1/policy", "POST", {"text": NAMED}, "root").json()
    assert told["nowhere"] == ["root.porsche"]

    def held() -> dict[str, int]:
        printed = CliRunner().invoke(app, ["queue", "list", "-o", "json", "--server", shared.heddle.url]).stdout
        [row] = [row for row in json.loads(printed) if row["queue"] == "root.analytics"]
        return {part["cluster"]: part["used_mib"] for part in row["parts"]}

    assert held().keys() == {"east", "west"}
    shared.submit("analytics", 300)
    until(lambda: sum(held().values()) >= MEMORY_MIB, "what it holds is shown by cluster")
