"""Spark and Tez as their users configure them, sized for the nodes of a lab."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["SPARK_OPENS", "SPARK_SUBMIT", "TEZ_EXAMPLES", "spark_settings", "tez_settings"]

SPARK_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
"""What the `spark-submit` script runs."""

TEZ_EXAMPLES = "org.apache.tez.examples.ExampleDriver"

SPARK_OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.io",
        "java.net",
        "java.nio",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "sun.nio.ch",
        "sun.nio.cs",
        "sun.security.action",
        "sun.util.calendar",
    )
)
"""What Spark's own launcher opens of Java 17."""

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
_SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def spark_settings(jars: Path, staging: Path) -> Mapping[str, str]:
    """Spark with executors that come and go; what they shuffle is followed without a service on the nodes.

    Args:
        jars: Spark's, on every node at the same place.
        staging: Folder that client and nodes share.
    """
    loopback = "127.0.0.1"
    return {
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
        "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": loopback,
        "spark.executorEnv.SPARK_LOCAL_IP": loopback,
    }


def tez_settings(jars: Path, staging: Path) -> Mapping[str, str]:
    """`tez-site.xml` for Tez whose jars are on every node at the same place.

    Args:
        jars: Tez's, beside Hadoop's.
        staging: Folder of the submitting user's own.
    """
    return {
        "tez.ignore.lib.uris": "true",
        "tez.cluster.additional.classpath.prefix": f"{jars}/*",
        "tez.use.cluster.hadoop-libs": "true",
        "tez.staging-dir": str(staging),
        "tez.am.resource.memory.mb": "512",
        "tez.task.resource.memory.mb": "256",
        "tez.am.launch.cmd-opts": f"-Xmx320m {_SMALL_JVM} {_TEZ_OPENS}",
        "tez.task.launch.cmd-opts": f"-Xmx180m {_SMALL_JVM} {_TEZ_OPENS}",
        "tez.runtime.io.sort.mb": "16",
        "tez.runtime.unordered.output.buffer.size-mb": "8",
    }
