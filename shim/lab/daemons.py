"""Start of a lab's daemons: one `java` command each."""

import os
from dataclasses import dataclass
from pathlib import Path

from shim.lab.java_options import JAVA_OPENS, QUICK_START
from shim.lab.processes import MARKER
from shim.lab.secured_conf import CONTAINER_VARIABLE
from shim.lab.shared_classes import class_path, sharing
from shim.lab.spec import Tuning

RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
KEY_CENTRE = "krb5kdc"
"""Stands for the class of the one daemon that is not Java's."""
RM_ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
FS_SHELL = "org.apache.hadoop.fs.FsShell"

_OPTIONS = {
    Tuning.BOOT: (*QUICK_START, "-Xshare:auto", "-XX:ReservedCodeCacheSize=64m"),
    Tuning.THROUGHPUT: ("-XX:+UseParallelGC",),
}
_HEAP = {
    RESOURCE_MANAGER: {Tuning.BOOT: "-Xmx384m", Tuning.THROUGHPUT: "-Xmx1g"},
    NODE_MANAGER: {Tuning.BOOT: "-Xmx160m", Tuning.THROUGHPUT: "-Xmx256m"},
    RM_ADMIN: {Tuning.BOOT: "-Xmx64m", Tuning.THROUGHPUT: "-Xmx64m"},
    NAME_NODE: {Tuning.BOOT: "-Xmx192m", Tuning.THROUGHPUT: "-Xmx512m"},
    DATA_NODE: {Tuning.BOOT: "-Xmx160m", Tuning.THROUGHPUT: "-Xmx256m"},
    FS_SHELL: {Tuning.BOOT: "-Xmx64m", Tuning.THROUGHPUT: "-Xmx64m"},
}
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """Command of Hadoop's programs in a lab.

    Attributes:
        lab: The lab's folder; its file `hosts` is all that the programs know of host names.
        tuning: What the JVMs are tuned for.
    """

    java: Path
    lab: Path
    tuning: Tuning

    def command(self, main_class: str, *, conf_dir: Path, jars: Path, more: Path | None = None) -> list[str]:
        """The command that runs one of the classes above with a configuration folder, and one or two of jars."""
        return [
            str(self.java),
            _HEAP[main_class][self.tuning],
            *_OPTIONS[self.tuning],
            *JAVA_OPENS,
            "-Djava.net.preferIPv4Stack=true",
            f"-Djdk.net.hosts.file={hosts_of(self.lab)}",
            "-XX:-UsePerfData",
            f"-Dlog4j.configuration=file:{conf_dir}/log4j.properties",
            *sharing(jars),
            "-classpath",
            class_path(jars, conf_dir, *([f"{more}/*"] if more else [])),
            main_class,
        ]

    def environment(self, *, conf_dir: Path, options: str = "") -> dict[str, str]:
        """The environment of a daemon; its containers inherit the marker of the lab, and `options` of Java."""
        return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {
            "JAVA_HOME": str(self.java.parent.parent),
            "HADOOP_CONF_DIR": str(conf_dir),
            # glibc keeps an arena per thread otherwise: hundreds of MB that nobody uses
            "MALLOC_ARENA_MAX": "2",
            MARKER: str(self.lab),
            **({CONTAINER_VARIABLE: options} if options else {}),
        }


def hosts_of(lab: Path) -> Path:
    """The file with the names of a lab's addresses."""
    return lab / "hosts"
