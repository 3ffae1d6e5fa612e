"""Omega's decisions: placement on a copy, conflicts, and what is rolled back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.simulation.engine import seeded
from shim.simulation.omega import CellState, Claim, ConflictMode, OmegaRules, TransactionMode, commit, place

ONE = np.array([1], dtype=np.int64)


def a_cell(*free):
    return CellState(np.array([[one] for one in free], dtype=np.int64))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(0, 30), st.integers(0, 9))
def test_placement_fills_what_is_free_and_no_more(free, n_tasks, seed):
    cell = a_cell(*free)
    claims = place(cell, n_tasks, ONE, seeded(seed, "test"))
    assert len(claims) == min(n_tasks, sum(free))
    assert all([claim.node for claim in claims].count(node) <= room for node, room in enumerate(free))
    assert cell.free.sum() == sum(free)


def test_placement_looks_at_every_resource_that_is_asked_for():
    cell = CellState(np.array([[8, 1, 0], [2, 9, 0], [8, 9, 0]], dtype=np.int64))
    claims = place(cell, 9, np.array([4, 2, 0], dtype=np.int64), seeded(1, "test"))
    assert [claim.node for claim in claims] == [2, 2]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(1, 12), st.sampled_from(list(ConflictMode)))
def test_a_transaction_on_an_unchanged_cell_never_conflicts(free, n_tasks, mode):
    cell = a_cell(*free)
    claims = place(cell.copy(), n_tasks, ONE, seeded(1, "test"))
    result = commit(cell, claims, ONE, OmegaRules(mode, TransactionMode.ALL_OR_NOTHING))
    assert (list(result.accepted), result.conflicts) == (claims, 0)
    assert cell.free.min() >= 0


CLAIMS = [Claim(0, 0), Claim(1, 0), Claim(2, 0)]

CASES = [
    # somebody took node 1's last slot, and one of node 0's two
    (ConflictMode.RESOURCE_FIT, TransactionMode.INCREMENTAL, [0, 2], 1, [0, 0, 0]),
    (ConflictMode.RESOURCE_FIT, TransactionMode.ALL_OR_NOTHING, [], 1, [1, 0, 1]),
    (ConflictMode.SEQUENCE_NUMBERS, TransactionMode.INCREMENTAL, [2], 2, [1, 0, 0]),
    (ConflictMode.SEQUENCE_NUMBERS, TransactionMode.ALL_OR_NOTHING, [], 1, [1, 0, 1]),
]


@pytest.mark.parametrize(("conflict", "transaction", "accepted", "conflicts", "free"), CASES)
def test_each_mode_refuses_what_it_should(conflict, transaction, accepted, conflicts, free):
    cell = a_cell(2, 1, 1)
    cell.claim(0, ONE)
    cell.claim(1, ONE)
    result = commit(cell, CLAIMS, ONE, OmegaRules(conflict, transaction))
    assert [claim.node for claim in result.accepted] == accepted
    assert result.conflicts == conflicts
    assert cell.free[:, 0].tolist() == free


def test_a_rolled_back_claim_leaves_its_mark_on_the_sequence_number():
    cell = a_cell(1, 0)
    rules = OmegaRules(transaction=TransactionMode.ALL_OR_NOTHING)
    commit(cell, [Claim(0, 0), Claim(1, 0)], ONE, rules)
    assert (cell.free[0, 0], cell.sequence[0]) == (1, 1)


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=6), st.lists(st.integers(1, 6), min_size=2, max_size=5), st.data()
)
def test_no_node_is_ever_overcommitted_by_parallel_schedulers(free, wanted, data):
    cell = a_cell(*free)
    rules = OmegaRules(
        data.draw(st.sampled_from(list(ConflictMode))), data.draw(st.sampled_from(list(TransactionMode)))
    )
    copies = [cell.copy() for _ in wanted]
    for number, (copy, n_tasks) in enumerate(zip(copies, wanted, strict=True)):
        commit(cell, place(copy, n_tasks, ONE, seeded(number, "test")), ONE, rules)
        assert cell.free.min() >= 0
