"""Jars: fetched by Maven once, kept in the user's cache, compared with committed checksums."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shim.errors import LabError
from shim.lab.allocation import exclusive
from shim.lab.spec import DEFAULT_VERSION

_HERE = Path(__file__).resolve().parent
_MAVEN_TIMEOUT_S = 900
_SHOWN_LINES = 15


@dataclass(frozen=True, slots=True)
class JarSet:
    """Jars that one pom names.

    Attributes:
        name: For people, with the version.
        checksums: File with the SHA-256 of each jar.
        arguments: Further ones for Maven.
    """

    name: str
    pom: Path
    checksums: Path
    target: Path
    arguments: tuple[str, ...] = ()

    def expected(self) -> dict[str, str]:
        """SHA-256 by file name, as committed."""
        pairs = (line.split(maxsplit=1) for line in self.checksums.read_text(encoding="utf-8").splitlines())
        return {name.strip(): digest for digest, name in pairs}


def build_folder() -> Path:
    """Folder with poms and the checksums: inside the installed package, else in the repository."""
    packaged = _HERE / "hadoop"
    return packaged if packaged.is_dir() else _HERE.parent.parent / "docker" / "hadoop"


def cache_folder() -> Path:
    """Return the folder of jars: `$XDG_CACHE_HOME/heddle/hadoop`, else `~/.cache/heddle/hadoop`."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "heddle" / "hadoop"


def _hadoop(version: str) -> JarSet:
    extras = ("-Pextras",) if version == DEFAULT_VERSION else ()
    return JarSet(
        name=f"Hadoop {version}",
        pom=build_folder() / "pom.xml",
        checksums=build_folder() / "checksums" / f"{version}.sha256",
        target=cache_folder() / version,
        arguments=(f"-Dhadoop.version={version}", *extras),
    )


def checksum_list(version: str) -> dict[str, str]:
    """SHA-256 of each jar of Hadoop `version` by file name, as committed."""
    return _hadoop(version).expected()


def verify(folder: Path, expected: dict[str, str]) -> list[str]:
    """List faults of the jars in `folder`: one phrase per file; empty when all is as expected."""
    present = {path.name for path in folder.glob("*.jar")}
    problems = [f"{name} is missing" for name in sorted(expected.keys() - present)]
    problems += [f"{name} is not in the checksum list" for name in sorted(present - expected.keys())]
    problems += [
        f"{name} has another checksum"
        for name in sorted(present & expected.keys())
        if _digest(folder / name) != expected[name]
    ]
    return problems


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ensure_jars(version: str, say: Callable[[str], None]) -> Path:
    """The folder with the jars of Hadoop `version`, one of `SUPPORTED_VERSIONS`; see `ensure`."""
    return ensure(_hadoop(version), say)


def ensure(jars: JarSet, say: Callable[[str], None]) -> Path:
    """The folder with some jars, fetched first if the cache has none.

    Raises:
        LabError: If Maven is missing or fails, or a jar is not the one that the checksum list names.
    """
    target, expected = jars.target, jars.expected()
    if target.is_dir() and not verify(target, expected):
        return target
    # whoever comes second finds what the first one fetched; Maven's own cache bears no two at once
    with exclusive(cache_folder().parent / ".fetching"):
        problems = verify(target, expected) if target.is_dir() else None
        if problems == []:
            return target
        if problems:
            say(f"{jars.name}: {target} is damaged ({problems[0]}), fetching it again")
        else:
            say(f"{jars.name}: fetching {len(expected)} jars by Maven (once)")
        _fetch(jars, expected)
    return target


def _fetch(jars: JarSet, expected: dict[str, str]) -> None:
    target = jars.target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        fetched = Path(scratch) / "jars"
        _run_maven(jars, fetched)
        problems = verify(fetched, expected)
        if problems:
            raise LabError(f"{jars.name}: Maven's jars are not those of the checksum list: {'; '.join(problems[:5])}")
        _move_into_place(fetched, target, Path(scratch) / "old")


def _move_into_place(fetched: Path, target: Path, old: Path) -> None:
    """Swap by renames, so that nobody ever sees half a folder; somebody else's good copy is as good as ours."""
    if target.is_dir():
        target.rename(old)
    try:
        fetched.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _run_maven(jars: JarSet, target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise LabError(f"Maven is needed to fetch {jars.name}: install it (Debian: apt-get install maven)")
    command = [
        maven,
        "--batch-mode",
        "--quiet",
        "--strict-checksums",
        f"--file={jars.pom}",
        *jars.arguments,
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={target}",
    ]
    try:
        result = subprocess.run(  # noqa: S603 - a fixed command; versions are checked against the supported ones
            command, capture_output=True, text=True, timeout=_MAVEN_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as exc:
        raise LabError(f"{jars.name}: Maven took longer than {_MAVEN_TIMEOUT_S} s; try again") from exc
    if result.returncode != 0:
        tail = "\n".join((result.stdout + result.stderr).splitlines()[-_SHOWN_LINES:])
        raise LabError(f"{jars.name}: Maven failed ({result.returncode}):\n{tail}")
