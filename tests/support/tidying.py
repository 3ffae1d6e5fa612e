"""Ends what tests leave on clusters that they share: it would keep the next tests' applications waiting."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from shim.lab import Lab

__all__ = ["end_applications"]

_APPS = "/ws/v1/cluster/apps"
_LIVE = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_WITHIN_S = 60.0
_AT_ONCE = 8


def end_applications(lab: Lab) -> None:
    """Kill every live application of a lab's clusters, and return when none is left."""
    limits = httpx.Limits(max_connections=_AT_ONCE)
    with httpx.Client(trust_env=False, timeout=30, limits=limits) as client, ThreadPoolExecutor(_AT_ONCE) as threads:
        for cluster in lab.clusters.values():
            deadline = time.monotonic() + _WITHIN_S
            while live := _live(client, cluster.url):
                assert time.monotonic() < deadline, f"{cluster.id}: {live} do not end"
                list(threads.map(lambda url: client.put(url, json={"state": "KILLED"}), live))
                time.sleep(0.2)


def _live(client: httpx.Client, url: str) -> list[str]:
    """Where the state of each live application is set."""
    query = {"states": _LIVE, "deSelects": "resourceRequests", "user.name": "root"}
    listed = client.get(f"{url}{_APPS}", params=query).json()["apps"] or {}
    return [f"{url}{_APPS}/{app['id']}/state?user.name=root" for app in listed.get("app", [])]
