"""Hadoop's native library for the machine, out of a jar that holds it for several.

`SecureIOUtils` refuses to read shuffle files and logs without it where Hadoop is in secure mode.
"""

import platform
import zipfile
from collections.abc import Callable
from pathlib import Path

from shim.errors import LabError
from shim.lab.jars import JarSet, build_folder, cache_folder, ensure

__all__ = ["library_of", "write_native_library"]

_VERSION = "3.3.5-3"
_LIBRARY = "libhadoop.so"
_FOLDERS = {
    "x86_64": "Linux-amd64",
    "amd64": "Linux-amd64",
    "aarch64": "Linux-aarch64",
    "arm64": "Linux-aarch64",
    "ppc64le": "Linux-ppc64le",
}
"""Folder of the jar by the machine's name for itself."""


def write_native_library(folder: Path, say: Callable[[str], None]) -> None:
    """Put the library of this machine into a folder, for `java.library.path`.

    Args:
        folder: Made if need be.
        say: Told what takes long.

    Raises:
        LabError: As `ensure`; or if there is no library for this machine.
    """
    member = library_of(platform.machine())
    sources = build_folder() / "native"
    target = cache_folder().parent / "native" / _VERSION
    jars = JarSet(f"Hadoop's native library {_VERSION}", sources / "pom.xml", sources / f"{_VERSION}.sha256", target)
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(ensure(jars, say) / f"hadoop-apache-{_VERSION}.jar") as archive:
        (folder / _LIBRARY).write_bytes(archive.read(member))


def library_of(machine: str) -> str:
    """Path of a machine's library in the jar.

    Raises:
        LabError: If it holds none.
    """
    folder = _FOLDERS.get(machine.lower())
    if folder is None:
        raise LabError(f"no native library of Hadoop for {machine}: secured clusters run on {', '.join(_FOLDERS)}")
    return f"nativelib/{folder}/{_LIBRARY}"
