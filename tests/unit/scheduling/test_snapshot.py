import pytest

from shim.scheduling.durations import Resemblance
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


def test_what_is_expected_of_a_job_is_told_anew_after_each_end_and_when_its_time_is_over():
    table, resemblance = JobTable(), Resemblance()
    row = table.add()
    assert table.is_stale(row, 0.0, 60.0), "it has no task"
    for count in (1, 2, 3):
        assert table.count_ended(row, 8.0, resemblance) == (count == 1)
        assert table.is_stale(row, 0.0, 60.0)
        table.put(Column.EXPECTED_UNTIL_S, row, 5.0)
        table.put(Column.HORIZON_S, row, 60.0)
        assert [table.is_stale(row, *at) for at in ((5.0, 60.0), (5.1, 60.0), (5.0, 61.0))] == [False, True, True]
    assert table.get(Column.FINISHED, row) == 3.0
    assert table.get(Column.FINISHED_S, row) == 24.0


@pytest.mark.parametrize("bits", [ANY_CLUSTER, 0, 1, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 99, (1 << 100) - 1])
def test_a_set_of_clusters_comes_back_from_the_number_that_stands_for_it(bits):
    number = cluster_number(bits)
    assert -(1 << 63) <= number < 1 << 63
    assert (cluster_bits(number), cluster_number(bits)) == (bits, number)
