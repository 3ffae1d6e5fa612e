"""How the daemons of a lab are started: one `java` command each."""

import os
import shutil
from pathlib import Path

from shim.errors import LabError
from shim.lab.hadoop_conf import JAVA_OPENS
from shim.lab.processes import MARKER
from shim.lab.spec import Tuning

__all__ = ["NODE_MANAGER", "RESOURCE_MANAGER", "RM_ADMIN", "find_java", "java_command", "java_environment"]

RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
RM_ADMIN = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"

_OPTIONS = {
    Tuning.BOOT: ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:ReservedCodeCacheSize=64m"),
    Tuning.THROUGHPUT: ("-XX:+UseParallelGC",),
}
_HEAP = {
    RESOURCE_MANAGER: {Tuning.BOOT: "-Xmx384m", Tuning.THROUGHPUT: "-Xmx1g"},
    NODE_MANAGER: {Tuning.BOOT: "-Xmx160m", Tuning.THROUGHPUT: "-Xmx256m"},
    RM_ADMIN: {Tuning.BOOT: "-Xmx64m", Tuning.THROUGHPUT: "-Xmx64m"},
}
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")


def find_java() -> Path:
    """The `java` to use: of `$JAVA_HOME`, else the one on the path.

    Raises:
        LabError: If there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not os.access(found, os.X_OK):
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise LabError(f"no java in {where}: install a JDK or JRE 17 (Debian: apt-get install openjdk-17-jre-headless)")
    return Path(found).resolve()


def java_command(java: Path, main_class: str, *, conf_dir: Path, jars: Path, tuning: Tuning) -> list[str]:
    """The command that runs `main_class` of the jars in `jars` with the configuration in `conf_dir`."""
    return [
        str(java),
        _HEAP[main_class][tuning],
        *_OPTIONS[tuning],
        *JAVA_OPENS,
        "-Djava.net.preferIPv4Stack=true",
        "-XX:-UsePerfData",
        f"-Dlog4j.configuration=file:{conf_dir}/log4j.properties",
        "-classpath",
        f"{conf_dir}:{jars}/*",
        main_class,
    ]


def java_environment(java: Path, *, conf_dir: Path, lab: Path) -> dict[str, str]:
    """The environment of a daemon; its containers inherit it, the marker of the lab included."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {
        "JAVA_HOME": str(java.parent.parent),
        "HADOOP_CONF_DIR": str(conf_dir),
        # glibc keeps an arena per thread otherwise: hundreds of MB that nobody uses
        "MALLOC_ARENA_MAX": "2",
        MARKER: str(lab),
    }
