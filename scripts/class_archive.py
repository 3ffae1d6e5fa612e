"""Archive the classes that Hadoop's programs load, so that the JVMs of later labs start in two thirds of the time.

    python -m scripts.class_archive

Runs a small lab and a word count, once for a version of Hadoop and of Java; a minute or less. Does nothing where there
is an archive. It lies beside Heddle's other caches, has some 100 MB, and may be removed at any time.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shim.errors import LabError
from shim.lab import Lab
from shim.lab.jars import ensure_jars
from shim.lab.java_options import find_java
from shim.lab.map_reduce import MapReduceWordCount
from shim.lab.shared_classes import archive_of, class_path, lists_of
from shim.lab.spec import DEFAULT_VERSION, ClusterSpec, LabSpec

_JOB_TIMEOUT_S = 300
_DUMP_TIMEOUT_S = 600
_SHOWN_LINES = 5


def main() -> None:
    """Make the archive for the default version of Hadoop, unless it is there."""
    jars = ensure_jars(DEFAULT_VERSION, print)
    if archive_of(jars).exists():
        return
    print(f"archiving the classes of Hadoop {DEFAULT_VERSION} (once)")
    with recording(jars):
        with tempfile.TemporaryDirectory(prefix="heddle-classes-") as folder:
            _run_a_job(Path(folder), jars)
        count = write_archive(jars)
    print(f"{count} classes are in {archive_of(jars)}")


@contextmanager
def recording(jars: Path) -> Iterator[None]:
    """Let JVMs with `sharing` write down the classes that they load, for `write_archive`."""
    lists = lists_of(archive_of(jars))
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
        line
        for file in lists_of(archive).iterdir()
        for line in file.read_text().splitlines()
        if not line.startswith("#")
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=_DUMP_TIMEOUT_S, check=False)
    wanted.unlink()
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:]
        raise LabError(f"no archive of the classes of {jars}:\n" + "\n".join(lines))
    unfinished.rename(archive)
    return len(recorded)


def _run_a_job(folder: Path, jars: Path) -> None:
    text = folder / "text"
    text.write_text("to be or not to be\n")
    job = MapReduceWordCount("classes", (text,), folder / "job")
    job.prepare()
    with Lab(folder / "lab") as lab:
        lab.up(LabSpec((ClusterSpec("east", nodes=1),)))
        (cluster,) = lab.clusters.values()
        done = subprocess.run(
            job.command(conf=cluster.conf_dir, jars=jars, queue="default"),
            capture_output=True,
            text=True,
            timeout=_JOB_TIMEOUT_S,
            check=False,
        )
    if done.returncode != 0:
        raise LabError(f"the word count failed: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
