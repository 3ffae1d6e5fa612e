"""An application that does real work on a lab: each of its containers counts the words of one text.

Its master is DistributedShell's, submitted as a plain REST context: whatever takes a ResourceManager's submissions can
run it. Texts and counts are files of this machine, which all nodes of a lab share.
"""

import os
import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shim.errors import LabError
from shim.lab.hadoop_conf import JAVA_OPENS

__all__ = ["APPLICATION_TYPE", "WordCount", "find_texts", "share_out"]

APPLICATION_TYPE = "WORDCOUNT"

_MASTER = "org.apache.hadoop.yarn.applications.distributedshell.ApplicationMaster"
_MASTER_MIB = 256
_CONTAINER_MIB = 128
_TEXT_FOLDERS = ("/usr/share/common-licenses", "/usr/share/doc")
_LEAST_BYTES = 1000
_WORD = re.compile(rb"[A-Za-z]+")

_SCRIPT = r"""#!/bin/bash
# Container number N counts the words of line N of `texts`. A container that replaces a lost one has a higher number:
# it takes a text that nobody has counted.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")"
count() { # number text
    tr -cs 'A-Za-z' '\n' <"$2" | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -c >"counts/.$1.$$"
    mv "counts/.$1.$$" "counts/$1"
}
number=$YARN_SHELL_ID
text=$(sed -n "${number}p" texts)
if [ -n "$text" ]; then
    count "$number" "$text"
    exit
fi
number=0
while IFS= read -r text; do
    number=$((number + 1))
    [ -e "counts/$number" ] || count "$number" "$text"
done <texts
"""


def find_texts(limit: int) -> list[Path]:
    """Texts of some size that every Debian has: the licences, then what packages document. Each file once.

    Raises:
        LabError: If there are none.
    """
    found: dict[Path, None] = {}
    for folder in _TEXT_FOLDERS:
        for path in sorted(Path(folder).rglob("*")):
            if len(found) == limit:
                return list(found)
            real = path.resolve()
            if real.is_file() and real.suffix != ".gz" and real.stat().st_size >= _LEAST_BYTES:
                found[real] = None
    if not found:
        raise LabError(f"no texts to count in {' or '.join(_TEXT_FOLDERS)}")
    return list(found)


def share_out(texts: Sequence[Path], applications: int) -> list[tuple[Path, ...]]:
    """Deal `texts` to so many applications, one after the other."""
    return [tuple(texts[first::applications]) for first in range(applications) if texts[first::applications]]


@dataclass(frozen=True, slots=True)
class WordCount:
    """One application that counts words.

    Attributes:
        name: Its name, and that of its folder.
        texts: A container for each.
        folder: Where its script, its input list and its counts lie.
    """

    name: str
    texts: tuple[Path, ...]
    folder: Path

    def prepare(self) -> None:
        """Write what the containers read."""
        (self.folder / "counts").mkdir(parents=True)
        # whoever a node runs containers as
        (self.folder / "counts").chmod(0o777)
        (self.folder / "texts").write_text("".join(f"{text}\n" for text in self.texts), encoding="utf-8")
        (self.folder / "count.sh").write_text(_SCRIPT, encoding="utf-8")
        # Java's DataInput.readUTF: the length in two bytes, then the text
        command = f"bash {self.folder / 'count.sh'}".encode()
        (self.folder / "shellCommands").write_bytes(struct.pack(">H", len(command)) + command)

    def context(self, application_id: str, *, queue: str, jars: Path) -> dict[str, Any]:
        """The submission, as the REST interface of a ResourceManager takes it.

        Args:
            application_id: As issued by `new-application`.
            queue: Leaf queue.
            jars: Hadoop jars on the nodes, with DistributedShell's.
        """
        java = ("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *JAVA_OPENS)
        arguments = {
            "--container_type": "GUARANTEED",
            "--container_memory": _CONTAINER_MIB,
            "--container_vcores": 1,
            "--num_containers": len(self.texts),
            "--priority": 0,
        }
        words = ["{{JAVA_HOME}}/bin/java", *java, _MASTER, *(f"{key} {value}" for key, value in arguments.items())]
        return {
            "application-id": application_id,
            "application-name": self.name,
            "application-type": APPLICATION_TYPE,
            "queue": queue,
            "max-app-attempts": 2,
            "resource": {"memory": _MASTER_MIB, "vCores": 1},
            "am-container-spec": {
                "commands": {"command": " ".join(words) + " 1><LOG_DIR>/master.out 2><LOG_DIR>/master.err"},
                "environment": {"entry": [{"key": "CLASSPATH", "value": f"$HADOOP_CONF_DIR:{jars}/*"}]},
                "local-resources": {"entry": [_local_file(self.folder / "shellCommands")]},
            },
        }

    def counted(self) -> Counter[str]:
        """What the containers have counted, all texts together.

        Raises:
            LabError: If the counts of a text are missing.
        """
        total: Counter[str] = Counter()
        for number, text in enumerate(self.texts, start=1):
            try:
                lines = (self.folder / "counts" / str(number)).read_text(encoding="ascii").splitlines()
            except OSError as exc:
                raise LabError(f"{self.name}: nobody has counted {text}") from exc
            for line in lines:
                count, word = line.split()
                total[word] += int(count)
        return total

    def expected(self) -> Counter[str]:
        """The same, counted here."""
        total: Counter[str] = Counter()
        for text in self.texts:
            total.update(word.decode("ascii").lower() for word in _WORD.findall(text.read_bytes()))
        return total


def _local_file(path: Path) -> dict[str, Any]:
    status = os.stat(path)  # noqa: PTH116 - both numbers of one look
    resource = {
        "resource": f"file://{path}",
        "type": "FILE",
        "visibility": "APPLICATION",
        "size": status.st_size,
        "timestamp": status.st_mtime_ns // 1_000_000,
    }
    return {"key": path.name, "value": resource}
