"""The jars of clients that Hadoop's own do not contain, and Java programs of the tests compiled against them."""

import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from shim.lab.jars import JarSet, cache_folder, ensure

_POMS = Path(__file__).resolve().parent.parent.parent / "docker" / "clients"
_PROGRAMS = Path(__file__).resolve().parent.parent / "e2e" / "programs"
_VERSIONS = {"spark": "3.5.5", "tez": "0.10.5", "unmanaged-am": "3.4.2"}


def _ensure(client: str) -> Path:
    folder, version = _POMS / client, _VERSIONS[client]
    target = cache_folder().parent / client / version
    jars = JarSet(f"{client} {version}", folder / "pom.xml", folder / f"{version}.sha256", target)
    return ensure(jars, print)


def spark_jars() -> Path:
    """The folder with everything that Spark on YARN needs.

    Raises:
        LabError: If they cannot be fetched.
    """
    return _ensure("spark")


def tez_jars() -> Path:
    """The folder with what Tez needs beside Hadoop's jars; raises as `spark_jars`."""
    return _ensure("tez")


def unmanaged_am_jars() -> Path:
    """The folder with Hadoop's launcher of unmanaged ApplicationMasters alone; raises as `spark_jars`."""
    return _ensure("unmanaged-am")


def compile_program(name: str, class_path: Sequence[Path], folder: Path) -> Path:
    """The jar of a program of tests/e2e/programs: a JRE has the compiler as a module, though no `javac`.

    Args:
        name: Of its class and file.
        class_path: Folders of jars that it is compiled against.
        folder: Where the jar is put.
    """
    jars = ":".join(str(jar) for each in class_path for jar in sorted(each.glob("*.jar")))
    classes = folder / "classes"
    classes.mkdir()
    compiler = ["java", "-m", "jdk.compiler/com.sun.tools.javac.Main"]
    subprocess.run([*compiler, "-cp", jars, "-d", str(classes), str(_PROGRAMS / f"{name}.java")], check=True)
    target = folder / f"{name}.jar"
    with zipfile.ZipFile(target, "w") as archive:
        for compiled in sorted(classes.rglob("*.class")):
            archive.write(compiled, compiled.relative_to(classes))
    return target
