"""The images of a federation in containers: built on this machine once, and known by what is in them."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import docker.errors

import docker
import heddle
from heddle.testing.federation import FederationError, MissingProgramError

__all__ = ["BASE_IMAGE", "digest", "hadoop_image", "hdfs_jars", "heddle_image"]

BASE_IMAGE = os.environ.get("HEDDLE_BASE_IMAGE", "debian:bookworm-slim")
"""What both are made of; `HEDDLE_BASE_IMAGE` names another one, such as a mirror's."""

_PACKAGE = Path(heddle.__path__[0])
_INSIDE = ("shim", "adapters", "fairness", "altruism")
_PYTHON = "3.11"
"""Of the base image."""
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")
_PIP_S = 900.0
_LACKING = ("no java in", "Maven is needed")


def _sources() -> Path:
    """Folder of the Dockerfiles: inside the installed package, else in the repository."""
    packaged = _PACKAGE / "testing" / "docker"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "docker"


def hadoop_image(client: docker.DockerClient, version: str) -> str:
    """The name of the image of one version of Hadoop, built if it is not there.

    Args:
        client: Of the daemon.
        version: One that `heddle lab` supports.

    Raises:
        MissingProgramError: If the jars have to be fetched, and this machine lacks Maven or Java.
        FederationError: If the version is not supported, or the image cannot be built.
    """
    jars = _jars(version)
    files = [_sources() / "hadoop" / name for name in ("Dockerfile", "hadoop-node", "conf")]
    name = f"heddle-testing-hadoop:{version}-{digest((*files, jars))}"
    if not _is_there(client, name):
        with tempfile.TemporaryDirectory(prefix="heddle-image-") as folder:
            for file in files:
                _copy(file, Path(folder) / file.name)
            _copy(jars, Path(folder) / "jars")
            _build(client, name, Path(folder))
    return name


def heddle_image(client: docker.DockerClient) -> str:
    """The name of the image of this Heddle, built if it is not there.

    Raises:
        MissingProgramError: If neither pip nor uv is there to fetch what it needs.
        FederationError: If the image cannot be built.
    """
    files = [_sources() / "heddle" / name for name in ("Dockerfile", "heddle", "heddle.toml", "requirements.lock")]
    inside = [_PACKAGE / name if (_PACKAGE / name).is_dir() else _PACKAGE.parent / name for name in _INSIDE]
    name = f"heddle-testing:{digest((*files, _PACKAGE, *inside))}"
    if not _is_there(client, name):
        with tempfile.TemporaryDirectory(prefix="heddle-image-") as folder:
            for file in files:
                _copy(file, Path(folder) / file.name)
            site = Path(folder) / "site"
            _install(files[-1], site)
            _copy(_PACKAGE, site / "heddle")
            for each in inside:
                _copy(each, site / "heddle" / each.name)
            _build(client, name, Path(folder))
    return name


def hdfs_jars() -> Path:
    """The folder with the jars that HDFS's servers need besides; raises as `hadoop_image`."""
    return _jars("--hdfs")


def _jars(what: str) -> Path:
    command = [sys.executable, str(_PACKAGE), "lab", "jars", what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - Heddle's own command
    if done.returncode != 0:
        lacking = any(word in done.stderr for word in _LACKING)
        raise (MissingProgramError if lacking else FederationError)(done.stderr.strip())
    return Path(done.stdout.strip())


def _install(lock: Path, target: Path) -> None:
    """Put what Heddle needs into a folder, for the Python of the image."""
    of = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}.get(
        platform.machine().lower()
    )
    if of is None:
        raise FederationError(f"there are no wheels of Heddle's packages for {platform.machine()}")
    what = ["--target", str(target), "--no-deps", "--require-hashes", "-r", str(lock)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:", *what]
    pip += ["--implementation", "cp", "--python-version", _PYTHON]
    pip += ["--platform", f"manylinux2014_{of}", "--platform", f"manylinux_2_28_{of}"]
    uv = ["uv", "pip", "install", "--quiet", "--only-binary=:all:", *what]
    uv += ["--python", sys.executable, "--python-version", _PYTHON, "--python-platform", f"{of}-manylinux_2_28"]
    has_pip = subprocess.run([*pip[:3], "--version"], capture_output=True, check=False).returncode == 0  # noqa: S603
    if not has_pip and shutil.which("uv") is None:
        raise MissingProgramError("neither pip nor uv is there to fetch what Heddle's image needs: install one")
    command = pip if has_pip else uv
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as exc:
        raise FederationError(f"{' '.join(command[:4])} takes longer than {_PIP_S:.0f} s") from exc
    if done.returncode != 0:
        raise FederationError(f"{' '.join(command[:4])} failed: {done.stderr.strip()[-2000:]}")


def _copy(source: Path, target: Path) -> None:
    """Copy a file or folder; a folder's files go beside those that are there."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=_LEFT_OUT, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def digest(paths: Iterable[Path]) -> str:
    """A short name for what is in files and folders; jars, whose checksums were compared, go by name and size."""
    summed = hashlib.sha256(BASE_IMAGE.encode())
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                content = str(file.stat().st_size).encode() if file.suffix == ".jar" else file.read_bytes()
                summed.update(f"{file.relative_to(path.parent)} {len(content)}\n".encode() + content)
    return summed.hexdigest()[:12]


def _is_there(client: docker.DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
    except docker.errors.ImageNotFound:
        return False
    return True


def _build(client: docker.DockerClient, name: str, folder: Path) -> None:
    try:
        client.images.build(
            path=str(folder), tag=name, rm=True, buildargs={"BASE_IMAGE": BASE_IMAGE}, labels={"heddle": "image"}
        )
    except docker.errors.BuildError as exc:
        said = "".join(str(line.get("stream", "")) for line in exc.build_log)
        raise FederationError(f"the image {name} cannot be built: {exc}\n{said[-2000:]}") from exc
    except docker.errors.APIError as exc:
        raise FederationError(f"the image {name} cannot be built: {exc}") from exc
