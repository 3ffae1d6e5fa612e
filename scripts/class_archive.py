"""Archive the classes that Hadoop's programs load, so that the JVMs of later labs start in two thirds of the time.

    python -m scripts.class_archive

Runs a small lab and a word count, once for a version of Hadoop and of Java; a minute or less. Does nothing where there
is an archive. It lies beside Heddle's other caches, has some 100 MB, and may be removed at any time.
"""

import subprocess
import tempfile
from pathlib import Path

from shim.errors import LabError
from shim.lab import Lab
from shim.lab.jars import ensure_jars
from shim.lab.map_reduce import MapReduceWordCount
from shim.lab.shared_classes import archive_of, recording, write_archive
from shim.lab.spec import DEFAULT_VERSION, ClusterSpec, LabSpec

_JOB_TIMEOUT_S = 300


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
