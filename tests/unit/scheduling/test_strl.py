"""Space-time requests: every operator to the digit, by the solver."""

from types import MappingProxyType

import numpy as np
import pytest

from shim.scheduling.solvers import mixed_integer
from shim.scheduling.strl import Barrier, Linear, Most, NodesFor, Scaled, Smallest, Total, compile_requests

R1, R2, ALL = (0,), (1,), (0, 1)


def worth(requests, available, counts=MappingProxyType({})):
    arrays, leaves = compile_requests(requests, np.array(available, dtype=np.int64), counts)
    answer = mixed_integer(arrays, 20.0)
    chosen = [leaf.nodes for leaf in leaves if answer[leaf.chosen] > 0.5]
    return float(np.dot(arrays["value"], answer[:-1])), chosen


@pytest.mark.parametrize(("window", "value"), [(1, 2), (2, 2), (3, 3), (5, 3)])
def test_planning_ahead_finds_the_order_in_which_all_meet_their_deadlines(window, value):
    asks = [(2, 1, 1), (1, 2, 4), (3, 1, 2)]  # nodes, quanta, deadline
    jobs = [
        Most(tuple(NodesFor(R1, k, s, d, 1.0, at) for s in range(window) if s + d <= deadline))
        for at, (k, d, deadline) in enumerate(asks)
    ]
    assert worth([each for each in jobs if each.parts], [[3] * 8])[0] == pytest.approx(value)


@pytest.mark.parametrize(("n_jobs", "busy", "value"), [(1, 0, 4.0), (2, 0, 6.5), (1, 1, 3.0), (1, 2, 2.5)])
def test_preferred_nodes_are_waited_for_while_that_is_worth_it(n_jobs, busy, value):
    starts = range(4)
    one = Most(
        tuple(NodesFor(R1, 2, s, 2, 4.0 - s) for s in starts)
        + tuple(NodesFor(ALL, 2, s, 3, 2.5 - s) for s in (0, 1, 2))
    )
    gpus = [0] * busy + [2] * (8 - busy)
    assert worth([one] * n_jobs, [gpus, [2] * 8])[0] == pytest.approx(value)


def test_one_rack_and_one_of_each():
    mpi = Most((NodesFor(R1, 3, 0, 1, 4.0), NodesFor(R2, 3, 0, 1, 4.0), NodesFor(ALL, 3, 0, 3, 3.0)))
    assert worth([mpi], [[2] * 3, [3] * 3])[0] == pytest.approx(4.0)
    pair = Most((NodesFor(R1, 2, 0, 1, 4.0), NodesFor(R2, 2, 0, 1, 4.0), NodesFor(ALL, 2, 0, 3, 3.0)))
    spread = Smallest((NodesFor(R1, 1, 0, 1, 5.0), NodesFor(R2, 1, 0, 1, 5.0)))
    value, chosen = worth([pair, spread], [[2] * 3, [3] * 3])
    assert value == pytest.approx(9.0)
    assert NodesFor(R2, 2, 0, 1, 4.0) in chosen


def test_linear_barrier_and_scale():
    every = Linear(NodesFor(ALL, 4, 0, 1, 8.0))
    assert worth([every, NodesFor(R2, 2, 0, 1, 5.0)], [[2], [3]])[0] == pytest.approx(11.0)
    taken = NodesFor(R2, 3, 0, 1, 5.0)
    assert worth([Barrier(every, 6.0), taken], [[2], [3]])[0] == pytest.approx(6.0)
    assert worth([Barrier(every, 3.0), taken], [[2], [3]])[0] == pytest.approx(8.0)
    many = [Scaled(NodesFor(R1, 2, 0, 1, 1.0), 3.0), NodesFor(R1, 1, 0, 1, 2.0)]
    assert worth(many, [[2], [3]])[0] == pytest.approx(3.0)
    assert worth([Total(())], [[1], [1]])[0] == 0.0


def test_containers_that_may_be_had_here_and_there_are_had_once():
    here, there = Linear(NodesFor(R1, 4, 0, 1, 8.0, tag=7)), Linear(NodesFor(R2, 4, 0, 1, 4.0, tag=7))
    assert worth([Total((here, there))], [[3], [3]])[0] == pytest.approx(9.0)
    assert worth([Total((here, there))], [[3], [3]], {7: 4})[0] == pytest.approx(7.0)
    assert worth([Total((here, there))], [[3], [3]], {7: 2, 8: 0})[0] == pytest.approx(4.0)


def test_what_takes_parts_of_a_node_counts_as_what_it_takes_of_each_type():
    large = Most((NodesFor(R1, 1, 0, 1, 5.0, size=(4.0, 1.0)),))
    small = [Most((NodesFor(R1, 1, 0, 1, 1.0, size=(1.0, 1.0)),))] * 4
    assert worth([large, *small], [[[6, 9]]])[0] == pytest.approx(7.0)
    assert worth([large, *small], [[[6, 2]]])[0] == pytest.approx(6.0)
