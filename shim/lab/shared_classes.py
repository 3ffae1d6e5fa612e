"""Archives of loaded classes: JVMs that map one start with two thirds of the processor time (JEP 310).

An archive holds for one `java` and for class paths that begin with its jars, and in their order: so the class paths
of a lab have the jars first. None is needed; `python -m scripts.class_archive` makes one.
"""

import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shim.errors import LabError
from shim.lab.jars import cache_folder
from shim.lab.java_options import find_java

_DUMP_TIMEOUT_S = 600
_SHOWN_LINES = 5


def class_path(jars: Path, *more: Path | str) -> str:
    """A class path that begins with a folder of jars."""
    return ":".join((f"{jars}/*", *map(str, more)))


def sharing(jars: Path) -> tuple[str, ...]:
    """Options of a JVM whose class path is a `class_path` of these jars: empty where they have no archive."""
    if not jars.is_dir():  # they are on other machines
        return ()
    archive = archive_of(jars)
    if archive.exists():
        return (f"-XX:SharedArchiveFile={archive}",)
    if _lists(archive).is_dir():
        return (f"-XX:DumpLoadedClassList={_lists(archive)}/%p.txt",)
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


@contextmanager
def recording(jars: Path) -> Iterator[None]:
    """Let JVMs with `sharing` write down the classes that they load, for `write_archive`."""
    lists = _lists(archive_of(jars))
    lists.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for file in lists.iterdir():
            file.unlink()
        lists.rmdir()


def write_archive(jars: Path) -> int:
    """Put the classes that have been recorded into the archive.

    Returns:
        How many they are.

    Raises:
        LabError: If none were recorded, or Java cannot write it.
    """
    archive = archive_of(jars)
    recorded = {
        line for file in _lists(archive).iterdir() for line in file.read_text().splitlines() if not line.startswith("#")
    }
    if not recorded:
        raise LabError(f"no classes of {jars} were recorded")
    wanted, unfinished = archive.with_suffix(".txt"), archive.with_suffix(".part")
    wanted.write_text("\n".join(sorted(recorded)) + "\n")
    command = (
        str(find_java()),
        "-Xshare:dump",
        f"-XX:SharedClassListFile={wanted}",
        f"-XX:SharedArchiveFile={unfinished}",
        "-XX:+UseSerialGC",
        "-cp",
        class_path(jars),
    )
    done = subprocess.run(  # noqa: S603 - our own java command
        command, capture_output=True, text=True, timeout=_DUMP_TIMEOUT_S, check=False
    )
    wanted.unlink()
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:]
        raise LabError(f"no archive of the classes of {jars}:\n" + "\n".join(lines))
    unfinished.rename(archive)
    return len(recorded)


def _lists(archive: Path) -> Path:
    return archive.with_suffix(".lists")
