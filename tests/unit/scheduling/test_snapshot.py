import pytest

from shim.scheduling.snapshot import ANY_CLUSTER, Column, JobTable, cluster_bits, cluster_number


def test_rows_are_reused_blank_and_the_table_grows():
    table = JobTable()
    rows = [table.add() for _ in range(300)]
    assert len(set(rows)) == 300
    table.put(Column.TASKS, rows[7], 3.0)
    table.set_waiting(rows[7], is_waiting=True)
    table.remove(rows[7])
    assert table.is_idle
    assert table.add() == rows[7]
    assert table.get(Column.TASKS, rows[7]) == 0.0
    assert table.shift(Column.RUNNING, rows[299], 2.0) == 2.0


@pytest.mark.parametrize("bits", [ANY_CLUSTER, 0, 1, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 99, (1 << 100) - 1])
def test_a_set_of_clusters_comes_back_from_the_number_that_stands_for_it(bits):
    number = cluster_number(bits)
    assert -(1 << 63) <= number < 1 << 63
    assert (cluster_bits(number), cluster_number(bits)) == (bits, number)
