"""Options of the JVMs that a lab starts: daemons, ApplicationMasters, tasks and clients."""

from collections.abc import Sequence

__all__ = ["JAVA_OPENS", "QUICK_START"]

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
