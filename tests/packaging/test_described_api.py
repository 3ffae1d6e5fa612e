"""Every operation of a running Heddle as its OpenAPI document describes it, by what strangers make of that document.

schemathesis makes the requests: right ones, and such as are wrong in every way that the description knows of. It has an
environment of its own, as its dependencies are none of Heddle's.

One operation is left out, `GET /heddle/v1/live`: its answer is a stream of events that lasts ten minutes, and requests
here wait for the end of theirs. What it answers is read in `tests/integration/rest/test_live.py`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.served_manager import ServedManager
from tests.support.started import Started, configuration

HOOKS = Path(__file__).with_name("described_api_hooks.py")
SCHEMATHESIS = "schemathesis==4.32.5"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
OPS = {"user.name": "ops"}
BASE = "/ws/v1/cluster"
SETTINGS = """
[generation]
with-security-parameters = false    # who calls with a token of nobody is refused, and nothing else is tried

[[operations]]
include-path-regex = "^/ws/v1/cluster"
# as a ResourceManager, which refuses methods and types of bodies that it does not take by 503
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503"]
"""


@pytest.fixture(scope="module")
def schemathesis(tmp_path_factory) -> Path:
    """The program."""
    folder = tmp_path_factory.mktemp("schemathesis") / "venv"
    install = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", SCHEMATHESIS)
    for command in ((sys.executable, "-m", "venv", str(folder)), install):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
    return Path(folder, "bin", "schemathesis")


def test_every_operation_answers_as_it_is_described(schemathesis, tmp_path):
    text, doors = configuration(tmp_path, more='[security]\nallow_anonymous = true\nadmins = ["ops"]\n')
    url = f"http://{doors['rest']}"
    with ServedManager("east") as east, ServedManager("west") as west:
        both = "".join(
            f'[[subcluster]]\nid = "{name}"\nweb = "{each.url}"\n' for name, each in (("east", east), ("west", west))
        )
        with Started(tmp_path, text.partition("[[subcluster]]")[0] + both) as heddle:
            (tmp_path / "schemathesis.toml").write_text(SETTINGS)
            command = (
                *(str(schemathesis), "run", f"{url}/heddle/v1/openapi.json", "--exclude-path", "/heddle/v1/live"),
                *("--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "3", "--seed", "1"),
                *("--request-timeout", "60", "--continue-on-failure", "--no-color", "-H", "Accept: application/json"),
            )
            environment = {
                **os.environ,
                "SCHEMATHESIS_HOOKS": HOOKS.stem,
                "PYTHONPATH": str(HOOKS.parent),
                "HEDDLE_KNOWN": json.dumps(known(url)),
            }
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=1500
            )
            assert done.returncode == 0, done.stdout
            assert " selected / " in done.stdout
            assert not heddle.troubles()


def known(url: str) -> dict[str, str]:
    """Names of what is there, an application among it."""
    issued = httpx.post(f"{url}{BASE}/apps/new-application", params=OPS, timeout=60).json()["application-id"]
    context = {
        "application-id": issued,
        "application-name": "n",
        "queue": "default",
        "am-container-spec": {"commands": {"command": "true"}},
        "resource": {"memory": 256, "vCores": 1},
    }
    assert httpx.post(f"{url}{BASE}/apps", params=OPS, json=context, timeout=60).status_code == 202
    return {
        "application": issued,
        "attempt": issued.replace("application", "appattempt") + "_000001",
        "container": issued.replace("application", "container") + "_01_000001",
        "cluster": "east",
        "node": "east-n1:45454",
        "host": "east-n1",
        "queue": "root.default",
        "version": "0",
    }
