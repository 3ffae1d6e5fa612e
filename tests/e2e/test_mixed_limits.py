"""Two real clusters that grant unlike containers: homes are chosen, and clients told, by what each really gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from shim.lab.spec import ClusterSpec, LabSpec
from tests.support.heddle_process import HeddleProcess, until
from tests.support.tidying import end_applications

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

BASE = "/ws/v1/cluster"
ROOT = "yarn.scheduler.capacity.root"
WEST = {
    "capacity-scheduler.xml": {
        f"{ROOT}.dev.maximum-allocation-mb": "512",
        f"{ROOT}.default.capacity": "70",
        f"{ROOT}.prod.capacity": "10",
        f"{ROOT}.prod.maximum-capacity": "10",
    },
    "yarn-site.xml": {"yarn.scheduler.maximum-allocation-mb": "1024"},
}
ROLES = """
[security.roles]
users = ["*"]
administrators = ["root"]
"""
POLICY = """
[[queue]]
name = "root.prod"
containers_up_to = 2048
[[mapping]]
user = "etl"
queue = "root.prod"
"""


class Mixed:
    """A Heddle, and both of its ResourceManagers asked directly."""

    def __init__(self, heddle: HeddleProcess, lab: Lab, http: httpx.Client) -> None:
        self.heddle = heddle
        self.managers = {id_: each.url for id_, each in lab.clusters.items()}
        self.http = http

    def ask(
        self, path: str, method: str = "GET", body: object = None, user: str = "alice", **query: str
    ) -> httpx.Response:
        self.http.cookies.clear()  # a login goes before `user.name`
        return self.http.request(method, f"{self.heddle.url}{path}", json=body, params={"user.name": user, **query})

    def largest_mib(self, user: str) -> int:
        answer = self.ask(f"{BASE}/apps/new-application", "POST", user=user)
        return int(answer.json()["maximum-resource-capability"]["memory"])

    def submit(self, queue: str, memory_mib: int, *, seconds: int = 0) -> tuple[str, int]:
        """An ApplicationMaster that sleeps and never registers."""
        id_ = str(self.ask(f"{BASE}/apps/new-application", "POST").json()["application-id"])
        context = {
            "application-id": id_,
            "application-name": "mixed",
            "queue": queue,
            "max-app-attempts": 1,
            "am-container-spec": {"commands": {"command": f"sleep {seconds}"}},
            "resource": {"memory": memory_mib, "vCores": 1},
        }
        return id_, self.ask(f"{BASE}/apps", "POST", context).status_code

    def homes(self, id_: str) -> list[str]:
        return [name for name, url in self.managers.items() if self.http.get(f"{url}{BASE}/apps/{id_}").is_success]

    def at(self, cluster: str, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"{self.managers[cluster]}{BASE}/apps/{id_}").json()["app"]
        return found

    def why(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(f"/heddle/v1/apps/{id_}/why").json()
        return found

    def admit(self, cluster: str, verb: str) -> None:
        assert self.ask(f"/heddle/v1/clusters/{cluster}/{verb}", "POST", user="root").is_success


ALL_AT_ONCE = "[scheduling]\nautomatic = false\n"
"""Where an application goes is tried here, not when."""


@pytest.fixture(scope="module")
def mixed_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("mixed-lab")) as lab:
        lab.up(LabSpec((ClusterSpec("east", nodes=1), ClusterSpec("west", nodes=1, overrides=WEST))))
        yield lab


@contextmanager
def heddle_over(lab: Lab, folder: Path, policy: str = "") -> Iterator[Mixed]:
    heddle = HeddleProcess(lab, folder, more=f"{ROLES}\n{ALL_AT_ONCE}{policy}")
    with heddle, httpx.Client(timeout=30, trust_env=False) as http:
        yield Mixed(heddle, lab, http)
    end_applications(lab)


@pytest.fixture
def mixed(mixed_lab: Lab, tmp_path: Path) -> Iterator[Mixed]:
    with heddle_over(mixed_lab, tmp_path) as made:
        yield made


def test_no_application_goes_where_its_queue_cannot_run_it(mixed: Mixed) -> None:
    submitted = [mixed.submit(queue, 768) for queue in ("root.dev", "root.prod") for _ in range(6)]
    assert [(status, mixed.homes(id_)) for id_, status in submitted] == [(202, ["east"])] * 12
    told = {each["cluster"]: each["reason"] for each in mixed.why(submitted[-1][0])["candidates"]}
    assert "that queue root.prod may hold at most" in told["west"]


def test_what_no_cluster_gives_is_refused_once_and_what_one_away_gives_is_not(mixed: Mixed) -> None:
    assert mixed.submit("root.dev", 100_000)[1] == 400
    mixed.admit("east", "cordon")
    assert mixed.submit("root.dev", 768)[1] == 503, "east would run it"
    mixed.admit("east", "undrain")


def test_clients_are_told_what_every_cluster_of_their_queue_grants(mixed_lab: Lab, tmp_path: Path) -> None:
    with heddle_over(mixed_lab, tmp_path, POLICY) as mixed:
        assert mixed.largest_mib("alice") == 1024
        assert mixed.largest_mib("etl") == 4096, "root.prod says that it asks for up to 2048, and east grants 4096"
        messages = [each["message"] for each in mixed.ask("/heddle/v1/doctor", user="root").json()["findings"]]
        assert any("the largest container differs: east 4096 MiB" in message for message in messages)


def test_one_that_waits_says_why_and_is_moved_on_demand(mixed: Mixed) -> None:
    mixed.admit("east", "cordon")
    holders = [mixed.submit("root.default", 512, seconds=600)[0] for _ in range(4)]
    until(lambda: all("amContainerLogs" in mixed.at("west", id_) for id_ in holders), "the node is full")
    waiting, status = mixed.submit("root.default", 512)
    assert (status, mixed.homes(waiting)) == (202, ["west"])
    until(lambda: "1 core wanted, 0 of 4 free" in mixed.why(waiting).get("waits", ""), "it says for what it waits")
    assert mixed.why(waiting)["waits"].startswith("waits at west since ")
    refused = mixed.ask(f"/heddle/v1/apps/{waiting}/rehome", "POST", user="mallory")
    assert refused.status_code == 403
    begun = mixed.ask(f"/heddle/v1/apps/{holders[0]}/rehome", "POST")
    assert begun.status_code == 409
    mixed.admit("east", "undrain")
    until(lambda: mixed.ask(f"/heddle/v1/apps/{waiting}/rehome", "POST", dry_run="true").is_success, "east takes it")
    assert mixed.homes(waiting) == ["west"]
    told = mixed.ask(f"/heddle/v1/apps/{waiting}/rehome", "POST").json()
    assert (told["was"], told["home"], told["done"]) == ("west", "east", True)
    assert mixed.at("west", waiting)["state"] == "KILLED"
    until(lambda: "amContainerLogs" in mixed.at("east", waiting), "it starts there")
    until(lambda: mixed.ask(f"{BASE}/apps/{waiting}").json()["app"]["state"] == "FAILED", "as its own end says")
