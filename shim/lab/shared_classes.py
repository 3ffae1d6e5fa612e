"""Archives of loaded classes: JVMs that map one start with two thirds of the processor time (JEP 310).

An archive holds for one `java` and for class paths that begin with its jars, and in their order: so the class paths
of a lab have the jars first. None is needed; `python -m scripts.class_archive` makes one.
"""

import hashlib
from pathlib import Path

from shim.lab.jars import cache_folder
from shim.lab.java_options import find_java


def class_path(jars: Path, *more: Path | str) -> str:
    return ":".join((f"{jars}/*", *map(str, more)))


def sharing(jars: Path) -> tuple[str, ...]:
    """Options of a JVM whose class path is a `class_path` of these jars: empty where they have no archive."""
    if not jars.is_dir():  # they are on other machines
        return ()
    archive = archive_of(jars)
    if archive.exists():
        return (f"-XX:SharedArchiveFile={archive}",)
    if lists_of(archive).is_dir():
        return (f"-XX:DumpLoadedClassList={lists_of(archive)}/%p.txt",)
    return ()


def in_containers(jars: Path) -> tuple[str, ...]:
    """The same for a container: its launch script has a class path that begins with other folders."""
    options = sharing(jars)
    return (*options, "-cp", class_path(jars, "$CLASSPATH")) if options else ()


def archive_of(jars: Path) -> Path:
    """The archive's file; other jars in the folder, or another `java`, have another one."""
    home = find_java().parent.parent
    release = home / "release"
    facts = (str(home), release.read_text() if release.exists() else "", str(jars), str(jars.stat().st_mtime_ns))
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    return cache_folder().parent / "classes" / f"{jars.name}-{key}.jsa"


def lists_of(archive: Path) -> Path:
    """The folder in which JVMs write down the classes that they load while it is there."""
    return archive.with_suffix(".lists")
