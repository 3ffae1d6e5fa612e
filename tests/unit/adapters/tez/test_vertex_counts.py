"""Counts of vertices are the application's own word: what is not exactly of its plan is refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.tez import TezVertexCounts, read_vertex_counts
from adapters.tez.vertex_counts import MAX_COUNTS_BYTES
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob, TaskCounts
from shim.errors import MalformedJobGraphError, NoAnswerError
from shim.ports.resource_manager import RestAnswer

JOB, EAST = ApplicationId(1_700_000_000_000, 7), SubClusterId("east")


def row(vertex, total="4", running="1", succeeded="2", dag=1, **more):
    """One vertex, with texts for numbers as Tez 0.10.5 writes them."""
    counts = {"totalTasks": total, "runningTasks": running, "succeededTasks": succeeded}
    return {"id": f"vertex_1700000000000_0007_{dag}_{vertex:02d}", "status": "RUNNING", **counts, **more}


def document(*rows):
    return json.dumps({"vertices": rows}).encode()


def test_counts_stand_at_the_vertices_of_the_plan_in_whatever_order_they_came():
    body = document(row(1, total="-1", running="0", succeeded="0"), row(0))
    assert read_vertex_counts(body, 2) == (TaskCounts(4, 1, 2), TaskCounts(None, 0, 0))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b" " * (MAX_COUNTS_BYTES + 1), "bytes", id="too large"),
        pytest.param(b"<html>", "no JSON", id="a page"),
        pytest.param(b"[" * 100_000, "no JSON", id="deep"),
        pytest.param(b"[]", "of the 2 vertices", id="no object"),
        pytest.param(document(row(0)), "of the 2 vertices", id="too few"),
        pytest.param(document(row(0), row(0)), "of the 2 vertices", id="one twice"),
        pytest.param(document(row(0), row(2)), "of the 2 vertices", id="another one"),
        pytest.param(document(row(0), row(1, dag=2)), "this DAG", id="another DAG"),
        pytest.param(document(row(0), 7), "no object", id="no row"),
        pytest.param(document(row(0), row(1, running="-1")), "below zero", id="below zero"),
        pytest.param(document(row(0), row(1, running="many")), "runningTasks", id="no number"),
        pytest.param(document(row(0), row(1, succeeded="9" * 15)), "succeededTasks", id="too many"),
        pytest.param(document(row(0), row(1, running="20001")), "20000 tasks at once", id="too many at once"),
    ],
)
def test_what_is_not_of_the_plan_is_refused(body, message):
    with pytest.raises(MalformedJobGraphError, match=message):
        read_vertex_counts(body, 2)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_is_counts_or_refused(told):
    with pytest.raises(MalformedJobGraphError):
        read_vertex_counts(json.dumps({"vertices": [told]}).encode(), 1)


class OneAnswer:
    """A ResourceManager that answers every request alike."""

    def __init__(self, answer):
        self.answer, self.requests = answer, []

    async def forward(self, request, *, timeout_s=None):
        self.requests.append((request, timeout_s))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


PLAN = StagesOfJob(JobGraph.of("dag", (Stage("a", 4, 256, 1),)), {2: 0})


async def asked(answer, known=PLAN):
    manager = OneAnswer(answer)
    return await TezVertexCounts({EAST: manager}).counts(JOB, EAST, "ada", known), manager.requests


async def test_the_home_s_own_proxy_is_asked_for_its_user_and_not_for_long():
    counts, ((request, timeout_s),) = await asked(RestAnswer(200, (), document(row(0))))
    assert (counts.stages, counts.counts) == (PLAN, (TaskCounts(4, 1, 2),))
    assert (request.method, request.path) == ("GET", f"/proxy/{JOB}/ws/v2/tez/verticesInfo")
    assert (request.user, request.parameters, request.is_page, timeout_s) == ("ada", (("dagID", "1"),), True, 5.0)


@pytest.mark.parametrize(
    "answer",
    [RestAnswer(302, (("Location", "http://elsewhere"),), b""), RestAnswer(401, (), b""), NoAnswerError("east", "?")],
)
async def test_what_is_no_answer_of_the_application_master_is_not_followed(answer):
    with pytest.raises(MalformedJobGraphError, match="web service"):
        await asked(answer)


async def test_of_a_session_the_dag_is_asked_for_whose_plan_is_known():
    counts, ((request, _),) = await asked(RestAnswer(200, (), document(row(0, dag=3))), replace(PLAN, part=3))
    assert request.parameters == (("dagID", "3"),)
    assert counts.counts == (TaskCounts(4, 1, 2),)
    with pytest.raises(MalformedJobGraphError, match="this DAG"):
        await asked(RestAnswer(200, (), document(row(0, dag=2))), replace(PLAN, part=3))


async def test_between_two_dags_of_a_session_the_job_is_unknown_and_asked_as_often():
    told, _ = await asked(RestAnswer(404, (), b""), replace(PLAN, has_parts=True))
    assert told == "another DAG of its session runs"
    with pytest.raises(MalformedJobGraphError, match="404"):
        await asked(RestAnswer(404, (), b""))
