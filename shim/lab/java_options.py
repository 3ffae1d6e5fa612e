"""The `java` of a lab, and options of its JVMs: daemons, ApplicationMasters, tasks and clients."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from shim.errors import LabError

JAVA_OPENS: Sequence[str] = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.util", "java.lang.reflect", "java.net", "java.util.concurrent")
)
"""Hadoop reflects into these packages of Java 17."""

QUICK_START: Sequence[str] = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
"""Of JVMs that mostly start: one thread collects, one compiler, and jars whose checksums are known are not verified
class by class, which is a quarter of the processor time that a ResourceManager takes until it answers."""


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
