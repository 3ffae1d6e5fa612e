"""The order of rows in docs/evaluation's contest; the full tables are made by `python -m scripts.contest`."""

from statistics import fmean

import pytest

from scripts.contest import HEDDLE, ORACLE, SINGLE_FAIR, Draw, completions_of


@pytest.mark.parametrize(("am_share", "queues", "most"), [(0.1, "fifo", 1.0), (0.5, "fair", 0.95)])
def test_heddle_as_installed_is_faster_than_any_one_big_cluster_where_there_is_more_than_there_is_room_for(
    am_share, queues, most
):
    draw = Draw(load=1.0, am_share=am_share, queues=queues, jobs=120)
    rows = ("one cluster, fifo", SINGLE_FAIR, "one cluster, FairScheduler", "jobs dealt", HEDDLE, ORACLE)
    means = {row: fmean(completions_of(row, draw)) for row in rows}
    best = min(means[row] for row in rows[:3])
    assert means[HEDDLE] < most * best, means
    assert means[HEDDLE] < 0.95 * means["jobs dealt"], means
    assert means[ORACLE] < means[HEDDLE], means
