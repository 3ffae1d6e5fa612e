"""`heddle.testing` for people who write jobs: the example project, and containers that stay."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from heddle.testing import FederationError, Settings, hadoop_fs, hadoop_jar
from heddle.testing.containers import FederationContainer

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path):
    """The example project beside an environment that has the built package and nothing else."""
    shutil.copytree(ROOT / "docs" / "examples" / "jobs", tmp_path / "project")
    subprocess.run(["uv", "build", "--wheel", "--quiet", "--out-dir", str(tmp_path / "dist")], cwd=ROOT, check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run(["uv", "pip", "install", "--quiet", "--python", python, f"{wheel}[testing]"], check=True)
    # its own packages may have the names of Heddle's inner ones
    (tmp_path / "project" / "adapters").mkdir()
    (tmp_path / "project" / "adapters" / "__init__.py").write_text("")
    return tmp_path / "project"


def test_jobs_of_three_engines_run_in_containers_from_a_fresh_environment(daemon, project):
    python = project.parent / "venv" / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pytest", "--containers", "--durations=0"],
        cwd=project,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"=+ 5 passed in ", done.stdout), done.stdout[-8000:] + done.stderr


def test_containers_that_stay_are_found_again(daemon):
    settings, name = Settings(clusters=1), f"own tests {os.getpid()}"
    first = FederationContainer(settings, reuse=True, name=name)
    try:
        with first:
            made = {each.id for each in first.containers()}
        with FederationContainer(settings, reuse=True, name=name) as again:
            assert {each.id for each in again.containers()} == made
            assert len(made) == 4
            again.partition("east-nm1")
            again.pause("heddle")
            assert again.faults == ("east-nm1 is partitioned", "heddle is paused")
            again.heal()
            with again.client() as heddle:
                assert [(each.id, each.state) for each in heddle.clusters().clusters] == [("east", "RUNNING")]
    finally:
        first.reuse = False
        first.close()
    assert first.containers() == []
    assert not first.shared.exists()


def test_jobs_read_and_write_an_hdfs_that_all_clusters_share(daemon):
    with FederationContainer(clusters=2, hdfs=True) as federation:
        text = federation.shared / "text"
        text.write_text("to be or not to be\n")
        assert federation.files == "hdfs://namenode:8020"
        federation.run(hadoop_fs(federation, "-mkdir", "-p", "/in"))
        federation.run(hadoop_fs(federation, "-put", text.as_uri(), "/in/text"))
        federation.kill("east-rm")
        federation.kill("datanode")
        federation.start("datanode")
        federation.wait_files()
        job = federation.submit(hadoop_jar(federation, federation.examples, "wordcount", "/in", "/out"))
        job.wait()
        assert job.cluster == "west"
        assert "to\t2" in federation.run(hadoop_fs(federation, "-cat", "/out/part-r-00000"))


def test_each_cluster_may_have_a_version_of_its_own(daemon):
    with (
        pytest.raises(FederationError, match="shall name each of the clusters east, west"),
        FederationContainer(version="east=3.3.6"),
    ):
        pass
