"""scripts/setup.sh: who needs what, and what it says where it may not install."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "setup.sh"
TO_RUN = {"iproute2", "maven", "openjdk-17-jre-headless", "python3", "python3-venv"}
OF_ROOT = {"iproute2"}  # hosts of their own
TOOLS = ("bash", "awk", "dirname", "id", "mktemp", "paste", "rm", "sed", "sha256sum", "sort", "tail")


def setup(*arguments: str, script: Path = SCRIPT, **environment: str) -> subprocess.CompletedProcess[str]:
    around = os.environ | {"PYTHON": sys.executable} | environment
    return subprocess.run([script, *arguments], env=around, capture_output=True, text=True, timeout=60, check=False)


@cache
def packages(*command: str) -> set[str]:
    done = setup("packages", *command)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def table(name: str) -> dict[str, list[str]]:
    """What stands behind each first word of a table of the script."""
    _, _, rest = SCRIPT.read_text("utf-8").partition(f"\n{name}='\n")
    rows: dict[str, list[str]] = {}
    for line in rest.partition("'\n")[0].splitlines():
        if line:
            first, *others = line.split()
            rows.setdefault(first, []).extend(others)
    return rows


def slices() -> list[str]:
    return [name for name in table("commands") if name not in {"up", "test"}]


def test_running_needs_java_maven_and_python() -> None:
    assert packages("up") == TO_RUN


def test_tests_need_more_and_no_server_no_browser_and_no_daemon() -> None:
    more = packages("test") - TO_RUN
    assert packages("test") >= TO_RUN
    assert {name for name in more if not name.startswith(("lib", "python"))} == {"curl", "gcc", "make"}


@pytest.mark.parametrize("name", slices())
def test_a_slice_adds_to_what_tests_need(name: str) -> None:
    assert packages("slice", name) > packages("test")
    assert packages("slice", name) <= packages("slice", "all")


def test_slices_come_together() -> None:
    first, second, *_ = slices()
    assert packages("slice", first, second) == packages("slice", first) | packages("slice", second)


def test_each_need_says_what_it_is() -> None:
    known = {*table("needs"), "console-checkers", "oidc-provider", "helm"}
    assert {need for needs in table("commands").values() for need in needs} == known


@pytest.mark.parametrize(
    "arguments", [("slice", "nonsense"), ("packages", "slice", "nonsense"), ("slice",), ("nonsense",)]
)
def test_what_it_does_not_know_is_refused_before_anything_happens(arguments: tuple[str, ...]) -> None:
    done = setup(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("setup: ")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The script in a checkout of its own, on a machine that has nothing, and whose user is not root."""
    for name in ("scripts/setup.sh", "shim/lab/spec.py", "pyproject.toml", "docker/heddle/requirements.lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    (tmp_path / "bin" / "id").unlink()
    (tmp_path / "bin" / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "bin" / "id").chmod(0o755)
    return tmp_path


def test_who_is_not_root_is_told_what_to_install_and_nothing_is_begun(bare: Path) -> None:
    before = set(bare.rglob("*"))
    done = setup("up", script=bare / "scripts/setup.sh", PATH=str(bare / "bin"), PYTHON="", HOME=str(bare))
    assert (done.returncode, done.stdout) == (1, "")
    command = f"apt-get install --no-install-recommends {' '.join(sorted(TO_RUN - {'iproute2'}))}"  # hosts are for root
    assert command in done.stderr
    assert set(bare.rglob("*")) == before
