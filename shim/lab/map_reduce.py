"""Hadoop's own word count on a lab: the stock MapReduce client, as its users run it, with Heddle's addresses."""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shim.errors import LabError
from shim.lab.java_options import QUICK_START, find_java
from shim.lab.shared_classes import class_path, sharing

_RUN_JAR = "org.apache.hadoop.util.RunJar"
_JVM = ("-Xmx128m", *QUICK_START, "-Djava.net.preferIPv4Stack=true")
_SPACE = re.compile(r"[ \t\n\r\f]+")
_APPLICATION = re.compile(r"application_\d+_\d+")
_SHOWN_LINES = 10


@dataclass(frozen=True, slots=True)
class MapReduceWordCount:
    """One job that counts words; each text is a map of its own.

    Attributes:
        texts: What is counted; readable as UTF-8.
        folder: Where its input, its output and what its client printed lie.
    """

    name: str
    texts: tuple[Path, ...]
    folder: Path

    def prepare(self) -> None:
        (self.folder / "in").mkdir(parents=True)
        for number, text in enumerate(self.texts, start=1):
            (self.folder / "in" / str(number)).write_bytes(text.read_bytes())

    def command(self, *, conf: Path, jars: Path, queue: str) -> list[str]:
        """Arguments for `hadoop jar hadoop-mapreduce-examples.jar wordcount`.

        Args:
            conf: The client's configuration folder.
            jars: Hadoop's jars, with the examples.

        Raises:
            LabError: If the examples are not among the jars, or there is no Java.
        """
        examples = sorted(jars.glob("hadoop-mapreduce-examples-[0-9]*.jar"))
        if not examples:
            raise LabError(f"{jars} has no hadoop-mapreduce-examples: the lab's Hadoop is not the default version")
        settings = {"mapreduce.job.queuename": queue, "mapreduce.job.name": self.name}
        options = [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
        folders = [(self.folder / "in").as_uri(), (self.folder / "out").as_uri()]
        job = (_RUN_JAR, str(examples[0]), "wordcount", *options, *folders)
        return [str(find_java()), *_JVM, *sharing(jars), "-cp", class_path(jars, conf), *job]

    def counted(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for part in sorted((self.folder / "out").glob("part-r-*")):
            # a word may hold what Python takes for the end of a line
            for line in filter(None, part.read_bytes().decode().split("\n")):
                word, _, count = line.rpartition("\t")
                total[word] = int(count)
        return total

    def expected(self) -> Counter[str]:
        words = (_SPACE.split(text.read_bytes().decode()) for text in self.texts)
        return Counter(word for each in words for word in each if word)


class StockJob:
    """A job whose client runs beside us."""

    def __init__(self, job: MapReduceWordCount, command: Sequence[str]) -> None:
        self.job = job
        self._printed = job.folder / "client.log"
        with self._printed.open("wb") as file:
            self._client = subprocess.Popen(  # noqa: S603 - the lab's own command
                command, cwd=job.folder, env=os.environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )

    def wait(self, *, timeout_s: float) -> str:
        """The id of the application, once the client has ended.

        The client may end badly after a good job: an ApplicationMaster that has just gone cannot be asked, and a lab
        has no history server. So it is the application's end, and the output, that tell.

        Raises:
            LabError: If the client takes longer, or has not submitted anything.
        """
        try:
            self._client.wait(timeout_s)
        except subprocess.TimeoutExpired as exc:
            self.end()
            raise LabError(f"{self.job.name}: its client has not ended in {timeout_s:.0f} s: {self._printed}") from exc
        text = self._printed.read_text("utf-8", "replace")
        found = _APPLICATION.search(text)
        if found is None:
            tail = "\n".join(text.splitlines()[-_SHOWN_LINES:])
            raise LabError(f"{self.job.name}: its client has submitted nothing:\n{tail}")
        return found[0]

    def end(self) -> None:
        """End the client if it runs."""
        self._client.kill()
        self._client.wait()


def readable(texts: Sequence[Path]) -> list[Path]:
    """Texts that are UTF-8: Java and Python replace broken bytes differently."""
    return [text for text in texts if _is_utf8(text)]


def _is_utf8(text: Path) -> bool:
    try:
        text.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def containers_by_cluster(folders: Mapping[str, Path], application: str) -> dict[str, int]:
    """Number of containers of an application that each cluster of a lab has run, its master's included.

    Args:
        folders: The clusters' own folders, by id: their nodes keep a folder for each container.
    """
    counts = {id_: len(list(folder.glob(f"*/containers/{application}/container_*"))) for id_, folder in folders.items()}
    return {id_: count for id_, count in counts.items() if count}
