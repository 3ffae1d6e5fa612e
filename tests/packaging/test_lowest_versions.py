"""The lowest versions that the package says it works with, in an environment of their own: tried, not guessed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.heddle_process import until
from tests.support.served_manager import ServedManager
from tests.support.started import configuration

ROOT = Path(__file__).resolve().parents[2]
EVERY_MODULE = """
import importlib, pkgutil, sys
import heddle.pytest_plugin
sys.path.insert(0, heddle.__path__[0])  # as `heddle.__main__` does
for name in ("heddle.client", "heddle.testing", "shim", "adapters", "fairness", "altruism"):
    package = importlib.import_module(name)
    for each in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not each.name.endswith("__main__") and ".migrations." not in each.name:
            importlib.import_module(each.name)
print(sum(name.startswith("shim.") for name in sys.modules))
"""


@pytest.fixture(scope="module")
def lowest(tmp_path_factory) -> Path:
    """The programs of an environment that has each direct dependency at its floor."""
    folder = tmp_path_factory.mktemp("lowest")
    python = str(folder / "venv" / "bin" / "python")
    package = f"{ROOT}[postgres,testing]"
    for command in (
        ("uv", "venv", "--quiet", "--python", sys.executable, str(folder / "venv")),
        ("uv", "pip", "install", "--quiet", "--python", python, "--resolution", "lowest-direct", package),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
        assert done.returncode == 0, done.stderr
    return Path(python).parent


def plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_heddle_serves_and_its_client_submits(lowest, tmp_path):
    text, doors = configuration(tmp_path)
    url = f"http://{doors['rest']}"
    (tmp_path / "heddle.toml").write_text(text)
    with ServedManager("east") as east, (tmp_path / "log").open("w") as log:
        only = f'[[subcluster]]\nid = "east"\nweb = "{east.url}"\n'
        (tmp_path / "heddle.toml").write_text(text.partition("[[subcluster]]")[0] + only)
        serving = subprocess.Popen(
            (lowest / "heddle", "serve"), cwd=tmp_path, env=plain(), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            until(lambda: " serves " in (tmp_path / "log").read_text() or serving.poll() is not None, "it serves")
            assert serving.poll() is None, (tmp_path / "log").read_text()
            submission = {
                "application-name": "n",
                "am-container-spec": {"commands": {"command": "true"}},
                "resource": {"memory": 256, "vCores": 1},
            }
            program = (
                "import sys, json\nfrom heddle.client import Client, User\n"
                "with Client(sys.argv[1], auth=User('ada')) as heddle:\n"
                "    id_ = heddle.submit(json.loads(sys.argv[2]))\n"
                "    print(heddle.why(id_).home)\n"
            )
            said = run(lowest / "python", "-c", program, url, json.dumps(submission))
            assert said.strip() == "east"
            assert "east" in run(lowest / "heddle", "cluster", "list", "--server", url)
            assert httpx.get(f"{url}/heddle/v1/openapi.json", timeout=60).status_code == 200
        finally:
            serving.terminate()
            serving.wait(60)
    assert len(east.applications()) == 1


def test_every_module_is_imported(lowest):
    assert int(run(lowest / "python", "-c", EVERY_MODULE)) > 300


def run(*command: str | Path) -> str:
    done = subprocess.run(command, env=plain(), capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
