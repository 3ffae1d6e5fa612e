"""An application with a reservation, submitted to Heddle, runs in it: at the ResourceManager that issued it."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from shim.lab import Lab
from shim.lab.distributed_shell import DistributedShell
from tests.e2e.conftest import HeddleThread, config_text
from tests.support.patient_posts import posted

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_BASE = "/ws/v1/cluster"
_ROOT = "yarn.scheduler.capacity.root"
WITH_PLANS = {
    "yarn-site.xml": {"yarn.resourcemanager.reservation-system.enable": "true"},
    "capacity-scheduler.xml": {
        f"{_ROOT}.queues": "default,prod,dev,plan",
        f"{_ROOT}.default.capacity": "20",
        f"{_ROOT}.prod.capacity": "10",
        f"{_ROOT}.dev.capacity": "10",
        f"{_ROOT}.plan.capacity": "60",
        f"{_ROOT}.plan.reservable": "true",
    },
}
_LASTS_MS, _DEADLINE_MS, _WITHIN_S = 90_000, 100_000, 240.0


@pytest.fixture
def planning_lab(fresh_lab: Callable[..., Lab]) -> Lab:
    return fresh_lab(clusters=2, nodes=1, overrides=WITH_PLANS)


@pytest.fixture
def rest(planning_lab: Lab, tmp_path: Path) -> Iterator[httpx.Client]:
    """Calls of alice to a Heddle in front of it."""
    with (
        HeddleThread(config_text(planning_lab, tmp_path)) as heddle,
        httpx.Client(base_url=heddle.url, params={"user.name": "alice"}, timeout=30.0) as client,
    ):
        yield client


def reserve(rest: httpx.Client, reservation: str, deadline_ms: int) -> None:
    """Reserve two small containers for most of the time, up to the deadline, through Heddle."""
    wanted = {
        "duration": _LASTS_MS,
        "num-containers": 2,
        "min-concurrency": 2,
        "capability": {"memory": 512, "vCores": 1},
    }
    definition = {
        "arrival": deadline_ms - _DEADLINE_MS,
        "deadline": deadline_ms,
        "reservation-name": "report",
        "reservation-requests": {"reservation-request-interpreter": 1, "reservation-request": [wanted]},
    }
    body = {"queue": "plan", "reservation-id": reservation, "reservation-definition": definition}
    answer = posted(rest, f"{_BASE}/reservation/submit", json=body)
    assert answer.status_code == 202, answer.text


def submit(rest: httpx.Client, lab: Lab, folder: Path, queue: str, **fields: object) -> str:
    id_ = str(rest.post(f"{_BASE}/apps/new-application").json()["application-id"])
    shell = DistributedShell("report", "sleep 1", 1, folder)
    shell.prepare()
    context = shell.context(id_, queue=queue, jars=lab.cluster("east").jars)
    answer = posted(rest, f"{_BASE}/apps", json={**context, **fields})
    assert answer.status_code == 202, answer.text
    return id_


def wait_for(is_so: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + _WITHIN_S
    while not is_so():
        assert time.monotonic() < ends, f"never: {what}"
        time.sleep(0.5)


def seen(rest: httpx.Client, id_: str) -> dict[str, Any]:
    found: dict[str, Any] = rest.get(f"{_BASE}/apps/{id_}").json()["app"]
    return found


def test_it_runs_where_it_was_reserved_and_by_the_deadline_of_that(
    rest: httpx.Client, planning_lab: Lab, tmp_path: Path
) -> None:
    west = planning_lab.cluster("west")
    made = httpx.post(
        f"{west.url}{_BASE}/reservation/new-reservation", params={"user.name": "alice"}, trust_env=False, timeout=30
    )
    reservation = str(made.json()["reservation-id"])
    deadline_ms = int(time.time() * 1000) + _DEADLINE_MS
    reserve(rest, reservation, deadline_ms)
    listed = rest.get(f"{_BASE}/reservation/list", params={"queue": "plan", "user.name": "alice"})
    assert reservation in listed.text

    wait_for(
        lambda: reservation in httpx.get(f"{west.url}{_BASE}/scheduler", trust_env=False, timeout=30).text,
        "it has begun",
    )
    id_ = submit(rest, planning_lab, tmp_path / "reserved", "root.plan", **{"reservation-id": reservation})
    free = submit(rest, planning_lab, tmp_path / "free", "default")
    why = rest.get(f"/heddle/v1/apps/{free}/why").json()
    assert all(each["score"] is not None for each in why["candidates"]), "without one it may run anywhere"
    why = rest.get(f"/heddle/v1/apps/{id_}/why").json()
    assert why["home"] == "west"
    reasons = {each["cluster"]: each["reason"] for each in why["candidates"]}
    assert reasons["east"] == "its reservation is at west"
    assert why["deadline"]["at_ms"] == deadline_ms // 1000 * 1000

    wait_for(lambda: seen(rest, id_)["state"] in ("FINISHED", "FAILED", "KILLED"), "it has ended")
    app = seen(rest, id_)
    assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"]
    instant = datetime.fromtimestamp(deadline_ms // 1000, UTC).strftime("%Y-%m-%dt%H:%M:%Sz").lower()
    assert app["applicationTags"] == f"heddle-deadline={instant}"
