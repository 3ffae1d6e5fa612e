"""Plans are read below the configured folders alone, whatever users put there."""

import os
from itertools import pairwise

import pytest

from adapters.tez import TezPlanFiles
from adapters.tez.dag_plan import MAX_PLAN_BYTES
from shim.domain.ids import ApplicationId
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGPlan

JOB = ApplicationId(1_700_000_000_000, 7)


def chain(*names):
    """A DAG of vertices of two tasks, each fed by the one before."""
    made = DAGPlan(name="words")
    for name in names:
        task = made.vertex.add(name=name).taskConfig
        task.numTasks, task.memoryMb, task.virtualCores = 2, 256, 1
    for source, target in pairwise(names):
        made.edge.add(id=f"{source}-{target}", inputVertexName=source, outputVertexName=target, dataMovementType=2)
    return made.SerializeToString()


def staged(folder, data, job=JOB):
    """A plan where Tez leaves it."""
    place = folder / ".tez" / str(job)
    place.mkdir(parents=True)
    (place / "tez-dag.pb").write_bytes(data)
    return place / "tez-dag.pb"


def test_a_plan_is_found_in_the_staging_folder_of_its_user(tmp_path):
    staged(tmp_path / "ada" / "staging", chain("split", "count", "sort"))
    files = TezPlanFiles([str(tmp_path / "shared"), f"{tmp_path}/{{user}}/staging"])
    stages = files.read(JOB, "ada")
    assert [stage.name for stage in stages.graph.stages] == ["split", "count", "sort"]
    assert stages.by_priority == {8: 0, 20: 1, 32: 2, 7: 0, 19: 1, 31: 2}
    assert stages.urgent == {7, 19, 31}, "a task that failed before is never put off"
    assert files.read(JOB, "bob") is None
    assert files.read(ApplicationId(1, 1), "ada") is None


@pytest.mark.parametrize("user", ["../ada", "a/b", "..", ".", "", "-", "a\0b"])
def test_a_user_is_no_path(tmp_path, user):
    staged(tmp_path, chain("a"))
    staged(tmp_path / "x", chain("a"))
    assert TezPlanFiles([f"{tmp_path}/x/{{user}}"]).read(JOB, user) is None


@pytest.mark.parametrize("part", [".tez", f".tez/{JOB}", f".tez/{JOB}/tez-dag.pb"])
def test_no_link_below_the_folder_is_followed(tmp_path, part):
    staged(tmp_path / "elsewhere", chain("a"))
    link = tmp_path / "staging" / part
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere" / part)
    with pytest.raises(MalformedJobGraphError, match="cannot be read"):
        TezPlanFiles([str(tmp_path / "staging")]).read(JOB, "ada")


def test_what_is_no_file_is_not_waited_for(tmp_path):
    plan = staged(tmp_path, b"")
    plan.unlink()
    os.mkfifo(plan)
    with pytest.raises(MalformedJobGraphError, match="no plain file"):
        TezPlanFiles([str(tmp_path)]).read(JOB, "ada")


def test_of_a_plan_that_is_too_large_no_more_is_read(tmp_path):
    staged(tmp_path, bytes(MAX_PLAN_BYTES * 2))
    with pytest.raises(MalformedJobGraphError, match=f"has {MAX_PLAN_BYTES + 1} bytes"):
        TezPlanFiles([str(tmp_path)]).read(JOB, "ada")
