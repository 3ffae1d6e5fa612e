"""An application that does real work on a lab: each of its containers counts the words of one text.

Its master is DistributedShell's, submitted as a plain REST context: whatever takes a ResourceManager's submissions can
run it. Texts and counts are files of this machine, which all nodes of a lab share.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shim.errors import LabError
from shim.lab.distributed_shell import DistributedShell

APPLICATION_TYPE = "WORDCOUNT"

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
    return [tuple(texts[first::applications]) for first in range(applications) if texts[first::applications]]


@dataclass(frozen=True, slots=True)
class WordCount:
    """One application that counts words.

    Attributes:
        folder: Where its script, its input list and its counts lie.
    """

    name: str
    texts: tuple[Path, ...]
    folder: Path

    def prepare(self) -> None:
        (self.folder / "counts").mkdir(parents=True)
        # whoever a node runs containers as
        (self.folder / "counts").chmod(0o777)
        (self.folder / "texts").write_text("".join(f"{text}\n" for text in self.texts), encoding="utf-8")
        (self.folder / "count.sh").write_text(_SCRIPT, encoding="utf-8")
        self._shell.prepare()

    def context(self, application_id: str, *, queue: str, jars: Path) -> dict[str, Any]:
        """The submission, as the REST interface of a ResourceManager takes it.

        Args:
            jars: Hadoop jars on the nodes, with DistributedShell's.
        """
        return self._shell.context(application_id, queue=queue, jars=jars)

    @property
    def _shell(self) -> DistributedShell:
        command = f"bash {self.folder / 'count.sh'}"
        return DistributedShell(self.name, command, len(self.texts), self.folder, kind=APPLICATION_TYPE)

    def counted(self) -> Counter[str]:
        """Words that the containers have counted, all texts together.

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
        total: Counter[str] = Counter()
        for text in self.texts:
            total.update(word.decode("ascii").lower() for word in _WORD.findall(text.read_bytes()))
        return total
