"""Sums that are kept up to date are those that adding up anew gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.queues.core.share_round import RowSet, ShareSums

RESOURCES = 2
ROWS = st.integers(0, 9)


@st.composite
def forests(draw):
    """The row above each, below 0 for none: parents come first."""
    return [draw(st.integers(-1, row - 1)) for row in range(draw(st.integers(1, 8)))]


def amounts(rows):
    return st.lists(st.lists(st.integers(0, 50), min_size=RESOURCES, max_size=RESOURCES), min_size=rows, max_size=rows)


def is_below(parent, row, above):
    """By walking up from a row, whether it is another one or under it."""
    while row >= 0 and row != above:
        row = parent[row]
    return row == above


def added_up(parent, held):
    rows = range(len(parent))
    return [sum(held[row] for row in rows if is_below(parent, row, above)) for above in rows]


@given(data=st.data(), parent=forests())
def test_what_queues_hold_with_all_below_them_is_kept_up_to_date(data, parent):
    held = np.array(data.draw(amounts(len(parent))), dtype=np.float64)
    promised = np.array(data.draw(amounts(len(parent))), dtype=np.float64)
    sums = ShareSums(np.array(parent), held, promised)
    assert sums.held_below.tolist() == np.array(added_up(parent, held)).tolist()
    for row, *size in data.draw(st.lists(st.tuples(st.integers(0, len(parent) - 1), *[st.integers(0, 9)] * RESOURCES))):
        sums.add(row, np.array(size, dtype=np.float64))
        held[row] += size
        promised[row] += size
        assert sums.held_below.tolist() == np.array(added_up(parent, held)).tolist()
        assert sums.promised.tolist() == promised.sum(axis=0).tolist()


def test_what_is_handed_over_is_not_written():
    held = np.array([[1.0, 1.0], [2.0, 2.0]])
    promised = held.copy()
    sums = ShareSums(np.array([-1, 0]), held, promised)
    before = sums.promised
    sums.add(1, np.array([5.0, 5.0]))
    assert held.tolist() == promised.tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert before.tolist() == [3.0, 3.0], "whoever has asked before keeps what he was told"


@pytest.mark.parametrize(("row", "path"), [(0, [0]), (1, [1, 0]), (2, [2, 1, 0]), (3, [3])])
def test_upwards_are_the_queue_itself_and_all_above_it(row, path):
    sums = ShareSums(np.array([-1, 0, 1, -1]), np.zeros((4, 1)), np.zeros((4, 1)))
    assert list(sums.upwards(row)) == path


@given(
    first=st.lists(ROWS, unique=True), puts=st.lists(st.tuples(ROWS, st.booleans())), asked=ROWS, most=st.integers(0, 4)
)
def test_a_set_of_rows_is_a_set_in_order(first, puts, asked, most):
    rows, model = RowSet(first), set(first)
    for row, is_in in puts:
        rows.put(row, is_in=is_in)
        (model.add if is_in else model.discard)(row)
        others = sorted(model - {asked})
        assert rows.count_others(asked) == len(others)
        assert rows.has_other(asked) == bool(others)
        assert list(rows.others(asked, most=most)) == others[:most]
