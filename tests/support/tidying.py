"""Ends applications of a lab's clusters: what is left running there would keep the next ones waiting."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from shim.errors import LabError
from shim.lab.lifecycle import Lab

_APPS = "/ws/v1/cluster/apps"
_METRICS = "/ws/v1/cluster/metrics"
_LIVE = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_AT_ONCE = 8
_FREE_WITHIN_S = 10.0


def end_applications(lab: Lab, *, within_s: float = 60.0) -> None:
    """Kill every live application of a lab's clusters; return when none is left, nor their containers, as a rule.

    Raises:
        LabError: If some do not end within `within_s` on one cluster.
    """
    end_applications_at([cluster.url for cluster in lab.clusters.values()], lab.administrator, within_s=within_s)


def end_applications_at(urls: Sequence[str], user: str, *, within_s: float = 60.0) -> None:
    """The same for ResourceManagers by their web address (`http://host:port`), as a user who may kill there.

    Raises:
        LabError: As above.
    """
    limits = httpx.Limits(max_connections=_AT_ONCE)
    with httpx.Client(trust_env=False, timeout=30, limits=limits) as client, ThreadPoolExecutor(_AT_ONCE) as threads:
        for url in urls:
            deadline_s = time.monotonic() + within_s
            while live := _live(client, url, user):
                if time.monotonic() > deadline_s:
                    raise LabError(f"{url}: applications do not end within {within_s:g} s: {', '.join(live)}")
                list(threads.map(lambda state: client.put(state, json={"state": "KILLED"}), live))
                time.sleep(0.2)
            # a killed application's containers are taken off the nodes a moment later: room would be counted without
            deadline_s = time.monotonic() + _FREE_WITHIN_S
            while _holds_containers(client, url, user) and time.monotonic() < deadline_s:
                time.sleep(0.2)


def _holds_containers(client: httpx.Client, url: str, user: str) -> bool:
    told = client.get(f"{url}{_METRICS}", params={"user.name": user}).json()["clusterMetrics"]
    return bool(told["containersAllocated"])


def _live(client: httpx.Client, url: str, user: str) -> list[str]:
    """URL of the state of each live application."""
    query = {"states": _LIVE, "deSelects": "resourceRequests", "user.name": user}
    listed = client.get(f"{url}{_APPS}", params=query).json()["apps"] or {}
    return [f"{url}{_APPS}/{app['id']}/state?user.name={user}" for app in listed.get("app", [])]
