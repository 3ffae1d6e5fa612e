from shim.scheduling.snapshot import Column, JobTable


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
