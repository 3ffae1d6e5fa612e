"""Queues with more work than there is room: DistributedShell and MapReduce, as their users run them."""

import getpass
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from shim.lab import Lab
from shim.lab.distributed_shell import DistributedShell
from tests.support.patient_posts import posted
from tests.support.stock_client import StockClient

_BASE = "/ws/v1/cluster"
_ACCEPTED = 202
_MAPS_MAIN = "SleepingMaps"

Held = dict[str, dict[str, int]]
"""MiB by queue, and in it by cluster."""


@dataclass(slots=True)
class Backlogs:
    """Submits jobs to one address: Heddle's, or a ResourceManager's.

    Attributes:
        url: Where web services are.
        client: A client of the same address; its configuration is the ApplicationMasters' too.
        program: The jar of `SleepingMaps`.
        container_mib: Memory of every container, masters included.
        submitted: Ids, in order.
    """

    url: str
    client: StockClient
    program: Path
    container_mib: int = 256
    submitted: list[str] = field(default_factory=list)

    def shells(self, queue: str, count: int, *, containers: int, seconds: float, gate: Path | None = None) -> None:
        """DistributedShell jobs of one master and some containers that sleep, once there is a file if one is named."""
        user = getpass.getuser()
        waits = "" if gate is None else f"until [ -e {gate} ]; do sleep 0.5; done; "
        command = f"{waits}sleep {seconds:g}"
        shell = DistributedShell(
            f"shell of {queue}",
            command,
            containers,
            self.client.folder / "shell",
            master_mib=self.container_mib,
            container_mib=self.container_mib,
        )
        shell.prepare()
        with httpx.Client(trust_env=False, timeout=30, params={"user.name": user}) as http:
            for _ in range(count):
                id_ = str(posted(http, f"{self.url}{_BASE}/apps/new-application").json()["application-id"])
                context = shell.context(id_, queue=queue, jars=self.client.jars, conf=str(self.client.folder))
                answer = posted(http, f"{self.url}{_BASE}/apps", json=context)
                assert answer.status_code == _ACCEPTED, answer.text
                self.submitted.append(id_)

    def maps(self, queue: str, count: int, *, maps: int, seconds: float, gate: Path | None = None) -> None:
        """MapReduce jobs whose maps sleep, likewise, by one run of Hadoop's client."""
        settings = {
            "mapreduce.job.queuename": queue,
            "yarn.app.mapreduce.am.resource.mb": self.container_mib,
            "mapreduce.map.memory.mb": self.container_mib,
        } | ({} if gate is None else {"sleeping.from": gate})
        options = [f"-D{name}={value}" for name, value in settings.items()]
        words = (_MAPS_MAIN, *options, str(count), str(maps), f"{seconds:g}")
        printed = self.client.run(*words, user=getpass.getuser(), class_path=str(self.program))
        found = [f"application_{job}" for job in re.findall(r"submitted job_(\d+_\d+)", printed)]
        assert len(found) == count, printed
        self.submitted += found


def held_by_queues(http: httpx.Client, lab: Lab, queues: Sequence[str]) -> Held:
    """What queues hold now, by the ResourceManagers' own words."""
    held: Held = {queue: {} for queue in queues}
    for id_, cluster in lab.clusters.items():
        root = http.get(f"{cluster.url}{_BASE}/scheduler").json()["scheduler"]["schedulerInfo"]
        for leaf in root["queues"]["queue"]:
            if leaf["queueName"] in held:
                held[leaf["queueName"]][id_] = leaf["resourcesUsed"]["memory"]
    return held
