"""The priority of an ask tells its vertex; numbers seen on a real Tez are among the cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.tez import ask_priorities, vertex_of_priority


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
