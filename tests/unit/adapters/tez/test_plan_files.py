"""Plans are read below the configured folders alone, whatever users put there."""

import os
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.hdfs import WebAccess, folder_at
from adapters.tez import TezPlanFiles
from adapters.tez.dag_plan import MAX_PLAN_BYTES
from adapters.tez.plan_files import MAX_HEAD_BYTES, dag_of_file, plan_in_log
from shim.domain.ids import ApplicationId
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGPlan, DAGSubmittedProto

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


def files_in(folders):
    return TezPlanFiles(folders, partial(folder_at, access=WebAccess("heddle", (), 1.0)))


def staged(folder, data, job=JOB):
    """A plan where Tez leaves it."""
    place = folder / ".tez" / str(job)
    place.mkdir(parents=True)
    (place / "tez-dag.pb").write_bytes(data)
    return place / "tez-dag.pb"


def test_a_plan_is_found_in_the_staging_folder_of_its_user(tmp_path):
    staged(tmp_path / "ada" / "staging", chain("split", "count", "sort"))
    files = files_in([str(tmp_path / "shared"), f"{tmp_path}/{{user}}/staging"])
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
    assert files_in([f"{tmp_path}/x/{{user}}"]).read(JOB, user) is None


@pytest.mark.parametrize("part", [".tez", f".tez/{JOB}", f".tez/{JOB}/tez-dag.pb"])
def test_no_link_below_the_folder_is_followed(tmp_path, part):
    staged(tmp_path / "elsewhere", chain("a"))
    link = tmp_path / "staging" / part
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere" / part)
    with pytest.raises(MalformedJobGraphError, match="cannot be read"):
        files_in([str(tmp_path / "staging")]).read(JOB, "ada")


def test_what_is_no_file_is_not_waited_for(tmp_path):
    plan = staged(tmp_path, b"")
    plan.unlink()
    os.mkfifo(plan)
    with pytest.raises(MalformedJobGraphError, match="no plain file"):
        files_in([str(tmp_path)]).read(JOB, "ada")


def test_of_a_plan_that_is_too_large_no_more_is_read(tmp_path):
    staged(tmp_path, bytes(MAX_PLAN_BYTES * 2))
    with pytest.raises(MalformedJobGraphError, match=f"has {MAX_PLAN_BYTES + 1} bytes"):
        files_in([str(tmp_path)]).read(JOB, "ada")


# ---------------------------------------------------------------------------------------------- sessions


def logged(folder, number, data, attempt=1, job=JOB):
    """The recovery log of a DAG of a session, as its ApplicationMaster begins it."""
    place = folder / ".tez" / str(job) / "recovery" / str(attempt)
    place.mkdir(parents=True, exist_ok=True)
    submitted = DAGSubmittedProto(dag_id=f"dag_1700000000000_0007_{number}", dag_plan=data).SerializeToString()
    length = bytes([len(submitted) & 0x7F | 0x80, len(submitted) >> 7])
    log = place / f"dag_{str(job).removeprefix('application_')}_{number}.recovery"
    log.write_bytes(b"\x03\0\0\0" + length + submitted + b"what came after")
    return log


def test_the_newest_dag_of_a_session_is_found_in_its_recovery_log(tmp_path):
    files = files_in([str(tmp_path)])
    assert files.read(JOB, "ada", None) is None
    logged(tmp_path, 1, chain("one", "two"))
    first = files.read(JOB, "ada", None)
    assert ([stage.name for stage in first.graph.stages], first.part, first.has_parts) == (["one", "two"], 1, True)
    assert files.read(JOB, "ada", first) is first, "nothing is read twice"
    logged(tmp_path, 10, chain("three", "four", "five"))
    logged(tmp_path, 9, chain("x", "y"), attempt=2)
    second = files.read(JOB, "ada", first)
    assert ([stage.name for stage in second.graph.stages], second.part) == (["three", "four", "five"], 10)


def test_a_log_of_another_application_is_none_of_this_session(tmp_path):
    log = logged(tmp_path, 1, chain("one", "two"))
    log.rename(log.with_name("dag_1700000000000_0008_1.recovery"))
    assert files_in([str(tmp_path)]).read(JOB, "ada", None) is None


def test_a_recovery_log_that_is_a_link_is_not_followed(tmp_path):
    log = logged(tmp_path, 1, chain("one", "two"))
    log.rename(tmp_path / "elsewhere")
    log.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MalformedJobGraphError, match="cannot be read"):
        files_in([str(tmp_path)]).read(JOB, "ada", None)


RECORD = DAGSubmittedProto(dag_id="dag_1700000000000_0007_1", dag_plan=b"a plan").SerializeToString()


@pytest.mark.parametrize("kind", [b"\x03\0\0\0", b"\0\0\0\x03"], ids=["0.10", "0.9"])
def test_the_plan_is_in_the_first_record(kind):
    assert plan_in_log(kind + bytes([len(RECORD)]) + RECORD + b"more") == b"a plan"


@given(st.integers(0, len(RECORD) + 4))
def test_a_record_that_is_not_written_in_full_is_waited_for(length):
    assert plan_in_log((b"\x03\0\0\0" + bytes([len(RECORD)]) + RECORD)[:length]) is None


@pytest.mark.parametrize(
    ("head", "message"),
    [
        pytest.param(b"\x04\0\0\0" + bytes(9), "does not begin", id="another record"),
        pytest.param(b"\x03\0\0\0" + b"\xff" * 9, "no usable length", id="endless number"),
        pytest.param(b"\x03\0\0\0" + b"\xff\xff\xff\x7f" + bytes(9), "bytes", id="too large"),
        pytest.param(b"\x03\0\0\0\x05" + b"\xff" * 9, "holds no DAG", id="no message"),
    ],
)
def test_what_is_no_dag_is_refused(head, message):
    with pytest.raises(MalformedJobGraphError, match=message):
        plan_in_log(head)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_plan_refused_or_waited_for(data):
    for head in (data, b"\x03\0\0\0" + data):
        try:
            assert plan_in_log(head) is None or len(head) <= MAX_HEAD_BYTES
        except MalformedJobGraphError:
            continue


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("dag_1700000000000_0007_1.recovery", 1),
        ("dag_1700000000000_0007_12.recovery", 12),
        ("dag_1700000000000_0008_1.recovery", None),
        ("dag_1700000000000_0007_0.recovery", None),
        ("summary", None),
        ("../dag_1700000000000_0007_1.recovery", None),
    ],
)
def test_a_log_tells_by_its_name_which_dag_it_is_of(name, number):
    assert dag_of_file(name, JOB) == number
