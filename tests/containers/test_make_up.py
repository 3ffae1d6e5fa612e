"""`make up` on a Debian that has nothing: real work runs, and nothing is installed but what running needs."""

import io
import json
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker.models.containers import Container

import docker

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
LABEL = {"heddle": "tests"}
IMAGE = "debian:bookworm-slim"
HOME = "/srv/heddle"
PYTHON = f"{HOME}/.venv/bin/python"
CERTIFICATES = "/usr/local/share/ca-certificates"
OF_A_FRESH_ENVIRONMENT = {"pip", "setuptools"}


class Machine:
    """A container that is used like a machine: commands one after the other, as root."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def run(self, command: str) -> str:
        """What a command line of the shell prints."""
        code, output = self._container.exec_run(["bash", "-c", command], workdir=HOME)
        assert isinstance(output, bytes)
        text = output.decode(errors="replace")
        assert code == 0, f"{command} ended with {code}:\n{text[-8000:]}"
        return text

    def packages(self) -> set[str]:
        """The packages of Debian that are installed."""
        return set(self.run("dpkg-query --show --showformat '${Package}\\n'").split())

    def python_packages(self) -> set[str]:
        """The distributions that the virtual environment has."""
        return {canonical(each["name"]) for each in json.loads(self.run(f"{PYTHON} -m pip list --format json"))}

    def would_bring(self, packages: list[str]) -> set[str]:
        """These packages of Debian and all that they need, of which those that are not installed."""
        told = self.run(f"apt-get install --simulate --no-install-recommends {' '.join(packages)}")
        return set(re.findall(r"^Inst (\S+)", told, re.MULTILINE))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked() -> set[str]:
    """The distributions that running needs."""
    lock = (ROOT / "docker/heddle/requirements.lock").read_text("utf-8")
    return set(re.findall(r"^([^\s=]+)==", lock, re.MULTILINE))


def sources() -> bytes:
    """The working tree as a tar file: what is tracked, as it is now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).exists() and not name.startswith("tests/"):
                archive.add(ROOT / name, f"{HOME}/{name}")
    return packed.getvalue()


@pytest.fixture(scope="module")
def machine(daemon: docker.DockerClient) -> Iterator[Machine]:
    """A Debian with `make`, our sources, and the authorities that this machine trusts besides Debian's."""
    made = subprocess.run([ROOT / "scripts/base-image.sh", IMAGE], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    trusted = {CERTIFICATES: {"bind": CERTIFICATES, "mode": "ro"}} if any(Path(CERTIFICATES).glob("*")) else {}
    container = daemon.containers.run(
        IMAGE,
        ["sleep", "infinity"],
        detach=True,
        init=True,
        labels=LABEL,
        volumes=trusted,
        # pip brings authorities of its own, and is told to trust the machine's
        environment={"PIP_CERT": "/etc/ssl/certs/ca-certificates.crt"} if trusted else {},
    )
    try:
        container.put_archive("/", sources())
        machine = Machine(container)
        machine.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends make")
        yield machine
    finally:
        container.remove(force=True, v=True)


def test_make_up_runs_jobs_on_two_clusters_and_installs_what_that_needs(machine, capsys):
    wanted = machine.run("scripts/setup.sh packages up").split()
    allowed, before = machine.would_bring(wanted), machine.packages()

    began = time.monotonic()
    told = machine.run("make up 2>&1")
    took = time.monotonic() - began
    with capsys.disabled():
        sys.stdout.write(f"\n{told}\nmake up took {took:.0f} s from nothing\n")

    assert "All of it keeps running" in told
    assert {
        "of Debian": machine.packages() - before - allowed,
        "of Python": machine.python_packages() - OF_A_FRESH_ENVIRONMENT - locked(),
        "tools of tests": set(machine.run("ls .heddle 2>/dev/null || true").split()),
    } == {"of Debian": set(), "of Python": set(), "tools of tests": set()}
    named, _, _ = told.partition("setup: Debian packages:")
    assert [package for package in sorted(allowed) if package not in named] == [], "all are named before they come"


def test_when_all_is_there_nothing_is_installed(machine, capsys):
    machine.run("make down")
    before = machine.packages()
    began = time.monotonic()
    told = machine.run("make up 2>&1")
    took = time.monotonic() - began
    with capsys.disabled():
        sys.stdout.write(f"\nmake up took {took:.0f} s when all was there\n")
    assert "setup:" not in told
    assert machine.packages() == before
    assert "nothing was running" not in machine.run("make down")
