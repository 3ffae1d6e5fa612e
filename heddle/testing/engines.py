"""Command lines of engines for a federation, sized for its small nodes; `Federation.submit` and `run` take them.

The jars of Spark and Tez are the project's own: a folder that is among `Settings.folders`, so that containers have it.
"""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from heddle.testing.federation import JAVA_OPENS, Federation, set_properties

__all__ = ["hadoop_fs", "hadoop_jar", "spark_submit", "tez_program"]

_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_LOCAL_ADDRESS = ("spark.yarn.appMasterEnv.SPARK_LOCAL_IP", "spark.executorEnv.SPARK_LOCAL_IP")


def hadoop_jar(federation: Federation, jar: str | Path, *arguments: str) -> list[str]:
    """What `hadoop jar JAR ...` runs, such as a MapReduce job."""
    return federation.java("org.apache.hadoop.util.RunJar", str(jar), *arguments)


def hadoop_fs(federation: Federation, *arguments: str) -> list[str]:
    """What `hadoop fs ...` runs, such as `-put`, `-ls` and `-cat` of the clients' file system."""
    return federation.java("org.apache.hadoop.fs.FsShell", *arguments)


def spark_submit(
    federation: Federation, jars: Path, *arguments: str, settings: Mapping[str, str] | None = None
) -> list[str]:
    """What `spark-submit --master yarn ...` runs, its driver in the cluster.

    Args:
        federation: Where.
        jars: Folder of Spark's jars.
        arguments: `--class`, the program's jar, and its own.
        settings: Of Spark, before ours; `spark.submit.deployMode` may be `client` where nodes reach this machine.
    """
    ours = {
        "spark.submit.deployMode": "cluster",
        "spark.yarn.jars": f"local:{jars}/*",
        "spark.yarn.stagingDir": (federation.shared / "staging").as_uri(),
        "spark.yarn.maxAppAttempts": "1",
        "spark.driver.memory": "512m",
        "spark.driver.memoryOverhead": "128m",
        "spark.executor.memory": "512m",
        "spark.executor.memoryOverhead": "128m",
        "spark.executor.cores": "1",
        "spark.executor.instances": "1",
        "spark.yarn.am.memory": "256m",
        "spark.yarn.am.memoryOverhead": "128m",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": _JVM,
        "spark.executor.extraJavaOptions": _JVM,
    }
    if federation.node_address:
        ours |= dict.fromkeys(_LOCAL_ADDRESS, federation.node_address)
    options = chain.from_iterable(
        ("--conf", f"{name}={value}") for name, value in (ours | dict(settings or {})).items()
    )
    words = ("--master", "yarn", *options, *arguments)
    main_class = "org.apache.spark.deploy.SparkSubmit"
    # Spark brings the Hadoop that it was built with
    return federation.java(main_class, *words, class_path=[f"{jars}/*"], hadoop=False, memory_mib=512)


def tez_program(
    federation: Federation,
    jars: Path,
    main_class: str,
    *arguments: str,
    class_path: tuple[str | Path, ...] = (),
    settings: Mapping[str, str] | None = None,
) -> list[str]:
    """A Java program that runs DAGs of Tez.

    Args:
        federation: Where.
        jars: Folder of Tez's jars.
        main_class: The program.
        arguments: Its own.
        class_path: Where it lies, if not among the jars.
        settings: Of `tez-site.xml`, before ours.
    """
    java = f"{_JVM} {' '.join(JAVA_OPENS)}"
    conf = federation.shared / "conf" / "tez"
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "tez-site.xml").unlink(missing_ok=True)
    ours = {
        "tez.ignore.lib.uris": "true",
        "tez.cluster.additional.classpath.prefix": f"{jars}/*",
        "tez.use.cluster.hadoop-libs": "true",
        "tez.staging-dir": str(federation.shared / "staging" / "tez"),
        "tez.am.resource.memory.mb": "512",
        "tez.task.resource.memory.mb": "256",
        "tez.am.launch.cmd-opts": f"-Xmx320m {java}",
        "tez.task.launch.cmd-opts": f"-Xmx180m {java}",
        "tez.runtime.io.sort.mb": "16",
        "tez.runtime.unordered.output.buffer.size-mb": "8",
    }
    set_properties(conf / "tez-site.xml", ours | dict(settings or {}))
    return federation.java(main_class, *arguments, class_path=[*class_path, conf, f"{jars}/*"])
