"""MapReduce jobs whose maps end when a test says so, and what Heddle and the clusters tell of them."""

import getpass
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from shim.lab import Lab
from tests.support.client_jars import compile_program
from tests.support.engines import output_lines
from tests.support.heddle_process import HeddleProcess, until
from tests.support.stock_client import StockClient

_ENDED = ("FINISHED", "FAILED", "KILLED")
_WITHIN_S = 180.0


@dataclass(frozen=True, slots=True)
class GatedJob:
    """A job of `GatedMaps` that was submitted.

    Attributes:
        folder: With its gates and its output.
        n_maps: How many lines it has to write.
        id: Of the application.
    """

    lab: Lab
    heddle: HeddleProcess
    folder: Path
    n_maps: int
    id: str

    @property
    def began(self) -> set[str]:
        """Maps that run, or have run."""
        return {file.name.removeprefix("began-") for file in (self.folder / "gates").glob("began-*")}

    @property
    def running(self) -> set[str]:
        """Maps that run, and were not told to end."""
        return self.began - {file.name.removeprefix("end-") for file in (self.folder / "gates").glob("end-*")}

    def end(self, count: int = 1) -> None:
        """Let so many maps end that run."""
        running = sorted(self.running)
        assert len(running) >= count, f"of {count} maps only {running} run"
        for line in running[:count]:
            (self.folder / "gates" / f"end-{line}").touch()

    def end_all(self) -> None:
        """Let every map end, now and later."""
        (self.folder / "gates" / "end-all").touch()

    def why(self) -> dict[str, Any]:
        """What `heddle app why` is told."""
        found: dict[str, Any] = self._ask(f"{self.heddle.url}/heddle/v1/apps/{self.id}/why")
        return found

    def altruism(self) -> dict[str, Any]:
        """Of that, what it tells of altruism; nothing where Heddle does not read its calls as yet."""
        found: dict[str, Any] = self.why().get("altruism") or {}
        return found

    def put_off(self) -> int:
        """How many containers it puts off."""
        return sum(row["containers"] for row in self.altruism().get("puts_off", ()))

    def holds(self) -> Mapping[str, int]:
        """Containers that it has by the ResourceManagers' own words, those of ApplicationMasters too, by cluster."""
        apps = self._apps(tuple(self.lab.clusters))
        return {cluster: max(0, int(app["runningContainers"])) for cluster, app in apps.items()}

    def asks(self, unit_mib: int, *clusters: str) -> int:
        """Containers that clusters were asked for by it and have not granted.

        Args:
            unit_mib: Memory of each.
            clusters: Which; all if none is named.
        """
        apps = self._apps(clusters or tuple(self.lab.clusters))
        rows = [row for app in apps.values() for row in app["resourceInfo"]["resourceUsagesByPartition"]]
        return sum(int(row["pending"]["memory"]) for row in rows) // unit_mib

    def home(self) -> str:
        """The cluster of its own ApplicationMaster."""
        apps = self._apps(tuple(self.lab.clusters))
        return next(cluster for cluster, app in apps.items() if not app["unmanagedApplication"])

    def containers(self) -> set[str]:
        """Every container that a node ran for it."""
        return {
            folder.name
            for cluster in self.lab.clusters.values()
            for folder in cluster.folder.glob(f"*/containers/{self.id}/container_*")
        }

    def attempts(self) -> int:
        """How many ApplicationMasters it had."""
        home = self.lab.cluster(self.home()).url
        return len(self._ask(f"{home}/ws/v1/cluster/apps/{self.id}/appattempts")["appAttempts"]["appAttempt"])

    def told(self) -> str:
        """All that is known of it, for whoever reads of a test that failed."""
        keys = ("state", "finalStatus", "runningContainers", "allocatedMB", "resourceRequests", "diagnostics")
        apps = self._apps(tuple(self.lab.clusters))
        seen = {cluster: {key: app.get(key) for key in keys} for cluster, app in apps.items()}
        why = self.why()
        acts = [(act["done"], act["container"], act["reason"]) for act in why["preemption"]]
        ran = sorted(self.containers())
        parts = {"ran": ran, "its maps": self.running, "clusters": seen, "altruism": why.get("altruism"), "acts": acts}
        return "\n".join((self.id, *(f"  {name}: {part}" for name, part in parts.items())))

    def ends_well(self) -> None:
        """Wait for its end; every line has to be in its output, once."""
        app: dict[str, Any] = {}

        def is_over() -> bool:
            app.update(self._ask(f"{self.heddle.url}/ws/v1/cluster/apps/{self.id}")["app"])
            return app["state"] in _ENDED

        until(is_over, f"{self.id} is over", within_s=_WITHIN_S)
        assert app["finalStatus"] == "SUCCEEDED", app["diagnostics"]
        written = Counter(output_lines(self.folder / "out"))
        assert written == Counter(f"{line}\t1" for line in range(self.n_maps))
        # its master still says goodbye: without Heddle it would try again for minutes, in a place that others need
        until(lambda: not any(self.holds().values()), f"{self.id} holds nothing any more")

    def _apps(self, clusters: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """What clusters say of it, of those that know it."""
        found: dict[str, Mapping[str, Any]] = {}
        for name in clusters:
            url = f"{self.lab.cluster(name).url}/ws/v1/cluster/apps/{self.id}"
            answer = httpx.get(url, trust_env=False, timeout=30)
            if answer.is_success:
                found[name] = answer.json()["app"]
        return found

    @staticmethod
    def _ask(url: str) -> Any:
        user = {"user.name": getpass.getuser()}
        answer = httpx.get(url, params=user, trust_env=False, timeout=30)
        assert answer.is_success, answer.text
        return answer.json()


class GatedClient:
    """A client of a Heddle that submits such jobs.

    Args:
        lab: Whose clusters.
        folder: For its configuration, and each job's files.
        heddle: What it takes for a ResourceManager.
        unit_mib: Memory of every container, masters included.

    Attributes:
        submitted: Its jobs, in this order.
    """

    def __init__(self, lab: Lab, folder: Path, heddle: HeddleProcess, unit_mib: int) -> None:
        self.submitted: list[GatedJob] = []
        self._lab, self._heddle, self._folder = lab, heddle, folder
        self._client = StockClient(lab, folder / "client", heddle)
        self._program = compile_program("GatedMaps", [self._client.jars], folder)
        self._settings = {
            "yarn.app.mapreduce.am.resource.mb": unit_mib,
            "mapreduce.map.memory.mb": unit_mib,
            "mapreduce.reduce.memory.mb": unit_mib,
            "mapreduce.am.max-attempts": 2,
        }

    def submit(self, name: str, maps: int, reduces: int, *, slow_start: float, queue: str = "dev") -> GatedJob:
        """Submit a job.

        Args:
            name: Of it, and of its folder.
            maps: How many.
            reduces: How many.
            slow_start: Part of its maps that have to have ended when it asks for reduces.
            queue: Leaf queue that it runs in.
        """
        own = self._folder / name
        (own / "gates").mkdir(parents=True)
        lines = own / "lines"
        lines.write_text("".join(f"{line}\n" for line in range(maps)))
        own_settings = {"mapreduce.job.queuename": queue, "mapreduce.job.reduce.slowstart.completedmaps": slow_start}
        settings = self._settings | own_settings
        options = [f"-D{key}={value}" for key, value in settings.items()]
        words = ("GatedMaps", *options, name, str(lines), str(own / "gates"), str(own / "out"), str(reduces))
        printed = self._client.run(*words, user=getpass.getuser(), class_path=str(self._program))
        found = re.search(r"submitted job_(\d+_\d+)", printed)
        assert found is not None, printed
        job = GatedJob(self._lab, self._heddle, own, maps, f"application_{found[1]}")
        self.submitted.append(job)
        return job
