"""Plans of Tez and event logs of Spark in HDFS, by its web gateway over real HTTP."""

import json
import ssl
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from adapters.hdfs import Folder, WebAccess, folder_at
from adapters.spark import SparkEventLogs
from adapters.tez import TezPlanFiles
from shim.domain.ids import ApplicationId
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGPlan, DAGSubmittedProto
from tests.support.web_hdfs import WebHDFS, refusal, served_hdfs

JOB = ApplicationId(1_700_000_000_000, 7)
STAGING = f"/user/ada/staging/.tez/{JOB}"


def plan(name: str) -> bytes:
    made = DAGPlan(name=name)
    task = made.vertex.add(name="scan").taskConfig
    task.numTasks, task.memoryMb, task.virtualCores = 2, 256, 1
    return made.SerializeToString()


def submitted(number: int) -> bytes:
    record = DAGSubmittedProto(dag_id=f"dag_{number}", dag_plan=plan(f"dag {number}")).SerializeToString()
    return b"\x03\0\0\0" + bytes([len(record)]) + record


@pytest.fixture
def hdfs() -> WebHDFS:
    return WebHDFS({})


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    return ssl.create_default_context()


@pytest.fixture
def places(hdfs: WebHDFS, tls: ssl.SSLContext) -> Iterator[tuple[str, Callable[[str], Folder]]]:
    with served_hdfs(hdfs) as address:
        yield address, partial(folder_at, access=WebAccess("heddle", (), 1.0, tls=lambda: tls))


@pytest.mark.parametrize("is_gateway", [True, False])
def test_a_plan_is_read_as_heddle_s_user_below_the_folder_of_its_user(hdfs, places, is_gateway):
    address, at = places
    hdfs.is_gateway, hdfs.files = is_gateway, {f"{STAGING}/tez-dag.pb": plan("words")}
    files = TezPlanFiles([f"{address}/user/{{user}}/staging"], at)
    stages = files.read(JOB, "ada", None)
    assert stages is not None
    assert stages.graph.name == "words"
    assert {query["user.name"] for _, _, query in hdfs.asked} == {"heddle"}
    assert files.read(JOB, "bob", None) is None


def test_the_newest_dag_of_a_session_is_read(hdfs, places):
    address, at = places
    log = f"{STAGING}/recovery/1/dag_1700000000000_0007"
    hdfs.files = {f"{log}_{number}.recovery": submitted(number) for number in (1, 2)}
    hdfs.folders = {f"{STAGING}/recovery": ("1",)}
    stages = TezPlanFiles([f"{address}/user/{{user}}/staging"], at).read(JOB, "ada", None)
    assert stages is not None
    assert (stages.graph.name, stages.part) == ("dag 2", 2)


def test_an_event_log_is_read_on_where_it_was_read_before(hdfs, places):
    address, at = places
    logs = SparkEventLogs([f"{address}/spark-logs"], at)
    path = f"/spark-logs/{JOB}_1.inprogress"
    line = {"Event": "SparkListenerJobStart", "Job ID": 0}
    stage = {"Stage ID": 0, "Stage Name": "count", "Number of Tasks": 4, "Parent IDs": []}
    first = json.dumps(line | {"Stage Infos": [stage]}, separators=(",", ":")).encode() + b"\n"
    hdfs.files = {path: first}
    known = logs.read(JOB, "ada", None)
    assert known is not None
    hdfs.files[path] += first.replace(b'"Job ID":0', b'"Job ID":4')
    now = logs.read(JOB, "ada", known)
    assert now is not None
    assert now.part == 5
    assert hdfs.asked[-1][2]["offset"] == str(len(first))


def test_a_gateway_that_refuses_makes_the_job_unknown_with_its_reason(hdfs, places):
    address, at = places
    hdfs.is_gateway = True
    hdfs.instead = {"OPEN": lambda _: refusal(403, "AccessControlException")}
    with pytest.raises(MalformedJobGraphError, match="does not let heddle read"):
        TezPlanFiles([f"{address}/user/{{user}}/staging"], at).read(JOB, "ada", None)
