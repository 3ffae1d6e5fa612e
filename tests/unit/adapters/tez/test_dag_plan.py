"""Plans are files of users: what is no graph is refused, naming what is wrong, and secrets are not read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.tez import ask_priorities, read_dag_plan, vertex_of_priority
from adapters.tez.dag_plan import MAX_PLAN_BYTES, MAX_VERTICES
from shim.errors import MalformedJobGraphError
from shim.protocol.proto.messages import DAGPlan, VertexPlan


def plan(vertices, edges=(), name="a dag"):
    """A plan of (name, tasks, memory, vcores) and (source, target, scheduling)."""
    made = DAGPlan(name=name)
    for vertex, tasks, memory, vcores in vertices:
        added = made.vertex.add(name=vertex)
        added.taskConfig.numTasks = tasks
        added.taskConfig.memoryMb = memory
        added.taskConfig.virtualCores = vcores
    for number, (source, target, scheduling) in enumerate(edges):
        made.edge.add(
            id=str(number),
            inputVertexName=source,
            outputVertexName=target,
            dataMovementType=2,
            schedulingType=scheduling,
        )
    return made


DIAMOND = plan(
    [("map", 4, 512, 1), ("left", 2, 512, 1), ("right", -1, 1024, 2), ("join", 1, 256, 1)],
    [("map", "left", 0), ("map", "right", 0), ("left", "join", 0), ("right", "join", 1)],
)


def test_the_vertices_stand_at_their_ids_with_barriers_and_distances():
    graph = read_dag_plan(DIAMOND.SerializeToString())
    assert [(stage.name, stage.tasks, stage.memory_mib, stage.vcores) for stage in graph.stages] == [
        ("map", 4, 512, 1),
        ("left", 2, 512, 1),
        ("right", None, 1024, 2),
        ("join", 1, 256, 1),
    ]
    assert [stage.waits_for for stage in graph.stages] == [(), (0,), (0,), (1,)], "a concurrent edge is no barrier"
    assert graph.stages[3].sources == (1, 2)
    assert graph.distances == (0, 1, 1, 2)


def test_credentials_are_nowhere_in_the_graph():
    secret = b"a secret of the user"
    data = DIAMOND.SerializeToString() + bytes([5 << 3 | 2, len(secret)]) + secret
    assert "secret" not in repr(read_dag_plan(data))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "no vertices", id="nothing"),
        pytest.param(b"\x0a\xff", "no DAGPlan", id="cut"),
        pytest.param(b"\x0a" + b"x" * MAX_PLAN_BYTES, "at most 4194304", id="too large"),
        pytest.param(plan([("a", 1, 1, 1)] * 2).SerializeToString(), "several stages of the name 'a'", id="one name"),
        pytest.param(
            plan([("a", 1, 1, 1), ("b", 1, 1, 1)], [("a", "b", 0), ("b", "a", 0)]).SerializeToString(),
            "cycle",
            id="cycle",
        ),
        pytest.param(plan([("a", 1, 1, 1)], [("a", "a", 0)]).SerializeToString(), "cycle", id="loop"),
        pytest.param(
            plan([("a", 1, 1, 1)], [("a", "c", 0)]).SerializeToString(), "names vertex 'c'", id="edge to nowhere"
        ),
        pytest.param(plan([("a", -2, 1, 1)]).SerializeToString(), "number of tasks", id="tasks below none"),
        pytest.param(plan([("a", 2**31 - 1, 1, 1)]).SerializeToString(), "number of tasks", id="too many tasks"),
        pytest.param(plan([("a", 1, 0, 1)]).SerializeToString(), "task size", id="no memory"),
        pytest.param(plan([("a", 1, 1, -1)]).SerializeToString(), "task size", id="cores below none"),
        pytest.param(DAGPlan(name="x", vertex=[VertexPlan(name="a")]).SerializeToString(), "of tasks", id="no task"),
        pytest.param(plan([("a" * 1_001, 1, 1, 1)]).SerializeToString(), "name of 1001", id="a long name"),
        pytest.param(
            plan([(str(at), 1, 1, 1) for at in range(MAX_VERTICES + 1)]).SerializeToString(), "vertices", id="too many"
        ),
    ],
)
def test_what_is_no_graph_is_refused(data, message):
    with pytest.raises(MalformedJobGraphError, match=message):
        read_dag_plan(data)


def test_a_deep_chain_is_read_without_recursion():
    names = [str(at) for at in range(MAX_VERTICES)]
    chain = plan([(name, 1, 1, 1) for name in names], list(zip(names, names[1:], [0] * len(names), strict=False)))
    assert read_dag_plan(chain.SerializeToString()).distances[-1] == MAX_VERTICES - 1


@given(st.binary(max_size=400))
def test_any_bytes_are_a_graph_or_refused(data):
    try:
        read_dag_plan(data)
    except MalformedJobGraphError:
        return


def test_the_diamond_and_the_chain_that_a_real_tez_asked_for():
    assert ask_priorities([0, 1, 1, 2]) == (11, 26, 29, 44)
    assert ask_priorities([0, 1, 2])[0] == 8


@given(st.lists(st.integers(0, 60), min_size=1, max_size=60))
def test_every_vertex_is_found_again_also_after_a_failed_attempt(distances):
    for vertex, priority in enumerate(ask_priorities(distances)):
        assert vertex_of_priority(priority, distances) == vertex
        assert vertex_of_priority(priority - 1, distances) == vertex


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(-5, 400))
def test_every_other_priority_is_of_no_vertex(distances, priority):
    asks = ask_priorities(distances)
    is_known = any(priority in (each, each - 1) for each in asks)
    assert (vertex_of_priority(priority, distances) is not None) == is_known


@pytest.mark.parametrize("priority", [0, 20, 10, 5])
def test_priorities_of_other_engines_are_of_no_vertex_of_the_diamond(priority):
    assert vertex_of_priority(priority, [0, 1, 1, 2]) is (0 if priority == 10 else None)


def test_a_dag_without_vertices_has_none():
    assert vertex_of_priority(5, []) is None
