"""The operator of the page on Airflow, by Airflow itself: it runs the page's code against a started Heddle."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.served_manager import ServedManager
from tests.support.started import Started, configuration

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW = ("apache-airflow-core==3.3.2", "apache-airflow-task-sdk==1.3.2", "apache-airflow-providers-standard==1.21.0")
DAG = """
from airflow.sdk import DAG

SUBMISSION = {
    "application-name": "nightly",
    "am-container-spec": {"commands": {"command": "true"}},
    "resource": {"memory": 256, "vCores": 1},
}

with DAG("nightly", schedule=None) as dag:
    run = HeddleSubmit(task_id="run", application="{{ ti.xcom_pull('take_id') }}", submission=SUBMISSION, timeout_s=300)
    HeddleNewApplication(task_id="take_id") >> run

if __name__ == "__main__":
    print("ENDED", dag.test().state)
"""


@pytest.fixture(scope="module")
def airflow(tmp_path_factory) -> Path:
    """An environment that has Airflow and the package."""
    folder = Path(tmp_path_factory.mktemp("airflow"))
    for command in (
        ("uv", "venv", "--quiet", "--python", sys.executable, str(folder / "venv")),
        ("uv", "pip", "install", "--quiet", "--python", str(folder / "venv" / "bin" / "python"), *AIRFLOW, str(ROOT)),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
        assert done.returncode == 0, done.stderr
    return folder / "venv" / "bin"


def test_a_run_ends_as_its_application_does(airflow, tmp_path):
    page = (ROOT / "docs" / "clients" / "airflow.md").read_text("utf-8")
    (tmp_path / "dags").mkdir()
    file = tmp_path / "dags" / "nightly.py"
    file.write_text(page.split("```python\n")[1].split("```")[0] + DAG)
    text, doors = configuration(tmp_path, more="[poll]\ninterval_s = 0.5\n")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "HEDDLE_SERVER": f"http://{doors['rest']}",
        "HADOOP_USER_NAME": "ada",
    }
    migrated = subprocess.run(
        (airflow / "airflow", "db", "migrate"), env=environment, capture_output=True, text=True, check=False
    )
    assert migrated.returncode == 0, migrated.stdout + migrated.stderr
    with ServedManager("east") as east:
        only = f'[[subcluster]]\nid = "east"\nweb = "{east.url}"\n'
        with Started(tmp_path, text.partition("[[subcluster]]")[0] + only):
            for number, (end, state) in enumerate((("FINISHED", "success"), ("KILLED", "failed")), start=1):
                run = subprocess.Popen(
                    (airflow / "python", file),
                    env=environment,
                    cwd=tmp_path,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                while run.poll() is None and len(east.applications()) < number:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        run.wait(timeout=0.2)
                east.end_all(end)
                said, _ = run.communicate()
                assert f"ENDED {state}" in said, said[-6000:]
                assert len(east.applications()) == number
