"""What users install is the wheel that is made of the sdist: it is built and tried in an empty environment."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import shim

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"shim", "adapters", "fairness", "altruism"}


def run(*command, cwd=ROOT):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run("uv", "build", "--out-dir", str(folder), "--quiet")
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """A fresh environment that holds the wheel, its dependencies and nothing else."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    run("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
    run("uv", "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), str(wheel))
    return folder / "bin"


def test_the_wheel_holds_every_module_and_nothing_else(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    tracked = run("git", "ls-files", *sorted(NAMES)).splitlines()
    assert inside >= {name for name in tracked if name.endswith(".py") and (ROOT / name).exists()}
    assert {name.partition("/")[0] for name in inside} == NAMES
    run(sys.executable, "-m", "check_wheel_contents", str(wheel))


def test_the_command_runs_from_an_empty_environment(installed, tmp_path):
    assert run(str(installed / "heddle"), "--version", cwd=tmp_path).strip() == f"heddle {shim.__version__}"
    assert "cluster" in run(str(installed / "heddle"), "--help", cwd=tmp_path)


def test_the_import_names_belong_to_this_distribution_alone(installed, tmp_path):
    code = "import importlib.metadata as m, json; print(json.dumps(m.packages_distributions()))"
    owners = json.loads(run(str(installed / "python"), "-c", code, cwd=tmp_path))
    assert {name: owners[name] for name in NAMES} == {name: ["heddle-yarn"] for name in NAMES}
