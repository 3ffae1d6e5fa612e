"""Spark and Tez as their users configure them, sized for the nodes of a lab."""

import getpass
import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from heddle.testing.federation import JAVA_OPENS
from shim.lab import Lab
from shim.lab.java_options import QUICK_START
from shim.lab.shared_classes import in_containers
from tests.support.client_jars import spark_jars, tez_jars
from tests.support.stock_client import NO_LOGIN, Login, Server, StockClient

_SPARK_SUBMIT = "org.apache.spark.deploy.SparkSubmit"  # what the `spark-submit` script runs
_TEZ_EXAMPLES = "org.apache.tez.examples.ExampleDriver"
_TEZ_OPENS = " ".join(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang",
        "java.lang.reflect",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "java.io",
        "java.net",
        "java.nio",
    )
)
_SMALL_JVM = " ".join(QUICK_START)


_SPARK_LOCAL_ADDRESS = ("spark.yarn.appMasterEnv.SPARK_LOCAL_IP", "spark.executorEnv.SPARK_LOCAL_IP")


def _spark_settings(jars: Path, staging: Path, *, has_hosts: bool) -> Mapping[str, str]:
    """Spark with executors that come and go; what they shuffle is followed without a service on the nodes.

    Args:
        jars: Spark's, on every node at the same place.
        staging: Folder that client and nodes share.
        has_hosts: Whether nodes are on hosts of their own, where each knows its address.
    """
    local = {} if has_hosts else dict.fromkeys(_SPARK_LOCAL_ADDRESS, "127.0.0.1")
    return local | {
        "spark.yarn.jars": f"local:{jars}/*",
        "spark.yarn.stagingDir": staging.as_uri(),
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.driver.memory": "512m",
        "spark.driver.memoryOverhead": "128m",
        "spark.executor.memory": "512m",
        "spark.executor.memoryOverhead": "128m",
        "spark.executor.cores": "1",
        "spark.yarn.am.memory": "256m",
        "spark.yarn.am.memoryOverhead": "128m",
        "spark.yarn.maxAppAttempts": "1",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": _SMALL_JVM,
        "spark.executor.extraJavaOptions": _SMALL_JVM,
    }


def _tez_settings(jars: Path, hadoop_jars: Path, staging: Path) -> Mapping[str, str]:
    """`tez-site.xml` for Tez whose jars are on every node at the same place.

    Args:
        jars: Tez's.
        hadoop_jars: Hadoop's.
        staging: Folder of the submitting user's own.
    """
    java = " ".join((*QUICK_START, *in_containers(hadoop_jars)))
    return {
        "tez.ignore.lib.uris": "true",
        "tez.cluster.additional.classpath.prefix": f"{jars}/*",
        "tez.use.cluster.hadoop-libs": "true",
        "tez.staging-dir": str(staging),
        "tez.am.resource.memory.mb": "512",
        "tez.task.resource.memory.mb": "256",
        "tez.am.launch.cmd-opts": f"-Xmx320m {java} {_TEZ_OPENS}",
        "tez.task.launch.cmd-opts": f"-Xmx180m {java} {_TEZ_OPENS}",
        "tez.runtime.io.sort.mb": "16",
        "tez.runtime.unordered.output.buffer.size-mb": "8",
    }


class Spark:
    """A client with Spark's jars alone.

    Args:
        lab: Whose clusters.
        folder: For its configuration.
        heddle: What it takes for a ResourceManager.
        login: With what it logs in there.
    """

    def __init__(self, lab: Lab, folder: Path, heddle: Server, login: Login = NO_LOGIN) -> None:
        self._host, self._has_hosts = lab.host, lab.has_hosts
        environment = {"HADOOP_CONF_DIR": str(folder), "SPARK_LOCAL_IP": lab.host, **login.environment}
        options = ("-Xmx512m", *JAVA_OPENS, *login.options)
        self._client = StockClient(lab, folder, heddle, jars=spark_jars(), options=options, environment=environment)

    def submit(
        self,
        mode: str,
        program: Path,
        *arguments: str,
        staging: Path,
        more: Mapping[str, str] | None = None,
        class_path: str = "",
    ) -> str:
        """What `spark-submit` prints for a program, whose class has its jar's name.

        Args:
            mode: `client` or `cluster`.
            program: Its jar.
            arguments: Its own.
            staging: Folder that client and nodes share.
            more: Settings that go before ours.
            class_path: Further jars of a driver at the client.
        """
        settings = dict(_spark_settings(self._client.jars, staging, has_hosts=self._has_hosts)) | dict(more or {})
        if mode == "client":
            settings["spark.driver.host"] = self._host
        options = chain.from_iterable(("--conf", f"{name}={value}") for name, value in settings.items())
        where = ("--master", "yarn", "--deploy-mode", mode, "--class", program.stem)
        return self._client.run(_SPARK_SUBMIT, *where, *options, str(program), *arguments, class_path=class_path)

    @staticmethod
    def words(*texts: Path) -> Counter[str]:
        """What `SparkWordCount` shall count."""
        return Counter(word for text in texts for word in re.findall("[a-z]+", text.read_text("utf-8").lower()))

    @staticmethod
    def counted(folder: Path) -> dict[str, int]:
        """What it has counted."""
        return {word: int(count) for word, _, count in (line.partition("\t") for line in output_lines(folder))}


class Tez:
    """A client with Tez's jars beside Hadoop's, as the user who runs the tests: staging folders must be one's own.

    Args:
        lab: Whose clusters.
        folder: For its configuration and staging.
        heddle: What it takes for a ResourceManager.
        more: Settings of `tez-site.xml` that go before ours.
        login: With what it logs in there.

    Attributes:
        staging: Folder in which jobs leave their plans.
    """

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        heddle: Server,
        more: Mapping[str, str] | None = None,
        login: Login = NO_LOGIN,
    ) -> None:
        self._client = StockClient(lab, folder, heddle, options=login.options, environment=login.environment)
        self.staging = folder / "staging"
        (folder / "tez-site.xml").write_text("<configuration></configuration>")
        settings = dict(_tez_settings(tez_jars(), self._client.jars, self.staging)) | dict(more or {})
        self._client.set("tez-site.xml", settings)

    def run(self, example: str, *arguments: object) -> str:
        """What one of Tez's examples prints."""
        words = [str(argument) for argument in arguments]
        return self._client.run(_TEZ_EXAMPLES, example, *words, user=getpass.getuser(), class_path=f"{tez_jars()}/*")

    def run_program(self, program: Path, name: str, *arguments: str) -> str:
        """What a program prints that runs DAGs of its own.

        Args:
            program: Its jar.
            name: Of its class.
            arguments: Its own.
        """
        path = f"{program}:{tez_jars()}/*"
        return self._client.run(name, *arguments, user=getpass.getuser(), class_path=path)

    @staticmethod
    def words(*texts: Path) -> Counter[str]:
        """What its word counts shall count."""
        pieces = (re.split(r"[ \t\n\r\f]+", text.read_text("utf-8")) for text in texts)
        return Counter(word for each in pieces for word in each if word)


def output_lines(folder: Path) -> list[str]:
    """The lines of a job's output, in the order of its parts."""
    return [line for part in sorted(folder.glob("part-*")) for line in part.read_text().splitlines()]
