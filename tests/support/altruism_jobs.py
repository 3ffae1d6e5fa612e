"""Jobs of several stages whose tasks sleep, as real Tez DAGs and MapReduce jobs, in a queue that may be altruistic."""

import getpass
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from shim.lab import Lab
from tests.support.client_jars import compile_program, spark_jars, tez_jars
from tests.support.engines import Spark, Tez
from tests.support.heddle_process import HeddleProcess
from tests.support.stock_client import StockClient

SHOWN_S = 0.1
"""Less that a job gave is shown as nothing."""

_LEAF = "yarn.scheduler.capacity.root.dev"
FAIR_LEAF: Mapping[str, str] = {
    f"{_LEAF}.ordering-policy": "fair",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.6",
    f"{_LEAF}.user-limit-factor": "10",
    f"{_LEAF}.maximum-capacity": "100",
}
"""Of `capacity-scheduler.xml`: jobs of the leaf queue share it by what each holds, and one user may have all of it."""

_POLICY = """
[shares]
interval_s = 0.5
[tez]
staging = {staging}
[spark]
event_logs = ["{folder}/spark/events"]
[[queue]]
name = "root.dev"
span = {span}
altruism = {altruism}
altruism_order = "{order}"
"""
_TEZ = {
    "tez.queue.name": "dev",
    # a vertex begins when those that it waits for have ended, as plans have it
    "tez.shuffle-vertex-manager.min-src-fraction": "1.0",
    "tez.shuffle-vertex-manager.max-src-fraction": "1.0",
}
_MAPREDUCE = {
    "mapreduce.job.queuename": "dev",
    "yarn.app.mapreduce.am.resource.mb": "512",
    "mapreduce.map.memory.mb": "256",
    "mapreduce.reduce.memory.mb": "256",
}
_SPARK = {
    "spark.yarn.queue": "dev",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.eventLog.enabled": "true",
    "spark.dynamicAllocation.maxExecutors": "6",
    "spark.executor.cores": "1",
    "spark.executor.memoryOverhead": "256m",
}


def policy_of(folder: Path, *others: Path, altruism: float, span: bool, order: str = "srtf") -> str:
    """The lines of a Heddle's configuration for `AltruismJobs` in the same folder, and in others but for Spark's."""
    staging = json.dumps([str(each / "tez" / "staging") for each in (folder, *others)])
    return _POLICY.format(folder=folder, staging=staging, altruism=altruism, span=str(span).lower(), order=order)


def kept_s(heddle: HeddleProcess) -> float:
    """Seconds that all jobs gave, as its store has them."""
    with closing(sqlite3.connect(heddle.store)) as store:
        return float(store.execute("SELECT coalesce(sum(given_s), 0) FROM altruism_credits").fetchone()[0])


@dataclass(frozen=True, slots=True)
class SleepingDag:
    """A DAG of `SleepingDag.java`.

    Attributes:
        name: Of the job; a number in it does not tell runs apart.
        stages: Tasks and milliseconds by vertex.
        needs: Vertices that each waits for.
    """

    name: str
    stages: Mapping[str, tuple[int, int]]
    needs: Mapping[str, tuple[str, ...]]

    def arguments(self, name: str) -> list[str]:
        """Of the program."""
        vertices = (f"{stage}:{tasks}:{sleep_ms}" for stage, (tasks, sleep_ms) in self.stages.items())
        edges = (f"{source}-{stage}" for stage, sources in self.needs.items() for source in sources)
        return [name, ",".join(vertices), ",".join(edges)]


class AltruismJobs:
    """A client of a Heddle that runs such jobs.

    Args:
        lab: Whose clusters.
        folder: For its configuration and staging; the one that `policy_of` was told.
        heddle: What it takes for a ResourceManager.
        more: Settings of Tez that go before ours.
    """

    def __init__(
        self, lab: Lab, folder: Path, heddle: HeddleProcess, more: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._heddle = heddle
        self._of_tez = {**_TEZ, **more}
        self._tez = Tez(lab, folder / "tez", heddle, more=self._of_tez)
        self._mapreduce = StockClient(
            lab,
            folder / "mapreduce",
            address=heddle.client_rpc,
            scheduler_address=heddle.scheduler_rpc,
            webapp_address=heddle.rest,
        )
        self._texts = folder / "texts"
        self._folder = folder
        programs = folder / "programs"
        programs.mkdir()
        hadoop = next(iter(lab.clusters.values())).jars
        self._program = compile_program("SleepingDag", [tez_jars(), hadoop], programs)
        self._spark: tuple[Spark, Path] | None = None
        self._session: Path | None = None
        self._lab = lab

    def dag(self, dag: SleepingDag, name: str) -> None:
        """Run a DAG; it has to end well."""
        self._tez.run_program(self._program, "SleepingDag", *dag.arguments(name))

    def session(self, name: str, *dags: SleepingDag, done: Path | None = None, gate: Path | None = None) -> str:
        """Run DAGs one after the other in one session; give what its client prints.

        Args:
            name: Of the session.
            *dags: All have to end well; their names have to differ.
            done: Folder in which each task leaves a file, DAG.STAGE.TASK.ATTEMPT; one that nobody looks at otherwise.
            gate: A file without which the last of them does not begin.
        """
        done = done or self._folder / f"done-{name}"
        done.mkdir(exist_ok=True)
        program = self._session = self._session or self._made_session()
        # tasks run a class of the program's
        settings = {"tez.cluster.additional.classpath.prefix": f"{program}:{tez_jars()}/*"}
        words = (word for dag in dags for word in dag.arguments(dag.name))
        tez = Tez(self._lab, self._folder / "tez", self._heddle, more={**self._of_tez, **settings})
        return tez.run_program(program, "TezSession", name, str(done), str(gate or done), *words)

    def _made_session(self) -> Path:
        own = self._folder / "session"
        own.mkdir()
        hadoop = next(iter(self._lab.clusters.values())).jars
        return compile_program("TezSession", [tez_jars(), hadoop], own)

    def join_in_spark(
        self,
        name: str,
        jobs: int,
        long_ms: int,
        tasks: int,
        short_ms: int,
        *,
        gate: Path | None = None,
        executors: int = 1,
    ) -> None:
        """Run jobs of `SleepingSpark` one after the other in one driver on the cluster; it has to end well.

        Args:
            name: Of the application.
            jobs: How many, each a task of `long_ms` joined with `tasks` of `short_ms`.
            long_ms, tasks, short_ms: See there.
            gate: A file without which the driver does not begin the first of them.
            executors: That it begins with.
        """
        spark, program = self._spark = self._spark or self._made_spark()
        hadoop = next(iter(self._lab.clusters.values())).jars
        (web_proxy,) = hadoop.glob("hadoop-yarn-server-web-proxy-*.jar")  # what Spark's own distribution has, too
        settings = _SPARK | {
            "spark.dynamicAllocation.initialExecutors": str(executors),
            "spark.app.name": name,  # what the driver calls itself comes too late for YARN
            "spark.eventLog.dir": (self._folder / "spark" / "events").as_uri(),
            "spark.driver.extraClassPath": str(web_proxy),
        }
        words = (name, *map(str, (jobs, long_ms, tasks, short_ms)), *([] if gate is None else [str(gate)]))
        spark.submit("cluster", program, *words, staging=self._folder / "spark", more=settings)

    def _made_spark(self) -> tuple[Spark, Path]:
        own = self._folder / "spark"
        (own / "events").mkdir(parents=True)
        (own / "programs").mkdir()
        program = compile_program("SleepingSpark", [spark_jars()], own / "programs")
        return Spark(self._lab, own, self._heddle), program

    def word_count(self, name: str, maps: int, reduces: int) -> None:
        """Run Hadoop's own word count over small files; it has to end well."""
        texts = self._texts / str(maps)
        if not texts.exists():
            texts.mkdir(parents=True)
            for number in range(maps):
                (texts / f"text-{number}").write_text(f"a few words of text {number}\n" * 100)
        settings = _MAPREDUCE | {"mapreduce.job.reduces": str(reduces)}
        options = [f"-D{key}={value}" for key, value in settings.items()]
        jar = self._mapreduce.jar("hadoop-mapreduce-examples")
        out = self._folder / f"out-{name}"
        words = ("wordcount", *options, str(texts), str(out))
        done = self._mapreduce.try_run("org.apache.hadoop.util.RunJar", jar, *words, user=getpass.getuser())
        # a client that asks after its master has gone needs a history server: the output tells how the job ended
        assert (out / "_SUCCESS").exists(), done.stdout

    @contextmanager
    def asking(self) -> Iterator[httpx.Client]:
        """Heddle's web services, as the user whose jobs these are."""
        user = {"user.name": getpass.getuser()}
        with httpx.Client(base_url=self._heddle.url, params=user, timeout=30, trust_env=False) as http:
            yield http

    def held(self, http: httpx.Client) -> dict[str, int]:
        """MiB that each job holds that has not ended, by id."""
        return {app["id"]: max(0, app["allocatedMB"]) for app in _unfinished(http)}

    def holds(self, http: httpx.Client, name: str) -> int:
        """MiB of the job of this name; nothing if it has ended."""
        return sum(max(0, app["allocatedMB"]) for app in _unfinished(http) if app["name"] == name)

    def credits(self, http: httpx.Client) -> tuple[float, float]:
        """Seconds of the queue's whole share that its jobs gave and received so far."""
        queues = http.get("/heddle/v1/shares").json()["queues"]
        rows = [row for row in queues if row["queue"] == "root.dev"]
        return sum(row.get("given_s", 0.0) for row in rows), sum(row.get("received_s", 0.0) for row in rows)

    def told_of_altruism(self, http: httpx.Client) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name of each job that has not ended, and what `heddle app why` tells of its altruism."""
        for app in http.get("/heddle/v1/apps", params={"states": "RUNNING,ACCEPTED"}).json()["apps"]:
            why = http.get(f"/heddle/v1/apps/{app['id']}/why").json()
            if "altruism" in why:
                yield app["name"], why["altruism"]


def _unfinished(http: httpx.Client) -> list[dict[str, Any]]:
    """Applications that have not ended, as a ResourceManager shows them."""
    apps = http.get("/ws/v1/cluster/apps", params={"states": "RUNNING,ACCEPTED"}).json()["apps"] or {}
    return list(apps.get("app", ()))
